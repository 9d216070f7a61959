// How fast a run goes: at full speed, at so many lines a second, step by step, or not.

import type { Pace } from '../protocol.js';

/** How much the engine takes at a time, so that progress shows with slow filters too. */
const FULL_TAKE_LINES = 4 << 10;
/** The same where every line is looked at. */
const FULL_FEED_LINES = 500;
/** Pieces that the lines of a second come in. */
const FEEDS_A_SECOND = 30;

export class Pacer {
  #pace: Pace;
  /** Where a step ends, in lines. */
  #stepEnd: number | undefined;
  #since = performance.now();
  #sinceCount = 0;
  #count = 0;
  #wake: (() => void) | undefined;

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  get isPaused(): boolean {
    return this.#pace.kind === 'paused' && this.#stepEnd === undefined;
  }

  setPace(pace: Pace): void {
    this.#pace = pace;
    this.#stepEnd = undefined;
    this.#since = performance.now();
    this.#sinceCount = this.#count;
    this.#wake?.();
  }

  step(lines: number): void {
    this.#pace = { kind: 'paused' };
    this.#stepEnd = this.#count + lines;
    this.#wake?.();
  }

  get isFull(): boolean {
    return this.#pace.kind === 'full';
  }

  /** How many lines to take before there may be a wait; up to the end of a step. */
  takeLines(): number {
    const ahead = this.isFull ? FULL_TAKE_LINES : this.feedLines();
    return this.#stepEnd === undefined ? ahead : Math.max(1, this.#stepEnd - this.#count);
  }

  /** How many lines to go on for before there may be a wait. */
  feedLines(): number {
    switch (this.#pace.kind) {
      case 'full':
        return FULL_FEED_LINES;
      case 'limited':
        return Math.ceil(this.#pace.linesASecond / FEEDS_A_SECOND);
      case 'paused':
        return 1;
    }
  }

  /** Says how many lines have been run over; true once a step has come to its end. */
  reached(count: number): boolean {
    this.#count = count;
    if (this.#stepEnd !== undefined && count >= this.#stepEnd) {
      this.#stepEnd = undefined;
      return true;
    }
    return false;
  }

  /** Whether the run must wait before it goes on. */
  mustWait(): boolean {
    return this.isPaused || this.#aheadMilliseconds() > 0;
  }

  /** Waits until it may go on, or until there is a new pace. */
  async wait(): Promise<void> {
    const ahead = this.isPaused ? undefined : this.#aheadMilliseconds();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (ahead !== undefined) {
        setTimeout(resolve, ahead);
      }
    });
    this.#wake = undefined;
  }

  #aheadMilliseconds(): number {
    if (this.#pace.kind !== 'limited') {
      return 0;
    }
    const due = this.#since + ((this.#count - this.#sinceCount) / this.#pace.linesASecond) * 1000;
    return due - performance.now();
  }
}
