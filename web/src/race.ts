// The race: decides when a run starts and which results are shown. A changed setting starts a
// run by itself, so that what is shown never belongs to other settings for long.

import type { RunRequest, Snapshot } from './engine/run-protocol.js';
import { Run } from './engine/run.js';
import { type LogFiles, sizeOf } from './engine/settings.js';
import type { ExportView } from './export/view.js';
import type { Hero } from './inside/hero.js';
import type { InsideView } from './inside/view.js';
import type { MapSection } from './map/section.js';
import { PaceControls } from './results/pace-controls.js';
import { RunView, scope } from './results/run-view.js';
import { keysPerSampledKey, markSample } from './setup/log-part-input.js';
import type { SubjectSource } from './subjects/section.js';
import type { StoreDownload } from './store/download.js';
import { find } from './ui/element.js';
import { InvalidInput } from './ui/invalid-input.js';
import type { LogPart } from './wasm/dedupstore_wasm.js';

/** Changes that follow each other faster than this start one run. */
const DEBOUNCE_MILLISECONDS = 60;
/** A run that a change starts reads a sample of the keys of logs larger than this. */
const LARGE_BYTES = 32 << 20;
/** At most this many keys per sampled key: fewer sampled keys make the rates imprecise. */
const MAX_KEYS_PER_SAMPLED_KEY = 64;

export interface RaceSettings {
  request: RunRequest;
  /** The name of the key in words. */
  keyLabel: string;
  /** The command-line options for the key, one word each. */
  keyOptions: string[];
  /** The same with those for the importance of lines. */
  weightedOptions: string[];
  /** What to do in a shell so that the log is there; null if it is a file of the user's. */
  preparation: string | null;
}

export interface RaceHost {
  /** Reads the form after the log has been examined. Throws InvalidInput. */
  settings(): Promise<RaceSettings>;
  /** Called with the number of distinct keys of the log, as far as it is known. */
  shown(distinct: number): void;
  /** Called after a run with complete results. */
  finished(): void;
  showError(message: string): void;
  inside: InsideView;
  hero: Hero;
  map: MapSection;
  exportView: ExportView;
  storeDownload: StoreDownload;
}

export class Race {
  readonly #host: RaceHost;
  readonly #view = new RunView();
  readonly #pace = new PaceControls(() => this.start());
  #run: Run | undefined;
  #request: RunRequest | undefined;
  #latest: Snapshot | undefined;
  /** Counts the runs, so that one that was cancelled while it started does not run. */
  #lastRun = 0;
  #isReady = false;
  /** Whether settings have changed since the current run started. */
  #hasChanged = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The settings of the complete results that are shown. */
  #shownSettings = '';
  /** The run of these results. */
  #shown: SubjectSource | undefined;

  constructor(host: RaceHost) {
    this.#host = host;
    find('cancel', HTMLButtonElement).addEventListener('click', () => this.#cancel());
  }

  get map(): MapSection {
    return this.#host.map;
  }

  /** The run whose complete results are shown. */
  get shown(): SubjectSource | undefined {
    return this.#shown;
  }

  /** Allows runs: the form is complete. */
  open(): void {
    this.#isReady = true;
    this.settingsChanged();
  }

  /** Says that the settings are for a log that the user has to choose. */
  askForLog(): void {
    this.#view.askForLog();
  }

  /** Runs exactly the chosen settings, now. */
  start(): void {
    void this.#start(true);
  }

  /** Starts a run soon. */
  settingsChanged(): void {
    if (!this.#isReady) {
      return;
    }
    this.#hasChanged = true;
    this.#view.prepare();
    // A short run may finish first: otherwise nothing would move while a slider is dragged.
    if (this.#run !== undefined && this.#request !== undefined && !isLarge(this.#request)) {
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#start(false), DEBOUNCE_MILLISECONDS);
  }

  async #start(isRequested: boolean): Promise<void> {
    this.#isReady = true;
    this.#end();
    const id = this.#lastRun;
    this.#hasChanged = false;
    this.#view.prepare();
    let settings: RaceSettings;
    try {
      settings = await this.#host.settings();
    } catch (error) {
      if (id === this.#lastRun) {
        this.#refuse(error, isRequested);
      }
      return;
    }
    if (id !== this.#lastRun) {
      return;
    }
    const text = settingsText(settings);
    if (!isRequested && text === this.#shownSettings) {
      this.#host.showError('');
      this.#view.setCurrent();
      return;
    }
    this.#host.showError('');
    const live = isRequested ? settings : withLivePart(settings);
    this.#startRun(live, text, live !== settings);
  }

  #refuse(error: unknown, isRequested: boolean): void {
    const isInvalid = error instanceof InvalidInput;
    // The engine's errors about the key arrive as plain errors.
    const message = error instanceof Error ? error.message : String(error);
    this.#view.fail();
    if (isRequested || !isInvalid || this.#latest !== undefined) {
      this.#host.showError(message);
    }
  }

  #startRun(settings: RaceSettings, text: string, isLiveSample: boolean): void {
    const { request, keyLabel, keyOptions, weightedOptions, preparation } = settings;
    const { inside, hero, map, exportView, storeDownload } = this.#host;
    this.#request = request;
    this.#pace.reset();
    this.#view.begin(request, keyLabel);
    storeDownload.offer(undefined);
    const files = request.log.map(({ name }) => name);
    const exported = { seed: request.seed, keyOptions, weightedOptions, files, preparation };
    let isOffered = false;
    const update = (snapshot: Snapshot) => {
      if (!isOffered) {
        // Not before there are results: a run that fails leaves everything as it was.
        inside.offer(request);
        isOffered = true;
      }
      this.#latest = snapshot;
      this.#shownSettings = '';
      markSample(request.part);
      this.#host.shown(snapshot.profile.distinct * keysPerSampledKey(snapshot.part));
      exportView.show(snapshot, exported);
    };
    this.#run = new Run(request, {
      progress: (snapshot, isPaused) => {
        update(snapshot);
        this.#view.progress(snapshot, isPaused);
      },
      finished: (snapshot) => {
        this.#run = undefined;
        update(snapshot);
        this.#shownSettings = text;
        this.#view.finish(snapshot);
        map.offer(request);
        hero.show(request);
        storeDownload.offer(request);
        this.#pace.control(undefined);
        this.#shown = { request, scope: scope(request, keyLabel), keyOptions, preparation };
        this.#host.finished();
        this.#runAgainIfChanged();
      },
      failed: (message) => {
        this.#run = undefined;
        this.#pace.control(undefined);
        if (isLiveSample && !this.#hasChanged) {
          // A sample of a log with few keys may have none.
          this.start();
          return;
        }
        this.#view.fail();
        this.#host.showError(message);
        this.#runAgainIfChanged();
      },
    });
    this.#pace.control(this.#run);
  }

  #runAgainIfChanged(): void {
    if (this.#hasChanged) {
      void this.#start(false);
    }
  }

  #cancel(): void {
    this.#end();
    this.#view.cancel(this.#latest);
    this.#host.storeDownload.offer(this.#latest === undefined ? undefined : this.#request);
    // The focused button is gone.
    find('run', HTMLButtonElement).focus();
  }

  #end(): void {
    this.#lastRun += 1;
    clearTimeout(this.#timer);
    this.#run?.cancel();
    this.#run = undefined;
    this.#pace.control(undefined);
  }
}

function isLarge({ log }: RunRequest): boolean {
  return sizeOf(log) > LARGE_BYTES;
}

/** Without a request for exact results, a large log is read by a sample of its keys. */
function withLivePart(settings: RaceSettings): RaceSettings {
  const { request } = settings;
  if (!isLarge(request) || request.part !== 'all') {
    return settings;
  }
  const power = Math.ceil(Math.log2(sizeOf(request.log) / LARGE_BYTES));
  const part: LogPart = { oneKeyIn: Math.min(2 ** power, MAX_KEYS_PER_SAMPLED_KEY) };
  return { ...settings, request: { ...request, part } };
}

const logNumbers = new WeakMap<LogFiles, number>();
let lastLogNumber = 0;

/** A text that differs if the results may differ. */
function settingsText({ request }: RaceSettings): string {
  const { log, key, part, filters, seed } = request;
  let logNumber = logNumbers.get(log);
  if (logNumber === undefined) {
    lastLogNumber += 1;
    logNumber = lastLogNumber;
    logNumbers.set(log, logNumber);
  }
  return JSON.stringify([logNumber, key, part, filters, seed]);
}
