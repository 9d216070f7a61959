// The page: connects the form, the engine and the results.

import { AdviceView } from './advice/view.js';
import { QueryClient } from './engine/queries.js';
import type { RunRequest, Snapshot } from './engine/run-protocol.js';
import { Run } from './engine/run.js';
import { ExportView } from './export/view.js';
import { InsideView } from './inside/view.js';
import { MapView } from './map/view.js';
import { keepForOfflineUse } from './offline/register.js';
import { PaceControls } from './results/pace-controls.js';
import { RunView } from './results/run-view.js';
import { FilterList } from './setup/filter-list.js';
import { KeyInput } from './setup/key-input.js';
import { LogInput } from './setup/log-input.js';
import { LogPartInput, keysPerSampledKey, markSample } from './setup/log-part-input.js';
import { MemoryInput } from './setup/memory-input.js';
import { SeedInput } from './setup/seed-input.js';
import { readLink, writeLink } from './setup/share-link.js';
import { StoreDownload } from './store/download.js';
import { StoreInspectView } from './store/inspect-view.js';
import { find, withCode } from './ui/element.js';
import { InvalidInput } from './ui/invalid-input.js';

const message = find('message', HTMLElement);
const runButton = find('run', HTMLButtonElement);
const queries = new QueryClient();
const memory = new MemoryInput();
const key = new KeyInput(queries);
const storeInspector = new StoreInspectView();
const log = new LogInput(queries, {
  storeDropped: (transfer) => storeInspector.inspectDropped(transfer),
  logChanged(log) {
    memory.setDistinct(undefined);
    advice.clear();
    key.examine(log);
  },
  showError,
});
const part = new LogPartInput();
const filters = new FilterList(() => queries.requestComplete());
const advice = new AdviceView({
  async source() {
    const { name, content } = log.log();
    const memoryBits = memory.bits();
    return { log: content, name, key: await key.settled(), part: part.part(), memoryBits };
  },
  useFilters: (specs) => filters.restore(specs),
  showError,
});
const seed = new SeedInput();
const paceControls = new PaceControls();
const runView = new RunView();
const map = new MapView(queries, showError);
const inside = new InsideView();
const exportView = new ExportView(currentLink);
const storeDownload = new StoreDownload();
let run: Run | undefined;
let latest: Snapshot | undefined;
let latestRequest: RunRequest | undefined;
/** Counts the runs, so that one that was cancelled while it started does not run. */
let lastRun = 0;

keepForOfflineUse();

queries
  .ask({ kind: 'filters' })
  .then((answer) => {
    filters.fill(answer.filters);
    map.setFilters(answer.filters);
    restoreLink();
  })
  .catch((error: Error) => showError(error.message));

queries.completeRequested = () => {
  queries
    .ask({ kind: 'filters' })
    .then(({ filters: all }) => {
      filters.offer(all);
      map.setFilters(all);
    })
    .catch((error: Error) => showError(error.message));
};

find('setup', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  void start();
});

find('cancel', HTMLButtonElement).addEventListener('click', () => {
  end();
  runView.cancel(latest);
  if (latest === undefined) {
    exportView.clear();
  } else {
    storeDownload.offer(latestRequest);
  }
  // The focused button is gone.
  runButton.focus();
});

async function start(): Promise<void> {
  let request: Omit<RunRequest, 'key'>;
  try {
    request = readForm();
  } catch (error) {
    if (error instanceof InvalidInput) {
      showError(error.message);
      return;
    }
    throw error;
  }
  end();
  const id = lastRun;
  showError('');
  latest = undefined;
  map.clear();
  inside.clear();
  paceControls.reset();
  runView.begin(request.name, request.filters.length);
  try {
    const settled = await key.settled();
    if (id === lastRun) {
      startRun({ ...request, key: settled });
    }
  } catch (error) {
    failed(error instanceof Error ? error.message : String(error));
  }
}

function startRun(request: RunRequest): void {
  latestRequest = request;
  storeDownload.offer(undefined);
  markSample(request.part);
  const settings = {
    seed: request.seed,
    keyOptions: key.options,
    weightedOptions: key.weightedOptions,
    log: request.name,
  };
  const update = (snapshot: Snapshot) => {
    latest = snapshot;
    const { part, profile } = snapshot;
    memory.setDistinct(profile.distinct * keysPerSampledKey(part));
    exportView.show(snapshot, settings);
  };
  run = new Run(request, {
    progress(snapshot, isPaused) {
      update(snapshot);
      runView.progress(snapshot, isPaused);
    },
    finished(snapshot) {
      update(snapshot);
      runView.finish(snapshot);
      map.offer(request);
      storeDownload.offer(request);
    },
    failed,
  });
  paceControls.control(run);
  inside.offer(request);
}

function failed(reason: string): void {
  runView.fail();
  exportView.clear();
  showError(reason);
}

function end(): void {
  lastRun += 1;
  run?.cancel();
  run = undefined;
  paceControls.control(undefined);
}

function readForm(): Omit<RunRequest, 'key'> {
  const { name, content } = log.log();
  const memoryBits = memory.bits();
  return {
    log: content,
    name,
    part: part.part(),
    filters: filters.specs().map((filter) => ({ filter, memoryBits })),
    seed: seed.seed(),
    pace: { kind: 'full' },
  };
}

/** The address of this page with the current settings, without the log. */
function currentLink(): string {
  return writeLink(location.href, {
    memoryBits: memory.bits(),
    seed: seed.seed(),
    filters: filters.specs(),
    key: key.spec(),
    sample: log.sample,
    part: part.part(),
    requirements: advice.requirements(),
  });
}

function restoreLink(): void {
  const settings = readLink(location.href);
  if (settings === null) {
    return;
  }
  if (settings.memoryBits !== null && settings.memoryBits > 0) {
    memory.restore(settings.memoryBits);
  }
  if (settings.seed !== null) {
    seed.restore(settings.seed);
  }
  if (settings.filters.length > 0) {
    filters.restore(settings.filters);
  }
  if (settings.key !== null) {
    key.restore(settings.key);
  }
  part.restore(settings.part);
  advice.restore(settings.requirements);
  if (settings.sample !== null) {
    log.loadSample(settings.sample);
  }
}

/** Shows an error; '' removes it. */
function showError(text: string): void {
  message.replaceChildren(...withCode(text));
  if (text !== '') {
    message.scrollIntoView({ block: 'nearest' });
  }
}
