// The page: takes the form's order to the engine and the engine's numbers to the page.
// It computes none of them.

import { AdviceView } from './advice-view.js';
import { find, withCode } from './element.js';
import { Clerk, Run } from './engine.js';
import { FilterList } from './filter-list.js';
import { InvalidInput } from './invalid-input.js';
import { LookInside } from './inside/view.js';
import { KeyInput } from './key-input.js';
import { readLink, writeLink } from './link.js';
import { LogInput } from './log-input.js';
import { MapView } from './map-view.js';
import { MemoryInput } from './memory-input.js';
import { PaceInput } from './pace-input.js';
import { PartInput, markSample } from './part-input.js';
import type { RunOrder, Snapshot } from './protocol.js';
import { RunView } from './run-view.js';
import { SeedInput } from './seed-input.js';
import { StoreDownload } from './store-download.js';
import { StoreView } from './store-view.js';
import { TakeAway } from './take-away.js';

const message = find('message', HTMLElement);
const runButton = find('run', HTMLButtonElement);
const clerk = new Clerk();
const memory = new MemoryInput();
const key = new KeyInput(clerk);
const stores = new StoreView();
const log = new LogInput(clerk, {
  dropped: (transfer) => stores.take(transfer),
  taken(log) {
    memory.showDistinct(undefined);
    advice.clear();
    key.look(log);
  },
  complain,
});
const part = new PartInput();
const filters = new FilterList();
const advice = new AdviceView({
  async order() {
    const { name, content } = log.log();
    const memoryBits = memory.bits();
    return { log: content, name, key: await key.settled(), part: part.part(), memoryBits };
  },
  use: (specs) => filters.restore(specs),
  complain,
});
const seed = new SeedInput();
const pace = new PaceInput();
const view = new RunView();
const map = new MapView(clerk, complain);
const inside = new LookInside();
const takeAway = new TakeAway(linkNow);
const storeDownload = new StoreDownload();
let run: Run | undefined;
let latest: Snapshot | undefined;
let latestOrder: RunOrder | undefined;
/** Counts the runs, so that one that was given up before it began does not begin. */
let started = 0;

clerk
  .ask({ kind: 'registry' })
  .then((answer) => {
    filters.fill(answer.filters);
    map.know(answer.filters);
    restore();
  })
  .catch((error: Error) => complain(error.message));

find('setup', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  void start();
});

find('cancel', HTMLButtonElement).addEventListener('click', () => {
  end();
  view.cancel(latest);
  if (latest === undefined) {
    takeAway.clear();
  } else {
    storeDownload.offer(latestOrder);
  }
  // The button that had the keyboard's attention is gone.
  runButton.focus();
});

async function start(): Promise<void> {
  let order: Omit<RunOrder, 'key'>;
  try {
    order = readForm();
  } catch (error) {
    if (error instanceof InvalidInput) {
      complain(error.message);
      return;
    }
    throw error;
  }
  end();
  const mine = started;
  complain('');
  latest = undefined;
  map.clear();
  inside.clear();
  pace.begin();
  view.begin(order.name, order.entries.length);
  try {
    const chosen = await key.settled();
    if (mine === started) {
      race({ ...order, key: chosen });
    }
  } catch (error) {
    failed(error instanceof Error ? error.message : String(error));
  }
}

function race(order: RunOrder): void {
  storeDownload.offer(undefined);
  latestOrder = order;
  markSample(order.part);
  const setting = {
    seed: order.seed,
    normalize: order.key.normalize,
    keyOptions: key.options,
    log: order.name,
  };
  const take = (snapshot: Snapshot) => {
    latest = snapshot;
    const { part, profile } = snapshot;
    memory.showDistinct(profile.distinct * (part.kind === 'keys' ? part.oneIn : 1));
    takeAway.show(snapshot, setting);
  };
  run = new Run(order, {
    progress(snapshot, isPaused) {
      take(snapshot);
      view.progress(snapshot, isPaused);
    },
    finished(snapshot) {
      take(snapshot);
      view.finish(snapshot);
      map.offer(order);
      storeDownload.offer(order);
    },
    failed,
  });
  pace.follow(run);
  inside.offer(order);
}

function failed(reason: string): void {
  view.fail();
  takeAway.clear();
  complain(reason);
}

function end(): void {
  started += 1;
  run?.cancel();
  run = undefined;
  pace.follow(undefined);
}

function readForm(): Omit<RunOrder, 'key'> {
  const { name, content } = log.log();
  const memoryBits = memory.bits();
  return {
    log: content,
    name,
    part: part.part(),
    entries: filters.specs().map((filter) => ({ filter, memoryBits })),
    seed: seed.seed(),
    pace: { kind: 'full' },
  };
}

/** The address of this page as it is set now, without the log. */
function linkNow(): string {
  return writeLink(location.href, {
    memoryBits: memory.bits(),
    seed: seed.seed(),
    filters: filters.specs(),
    key: key.spec(),
    sample: log.sample,
    part: part.part(),
    wish: advice.wish(),
  });
}

function restore(): void {
  const state = readLink(location.href);
  if (state === null) {
    return;
  }
  if (state.memoryBits !== null && state.memoryBits > 0) {
    memory.restore(state.memoryBits);
  }
  if (state.seed !== null) {
    seed.restore(state.seed);
  }
  if (state.filters.length > 0) {
    filters.restore(state.filters);
  }
  if (state.key !== null) {
    key.restore(state.key);
  }
  part.restore(state.part);
  advice.restore(state.wish);
  if (state.sample !== null) {
    log.loadSample(state.sample);
  }
}

/** Says what is wrong; '' when nothing is. */
function complain(text: string): void {
  message.replaceChildren(...withCode(text));
  if (text !== '') {
    message.scrollIntoView({ block: 'nearest' });
  }
}
