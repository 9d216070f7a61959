// A key in little space. Its end identifies it better than its middle, so the style sheet
// cuts the middle. It consists of two parts, so screen readers get the key separately, unless
// there is no other place for it.

import { create } from '../ui/element.js';

const END_CHARACTERS = 12;

export function keyText(key: string, isSpoken = false): HTMLElement {
  const text = key === '' ? '(empty)' : key;
  const characters = [...text];
  const end = characters.splice(Math.max(0, characters.length - END_CHARACTERS));
  return create(
    'code',
    { class: 'key-text', 'aria-hidden': String(!isSpoken) },
    create('span', {}, characters.join('')),
    create('span', {}, end.join('')),
  );
}
