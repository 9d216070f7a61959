// The pace of a run: full speed, limited, step by step, or paused.

import type { Pace } from '../engine/settings.js';

/** Lines that filters observe between two checks. */
const FULL_BATCH_LINES = 4 << 10;
/** The same for a filter that is recorded line by line. */
const FULL_RECORDED_LINES = 500;
/** At a limited pace, the lines of a second come in this many parts. */
const PARTS_PER_SECOND = 30;

export class Pacer {
  #pace: Pace;
  /** The position at which a step ends. */
  #stepEnd: number | undefined;
  #startedAt = performance.now();
  #startPosition = 0;
  #position = 0;
  #wake: (() => void) | undefined;
  #isCancelled = false;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  get isFull(): boolean {
    return this.#pace.kind === 'full';
  }

  get isPaused(): boolean {
    return this.#pace.kind === 'paused' && this.#stepEnd === undefined;
  }

  /** The run ends at its next check. */
  cancel(): void {
    this.#isCancelled = true;
    this.#wake?.();
  }

  setPace(pace: Pace): void {
    this.#pace = pace;
    this.#stepEnd = undefined;
    this.#startedAt = performance.now();
    this.#startPosition = this.#position;
    this.#wake?.();
  }

  step(lines: number): void {
    this.#pace = { kind: 'paused' };
    this.#stepEnd = this.#position + lines;
    this.#wake?.();
  }

  /** The number of lines to run before the next check; up to the end of a step. */
  batchLines(): number {
    const lines = this.isFull ? FULL_BATCH_LINES : this.recordedLines();
    return this.#stepEnd === undefined ? lines : Math.max(1, this.#stepEnd - this.#position);
  }

  /** The same for a filter that is recorded line by line. */
  recordedLines(): number {
    switch (this.#pace.kind) {
      case 'full':
        return FULL_RECORDED_LINES;
      case 'limited':
        return Math.ceil(this.#pace.linesPerSecond / PARTS_PER_SECOND);
      case 'paused':
        return 1;
    }
  }

  /** Sets the number of lines run so far; returns true if this ends a step. */
  advanceTo(position: number): boolean {
    this.#position = position;
    if (this.#stepEnd !== undefined && position >= this.#stepEnd) {
      this.#stepEnd = undefined;
      return true;
    }
    return false;
  }

  mustWait(): boolean {
    return !this.#isCancelled && (this.isPaused || this.#millisecondsAhead() > 0);
  }

  /** Waits until the run may continue, or until the pace changes. */
  async wait(): Promise<void> {
    const ahead = this.isPaused ? undefined : this.#millisecondsAhead();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (ahead !== undefined) {
        setTimeout(resolve, ahead);
      }
    });
    this.#wake = undefined;
  }

  #millisecondsAhead(): number {
    if (this.#pace.kind !== 'limited') {
      return 0;
    }
    const lines = this.#position - this.#startPosition;
    return this.#startedAt + (lines / this.#pace.linesPerSecond) * 1000 - performance.now();
  }
}
