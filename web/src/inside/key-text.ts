// A key in little space. Its end identifies it better than its middle, so the style sheet
// cuts the middle. It consists of two parts, so screen readers get the key separately.

import { create } from '../ui/element.js';

const END_CHARACTERS = 12;

export function keyText(key: string): HTMLElement {
  const text = key === '' ? '(empty)' : key;
  const characters = [...text];
  const end = characters.splice(Math.max(0, characters.length - END_CHARACTERS));
  return create(
    'code',
    { class: 'key-text', 'aria-hidden': 'true' },
    create('span', {}, characters.join('')),
    create('span', {}, end.join('')),
  );
}
