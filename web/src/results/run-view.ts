// A run as it is seen: status, progress, figures.

import { CurvesView } from './curves.js';
import { find } from './element.js';
import { formatBytes, formatCount, formatShare } from './number-format.js';
import { partName } from './part-input.js';
import { ProfileView } from './profile-view.js';
import type { Snapshot } from './protocol.js';
import { ResultsTable } from './results-table.js';

export class RunView {
  readonly #status = find('status', HTMLElement);
  readonly #progress = find('progress', HTMLElement);
  readonly #bar = find('progress-bar', HTMLProgressElement);
  readonly #progressText = find('progress-text', HTMLElement);
  readonly #figures = find('figures', HTMLElement);
  readonly #tables = find('tables', HTMLElement);
  readonly #curves = new CurvesView();
  readonly #table = new ResultsTable();
  readonly #profile = new ProfileView();
  readonly #heading = find('results-heading', HTMLElement);
  #log = '';
  #filters = '';
  #isRevealed = false;

  begin(log: string, filterCount: number): void {
    this.#filters = filterCount === 1 ? 'one filter' : `${filterCount} filters`;
    this.#log = log;
    this.#isRevealed = false;
    this.#status.textContent = `Running ${this.#filters} over ${log}.`;
    this.#bar.removeAttribute('value');
    this.#progressText.textContent = '';
    this.#progress.hidden = false;
    // What an earlier run found stays, dimmed, until there is something newer.
    this.#figures.ariaBusy = 'true';
    this.#curves.begin();
  }

  progress(snapshot: Snapshot, isPaused: boolean): void {
    const { bytes, totalBytes } = snapshot;
    const share = totalBytes > 0 ? bytes / totalBytes : 0;
    this.#bar.value = share;
    const read = `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`;
    this.#progressText.textContent = `${read}, ${Math.floor(share * 100)}\u00a0%`;
    this.#status.textContent = isPaused
      ? `Paused after ${formatCount(snapshot.profile.count)} lines of ${this.#log}${sampled(snapshot)}.`
      : `Running ${this.#filters} over ${this.#log}.`;
    this.#show(snapshot, isPaused);
  }

  finish(snapshot: Snapshot): void {
    this.#progress.hidden = true;
    this.#show(snapshot, true);
    this.#status.textContent = `${this.#log}${sampled(snapshot)}: ${counts(snapshot)}.`;
  }

  /** What was counted up to here stays, and says that it is a part. */
  cancel(last: Snapshot | undefined): void {
    this.#progress.hidden = true;
    if (last === undefined) {
      this.#clear();
      this.#status.textContent = 'Cancelled before anything was counted.';
      return;
    }
    this.#show(last, true);
    const share = formatShare(last.bytes / last.totalBytes);
    const part = counts(last);
    this.#status.textContent = `Cancelled after ${share} of ${this.#log}${sampled(last)}. Of this part: ${part}.`;
  }

  fail(): void {
    this.#progress.hidden = true;
    this.#clear();
    this.#status.textContent = 'There are no results: the run could not be finished.';
  }

  #show(snapshot: Snapshot, isLast: boolean): void {
    this.#figures.ariaBusy = 'false';
    this.#tables.hidden = false;
    this.#curves.show(snapshot, isLast);
    this.#table.show(snapshot.outcomes);
    this.#profile.show(snapshot);
    this.#reveal();
  }

  /** Once a run: on a narrow screen the results come after the form and would be missed. */
  #reveal(): void {
    // Where it is has the browser lay out the page, which it should do once a frame.
    if (this.#isRevealed) {
      return;
    }
    this.#isRevealed = true;
    const { top } = this.#heading.getBoundingClientRect();
    if (top < 0 || top > window.innerHeight / 2) {
      this.#heading.scrollIntoView();
    }
  }

  #clear(): void {
    this.#figures.ariaBusy = 'false';
    this.#tables.hidden = true;
    this.#curves.clear();
    this.#profile.clear();
  }
}

function sampled({ part }: Snapshot): string {
  return part.kind === 'all' ? '' : `, a sample (${partName(part)})`;
}

function counts({ profile }: Snapshot): string {
  const { count, distinct, withoutKey } = profile;
  const [lines, different, repeats] = [count, distinct, count - distinct].map(formatCount);
  const left = withoutKey > 0 ? `; ${formatCount(withoutKey)} lines had no key and were left out` : '';
  return `${lines} lines, ${different} distinct, ${repeats} repeats${left}`;
}
