// "Look inside": one small filter on the same log, cell by cell and line by line.

import type { RunRequest } from '../engine/run-protocol.js';
import type { Pace } from '../engine/settings.js';
import { create, find } from '../ui/element.js';
import { formatBytes, formatCount, formatCounted, formatShare } from '../ui/number-format.js';
import type { CellDetails, ObservedKey } from '../wasm/dedupstore_wasm.js';
import { CellGrid } from './cell-grid.js';
import { CellTable } from './cell-table.js';
import { KeyList } from './key-list.js';
import markup from './markup.html?raw';
import { MistakeTable } from './mistake-table.js';
import type { InsideState } from './protocol.js';
import { SelectedKey } from './selected-key.js';
import { Session } from './session.js';

/** Small, so that every cell is visible. */
const MEMORY_BYTES = [64, 128, 256, 512, 1024];
const INITIAL_BYTES = 256;
const STATE_MILLISECONDS = 60;
/** For users who prefer reduced motion. */
const CALM_STATE_MILLISECONDS = 1000;

// Kept apart from the page's own markup, which is long.
find('inside', HTMLElement).innerHTML = markup;

const HINT =
  'Point at a cell to read it, or use the arrow keys. Select a key to see the cells that the filter checks for it.';

export class InsideView {
  readonly #section = find('inside', HTMLElement);
  readonly #content = find('inside-content', HTMLElement);
  readonly #filter = find('inside-filter', HTMLSelectElement);
  readonly #memory = find('inside-memory', HTMLSelectElement);
  readonly #speed = find('inside-speed', HTMLSelectElement);
  readonly #play = find('inside-play', HTMLButtonElement);
  readonly #summary = find('inside-summary', HTMLElement);
  readonly #status = find('inside-status', HTMLElement);
  readonly #cellText = find('inside-cell-text', HTMLElement);
  readonly #grid = new CellGrid((index) => this.#pointAt(index));
  readonly #cellTable = new CellTable();
  readonly #recent = new KeyList((observed) => this.#select(observed));
  readonly #falsePositives = new MistakeTable('inside-fp', 'New keys skipped', (observed) =>
    this.#select(observed),
  );
  readonly #falseNegatives = new MistakeTable('inside-fn', 'Repeats let through', (observed) =>
    this.#select(observed),
  );
  readonly #selectedKey = new SelectedKey();
  #request: RunRequest | undefined;
  #session: Session | undefined;
  #state: InsideState | undefined;
  /** The latest state, until the next frame shows it. */
  #nextState: InsideState | undefined;
  #selected: ObservedKey | null = null;
  #isPlaying = false;

  constructor() {
    for (const bytes of MEMORY_BYTES) {
      this.#memory.append(create('option', { value: String(bytes) }, formatBytes(bytes)));
    }
    this.#memory.value = String(INITIAL_BYTES);
    this.#play.addEventListener('click', () => this.#playOrPause());
    find('inside-step', HTMLButtonElement).addEventListener('click', () => this.#step());
    find('inside-restart', HTMLButtonElement).addEventListener('click', () => this.#open());
    this.#speed.addEventListener('change', () => this.#session?.setPace(this.#pace()));
    for (const choice of [this.#filter, this.#memory]) {
      choice.addEventListener('change', () => this.#open());
    }
    find('inside-deselect', HTMLButtonElement).addEventListener('click', () => this.#select(null));
  }

  /** Offers the log and the filters of a run. The filter that is shown goes on if it can. */
  offer(request: RunRequest): void {
    const chosen = this.#filter.value;
    const hasSameLines = this.#request !== undefined && linesOf(this.#request) === linesOf(request);
    const isSameLog = this.#request?.log === request.log;
    this.#request = request;
    const filters = new Set(request.filters.map(({ filter }) => filter));
    this.#filter.replaceChildren(
      ...[...filters].map((filter) => create('option', { value: filter }, filter)),
    );
    this.#section.hidden = false;
    if (filters.has(chosen)) {
      this.#filter.value = chosen;
    }
    if (!filters.has(chosen) || !hasSameLines || !isSameLog) {
      this.#end();
      this.#content.hidden = true;
      this.#status.textContent = '';
    }
  }

  #end(): void {
    this.#session?.end();
    this.#session = undefined;
    this.#state = undefined;
    this.#nextState = undefined;
    this.#selected = null;
    this.#setPlaying(false);
  }

  /** Opens an empty filter, paused before the first line. */
  #open(): void {
    const request = this.#request;
    this.#end();
    if (request === undefined) {
      return;
    }
    const { log, name, key, part, seed } = request;
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
        stateMilliseconds: isCalm ? CALM_STATE_MILLISECONDS : STATE_MILLISECONDS,
      },
      {
        stateChanged: (state) => this.#showSoon(state),
        cellDescribed: (cell) => this.#describe(cell),
        failed: (message) => this.#fail(message),
      },
    );
  }

  #openUnlessInProgress(): void {
    if (this.#session === undefined || this.#state?.isFinished === true) {
      this.#open();
    }
  }

  #playOrPause(): void {
    this.#openUnlessInProgress();
    this.#setPlaying(!this.#isPlaying);
    this.#session?.setPace(this.#pace());
  }

  #step(): void {
    this.#openUnlessInProgress();
    this.#setPlaying(false);
    this.#session?.step(1);
  }

  #pace(): Pace {
    if (!this.#isPlaying) {
      return { kind: 'paused' };
    }
    const linesPerSecond = Number(this.#speed.value);
    return linesPerSecond > 0 ? { kind: 'limited', linesPerSecond } : { kind: 'full' };
  }

  #setPlaying(isPlaying: boolean): void {
    this.#isPlaying = isPlaying;
    this.#play.textContent = isPlaying ? 'Pause' : 'Play';
  }

  /** Selects a key; the selected key or null deselects. */
  #select(observed: ObservedKey | null): void {
    const isSame = observed?.id === this.#selected?.id;
    this.#selected = isSame ? null : observed;
    this.#session?.selectKey(this.#selected?.id ?? null);
  }

  #pointAt(index: number | null): void {
    if (index === null) {
      this.#describe(null);
    } else {
      this.#session?.describeCell(index);
    }
  }

  #describe(cell: CellDetails | null): void {
    const state = this.#state;
    if (cell === null || state === undefined) {
      this.#cellText.textContent = HINT;
      return;
    }
    const { position, cells } = state;
    const name = `${cells.name} ${formatCount(cell.index)}`;
    const changed = cell.changedAt === 0 ? '' : `, changed ${ago(position - cell.changedAt)}`;
    const writtenBy = cell.writtenBy === null ? '' : `; written by ${cell.writtenBy}`;
    this.#cellText.textContent = `${name} holds ${cell.value}${changed}${writtenBy}`;
  }

  #fail(message: string): void {
    this.#end();
    this.#content.hidden = true;
    this.#status.textContent = message;
  }

  /**
   * Shows the latest state in the next frame. Without this, states that arrive faster than
   * they can be drawn would delay clicks.
   */
  #showSoon(state: InsideState): void {
    if (this.#nextState === undefined) {
      requestAnimationFrame(() => {
        const latest = this.#nextState;
        this.#nextState = undefined;
        if (latest !== undefined) {
          this.#show(latest);
        }
      });
    }
    this.#nextState = state;
  }

  #show(state: InsideState): void {
    const isFirst = this.#state === undefined;
    this.#state = state;
    this.#content.hidden = false;
    const selectedId = this.#selected?.id ?? null;
    this.#grid.show(state);
    this.#cellTable.show(state);
    this.#recent.show(state.recent, selectedId);
    this.#falsePositives.show(state.falsePositives, selectedId);
    this.#falseNegatives.show(state.falseNegatives, selectedId);
    this.#selectedKey.show(state, this.#selected);
    this.#summary.textContent = summary(state);
    // Screen readers speak the status, so it changes only when the filter stands still.
    if (state.isPaused || state.isFinished) {
      this.#status.textContent = state.isFinished ? 'End of the log.' : '';
    }
    if (state.isFinished) {
      this.#setPlaying(false);
    }
    if (isFirst) {
      this.#describe(null);
    }
  }
}

/** A text that differs if a filter observes other keys. */
function linesOf({ key, part, seed }: RunRequest): string {
  return JSON.stringify([key, part, seed]);
}

function summary({ position, distinct, load, cells, values }: InsideState): string {
  const keys = formatCounted(distinct, 'distinct key');
  const count = formatCounted(values.length, cells.name);
  return `Line ${formatCount(position)}, ${keys}. ${formatShare(load)} of ${count} in use.`;
}

function ago(lines: number): string {
  return lines === 0 ? 'just now' : `${formatCounted(lines, 'line')} ago`;
}
