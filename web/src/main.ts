// The page: takes the form's order to the engine and the engine's numbers to the page.
// It computes none of them.

import { find, withCode } from './element.js';
import { Engine } from './engine.js';
import { FilterList } from './filter-list.js';
import { InvalidInput } from './invalid-input.js';
import { LogInput } from './log-input.js';
import { MemoryInput } from './memory-input.js';
import type { RunOrder, Snapshot } from './protocol.js';
import { RunView } from './run-view.js';
import { SeedInput } from './seed-input.js';

const message = find('message', HTMLElement);
const runButton = find('run', HTMLButtonElement);
const memory = new MemoryInput();
const log = new LogInput(complain);
const filters = new FilterList();
const seed = new SeedInput();
const view = new RunView();
let latest: Snapshot | undefined;

const engine = new Engine({
  ready: (registry) => filters.fill(registry),
  failed: complain,
});

find('setup', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  run();
});

find('cancel', HTMLButtonElement).addEventListener('click', () => {
  engine.cancel();
  view.cancel(latest);
  // The button that had the keyboard's attention is gone.
  runButton.focus();
});

function run(): void {
  let order: RunOrder;
  try {
    order = readForm();
  } catch (error) {
    if (error instanceof InvalidInput) {
      complain(error.message);
      return;
    }
    throw error;
  }
  complain('');
  latest = undefined;
  view.begin(order.name, order.filters.length);
  engine.start(order, {
    progress(snapshot) {
      latest = snapshot;
      view.progress(snapshot);
    },
    finished: (snapshot) => view.finish(snapshot),
    failed(message) {
      view.fail();
      complain(message);
    },
  });
}

function readForm(): RunOrder {
  const { name, content } = log.log();
  return {
    log: content,
    name,
    filters: filters.specs(),
    memoryBits: memory.bits(),
    seed: seed.seed(),
  };
}

/** Says what is wrong; '' when nothing is. */
function complain(text: string): void {
  message.replaceChildren(...withCode(text));
  if (text !== '') {
    message.scrollIntoView({ block: 'nearest' });
  }
}
