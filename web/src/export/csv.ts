// Writes the results of a run as comma-separated values, with the command line's names.

import type { Snapshot } from '../engine/run-protocol.js';
import { partName } from '../setup/log-part-input.js';
import type { Measures } from '../wasm/dedupstore_wasm.js';

type Cell = string | number | null | undefined;

export function outcomesCsv({ outcomes, part }: Snapshot): string {
  const names = [
    'filter', 'memory_bits', 'count', 'distinct', 'repeats', 'fp', 'fn', 'fpr', 'fnr', 'load',
    'predicted_fpr', 'predicted_fnr', 'predicted_by', 'ns_per_observation', 'sample',
  ];
  const rows = outcomes.map((outcome): Cell[] => [
    outcome.filter, outcome.memoryBits, outcome.count, outcome.distinct, outcome.repeats,
    outcome.falsePositives, outcome.falseNegatives, outcome.fpr, outcome.fnr, outcome.load,
    outcome.prediction?.fpr, outcome.prediction?.fnr, outcome.prediction?.by,
    outcome.nsPerObservation, partName(part),
  ]);
  return csv([names, ...rows]);
}

/** The measures that have a value over several lines. */
const RATES: readonly (keyof Measures)[] = ['fpr', 'fnr', 'error'];

/** The curves: the values of each stretch of lines, and the rates from the first line on. */
export function curvesCsv({ outcomes, curves, part }: Snapshot): string {
  const measures: readonly (keyof Measures)[] = ['fpr', 'fnr', 'error', 'load'];
  const predicted = measures.map((measure) => `predicted_${measure}`);
  const rows = outcomes.flatMap(({ filter }, index) =>
    Array.from(curves.position, (position, stretch): Cell[] => {
      const of = curves.filters[index];
      return [
        filter,
        position,
        ...measures.map((measure) => of?.windowed.measured[measure][stretch]),
        ...measures.map((measure) => of?.windowed.predicted[measure][stretch]),
        ...RATES.map((measure) => of?.cumulative.measured[measure][stretch]),
        curves.bound[stretch],
        partName(part),
      ];
    }),
  );
  const cumulative = RATES.map((measure) => `cumulative_${measure}`);
  const names = ['filter', 'position', ...measures, ...predicted, ...cumulative];
  return csv([[...names, 'least_cumulative_fpr', 'sample'], ...rows]);
}

function csv(rows: Cell[][]): string {
  return rows.map((cells) => cells.map(csvCell).join(',') + '\n').join('');
}

function csvCell(value: Cell): string {
  if (typeof value === 'string') {
    return `"${value.replaceAll('"', '""')}"`;
  }
  return value == null || Number.isNaN(value) ? '' : String(value);
}
