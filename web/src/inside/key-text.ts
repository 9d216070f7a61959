// A key in little room: its end tells more than its middle, which gives way. For the eye
// only, as it is in two parts; who hears it needs the key beside it in one.

import { make } from '../element.js';

const END_CHARACTERS = 12;

export function keyText(key: string): HTMLElement {
  const text = key === '' ? '(empty)' : key;
  const characters = [...text];
  const end = characters.splice(Math.max(0, characters.length - END_CHARACTERS));
  return make(
    'code',
    { class: 'key-text', 'aria-hidden': 'true' },
    make('span', {}, characters.join('')),
    make('span', {}, end.join('')),
  );
}
