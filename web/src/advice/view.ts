// Advice: the engine tries filters on the log in the chosen memory and recommends one.

import type { LogSource } from '../engine/settings.js';
import { create, find } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import type { Advice, Estimate } from '../wasm/dedupstore_wasm.js';
import type { AdviceRequest } from './protocol.js';
import { PendingAdvice } from './request.js';
import { type ErrorRequirements, RequirementsInput } from './requirements-input.js';

/** As many as the command line shows. */
const RUNNERS_UP = 5;

/** The inputs that make earlier advice invalid. */
const LOG_INPUTS = '.memory, .part, [aria-labelledby="key-heading"]';

export interface AdviceHost {
  /** Reads the form. Throws InvalidInput. */
  source(): Promise<LogSource & { memoryBits: number }>;
  /** Replaces the filters of the comparison. */
  useFilters(filters: string[]): void;
  showError(message: string): void;
}

export class AdviceView {
  readonly #host: AdviceHost;
  readonly #requirements = new RequirementsInput();
  readonly #button = create('button', { type: 'button', id: 'advice-get' }, 'Get advice');
  readonly #progress = create('progress', { max: '1', 'aria-label': 'Share of the log read' });
  readonly #status = create('p', { class: 'hint', role: 'status' });
  readonly #answer = create('div', { id: 'advice-answer', class: 'advice-answer' });
  #pending: PendingAdvice | undefined;
  #lastRequest = 0;

  constructor(host: AdviceHost) {
    this.#host = host;
    this.#progress.hidden = true;
    this.#answer.hidden = true;
    this.#button.addEventListener('click', () => {
      if (this.#pending === undefined) {
        void this.#start();
      } else {
        this.#end('Cancelled.');
      }
    });
    find('setup', HTMLFormElement).addEventListener('change', ({ target }) => {
      if (target instanceof Element && target.closest(LOG_INPUTS) !== null) {
        this.clear();
      }
    });
    const details = create('details', {}, create('summary', {}, 'Set limits'));
    details.append(this.#requirements.element);
    find('advice', HTMLElement).append(
      create(
        'p',
        { class: 'hint' },
        'Tries dozens of settings on your log in this memory and recommends one.',
      ),
      details,
      create('p', { class: 'button-row' }, this.#button, this.#progress),
      this.#status,
      this.#answer,
    );
  }

  requirements(): ErrorRequirements {
    return this.#requirements.requirements();
  }

  restore(requirements: ErrorRequirements): void {
    this.#requirements.restore(requirements);
  }

  /** Removes advice that is about another log or other settings. */
  clear(): void {
    this.#end('');
    this.#answer.hidden = true;
  }

  async #start(): Promise<void> {
    this.clear();
    const id = this.#lastRequest;
    try {
      const requirements = this.#requirements.requirements();
      const { memoryBits, ...source } = await this.#host.source();
      this.#host.showError('');
      if (id === this.#lastRequest) {
        this.#request({ ...source, requirements: { ...requirements, memoryBits } });
      }
    } catch (error) {
      if (!(error instanceof InvalidInput)) {
        throw error;
      }
      this.#host.showError(error.message);
    }
  }

  #request(request: AdviceRequest): void {
    this.#button.textContent = 'Cancel';
    this.#progress.hidden = false;
    this.#progress.removeAttribute('value');
    this.#status.textContent = `Reading ${request.name}.`;
    this.#pending = new PendingAdvice(request, {
      progress: (share) => {
        if (share < 1) {
          this.#progress.value = share;
        } else {
          this.#progress.removeAttribute('value');
          this.#status.textContent = 'Trying filters.';
        }
      },
      advised: (advice) => {
        this.#end('');
        void this.#show(advice, request);
      },
      failed: (message) => {
        this.#end('');
        this.#host.showError(message);
      },
    });
  }

  #end(status: string): void {
    this.#lastRequest += 1;
    this.#pending?.cancel();
    this.#pending = undefined;
    this.#button.textContent = 'Get advice';
    this.#progress.hidden = true;
    this.#status.textContent = status;
  }

  async #show(advice: Advice, request: AdviceRequest): Promise<void> {
    const id = this.#lastRequest;
    // A first visit does not need it.
    const { adviceText, capitalized } = await import('./answer.js');
    if (id !== this.#lastRequest) {
      return;
    }
    const [recommended] = advice.estimates;
    if (recommended === undefined) {
      return;
    }
    const shown: [Estimate, ...Estimate[]] = [
      recommended,
      ...advice.estimates.slice(1, 1 + RUNNERS_UP),
    ];
    const use = create('button', { type: 'button', id: 'advice-use' }, 'Use these filters');
    use.addEventListener('click', () => {
      this.#host.useFilters(shown.map(({ filter }) => filter));
      this.#status.textContent = 'The filters were replaced by these and run.';
    });
    this.#answer.replaceChildren(
      ...adviceText(advice, shown, request),
      create('p', { class: 'button-row' }, use),
    );
    if (advice.papers !== null) {
      this.#answer.append(create('p', { class: 'hint' }, capitalized(`${advice.papers}.`)));
    }
    this.#answer.dataset['keepsBounds'] = String(advice.keepsBounds);
    this.#answer.hidden = false;
    this.#status.textContent = `Advice: use ${recommended.filter}.`;
  }
}
