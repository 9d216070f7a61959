// The page: connects the form, the engine and the results.

import { AdviceView } from './advice/view.js';
import { QueryClient } from './engine/queries.js';
import { ExportView } from './export/view.js';
import { InsideView } from './inside/view.js';
import { MapView } from './map/view.js';
import { Race, type RaceSettings } from './race.js';
import { FilterList } from './setup/filter-list.js';
import { KeyInput } from './setup/key-input.js';
import { LogInput } from './setup/log-input.js';
import { LogPartInput } from './setup/log-part-input.js';
import { MemoryInput } from './setup/memory-input.js';
import { SeedInput } from './setup/seed-input.js';
import { readLink, writeLink } from './setup/share-link.js';
import { StoreDownload } from './store/download.js';
import { StoreInspectView } from './store/inspect-view.js';
import { find, withCode } from './ui/element.js';

/** The sample that is run when the page opens. */
const FIRST_SAMPLE = 'crawl';

const message = find('message', HTMLElement);
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
    race.settingsChanged();
  },
  showError,
});
const part = new LogPartInput();
const filters = new FilterList({
  needMore: () => queries.requestComplete(),
  changed: () => race.settingsChanged(),
});
const advice = new AdviceView({
  async source() {
    const { name, content } = log.log();
    const settled = await key.settled();
    return { log: content, name, key: settled, part: part.part(), memoryBits: memory.bits() };
  },
  useFilters(specs) {
    filters.restore(specs);
    exportView.select(specs[0]);
    race.start();
  },
  showError,
});
const seed = new SeedInput();
const exportView = new ExportView(currentLink);
const race = new Race({
  settings: readForm,
  shown: (distinct) => memory.setDistinct(distinct),
  showError,
  inside: new InsideView(),
  map: new MapView(queries, {
    showError,
    use({ filter, memoryBits }) {
      memory.restore(memoryBits);
      filters.ensure(filter);
      exportView.select(filter);
      race.start();
    },
  }),
  exportView,
  storeDownload: new StoreDownload(),
});

key.examined = ({ suggestedMemoryBits }) => memory.suggest(suggestedMemoryBits);
const link = readLink(location.href);
if (link === null) {
  // The engine generates the sample while the rest of the page is prepared.
  log.loadSample(FIRST_SAMPLE);
}
queries
  .ask({ kind: 'filters' })
  .then((answer) => {
    filters.fill(answer.filters);
    race.map.setFilters(answer.filters);
    restoreLink();
    race.open();
  })
  .catch((error: Error) => showError(error.message));

queries.completeRequested = () => {
  queries
    .ask({ kind: 'filters' })
    .then(({ filters: all }) => {
      filters.offer(all);
      race.map.setFilters(all);
    })
    .catch((error: Error) => showError(error.message));
};

const form = find('setup', HTMLFormElement);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  race.start();
});
for (const event of ['input', 'change']) {
  form.addEventListener(event, ({ target }) => {
    // The other inputs change nothing until a button is pressed.
    if (target instanceof Element && target.closest('.paste, #advice, .filter-add, .drop') === null) {
      race.settingsChanged();
    }
  });
}

async function readForm(): Promise<RaceSettings> {
  const { name, content } = log.log();
  const settled = await key.settled();
  const memoryBits = memory.bits();
  return {
    request: {
      log: content,
      name,
      key: settled,
      part: part.part(),
      filters: filters.specs().map((filter) => ({ filter, memoryBits })),
      seed: seed.seed(),
      pace: { kind: 'full' },
    },
    keyLabel: key.label,
    keyOptions: key.options,
    weightedOptions: key.weightedOptions,
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
  if (link === null) {
    return;
  }
  if (link.memoryBits !== null && link.memoryBits > 0) {
    memory.restore(link.memoryBits);
  }
  if (link.seed !== null) {
    seed.restore(link.seed);
  }
  if (link.filters.length > 0) {
    filters.restore(link.filters);
  }
  if (link.key !== null) {
    key.restore(link.key);
  }
  part.restore(link.part);
  advice.restore(link.requirements);
  if (link.sample !== null) {
    log.loadSample(link.sample);
  } else {
    race.askForLog();
  }
}

/** Shows an error; '' removes it. */
function showError(text: string): void {
  message.replaceChildren(...withCode(text));
  if (text !== '') {
    message.scrollIntoView({ block: 'nearest' });
  }
}
