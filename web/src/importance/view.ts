// Errors weighted by importance: a table, and the rates of errors against importance.

import type { Snapshot } from '../engine/run-protocol.js';
import { chartSvg } from '../results/chart-svg.js';
import { type ChartData, RateChart } from '../results/rate-chart.js';
import { fittingScale } from '../results/scale.js';
import { partName } from '../setup/log-part-input.js';
import { create, filterName, find } from '../ui/element.js';
import { formatCount, formatCounted, formatShare } from '../ui/number-format.js';
import { type Series, seriesOf, swatch } from '../ui/palette.js';
import { savePicture, saveText } from '../ui/save-file.js';
import type { ImportanceRate, WeightedOutcome } from '../wasm/dedupstore_wasm.js';

const NONE = 'none';

interface Column {
  /** The name in the command line's JSON. */
  key: string;
  heading: string;
  value(outcome: WeightedOutcome): number | null;
  format(value: number | null): string;
}

const COLUMNS: readonly Column[] = [
  { key: 'wfp', heading: 'New keys skipped', value: ({ wfp }) => wfp, format: formatShare },
  { key: 'wfn', heading: 'Repeats let through', value: ({ wfn }) => wfn, format: formatShare },
  { key: 'error', heading: 'Wrong in total', value: ({ error }) => error, format: formatShare },
  { key: 'precision_w', heading: 'Precision', value: ({ precision }) => precision, format: formatShare },
  { key: 'recall_w', heading: 'Recall', value: ({ recall }) => recall, format: formatShare },
  {
    key: 'crossover',
    heading: 'Crossover',
    value: ({ crossover }) => crossover,
    format: (value) => (value === null ? NONE : formatCount(value)),
  },
];

type Measure = 'fpShare' | 'fnShare';

const CHARTS: readonly { measure: Measure; id: string; title: string; name: string; hint: string }[] = [
  {
    measure: 'fpShare',
    id: 'weighted-fp',
    title: 'New keys skipped, by importance',
    name: 'share of lines that are new keys skipped',
    hint: 'The share of the lines of an importance that are new keys taken for repeats.',
  },
  {
    measure: 'fnShare',
    id: 'weighted-fn',
    title: 'Repeats let through, by importance',
    name: 'share of lines that are repeats let through',
    hint: 'The share of the lines of an importance that are repeats taken for new keys.',
  },
];

const MEANING =
  'Each error weighs as much as the importance of its line: the first numbers are the importance ' +
  'of dropped new keys and of missed repeats, as shares of all importance. Precision is the ' +
  'importance of true repeats among all that the filter reports as repeats; recall is the ' +
  'importance of the repeats found among all repeats. The crossover is the importance from which ' +
  'on the filter misses fewer repeats than a stable Bloom filter in the same memory.';

export class WeightedView {
  readonly #table = table('weighted-outcomes', 'Weighted by importance');
  readonly #rates = table('weighted-rates', 'Errors by importance, as shares of its lines');
  readonly #note = create('p', { class: 'hint', id: 'weighted-note' });
  readonly #charts = CHARTS.map(({ measure, id, title, name, hint }) => {
    const root = create('div', { id: `${id}-chart` });
    const chart = new RateChart(root, name);
    const svg = create('button', { type: 'button', class: 'quiet', 'aria-label': `Save as SVG: ${title}` }, 'SVG');
    const png = create('button', { type: 'button', class: 'quiet', 'aria-label': `Save as PNG: ${title}` }, 'PNG');
    const picture = () => {
      const subtitle = find('answer-scope', HTMLElement).textContent ?? '';
      return chartSvg({ title, subtitle }, chart.data, chart.scale, false);
    };
    svg.addEventListener('click', () => saveText(`${id}.svg`, 'image/svg+xml', picture()));
    png.addEventListener('click', () => void savePicture(`${id}.png`, picture()));
    const caption = create('figcaption', {}, create('h3', {}, title), create('p', { class: 'hint' }, hint));
    const save = create('p', { class: 'save' }, svg, png);
    return { measure, chart, figure: create('figure', { class: 'chart' }, caption, root, save) };
  });

  constructor(section: HTMLElement) {
    section.append(
      create('div', { class: 'charts' }, ...this.#charts.map(({ figure }) => figure)),
      scrolled(this.#table, 'Weighted by importance'),
      create('p', { class: 'hint' }, MEANING),
      this.#note,
      create(
        'details',
        { class: 'table-details' },
        create('summary', {}, 'Errors by importance as a table'),
        scrolled(this.#rates, 'Errors by importance'),
      ),
    );
    const headings = COLUMNS.map(({ heading }) => create('th', { scope: 'col' }, heading));
    this.#table.tHead?.append(create('tr', {}, create('th', { scope: 'col' }, 'Filter'), ...headings));
  }

  show(snapshot: Snapshot): void {
    const { weighted, lineProfile } = snapshot;
    for (const { measure, chart } of this.#charts) {
      const data = chartData(snapshot, measure);
      chart.show(data, fittingScale(data.lines.map(({ rates }) => rates)));
    }
    const series = seriesOf(weighted.map(({ filter }) => filter));
    const rows = weighted.map((outcome, index) => outcomeRow(outcome, named(snapshot, index), series[index]));
    this.#table.tBodies[0]?.replaceChildren(...rows);
    const { linesWithoutImportance } = lineProfile;
    this.#note.textContent =
      linesWithoutImportance === 0
        ? ''
        : `${formatCounted(linesWithoutImportance, 'line')} without a readable importance counted with importance 1.`;
    this.#fillRates(snapshot);
  }

  #fillRates(snapshot: Snapshot): void {
    const { weighted } = snapshot;
    const filters = create(
      'tr',
      {},
      create('th', { scope: 'col', rowspan: '2' }, 'Importance'),
      create('th', { scope: 'col', rowspan: '2' }, 'Lines'),
    );
    const measures = create('tr');
    for (const index of weighted.keys()) {
      filters.append(create('th', { scope: 'colgroup', colspan: '2' }, named(snapshot, index)));
      measures.append(create('th', { scope: 'col' }, 'FP'), create('th', { scope: 'col' }, 'FN'));
    }
    const rows = (weighted[0]?.rates ?? []).map((rate, index) => {
      const shares = weighted.flatMap(({ rates }) => [rates[index]?.fpShare, rates[index]?.fnShare]);
      return create(
        'tr',
        {},
        create('th', { scope: 'row' }, range(rate)),
        create('td', {}, formatCount(rate.count)),
        ...shares.map((share) => create('td', {}, formatShare(share ?? null))),
      );
    });
    this.#rates.tHead?.replaceChildren(filters, measures);
    this.#rates.tBodies[0]?.replaceChildren(...rows);
  }
}

function table(id: string, caption: string): HTMLTableElement {
  return create(
    'table',
    { id, class: 'numbers' },
    create('caption', {}, caption),
    create('thead'),
    create('tbody'),
  );
}

/** A wide table scrolls by itself, also with the keyboard. */
function scrolled(table: HTMLTableElement, label: string): HTMLElement {
  return create('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label }, table);
}

/** The text is rounded; `data-value` holds the exact number. */
function outcomeRow(
  outcome: WeightedOutcome,
  label: HTMLElement,
  series: Series | undefined,
): HTMLTableRowElement {
  const name = create('div', { class: 'filter-name' }, series === undefined ? '' : swatch(series), label);
  const cells = COLUMNS.map(({ key, value, format }) => {
    const attributes = { 'data-column': key, 'data-value': String(value(outcome) ?? '') };
    return create('td', attributes, format(value(outcome)));
  });
  return create('tr', { 'data-filter': outcome.filter }, create('th', { scope: 'row' }, name), ...cells);
}

/** The name of a filter of the run. */
function named({ outcomes }: Snapshot, index: number): HTMLElement {
  const outcome = outcomes[index];
  return outcome === undefined ? create('span') : filterName(outcome);
}

function chartData({ outcomes, weighted, part }: Snapshot, measure: Measure): ChartData {
  const values = weighted[0]?.rates ?? [];
  const none = new Float64Array(values.length).fill(Number.NaN);
  const series = seriesOf(weighted.map(({ filter }) => filter));
  return {
    axis: {
      label: 'importance',
      against: `importance, up to ${formatCount(values.at(-1)?.to ?? 0)}`,
      cursor: 'importance',
      hasPoints: true,
      range: (index) => {
        const rate = values[index];
        return rate === undefined ? '' : `Importance ${range(rate)}, ${formatCounted(rate.count, 'line')}`;
      },
    },
    position: Float64Array.from(values, ({ to }) => to),
    lines: weighted.map((outcome, index) => ({
      filter: outcome.filter,
      name: outcomes[index]?.name ?? outcome.filter,
      series: series[index] ?? { colour: 0, dash: 0 },
      overall: outcome[measure],
      rates: Float64Array.from(outcome.rates, (rate) => rate[measure]),
      predicted: none,
    })),
    bound: null,
    sample: partName(part),
  };
}

function range({ from, to }: ImportanceRate): string {
  return from === to ? formatCount(from) : `${formatCount(from)} to ${formatCount(to)}`;
}
