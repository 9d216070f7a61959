import type { Snapshot } from '../engine/run-protocol.js';
import type { WeightedView } from '../importance/view.js';
import { find } from '../ui/element.js';

/** Errors weighted by importance. Most logs have none, so the view is loaded on demand. */
export class WeightedSection {
  readonly #section = find('weighted', HTMLElement);
  #view: Promise<WeightedView> | undefined;

  show(snapshot: Snapshot): void {
    this.#section.hidden = snapshot.weighted.length === 0;
    if (!this.#section.hidden) {
      this.#view ??= this.#load();
      void this.#view.then((view) => view.show(snapshot));
    }
  }

  clear(): void {
    this.#section.hidden = true;
  }

  async #load(): Promise<WeightedView> {
    const { WeightedView } = await import('../importance/view.js');
    return new WeightedView(this.#section);
  }
}
