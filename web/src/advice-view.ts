// Advice: filters tried over the log in the memory that is set, and the best of them said.

import { AdviceRun } from './advice-run.js';
import { find, make, specText } from './element.js';
import { InvalidInput } from './invalid-input.js';
import { formatBytes, formatCount, formatDigits, formatShare } from './number-format.js';
import { partName } from './part-input.js';
import type { AdviceData, AdviceOrder, EstimateRow } from './protocol.js';
import { type Bearable, WishInput } from './wish-input.js';

/** As many runners-up as the command line shows. */
const RUNNERS_UP = 5;

const ABOUT_THE_LOG = '.memory, .part, [aria-labelledby="key-heading"]';

export interface AdviceHost {
  /** What to read and how, as the form has it; throws what is wrong with it. */
  order(): Promise<Omit<AdviceOrder, 'wish'> & { memoryBits: number }>;
  /** Puts filters in the race. */
  use(filters: string[]): void;
  complain(message: string): void;
}

export class AdviceView {
  readonly #host: AdviceHost;
  readonly #wish = new WishInput();
  readonly #ask = make('button', { type: 'button', id: 'advice-ask' }, 'Ask for advice');
  readonly #bar = make('progress', { max: '1', 'aria-label': 'Share of the log read' });
  readonly #said = make('p', { class: 'hint', role: 'status' });
  readonly #answer = make('div', { id: 'advice-answer', class: 'advice-answer' });
  #run: AdviceRun | undefined;
  #asked = 0;

  constructor(host: AdviceHost) {
    this.#host = host;
    this.#bar.hidden = true;
    this.#answer.hidden = true;
    this.#ask.addEventListener('click', () => {
      if (this.#run === undefined) {
        void this.#start();
      } else {
        this.#end('Cancelled.');
      }
    });
    // What was said was said of another memory, key or part of the log.
    find('setup', HTMLFormElement).addEventListener('change', ({ target }) => {
      if (target instanceof Element && target.closest(ABOUT_THE_LOG) !== null) {
        this.clear();
      }
    });
    const details = make('details', {}, make('summary', {}, 'What can you bear?'));
    details.append(this.#wish.element);
    find('advice', HTMLElement).append(
      make(
        'p',
        { class: 'hint' },
        'Tries dozens of settings over your log in this memory, and says which to take.',
      ),
      details,
      make('p', { class: 'take-row' }, this.#ask, this.#bar),
      this.#said,
      this.#answer,
    );
  }

  wish(): Bearable {
    return this.#wish.wish();
  }

  restore(wish: Bearable): void {
    this.#wish.restore(wish);
  }

  /** Another log: what was said is not about it. */
  clear(): void {
    this.#end('');
    this.#answer.hidden = true;
  }

  async #start(): Promise<void> {
    this.clear();
    const mine = this.#asked;
    try {
      const wish = this.#wish.wish();
      const { memoryBits, ...order } = await this.#host.order();
      this.#host.complain('');
      if (mine === this.#asked) {
        this.#consult({ ...order, wish: { ...wish, memoryBits } });
      }
    } catch (error) {
      if (!(error instanceof InvalidInput)) {
        throw error;
      }
      this.#host.complain(error.message);
    }
  }

  #consult(order: AdviceOrder): void {
    this.#ask.textContent = 'Cancel';
    this.#bar.hidden = false;
    this.#bar.removeAttribute('value');
    this.#said.textContent = `Reading ${order.name}.`;
    this.#run = new AdviceRun(order, {
      progress: (share) => {
        if (share < 1) {
          this.#bar.value = share;
        } else {
          this.#bar.removeAttribute('value');
          this.#said.textContent = 'Trying filters.';
        }
      },
      advised: (advice) => {
        this.#end('');
        this.#show(advice, order);
      },
      failed: (message) => {
        this.#end('');
        this.#host.complain(message);
      },
    });
  }

  #end(said: string): void {
    this.#asked += 1;
    this.#run?.cancel();
    this.#run = undefined;
    this.#ask.textContent = 'Ask for advice';
    this.#bar.hidden = true;
    this.#said.textContent = said;
  }

  #show(advice: AdviceData, order: AdviceOrder): void {
    const [choice] = advice.estimates;
    if (choice === undefined) {
      return;
    }
    const shown = advice.estimates.slice(0, 1 + RUNNERS_UP);
    const use = make('button', { type: 'button', id: 'advice-use' }, 'Use these filters');
    use.addEventListener('click', () => {
      this.#host.use(shown.map(({ filter }) => filter));
      this.#said.textContent = 'They are in the race: press Run.';
    });
    this.#answer.replaceChildren(
      sentence(advice, choice, order),
      table(shown),
      make('p', { class: 'take-row' }, use),
      ...(advice.papers === null ? [] : [make('p', { class: 'hint' }, capital(`${advice.papers}.`))]),
    );
    this.#answer.dataset['keepsBounds'] = String(advice.keepsBounds);
    this.#answer.hidden = false;
    this.#said.textContent = `Advice: take ${choice.filter}.`;
  }
}

function sentence(advice: AdviceData, choice: EstimateRow, order: AdviceOrder): HTMLElement {
  const memory = formatBytes(order.wish.memoryBits / 8);
  const sample = partName(order.part);
  const tried =
    advice.observations === null
      ? ''
      : `, tried over ${formatCount(advice.observations)} of its lines`;
  const from = sample === '' ? '' : ` This is from a sample of the log: ${sample}.`;
  return make(
    'p',
    { class: 'advice-sentence' },
    'Take ',
    make('strong', {}, specText(choice.filter)),
    ` in ${memory}: ${advice.reason}. On ${order.name}${tried}, it drops `,
    `${formatShare(choice.fpr)} of new keys and lets ${formatShare(choice.fnr)} of repeats through; `,
    `${advice.sureness}.${from}`,
  );
}

function table(estimates: EstimateRow[]): HTMLElement {
  const heads = ['Filter', 'FPR', 'FNR', 'Cost a line'];
  const head = make('tr', {}, ...heads.map((text) => make('th', { scope: 'col' }, text)));
  const rows = estimates.map(({ filter, fpr, fnr, cost }) => {
    const cells = [
      cell('fpr', fpr, formatShare),
      cell('fnr', fnr, formatShare),
      cell('cost', cost, formatDigits),
    ];
    return make('tr', { 'data-filter': filter }, make('th', { scope: 'row' }, specText(filter)), ...cells);
  });
  return make(
    'table',
    { class: 'numbers', id: 'advice-table' },
    make('caption', {}, 'The choice and the runners-up'),
    make('thead', {}, head),
    make('tbody', {}, ...rows),
  );
}

/** What is shown is rounded; `data-value` holds the number itself. */
function cell(column: string, value: number, format: (value: number) => string): HTMLElement {
  return make('td', { 'data-column': column, 'data-value': String(value) }, format(value));
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
