// Keeps the settings in the page's address, and applies a link that is pasted into the tab.

import { InvalidInput } from '../ui/invalid-input.js';

/** The address follows changes after this pause. Browsers limit how often it may change. */
const PAUSE_MILLISECONDS = 400;

export interface AddressHost {
  /** The address with the current settings; throws InvalidInput while one is invalid. */
  currentLink(): string;
  /** Applies the settings of an address. */
  apply(address: string): void;
}

export class AddressBar {
  readonly #host: AddressHost;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(host: AddressHost) {
    this.#host = host;
    // All changes begin with one of these. Without one, the address stays as it is.
    for (const event of ['input', 'change', 'click', 'drop']) {
      document.addEventListener(event, () => this.#schedule());
    }
    addEventListener('hashchange', () => {
      clearTimeout(this.#timer);
      this.#host.apply(location.href);
    });
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#write(), PAUSE_MILLISECONDS);
  }

  #write(): void {
    try {
      const link = this.#host.currentLink();
      if (link !== location.href) {
        history.replaceState(history.state, '', link);
      }
    } catch (error) {
      // The address keeps the last valid settings.
      if (!(error instanceof InvalidInput)) {
        throw error;
      }
    }
  }
}
