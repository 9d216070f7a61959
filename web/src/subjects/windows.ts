// Windows: what is forgotten after a time, and the errors of the filters that forget.

import { create } from '../ui/element.js';
import { formatCount, formatCounted, formatShare } from '../ui/number-format.js';
import type { WindowOutcome, WindowSpan } from '../wasm/dedupstore_wasm.js';
import { choiceControl, numberControl } from './controls.js';
import { type Definition, NO_ANSWER } from './panel.js';
import { type Column, counted, shared, table } from './table.js';

const UNITS = { '86400': 'days', '3600': 'hours', '60': 'minutes' };
const LETTERS: Readonly<Record<string, string>> = { '86400': 'd', '3600': 'h', '60': 'm' };

const SPANS: readonly Column<WindowSpan>[] = [
  counted('again', 'Repeats that count as new again', ({ again }) => again),
  shared('share', 'Share of repeats', ({ share }) => share),
];

const FILTERS: readonly Column<WindowOutcome>[] = [
  counted('fp', 'New keys skipped', (it) => it.falsePositives),
  shared('fpr', 'FPR', (it) => it.fpr),
  counted('fn', 'Repeats let through', (it) => it.falseNegatives),
  shared('fnr', 'FNR', (it) => it.fnr),
  shared('error', 'Wrong in total', (it) => it.error),
];

const MEANING =
  'A repeat is a key that this filter delivered within the window. Between the window and a ' +
  'twelfth more, both verdicts are right.';

export function windows(): Definition {
  const length = numberControl('Remember a key for', 7, { min: 1, max: 100_000 });
  const unit = choiceControl('Unit', UNITS, '86400');
  // Once, so that equal settings stay equal.
  const nowSeconds = Math.floor(Date.now() / 1000);
  const seconds = () => length.value() * Number(unit.value());
  return {
    intro:
      'For logs whose lines have a time. A filter with a window forgets each key some time after ' +
      'it was last new, so its memory need not grow, and pages are fetched again.',
    controls: [length, unit],
    sample: { id: 'access', title: 'Access log' },
    subject: () => ({ windows: { spanSeconds: seconds(), nowSeconds } }),
    answer: (result) => {
      if (result.kind !== 'windows') {
        return NO_ANSWER;
      }
      const { span, duration, repeats, spans, chosen, outcomes, withoutTime } = result;
      const window = spans[chosen];
      const again = window?.again ?? 0;
      const forgets =
        again === 0
          ? 'forgets nothing that comes back'
          : `forgets ${formatCount(again)} of ${formatCounted(repeats, 'repeat')} (${formatShare(window?.share ?? null)}), ` +
            'which count as new again';
      const notes =
        withoutTime === 0
          ? []
          : [create('p', { class: 'hint' }, `${formatCounted(withoutTime, 'line')} without a readable time counted at the time before.`)];
      return {
        sentence: `In this log of ${duration}, a window of ${span} ${forgets}.`,
        details: [
          table('What windows forget', 'Window', SPANS, spans.map((row, index) => ({
            id: String(row.seconds), label: row.span, row, isMarked: index === chosen,
          }))),
          table(`Filters with a window of ${span}`, 'Filter', FILTERS, outcomes.map((row) => ({
            id: row.filter, label: create('span', { title: row.filter }, row.name), row,
          }))),
          create('p', { class: 'hint' }, MEANING),
          ...notes,
        ],
        options: ['--window', `${length.value()}${LETTERS[unit.value()] ?? ''}`],
      };
    },
  };
}
