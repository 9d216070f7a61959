// Pause, step and speed of the current run.

import type { Run } from '../engine/run.js';
import type { Pace } from '../engine/settings.js';
import { find } from '../ui/element.js';

/** Enough to see a curve move. */
const STEP_LINES = 500;

export class PaceControls {
  readonly #pause = find('pause', HTMLButtonElement);
  readonly #speed = find('speed', HTMLSelectElement);
  #run: Run | undefined;
  #isPaused = false;

  /** `replay` is called if the speed changes while nothing runs. */
  constructor(replay: () => void) {
    this.#pause.addEventListener('click', () => {
      this.#setPaused(!this.#isPaused);
      this.#run?.setPace(this.#pace());
    });
    this.#speed.addEventListener('change', () => {
      if (this.#run === undefined) {
        replay();
      } else {
        this.#run.setPace(this.#pace());
      }
    });
    find('step', HTMLButtonElement).addEventListener('click', () => {
      this.#setPaused(true);
      this.#run?.step(STEP_LINES);
    });
  }

  /** Prepares for a new run, which is not paused. */
  reset(): void {
    this.#setPaused(false);
  }

  /** Controls a run; undefined for none. */
  control(run: Run | undefined): void {
    this.#run = run;
    run?.setPace(this.#pace());
  }

  #pace(): Pace {
    if (this.#isPaused) {
      return { kind: 'paused' };
    }
    const linesPerSecond = Number(this.#speed.value);
    return linesPerSecond > 0 ? { kind: 'limited', linesPerSecond } : { kind: 'full' };
  }

  #setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#pause.textContent = isPaused ? 'Resume' : 'Pause';
  }
}
