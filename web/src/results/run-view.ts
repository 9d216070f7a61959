// A run on the page: status, progress and results, and what the results are about.

import type { RunRequest, Snapshot } from '../engine/run-protocol.js';
import { partName } from '../setup/log-part-input.js';
import { find } from '../ui/element.js';
import { formatBytes, formatCounted, formatShare } from '../ui/number-format.js';
import { AnswerView } from './answer-view.js';
import { CurvesView } from './curves-view.js';
import { ProfileView } from './profile-view.js';
import { ResultsTable } from './results-table.js';
import { WeightedSection } from './weighted-section.js';

/** Shorter runs show no progress: it would only flicker. */
const PROGRESS_DELAY_MILLISECONDS = 300;

/** empty: no results yet. outdated: the results are for other settings than the form's. */
type State = 'empty' | 'running' | 'done' | 'outdated';

export class RunView {
  readonly #section = find('answer', HTMLElement);
  readonly #scope = find('answer-scope', HTMLElement);
  readonly #outdated = find('outdated-note', HTMLElement);
  readonly #status = find('status', HTMLElement);
  readonly #progress = find('progress', HTMLElement);
  readonly #bar = find('progress-bar', HTMLProgressElement);
  readonly #progressText = find('progress-text', HTMLElement);
  readonly #tables = find('tables', HTMLElement);
  readonly #answer = new AnswerView();
  readonly #curves = new CurvesView();
  readonly #table = new ResultsTable();
  readonly #profile = new ProfileView();
  readonly #weighted = new WeightedSection();
  #log = '';
  #filters = '';
  #scopeOfRun = '';
  #hasResults = false;
  /** Whether they are those of the present run. */
  #isCurrent = false;
  #progressTimer: ReturnType<typeof setTimeout> | undefined;

  /** The settings were changed, or the form is about to be read: a run follows. */
  prepare(): void {
    this.#isCurrent = false;
    this.#setState('running');
  }

  /** The results are those of the form's settings after all. */
  setCurrent(): void {
    this.#hideProgress();
    this.#setState('done');
  }

  askForLog(): void {
    this.#answer.say('This link has settings without a log. Choose the log.');
  }

  begin(request: RunRequest, keyLabel: string): void {
    this.#filters = formatCounted(request.filters.length, 'filter');
    this.#log = request.name;
    this.#scopeOfRun = scope(request, keyLabel);
    this.#bar.removeAttribute('value');
    this.#progressText.textContent = '';
    clearTimeout(this.#progressTimer);
    this.#progressTimer = setTimeout(() => {
      this.#progress.hidden = false;
      this.#status.textContent = `Running ${this.#filters} on ${this.#log}.`;
    }, PROGRESS_DELAY_MILLISECONDS);
    this.#answer.memory.begin(request);
    this.#setState('running');
    this.#curves.begin();
  }

  progress(snapshot: Snapshot, isPaused: boolean): void {
    const { readBytes, totalBytes } = snapshot;
    const share = totalBytes > 0 ? readBytes / totalBytes : 0;
    this.#bar.value = share;
    const read = `${formatBytes(readBytes)} of ${formatBytes(totalBytes)}`;
    this.#progressText.textContent = `${read}, ${Math.floor(share * 100)}\u00a0%`;
    const lines = formatCounted(snapshot.profile.count, 'line');
    if (isPaused) {
      this.#status.textContent = `Paused after ${lines} of ${this.#log}${sampleNote(snapshot)}.`;
    }
    this.#show(snapshot, isPaused);
  }

  finish(snapshot: Snapshot): void {
    this.#hideProgress();
    this.#answer.memory.finish();
    this.#show(snapshot, true);
    this.#status.textContent = `${this.#log}${sampleNote(snapshot)}: ${counts(snapshot)}.`;
    this.#setState('done');
  }

  /** Keeps the latest results and says that they are partial. */
  cancel(latest: Snapshot | undefined): void {
    this.#hideProgress();
    this.#answer.memory.stop();
    if (latest === undefined || !this.#hasResults) {
      this.#status.textContent = 'Cancelled before there were results.';
      this.#setState('empty');
      return;
    }
    this.#show(latest, true);
    const share = formatShare(latest.readBytes / latest.totalBytes);
    this.#status.textContent =
      `Cancelled after ${share} of ${this.#log}${sampleNote(latest)}. ` +
      `The results are for this part: ${counts(latest)}.`;
    this.#setState('done');
  }

  /** Keeps earlier results and says that they are for other settings. */
  fail(): void {
    this.#hideProgress();
    this.#answer.memory.stop();
    this.#setState(this.#hasResults ? 'outdated' : 'empty');
  }

  #hideProgress(): void {
    clearTimeout(this.#progressTimer);
    this.#progress.hidden = true;
  }

  #show(snapshot: Snapshot, isLast: boolean): void {
    this.#hasResults = true;
    if (!this.#isCurrent) {
      this.#isCurrent = true;
      this.#showBusy(false);
    }
    this.#scope.textContent = this.#scopeOfRun;
    this.#tables.hidden = false;
    document.querySelectorAll('.figures.empty').forEach(({ classList }) => classList.remove('empty'));
    this.#answer.show(snapshot, isLast);
    this.#curves.show(snapshot, isLast);
    this.#table.show(snapshot.outcomes);
    this.#profile.show(snapshot);
    this.#weighted.show(snapshot);
  }

  #setState(state: State): void {
    this.#section.dataset['state'] = state;
    this.#showBusy(state === 'running' && this.#hasResults && !this.#isCurrent);
    for (const figures of document.querySelectorAll('.figures')) {
      figures.classList.toggle('outdated', state === 'outdated');
    }
    this.#outdated.hidden = state !== 'outdated';
  }

  /** Marks results of earlier settings, until there are others. */
  #showBusy(isBusy: boolean): void {
    for (const figures of document.querySelectorAll('.figures')) {
      figures.ariaBusy = String(isBusy);
    }
  }
}

/** What results are about, so that no number stands without its log, key and memory. */
export function scope({ name, part, filters, seed }: RunRequest, keyLabel: string): string {
  const memory = formatBytes((filters[0]?.memoryBits ?? 0) / 8);
  const lines = part === 'all' ? 'all lines' : `a sample: ${partName(part)}`;
  return `${name}, ${lines} · key: ${keyLabel} · ${memory} per filter · seed ${seed}`;
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
