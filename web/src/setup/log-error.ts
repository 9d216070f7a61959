import { create, find, withCode } from '../ui/element.js';

const element = create('p', { id: 'log-error', class: 'warning error', role: 'status' });

/** Shows below the log why it cannot be read; '' if it can. */
export function showLogError(text: string): void {
  if (!element.isConnected) {
    find('log-name', HTMLOutputElement).parentElement?.after(element);
  }
  element.replaceChildren(...withCode(text));
}
