// The page: connects the form, the engine and the results.

import { AdviceView } from './advice/view.js';
import { CalculatorSection } from './calculator/section.js';
import { QueryClient } from './engine/queries.js';
import type { FilterSetting } from './engine/settings.js';
import { ExportView } from './export/view.js';
import { Hero } from './inside/hero.js';
import { InsideView } from './inside/view.js';
import { MapSection } from './map/section.js';
import { keepForOfflineUse } from './offline/register.js';
import { Race, type RaceSettings } from './race.js';
import { AddressBar } from './setup/address-bar.js';
import { FilterList } from './setup/filter-list.js';
import { KeyInput } from './setup/key-input.js';
import { LogInput } from './setup/log-input.js';
import { LogPartInput } from './setup/log-part-input.js';
import { MemoryInput } from './setup/memory-input.js';
import { SeedInput } from './setup/seed-input.js';
import { type LinkSettings, readLink, writeLink } from './setup/share-link.js';
import { StoreDownload } from './store/download.js';
import { StoreInspectSection } from './store/inspect-section.js';
import { SubjectSection } from './subjects/section.js';
import { find, withCode } from './ui/element.js';

/** The sample that is run when the page opens. */
const FIRST_SAMPLE = 'crawl';

const message = find('message', HTMLElement);
const linkMessage = find('link-message', HTMLElement);
const queries = new QueryClient();
const memory = new MemoryInput();
const key = new KeyInput(queries);
const storeInspector = new StoreInspectSection({
  useFiles: (files) => log.useFiles(files),
  showError,
});
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
/** Resolves when the filters of the complete engine have been offered. */
let allFilters = Promise.resolve();
const filters = new FilterList({
  needMore() {
    queries.requestComplete();
    return allFilters;
  },
  changed: () => race.settingsChanged(),
  unknown: (specs) => nameUnknown(specs.map((spec) => `filter=${spec}`)),
});
const advice = new AdviceView({
  async source() {
    const { name, content } = log.log();
    const settled = await key.settled();
    return { log: content, name, key: settled, part: part.part(), memoryBits: memory.bits() };
  },
  async useFilters(specs) {
    await filters.restore(specs);
    exportView.select(specs[0]);
    race.start();
    showAnswer();
  },
  showError,
});
const seed = new SeedInput();
const exportView = new ExportView(currentLink);
const race = new Race({
  settings: readForm,
  shown: (distinct) => memory.setDistinct(distinct),
  finished() {
    if (memory.correctSuggestion()) {
      race.settingsChanged();
    } else {
      subjects.refresh();
    }
  },
  showError,
  inside: new InsideView(),
  hero: new Hero(),
  map: new MapSection(queries, { showError, use }),
  exportView,
  storeDownload: new StoreDownload(),
});

const calculator = new CalculatorSection(queries, {
  async source() {
    const { request } = await readForm();
    return { ...request, filters: request.filters.map(({ filter }) => filter) };
  },
  use,
});

const subjects = new SubjectSection({
  source: () => race.shown,
  loadSample: (id) => void log.loadSample(id),
});

keepForOfflineUse();
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
    if (link !== null) {
      apply(link);
    }
    race.open();
    new AddressBar({
      currentLink,
      apply(address) {
        const settings = readLink(address);
        if (settings !== null) {
          showError('');
          apply(settings);
          race.settingsChanged();
        }
      },
    });
  })
  .catch((error: Error) => showError(error.message));

queries.completeRequested = () => {
  allFilters = queries
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
  const { name, content, preparation } = log.log();
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
    preparation,
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
    calculator: calculator.state,
  });
}

/** Takes a filter and its memory over into the settings, and runs them. */
async function use({ filter, memoryBits }: FilterSetting): Promise<void> {
  memory.restore(memoryBits);
  await filters.ensure(filter);
  exportView.select(filter);
  race.start();
  showAnswer();
}

/** The button that started the run may be far from its answer. */
function showAnswer(): void {
  find('answer', HTMLElement).scrollIntoView();
}

/** Applies the settings of a link. Names what it does not understand. */
function apply(link: LinkSettings): void {
  const unknown = [...link.unknown];
  if (link.memoryBits !== null && link.memoryBits > 0) {
    memory.restore(link.memoryBits);
  }
  if (link.seed !== null) {
    seed.restore(link.seed);
  }
  if (link.filters.length > 0) {
    void filters.restore(link.filters);
  }
  if (link.key !== null) {
    key.restore(link.key, link.sample !== null || !log.isChosen);
  }
  part.restore(link.part);
  advice.restore(link.requirements);
  calculator.restore(link.calculator);
  if (link.sample !== null && !log.loadSample(link.sample)) {
    unknown.push(`sample=${link.sample}`);
  } else if (link.sample === null && !log.isChosen) {
    race.askForLog();
  }
  nameUnknown(unknown);
}

/** Says which parts of a link do not apply. */
function nameUnknown(parts: string[]): void {
  const named = parts.map((part) => `\`${part}\``).join(', ');
  const text = `This link has parts that the page does not understand: ${named}. The rest applies.`;
  linkMessage.replaceChildren(...withCode(parts.length > 0 ? text : ''));
}

/** Shows an error; '' removes it. */
function showError(text: string): void {
  message.replaceChildren(...withCode(text));
  if (text !== '') {
    message.scrollIntoView({ block: 'nearest' });
  }
}
