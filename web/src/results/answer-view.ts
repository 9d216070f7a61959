// The answer: one sentence about the best filter, and a short table of all of them.

import type { Snapshot } from '../engine/run-protocol.js';
import { partName } from '../setup/log-part-input.js';
import { create, filterName, find } from '../ui/element.js';
import { formatBytes, formatCount, formatCounted, formatShare } from '../ui/number-format.js';
import { seriesOf, swatch } from '../ui/palette.js';
import type { Outcome } from '../wasm/dedupstore_wasm.js';
import { HEADING as MEMORY_HEADING, EnoughMemory } from './enough-memory.js';

const NO_KEYS_REPEAT =
  'No key comes twice in this log, so a filter has nothing to find. Is another part of the line the key?';

export class AnswerView {
  readonly #sentence = find('answer-sentence', HTMLElement);
  readonly #table = find('comparison', HTMLTableElement);
  /** The memory for few errors. */
  readonly memory = new EnoughMemory(() => this.#fillMemory());

  say(text: string): void {
    this.#sentence.textContent = text;
  }

  show(snapshot: Snapshot, isLast: boolean): void {
    // Screen readers speak the sentence, so it changes once per run.
    if (isLast) {
      this.#sentence.replaceChildren(...sentence(snapshot));
      performance.mark('answer');
    }
    this.#table.hidden = false;
    this.#fillTable(snapshot);
  }

  #fillTable({ outcomes, ranking, lineProfile }: Snapshot): void {
    const { key } = nouns(lineProfile.topKeys.map(({ key }) => key));
    const headings = ['Filter', `New ${key}s skipped`, 'Repeats let through', 'Wrong in total', MEMORY_HEADING];
    const head = create('tr', {}, ...headings.map((text) => create('th', { scope: 'col' }, text)));
    const series = seriesOf(outcomes.map(({ filter }) => filter));
    const rows = ranking.flatMap((index, rank) => {
      const [outcome, style] = [outcomes[index], series[index]];
      return outcome === undefined || style === undefined ? [] : [row(outcome, style, rank === 0)];
    });
    this.#table.tHead?.replaceChildren(head);
    this.#table.tBodies[0]?.replaceChildren(...rows);
    this.#fillMemory();
  }

  #fillMemory(): void {
    for (const row of this.#table.tBodies[0]?.rows ?? []) {
      const cell = row.querySelector('.enough-memory');
      if (cell instanceof HTMLElement) {
        const { text, note, bits } = this.memory.cell(row.dataset['filter'] ?? '');
        cell.textContent = text;
        cell.title = note;
        cell.dataset['bits'] = bits;
      }
    }
  }
}

function row(outcome: Outcome, series: Parameters<typeof swatch>[0], isBest: boolean): HTMLElement {
  const name = create('div', { class: 'filter-name' }, swatch(series), filterName(outcome));
  const attributes = { 'data-filter': outcome.filter, class: isBest ? 'best' : '' };
  return create(
    'tr',
    attributes,
    create('th', { scope: 'row' }, name),
    create('td', {}, ...countAndShare(outcome.falsePositives, outcome.fpr)),
    create('td', {}, ...countAndShare(outcome.falseNegatives, outcome.fnr)),
    create('td', {}, formatShare(outcome.error)),
    create('td', { class: 'enough-memory' }),
  );
}

function countAndShare(count: number, share: number | null): (HTMLElement | string)[] {
  const pause = create('span', { class: 'spoken' }, ', ');
  return [formatCount(count), pause, create('span', { class: 'share' }, formatShare(share))];
}

/** The best filter of a run, and what its errors would mean for a crawl. */
function sentence({ outcomes, ranking, profile, part, lineProfile }: Snapshot): (HTMLElement | string)[] {
  const best = outcomes[ranking[0] ?? -1];
  if (best === undefined) {
    return [];
  }
  if (profile.count === profile.distinct) {
    return [NO_KEYS_REPEAT];
  }
  const memory = formatBytes(best.memoryBits / 8);
  const words = nouns(lineProfile.topKeys.map(({ key }) => key));
  const claim = outcomes.length === 1 ? ': ' : ' is best here: ';
  const name = create('strong', { title: best.filter }, best.nameInSentence);
  const consequence = partName(part).startsWith('one key in')
    ? `it would ${words.skip} about ${formatShare(best.fpr)} of new ${words.key}s and ${words.repeatShare(formatShare(best.fnr))}`
    : `it would ${words.skip} ${ofAll(best.falsePositives, best.distinct, `new ${words.key}`)} and ${words.repeats(best)}`;
  return [`In ${memory}, `, name, `${claim}${consequence}.`];
}

function ofAll(count: number, all: number, noun: string): string {
  return `${count === 0 ? 'none' : formatCount(count)} of ${formatCounted(all, noun)}`;
}

interface Nouns {
  /** "URL" or "key". */
  key: string;
  skip: string;
  repeats(outcome: Outcome): string;
  repeatShare(share: string): string;
}

const URLS: Nouns = {
  key: 'URL',
  skip: 'skip',
  repeats: ({ falseNegatives, repeats }) =>
    falseNegatives === 0 ? 'fetch none twice' : `fetch ${ofAll(falseNegatives, repeats, 'repeat')} again`,
  repeatShare: (share) => `fetch ${share} of repeats again`,
};

const KEYS: Nouns = {
  key: 'key',
  skip: 'drop',
  repeats: ({ falseNegatives, repeats }) =>
    falseNegatives === 0
      ? 'let no repeat through'
      : `let ${ofAll(falseNegatives, repeats, 'repeat')} through`,
  repeatShare: (share) => `let ${share} of repeats through`,
};

/** The words for errors about keys like these. */
function nouns(keys: string[]): Nouns {
  const isUrl = (key: string) => /^(https?:\/\/|\/)/i.test(key);
  return keys.length > 0 && keys.every(isUrl) ? URLS : KEYS;
}
