// The numbers of a run as comma-separated values, under the command line's names.

import { partName } from './part-input.js';
import type { Measure, Snapshot } from './protocol.js';

type Cell = string | number | null;

export function csvOfOutcomes({ outcomes, part }: Snapshot): string {
  const names = [
    'filter', 'memory_bits', 'count', 'distinct', 'repeats', 'fp', 'fn', 'fpr', 'fnr', 'load',
    'predicted_fpr', 'predicted_fnr', 'predicted_by', 'ns_per_observation', 'sample',
  ];
  const rows = outcomes.map((row): Cell[] => [
    row.filter, row.memoryBits, row.count, row.distinct, row.repeats,
    row.falsePositives, row.falseNegatives, row.fpr, row.fnr, row.load,
    row.prediction?.fpr ?? null, row.prediction?.fnr ?? null, row.prediction?.by ?? null,
    row.nsPerObservation, partName(part),
  ]);
  return written([names, ...rows]);
}

export function csvOfCurves({ outcomes, curves, part }: Snapshot): string {
  const measures: readonly Measure[] = ['fpr', 'fnr', 'error', 'load'];
  const predicted = measures.map((measure) => `predicted_${measure}`);
  const rows = outcomes.flatMap(({ filter }, place) =>
    curves.position.map((position, index): Cell[] => {
      const of = curves.filters[place];
      return [
        filter,
        position,
        ...measures.map((measure) => of?.measured[measure][index] ?? null),
        ...measures.map((measure) => of?.predicted[measure][index] ?? null),
        curves.bound[index] ?? null,
        partName(part),
      ];
    }),
  );
  return written([['filter', 'position', ...measures, ...predicted, 'bound_fpr', 'sample'], ...rows]);
}

function written(rows: Cell[][]): string {
  return rows.map((cells) => cells.map(cell).join(',') + '\n').join('');
}

function cell(value: Cell): string {
  return typeof value === 'string' ? `"${value.replaceAll('"', '""')}"` : String(value ?? '');
}
