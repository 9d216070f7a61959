// The charts of a run, and the same curves in words and as a table.

import type { Snapshot } from '../engine/run-protocol.js';
import { partName } from '../setup/log-part-input.js';
import { create, filterName, find } from '../ui/element.js';
import { formatCount, formatCounted, formatShare } from '../ui/number-format.js';
import { seriesOf } from '../ui/palette.js';
import { savePicture, saveText } from '../ui/save-file.js';
import type { FilterCurves, Measures } from '../wasm/dedupstore_wasm.js';
import { type ChartData, RateChart } from './rate-chart.js';
import { type Scale, fittingScale } from './scale.js';

/** A screen reader needs time to read one description before the next. */
const SPOKEN_MILLISECONDS = 5000;
const SHORT_MILLISECONDS = 1500;

interface ChartDescription {
  measure: keyof Measures;
  /** The title of a saved picture. */
  title: string;
  name: string;
  short: string;
}

const CHARTS: readonly ChartDescription[] = [
  { measure: 'error', title: 'Wrong answers', name: 'share of lines with a wrong verdict', short: 'Errors' },
  { measure: 'fpr', title: 'New keys skipped', name: 'share of new keys skipped', short: 'FPR' },
  { measure: 'fnr', title: 'Repeats let through', name: 'share of repeats let through', short: 'FNR' },
  { measure: 'load', title: 'Memory in use', name: 'share of cells in use', short: 'Load' },
];

export class CurvesView {
  readonly #charts = CHARTS.map(({ measure, title, name }) => ({
    measure,
    title,
    chart: new RateChart(find(`${measure}-chart`, HTMLElement), name, (filter) => this.#isolate(filter)),
  }));
  readonly #spoken = find('curves-spoken', HTMLElement);
  readonly #table = find('curves-table', HTMLTableElement);
  readonly #showTheory = find('show-theory', HTMLInputElement);
  readonly #kind = find('curve-kind', HTMLSelectElement);
  readonly #scale = find('curve-scale', HTMLSelectElement);
  #isolated: string | null = null;
  #latest: Snapshot | undefined;
  #spokenAt = 0;

  constructor() {
    this.#showTheory.addEventListener('change', () => {
      this.#charts.forEach(({ chart }) => chart.showTheory(this.#showTheory.checked));
    });
    for (const choice of [this.#kind, this.#scale]) {
      choice.addEventListener('change', () => {
        if (this.#latest !== undefined) {
          this.show(this.#latest, true);
        }
      });
    }
    for (const { measure, title, chart } of this.#charts) {
      const svg = async () => {
        // A first visit does not need it.
        const { chartSvg } = await import('./chart-svg.js');
        const subtitle = find('answer-scope', HTMLElement).textContent ?? '';
        return chartSvg({ title, subtitle }, chart.data, chart.scale, this.#showTheory.checked);
      };
      find(`${measure}-svg`, HTMLButtonElement).addEventListener('click', async () => {
        saveText(`${measure}.svg`, 'image/svg+xml', await svg());
      });
      find(`${measure}-png`, HTMLButtonElement).addEventListener('click', async () => {
        await savePicture(`${measure}.png`, await svg());
      });
    }
  }

  /** Prepares for a new run. */
  begin(): void {
    this.#spokenAt = performance.now();
  }

  show(snapshot: Snapshot, isLast: boolean): void {
    this.#latest = snapshot;
    for (const { measure, chart } of this.#charts) {
      const data = chartData(snapshot, measure, this.#isCumulative());
      chart.show(data, this.#scaleOf(data, measure));
    }
    // The table has hundreds of cells: it is filled if it is open, and at the end after
    // everything else.
    if (this.#table.closest('details')?.open === true) {
      this.#fillTable(snapshot);
    } else if (isLast) {
      setTimeout(() => this.#fillTable(snapshot));
    }
    // A short run is not spoken: the answer is, and the charts have the numbers.
    const silent = performance.now() - this.#spokenAt;
    if (silent > (isLast ? SHORT_MILLISECONDS : SPOKEN_MILLISECONDS)) {
      this.#spoken.textContent = inWords(snapshot);
      this.#spokenAt = performance.now();
    }
  }

  #isCumulative(): boolean {
    return this.#kind.value === 'cumulative';
  }

  #scaleOf({ lines }: ChartData, measure: keyof Measures): Scale {
    const { value } = this.#scale;
    if (value === 'linear' || value === 'root') {
      return value;
    }
    return measure === 'load' ? 'linear' : fittingScale(lines.map(({ rates }) => rates));
  }

  /** Shows a filter alone in all charts; the same filter again shows all. */
  #isolate(filter: string): void {
    this.#isolated = this.#isolated === filter ? null : filter;
    this.#charts.forEach(({ chart }) => chart.isolate(this.#isolated));
  }

  #fillTable({ outcomes, curves }: Snapshot): void {
    const filters = create('tr', {}, create('th', { scope: 'col', rowspan: '2' }, 'Line'));
    const measures = create('tr');
    const columns = String(CHARTS.length);
    for (const outcome of outcomes) {
      filters.append(create('th', { scope: 'colgroup', colspan: columns }, filterName(outcome)));
      measures.append(...CHARTS.map(({ short }) => create('th', { scope: 'col' }, short)));
    }
    const rows = Array.from(curves.position, (position, index) => {
      const row = create('tr', {}, create('th', { scope: 'row' }, formatCount(position)));
      for (const curve of curves.filters) {
        const { measured } = rates(curve, this.#isCumulative());
        const shares = CHARTS.map(({ measure }) => measured[measure][index] ?? null);
        row.append(...shares.map((share) => create('td', {}, formatShare(share))));
      }
      return row;
    });
    this.#table.tHead?.replaceChildren(filters, measures);
    this.#table.tBodies[0]?.replaceChildren(...rows);
    find('curves-meaning', HTMLElement).textContent = this.#isCumulative()
      ? 'Rates from the first line up to each position'
      : 'Rates of the lines up to each position, since the previous one';
  }
}

function rates(curve: FilterCurves, isCumulative: boolean): FilterCurves['cumulative'] {
  return isCumulative ? curve.cumulative : curve.windowed;
}

function chartData(
  { outcomes, curves, part }: Snapshot,
  measure: keyof Measures,
  isCumulative: boolean,
): ChartData {
  const none = new Float64Array();
  const { position } = curves;
  const sample = partName(part);
  const series = seriesOf(outcomes.map(({ filter }) => filter));
  return {
    axis: {
      label: sample === '' ? 'line of the log' : `line of the sample: ${sample}`,
      against: `position in the log, up to line ${formatCount(position.at(-1) ?? 0)}`,
      cursor: 'position',
      hasPoints: false,
      range: (index) => {
        const first = isCumulative ? 1 : (position[index - 1] ?? 0) + 1;
        return `Lines ${formatCount(first)} to ${formatCount(position[index] ?? 0)}`;
      },
    },
    position,
    lines: outcomes.map((outcome, index) => {
      const curve = curves.filters[index];
      const shown = curve === undefined ? undefined : rates(curve, isCumulative);
      return {
        filter: outcome.filter,
        name: outcome.name,
        series: series[index] ?? { colour: 0, dash: 0 },
        overall: outcome[measure],
        rates: shown?.measured[measure] ?? none,
        predicted: shown?.predicted[measure] ?? none,
      };
    }),
    // The bound is an average from the first line on.
    bound: measure === 'fpr' && isCumulative ? curves.bound : null,
    sample,
  };
}

function inWords({ outcomes }: Snapshot): string {
  const end = formatCounted(outcomes[0]?.count ?? 0, 'line');
  const each = outcomes.map(
    ({ name, fpr, fnr }) =>
      `${name} skips ${formatShare(fpr)} of new keys and lets ${formatShare(fnr)} of repeats through.`,
  );
  return `After ${end}: ${each.join(' ')}`;
}
