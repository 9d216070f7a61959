// Copies of the engine's objects as plain data. Theirs live in the engine's memory and
// are freed here; only copies leave the worker.

import {
  type FilterEntry,
  type Outcome,
  type ParameterEntry,
  type Simulator,
  filters,
} from '../wasm/dedupstore_wasm.js';
import type {
  Curves,
  FilterDescription,
  OutcomeRow,
  ParameterDescription,
  Rate,
  Snapshot,
} from '../protocol.js';

/** Enough to see a bend, few enough that a stretch of a small log has keys to count. */
const STRETCHES = 40;

export function registry(): FilterDescription[] {
  return filters().map((entry) => copied(entry, description));
}

export function snapshot(simulator: Simulator, totalBytes: number): Snapshot {
  const outcomes = simulator.outcomes().map((outcome) => copied(outcome, row));
  return {
    bytes: simulator.bytes,
    totalBytes,
    outcomes,
    curves: curves(simulator, outcomes.length),
  };
}

function copied<T extends { free(): void }, U>(object: T, copy: (object: T) => U): U {
  try {
    return copy(object);
  } finally {
    object.free();
  }
}

function description(entry: FilterEntry): FilterDescription {
  return {
    name: entry.name,
    title: entry.title,
    summary: entry.summary,
    promise: entry.promise,
    chooseWhen: entry.chooseWhen,
    errs: entry.errs,
    parameters: entry.parameters.map((parameter) => copied(parameter, parameterDescription)),
  };
}

function parameterDescription(entry: ParameterEntry): ParameterDescription {
  const { name, meaning, defaultValue, min, max, step } = entry;
  const allowed: ParameterDescription['allowed'] =
    min !== undefined && max !== undefined && step !== undefined
      ? { kind: 'number', min, max, step }
      : { kind: 'choice', options: entry.options };
  return { name, meaning, defaultValue, allowed };
}

function row(outcome: Outcome): OutcomeRow {
  return {
    filter: outcome.filter,
    memoryBits: outcome.memoryBits,
    count: outcome.count,
    distinct: outcome.distinct,
    repeats: outcome.repeats,
    falsePositives: outcome.falsePositives,
    falseNegatives: outcome.falseNegatives,
    fpr: outcome.fpr ?? null,
    fnr: outcome.fnr ?? null,
    load: outcome.load,
    nsPerObservation: outcome.nsPerObservation ?? null,
  };
}

function curves(simulator: Simulator, filterCount: number): Curves {
  const all: Curves = { position: [], filters: [] };
  for (let index = 0; index < filterCount; index += 1) {
    const curve = simulator.curve(index, STRETCHES);
    if (curve === undefined) {
      continue;
    }
    copied(curve, (curve) => {
      all.position = Array.from(curve.position);
      all.filters.push({ fpr: rates(curve.fpr), fnr: rates(curve.fnr) });
    });
  }
  return all;
}

function rates(values: Float64Array): Rate[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : value));
}
