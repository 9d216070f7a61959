// A run on the page: status, progress and results.

import type { Snapshot } from '../engine/run-protocol.js';
import { partName } from '../setup/log-part-input.js';
import { find } from '../ui/element.js';
import { formatBytes, formatCounted, formatShare } from '../ui/number-format.js';
import { CurvesView } from './curves-view.js';
import { ProfileView } from './profile-view.js';
import { ResultsTable } from './results-table.js';
import { WeightedSection } from './weighted-section.js';

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
  readonly #weighted = new WeightedSection();
  readonly #heading = find('results-heading', HTMLElement);
  #log = '';
  #filters = '';
  #hasScrolled = false;

  begin(log: string, filterCount: number): void {
    this.#filters = formatCounted(filterCount, 'filter');
    this.#log = log;
    this.#hasScrolled = false;
    this.#status.textContent = `Running ${this.#filters} on ${log}.`;
    this.#bar.removeAttribute('value');
    this.#progressText.textContent = '';
    this.#progress.hidden = false;
    // Earlier results stay, dimmed, until there are new ones.
    this.#figures.ariaBusy = 'true';
    this.#curves.begin();
  }

  progress(snapshot: Snapshot, isPaused: boolean): void {
    const { readBytes, totalBytes } = snapshot;
    const share = totalBytes > 0 ? readBytes / totalBytes : 0;
    this.#bar.value = share;
    const read = `${formatBytes(readBytes)} of ${formatBytes(totalBytes)}`;
    this.#progressText.textContent = `${read}, ${Math.floor(share * 100)}\u00a0%`;
    const lines = formatCounted(snapshot.profile.count, 'line');
    this.#status.textContent = isPaused
      ? `Paused after ${lines} of ${this.#log}${sampleNote(snapshot)}.`
      : `Running ${this.#filters} on ${this.#log}.`;
    this.#show(snapshot, isPaused);
  }

  finish(snapshot: Snapshot): void {
    this.#progress.hidden = true;
    this.#show(snapshot, true);
    this.#status.textContent = `${this.#log}${sampleNote(snapshot)}: ${counts(snapshot)}.`;
  }

  /** Keeps the latest results and says that they are partial. */
  cancel(latest: Snapshot | undefined): void {
    this.#progress.hidden = true;
    if (latest === undefined) {
      this.#clear();
      this.#status.textContent = 'Cancelled before there were results.';
      return;
    }
    this.#show(latest, true);
    const share = formatShare(latest.readBytes / latest.totalBytes);
    this.#status.textContent =
      `Cancelled after ${share} of ${this.#log}${sampleNote(latest)}. ` +
      `The results are for this part: ${counts(latest)}.`;
  }

  fail(): void {
    this.#progress.hidden = true;
    this.#clear();
    this.#status.textContent = 'There are no results: the run failed.';
  }

  #show(snapshot: Snapshot, isLast: boolean): void {
    this.#figures.ariaBusy = 'false';
    this.#tables.hidden = false;
    this.#curves.show(snapshot, isLast);
    this.#table.show(snapshot.outcomes);
    this.#profile.show(snapshot);
    this.#weighted.show(snapshot);
    this.#scrollToResults();
  }

  /** On a narrow screen the results are below the form. Scrolls once per run. */
  #scrollToResults(): void {
    // Reading a position forces the browser to lay out the page.
    if (this.#hasScrolled) {
      return;
    }
    this.#hasScrolled = true;
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
    this.#weighted.clear();
  }
}

function sampleNote({ part }: Snapshot): string {
  return part === 'all' ? '' : `, a sample (${partName(part)})`;
}

function counts({ profile, lineProfile }: Snapshot): string {
  const { count, distinct } = profile;
  const { linesWithoutKey } = lineProfile;
  const skipped =
    linesWithoutKey > 0
      ? `; ${formatCounted(linesWithoutKey, 'line')} without a key ${linesWithoutKey === 1 ? 'was' : 'were'} skipped`
      : '';
  const lines = formatCounted(count, 'line');
  const keys = formatCounted(distinct, 'distinct key');
  return `${lines}, ${keys}, ${formatCounted(count - distinct, 'repeat')}${skipped}`;
}
