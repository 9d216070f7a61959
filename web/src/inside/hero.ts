// A very small Bloom filter at work, beside the page's title: new keys set bits, and when the bits
// of a new key are set already, it stops and shows why the key would be skipped.

import type { RunRequest } from '../engine/run-protocol.js';
import type { Pace } from '../engine/settings.js';
import { find } from '../ui/element.js';
import { formatCount, formatCounted } from '../ui/number-format.js';
import type { ObservedKey } from '../wasm/dedupstore_wasm.js';
import { CellGrid } from './cell-grid.js';
import { keyText } from './key-text.js';
import type { InsideState } from './protocol.js';
import { Session } from './session.js';

const FILTER = 'bloom:k=4,layout=shared';
/** So few that the first mistakes come within seconds. */
const BYTES = 64;
const LINES_PER_SECOND = 16;
const STATE_MILLISECONDS = 60;
/** How long a mistake stays in view. */
const MISTAKE_MILLISECONDS = 2600;
/** The filter is full by then. */
const LAST_LINE = 700;
/** For users who prefer reduced motion: a still picture after this many lines. */
const STILL_LINES = 60;
const CELLS_HEIGHT = 84;

export class Hero {
  readonly #section = find('hero', HTMLElement);
  readonly #key = find('hero-key', HTMLElement);
  readonly #verdict = find('hero-verdict', HTMLElement);
  readonly #count = find('hero-count', HTMLElement);
  readonly #button = find('hero-play', HTMLButtonElement);
  readonly #grid = new CellGrid(find('hero-cells', HTMLCanvasElement), { height: CELLS_HEIGHT });
  #request: RunRequest | undefined;
  #session: Session | undefined;
  #isPlaying = false;
  #mistakes = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.#button.addEventListener('click', () => this.#playOrPause());
    // Not a link: the address holds the settings.
    find('hero-inside', HTMLButtonElement).addEventListener('click', () => {
      find('inside', HTMLElement).scrollIntoView();
      find('inside-play', HTMLButtonElement).focus({ preventScroll: true });
    });
  }

  /** Shows the first lines of a run. The same log goes on. */
  show(request: RunRequest): void {
    if (this.#request?.log === request.log && isSameKey(this.#request, request)) {
      return;
    }
    this.#request = request;
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.#open(!isStill);
    if (isStill) {
      this.#session?.step(STILL_LINES);
    }
  }

  #open(isPlaying: boolean): void {
    const request = this.#request;
    this.#end();
    if (request === undefined) {
      return;
    }
    const { log, name, key, part, seed } = request;
    this.#mistakes = 0;
    this.#setPlaying(isPlaying);
    const source = { log, name, key, part, seed, filter: FILTER, memoryBits: BYTES * 8 };
    this.#session = new Session(
      { ...source, pace: this.#pace(), stateMilliseconds: STATE_MILLISECONDS },
      {
        stateChanged: (state) => this.#show(state),
        cellDescribed: () => undefined,
        // The run of the same log reports the error.
        failed: () => this.#end(),
      },
    );
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#session?.end();
    this.#session = undefined;
    this.#setPlaying(false);
  }

  #playOrPause(): void {
    if (this.#session === undefined) {
      this.#open(true);
      return;
    }
    clearTimeout(this.#timer);
    this.#session.selectKey(null);
    this.#setPlaying(!this.#isPlaying);
    this.#session.setPace(this.#pace());
  }

  #pace(): Pace {
    return this.#isPlaying ? { kind: 'limited', linesPerSecond: LINES_PER_SECOND } : { kind: 'paused' };
  }

  #setPlaying(isPlaying: boolean): void {
    this.#isPlaying = isPlaying;
    this.#button.textContent = isPlaying ? 'Pause' : 'Play';
    this.#button.setAttribute('aria-label', `${this.#button.textContent} the small filter`);
  }

  #show(state: InsideState): void {
    const { recent, falsePositives, distinct, position, isFinished } = state;
    this.#section.hidden = false;
    this.#grid.show(state);
    const [latest] = recent;
    if (latest !== undefined) {
      this.#key.replaceChildren(keyText(latest.key));
      this.#verdict.textContent = verdict(latest);
      this.#verdict.classList.toggle('wrong', !latest.isCorrect);
    }
    const skipped = `${formatCount(falsePositives.count)} of ${formatCounted(distinct, 'new key')} skipped`;
    this.#count.textContent = `Line ${formatCount(position)}: ${skipped}`;
    if (isFinished || position >= LAST_LINE) {
      this.#end();
    } else if (falsePositives.count > this.#mistakes && this.#isPlaying && latest !== undefined) {
      this.#mistakes = falsePositives.count;
      this.#stopAt(latest);
    }
  }

  /** Stops at a mistake and outlines its bits, then goes on. */
  #stopAt(mistake: ObservedKey): void {
    this.#session?.setPace({ kind: 'paused' });
    this.#session?.selectKey(mistake.id);
    this.#timer = setTimeout(() => {
      this.#session?.selectKey(null);
      this.#session?.setPace(this.#pace());
    }, MISTAKE_MILLISECONDS);
  }
}

function verdict({ verdict, isCorrect }: ObservedKey): string {
  if (isCorrect) {
    return verdict === 'seen' ? 'seen before' : 'new';
  }
  return verdict === 'seen' ? 'new, but taken for seen' : 'seen, but taken for new';
}

function isSameKey(one: RunRequest, other: RunRequest): boolean {
  return JSON.stringify([one.key, one.part]) === JSON.stringify([other.key, other.part]);
}
