// The memory that each filter of a run would need for few errors. It depends on the log and not on
// the memory of the run, so it is found once, after the answer, in a worker of its own.

import { MemoryFinder } from '../calculator/memory-finder.js';
import type { RunRequest } from '../engine/run-protocol.js';
import type { LogFiles } from '../engine/settings.js';
import { MISSING, formatBytes, formatShareTick } from '../ui/number-format.js';

/** The share of lines with a wrong verdict. */
const MAX_ERROR = 0.001;
/** Runs that follow each other faster, as while a slider is dragged, have the processor alone. */
const DELAY_MILLISECONDS = 250;

export const HEADING = `Memory for ${formatShareTick(MAX_ERROR)} wrong`;
const PENDING = { text: '…', note: 'Being computed.', bits: '' };
const UNKNOWN = { text: MISSING, note: 'Not computed for partial results.', bits: '' };

export interface MemoryCell {
  text: string;
  /** What it means, or why it is missing. */
  note: string;
  /** The exact number; '' if there is none. */
  bits: string;
}

export class EnoughMemory {
  readonly #finder = new MemoryFinder();
  readonly #found = new Map<string, MemoryCell>();
  readonly #changed: () => void;
  #request: RunRequest | undefined;
  #log: LogFiles | undefined;
  #settings = '';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isPending = false;

  /** `changed` is called when a cell has changed. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  cell(filter: string): MemoryCell {
    return this.#found.get(filter) ?? (this.#isPending ? PENDING : UNKNOWN);
  }

  /** A run has begun: the search waits for its end. */
  begin(request: RunRequest): void {
    this.stop();
    this.#isPending = true;
    const { log, key, part, seed } = request;
    const settings = JSON.stringify([key, part, seed]);
    if (log !== this.#log || settings !== this.#settings) {
      this.#found.clear();
      this.#log = log;
      this.#settings = settings;
    }
    this.#request = request;
  }

  /** The run has ended with results. */
  finish(): void {
    this.#timer = setTimeout(() => this.#search(), DELAY_MILLISECONDS);
  }

  /** The run has ended without results for all of its part. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#finder.stop();
    this.#isPending = false;
  }

  #search(): void {
    if (this.#request === undefined) {
      return;
    }
    const { log, name, key, part, seed, filters } = this.#request;
    const missing = filters.map(({ filter }) => filter).filter((it) => !this.#found.has(it));
    if (missing.length === 0) {
      return;
    }
    const end = () => {
      this.stop();
      this.#changed();
    };
    this.#finder.search({ log, name, key, part, seed }, { filters: missing, maxError: MAX_ERROR }, {
      reading: () => undefined,
      found: ({ filter, memory, oneKeyIn }) => {
        this.#found.set(filter, memoryCell(memory?.memoryBits ?? null, oneKeyIn));
        this.#changed();
      },
      // The worker's memory is returned.
      finished: end,
      failed: end,
    });
  }
}

function memoryCell(bits: number | null, oneKeyIn: number): MemoryCell {
  if (bits === null) {
    return { text: 'not possible', note: 'No memory is enough: this filter always forgets.', bits: '' };
  }
  const about = oneKeyIn > 1 ? 'about ' : '';
  const note = `The least memory with which at most ${formatShareTick(MAX_ERROR)} of the lines get a wrong verdict.`;
  return { text: about + formatBytes(bits / 8), note, bits: String(bits) };
}
