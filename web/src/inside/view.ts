// Look inside: a small filter over the same log, cell by cell, line by line.

import { find, make } from '../element.js';
import { formatBytes, formatCount, formatShare } from '../number-format.js';
import type { Pace, RunOrder } from '../protocol.js';
import { CellTable } from './cell-table.js';
import type { ArrivedKey, CellLook, InsideState } from './data.js';
import { CellGrid } from './grid.js';
import { KeyList } from './key-list.js';
import { MistakeTable } from './mistake-table.js';
import markup from './markup.html?raw';
import { ago, PickedKey } from './picked-key.js';
import { Session } from './session.js';

/** Small, so that every cell can be seen. */
const MEMORY_BYTES = [64, 128, 256, 512, 1024];
const INITIAL_BYTES = 256;
const VIEW_MILLISECONDS = 60;
/** For those who want less to move. */
const CALM_VIEW_MILLISECONDS = 1000;
// Here, not in the page's own markup, which has enough of its own.
find('inside', HTMLElement).innerHTML = markup;

const POINT_HINT =
  'Point at a cell to read it, or go there with the arrow keys; choose a key to see the cells that decide about it.';

export class LookInside {
  readonly #section = find('inside', HTMLElement);
  readonly #glass = find('inside-glass', HTMLElement);
  readonly #filter = find('inside-filter', HTMLSelectElement);
  readonly #memory = find('inside-memory', HTMLSelectElement);
  readonly #speed = find('inside-speed', HTMLSelectElement);
  readonly #play = find('inside-play', HTMLButtonElement);
  readonly #counted = find('inside-counted', HTMLElement);
  readonly #status = find('inside-status', HTMLElement);
  readonly #said = find('inside-said', HTMLElement);
  readonly #grid = new CellGrid((index) => this.#point(index));
  readonly #cells = new CellTable();
  readonly #recent = new KeyList((arrived) => this.#pick(arrived));
  readonly #dropped = new MistakeTable('inside-dropped', 'New keys dropped', (arrived) =>
    this.#pick(arrived),
  );
  readonly #missed = new MistakeTable('inside-missed', 'Repeats missed', (arrived) =>
    this.#pick(arrived),
  );
  readonly #pickedKey = new PickedKey();
  #order: RunOrder | undefined;
  #session: Session | undefined;
  #state: InsideState | undefined;
  #picked: ArrivedKey | null = null;
  #isPlaying = false;

  constructor() {
    for (const bytes of MEMORY_BYTES) {
      this.#memory.append(make('option', { value: String(bytes) }, formatBytes(bytes)));
    }
    this.#memory.value = String(INITIAL_BYTES);
    this.#play.addEventListener('click', () => this.#playOrPause());
    find('inside-step', HTMLButtonElement).addEventListener('click', () => this.#step());
    find('inside-over', HTMLButtonElement).addEventListener('click', () => this.#open());
    this.#speed.addEventListener('change', () => this.#session?.setPace(this.#pace()));
    for (const choice of [this.#filter, this.#memory]) {
      choice.addEventListener('change', () => this.#open());
    }
    find('inside-unpick', HTMLButtonElement).addEventListener('click', () => this.#pick(null));
  }

  /** A run has begun: its log and filters can be looked into. */
  offer(order: RunOrder): void {
    this.clear();
    this.#order = order;
    const filters = new Set(order.entries.map(({ filter }) => filter));
    this.#filter.replaceChildren(
      ...[...filters].map((filter) => make('option', { value: filter }, filter)),
    );
    this.#status.textContent = '';
    this.#section.hidden = false;
  }

  clear(): void {
    this.#end();
    this.#order = undefined;
    this.#section.hidden = true;
    this.#glass.hidden = true;
  }

  #end(): void {
    this.#session?.end();
    this.#session = undefined;
    this.#state = undefined;
    this.#picked = null;
    this.#setPlaying(false);
  }

  /** An empty filter, before the first line. */
  #open(): void {
    const order = this.#order;
    this.#end();
    if (order === undefined) {
      return;
    }
    const { log, name, key, part, seed } = order;
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.#session = new Session(
      {
        log,
        name,
        key,
        part,
        seed,
        filter: this.#filter.value,
        memoryBits: Number(this.#memory.value) * 8,
        pace: { kind: 'paused' },
        viewMilliseconds: isCalm ? CALM_VIEW_MILLISECONDS : VIEW_MILLISECONDS,
      },
      {
        shown: (state) => this.#show(state),
        pointed: (cell) => this.#say(cell),
        failed: (message) => this.#fail(message),
      },
    );
  }

  #playOrPause(): void {
    if (this.#session === undefined || this.#state?.isOver === true) {
      this.#open();
    }
    this.#setPlaying(!this.#isPlaying);
    this.#session?.setPace(this.#pace());
  }

  #step(): void {
    if (this.#session === undefined || this.#state?.isOver === true) {
      this.#open();
    }
    this.#setPlaying(false);
    this.#session?.step(1);
  }

  #pace(): Pace {
    if (!this.#isPlaying) {
      return { kind: 'paused' };
    }
    const linesASecond = Number(this.#speed.value);
    return linesASecond > 0 ? { kind: 'limited', linesASecond } : { kind: 'full' };
  }

  #setPlaying(isPlaying: boolean): void {
    this.#isPlaying = isPlaying;
    this.#play.textContent = isPlaying ? 'Pause' : 'Play';
  }

  #pick(arrived: ArrivedKey | null): void {
    const isSame = arrived?.id === this.#picked?.id;
    this.#picked = isSame ? null : arrived;
    this.#session?.pick(this.#picked?.id ?? null);
  }

  #point(index: number | null): void {
    if (index === null) {
      this.#say(null);
    } else {
      this.#session?.point(index);
    }
  }

  #say(cell: CellLook | null): void {
    const state = this.#state;
    if (cell === null || state === undefined) {
      this.#said.textContent = POINT_HINT;
      return;
    }
    const { position, anatomy } = state;
    const name = `${anatomy.cell} ${formatCount(cell.index)}`;
    const since = cell.changedAt === 0 ? '' : `, since ${ago(position - cell.changedAt)}`;
    const left = cell.left === null ? '' : `; left by ${cell.left.key}`;
    this.#said.textContent = `${name} holds ${cell.value}${since}${left}`;
  }

  #fail(message: string): void {
    this.#end();
    this.#glass.hidden = true;
    this.#status.textContent = message;
  }

  #show(state: InsideState): void {
    const isFirst = this.#state === undefined;
    this.#state = state;
    this.#glass.hidden = false;
    const pickedId = this.#picked?.id ?? null;
    this.#grid.show(state);
    this.#cells.show(state);
    this.#recent.show(state.recent, pickedId);
    this.#dropped.show(state.dropped, pickedId);
    this.#missed.show(state.missed, pickedId);
    this.#pickedKey.show(state, this.#picked);
    const counted = inWords(state);
    this.#counted.textContent = counted;
    // Said aloud only where it stays for a while.
    if (state.isPaused || state.isOver) {
      this.#status.textContent = state.isOver ? 'That was the whole log.' : '';
    }
    if (state.isOver) {
      this.#setPlaying(false);
    }
    if (isFirst) {
      this.#say(null);
    }
  }
}

function inWords({ position, distinct, load, anatomy, values }: InsideState): string {
  const [lines, keys, cells] = [position, distinct, values.length].map(formatCount);
  return `Line ${lines}, ${keys} different keys. Of ${cells} ${anatomy.cell}s, ${formatShare(load)} are in use.`;
}
