// Pause, step and speed of the run under way.

import { find } from './element.js';
import type { Run } from './engine.js';
import type { Pace } from './protocol.js';

/** Enough lines a step to see a curve move. */
const STEP_LINES = 500;

export class PaceInput {
  readonly #pause = find('pause', HTMLButtonElement);
  readonly #speed = find('speed', HTMLSelectElement);
  #run: Run | undefined;
  #isPaused = false;

  constructor() {
    this.#pause.addEventListener('click', () => {
      this.#setPaused(!this.#isPaused);
      this.#run?.setPace(this.pace());
    });
    this.#speed.addEventListener('change', () => this.#run?.setPace(this.pace()));
    find('step', HTMLButtonElement).addEventListener('click', () => {
      this.#setPaused(true);
      this.#run?.step(STEP_LINES);
    });
  }

  pace(): Pace {
    if (this.#isPaused) {
      return { kind: 'paused' };
    }
    const linesASecond = Number(this.#speed.value);
    return linesASecond > 0 ? { kind: 'limited', linesASecond } : { kind: 'full' };
  }

  /** A new run goes on by itself. */
  begin(): void {
    this.#setPaused(false);
  }

  follow(run: Run | undefined): void {
    this.#run = run;
    run?.setPace(this.pace());
  }

  #setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#pause.textContent = isPaused ? 'Go on' : 'Pause';
  }
}
