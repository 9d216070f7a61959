// A very small Bloom filter at work, beside the page's title. It begins slowly, key by key, and goes
// on faster. When the bits of a new key are set already, it stops and says why the key would be
// skipped.

import type { RunRequest } from '../engine/run-protocol.js';
import { find } from '../ui/element.js';
import { formatBytes, formatCount, formatCounted } from '../ui/number-format.js';
import type { ObservedKey } from '../wasm/dedupstore_wasm.js';
import { CellGrid } from './cell-grid.js';
import { keyText } from './key-text.js';
import type { InsideState } from './protocol.js';
import { Session } from './session.js';

const FILTER = 'bloom:k=4,layout=shared';
/** So few that the first mistakes come within seconds. */
const BYTES = 24;
const COLUMNS = 32;
/** How long each key stays: the first ones can be read. */
const SLOW = [
  { lines: 3, milliseconds: 850 },
  { lines: 7, milliseconds: 350 },
];
const FAST_MILLISECONDS = 38;
const MISTAKE_MILLISECONDS = 3500;
/** The filter is full by then. */
const LAST_LINE = 600;
const LAST_MISTAKE = 5;
const FILLING = 'The more keys have set their bits, the more often a new key finds all of its bits set.';

export class Hero {
  readonly #section = find('hero', HTMLElement);
  readonly #key = find('hero-key', HTMLElement);
  readonly #verdict = find('hero-verdict', HTMLElement);
  readonly #reason = find('hero-reason', HTMLElement);
  readonly #count = find('hero-count', HTMLElement);
  readonly #button = find('hero-play', HTMLButtonElement);
  readonly #grid = new CellGrid(find('hero-cells', HTMLCanvasElement), { columns: COLUMNS });
  #request: RunRequest | undefined;
  #session: Session | undefined;
  #isPlaying = false;
  /** Nothing is shown until the first mistake. */
  #isStill = false;
  #position = 0;
  #mistakes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.#button.addEventListener('click', () => this.#playOrPause());
    // Not a link: the address holds the settings.
    find('hero-inside', HTMLButtonElement).addEventListener('click', () => {
      find('inside', HTMLElement).scrollIntoView();
      const play = find('inside-play', HTMLButtonElement);
      play.focus({ preventScroll: true });
      if (play.textContent === 'Play') {
        play.click();
      }
    });
  }

  /** Shows the first lines of a run. The same log goes on. */
  show(request: RunRequest): void {
    if (this.#request?.log === request.log && isSameKey(this.#request, request)) {
      return;
    }
    this.#request = request;
    this.#open(matchMedia('(prefers-reduced-motion: reduce)').matches);
  }

  #open(isStill: boolean): void {
    const request = this.#request;
    this.#end();
    if (request === undefined) {
      return;
    }
    const { log, name, key, part, seed } = request;
    this.#position = 0;
    this.#mistakes = 0;
    this.#isStill = isStill;
    this.#setPlaying(!isStill);
    const source = { log, name, key, part, seed, filter: FILTER, memoryBits: BYTES * 8 };
    this.#session = new Session(
      { ...source, pace: { kind: 'paused' }, stateMilliseconds: 0 },
      {
        stateChanged: (state) => this.#receive(state),
        cellDescribed: () => undefined,
        // The run of the same log reports the error.
        failed: () => this.#end(),
      },
    );
    this.#session.step(1);
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#session?.end();
    this.#session = undefined;
    this.#isStill = false;
    this.#setPlaying(false);
  }

  #playOrPause(): void {
    if (this.#session === undefined) {
      this.#open(false);
      return;
    }
    clearTimeout(this.#timer);
    this.#setPlaying(!this.#isPlaying);
    if (this.#isPlaying) {
      this.#session.step(1);
    }
  }

  #setPlaying(isPlaying: boolean): void {
    this.#isPlaying = isPlaying;
    this.#button.textContent = isPlaying ? 'Pause' : 'Play';
    this.#button.setAttribute('aria-label', `${this.#button.textContent} the small filter`);
  }

  #receive(state: InsideState): void {
    const { recent, falsePositives, position, selected, isFinished } = state;
    const [latest] = recent;
    if (latest === undefined || selected === null || position !== this.#position) {
      // A step has ended: the same state follows with the bits of its key.
      if (latest !== undefined && position !== this.#position) {
        this.#position = position;
        if (this.#isStill && falsePositives.count === 0 && position < LAST_LINE) {
          this.#session?.step(1);
        } else {
          this.#session?.selectKey(latest.id);
        }
      }
      if (isFinished) {
        this.#end();
      }
      return;
    }
    const isMistake = falsePositives.count > this.#mistakes;
    this.#mistakes = falsePositives.count;
    this.#show(state, latest, isMistake);
    const isLast = position >= LAST_LINE || this.#mistakes >= LAST_MISTAKE;
    if (isLast || this.#isStill) {
      this.#showEnd(state, isLast);
    } else if (this.#isPlaying) {
      this.#timer = setTimeout(() => this.#session?.step(1), stayOf(position, isMistake));
    }
  }

  #show(state: InsideState, latest: ObservedKey, isMistake: boolean): void {
    const { falsePositives, distinct, position } = state;
    this.#section.hidden = false;
    this.#section.classList.toggle('mistake', isMistake);
    this.#grid.show(state);
    this.#key.replaceChildren(keyText(latest.key, true));
    this.#verdict.textContent = verdict(latest);
    const isFast = stayOf(position, isMistake) === FAST_MILLISECONDS && this.#isPlaying;
    this.#reason.textContent = isFast ? FILLING : reason(latest);
    const skipped = `${formatCount(falsePositives.count)} of ${formatCounted(distinct, 'new key')} skipped`;
    this.#count.textContent = `${formatCounted(position, 'line')}: ${skipped}`;
  }

  /** Nothing moves any more. */
  #showEnd({ distinct }: InsideState, isLast: boolean): void {
    this.#end();
    if (isLast) {
      const keys = formatCounted(distinct, 'key');
      this.#reason.textContent = `${keys} in ${formatBytes(BYTES)}: most bits are set. With more memory, it is wrong less often.`;
    }
  }
}

function stayOf(position: number, isMistake: boolean): number {
  return isMistake
    ? MISTAKE_MILLISECONDS
    : (SLOW.find(({ lines }) => position <= lines)?.milliseconds ?? FAST_MILLISECONDS);
}

function verdict({ verdict, isCorrect }: ObservedKey): string {
  return isCorrect ? (verdict === 'seen' ? 'seen before' : 'new') : 'new, but skipped';
}

function reason({ verdict, isCorrect }: ObservedKey): string {
  if (!isCorrect) {
    return 'Wrong: this key is new, but other keys had set all of its bits. A crawler would never fetch it.';
  }
  return verdict === 'seen'
    ? 'All of its bits are set, so the filter takes it for a repeat: right.'
    : 'Some of its bits were not set, so it is new for certain. Now they are set.';
}

function isSameKey(one: RunRequest, other: RunRequest): boolean {
  return JSON.stringify([one.key, one.part]) === JSON.stringify([other.key, other.part]);
}
