// Copies of the engine's objects as plain data. Theirs live in the engine's memory and
// are freed here; only copies leave the worker.

import {
  type Curve,
  type FilterEntry,
  type KeyProfile,
  type Outcome,
  type ParameterEntry,
  type Profile,
  type Simulator,
  filters,
} from '../wasm/dedupstore_wasm.js';
import type {
  Curves,
  FilterDescription,
  OutcomeRow,
  ParameterDescription,
  PredictionRow,
  ProfileData,
  Rate,
  RateData,
  RunOrder,
  Snapshot,
} from '../protocol.js';
import type { LineProfile } from './key-protocol.js';

/** Enough to see a bend, few enough that a stretch of a small log has keys to count. */
const STRETCHES = 40;

export function copied<T extends { free(): void }, U>(object: T, copy: (object: T) => U): U {
  try {
    return copy(object);
  } finally {
    object.free();
  }
}

export function registry(): FilterDescription[] {
  return filters().map((entry) => copied(entry, description));
}

export function snapshot(
  simulator: Simulator,
  lines: LineProfile,
  order: RunOrder,
  bytes: number,
): Snapshot {
  const outcomes = simulator.outcomes().map((outcome, place) => ({
    ...copied(outcome, row),
    // On a sample of keys a filter runs in less, and stands for what was asked for.
    memoryBits: order.entries[place]?.memoryBits ?? 0,
  }));
  return {
    bytes,
    totalBytes: order.log.size,
    part: order.part,
    outcomes,
    curves: curves(simulator, outcomes.length),
    profile: { ...copied(simulator.profile(), profile), ...lines },
  };
}

function description(entry: FilterEntry): FilterDescription {
  return {
    name: entry.name,
    title: entry.title,
    summary: entry.summary,
    promise: entry.promise,
    chooseWhen: entry.chooseWhen,
    errs: entry.errs,
    drawing: { before: entry.drawnBefore, after: entry.drawnAfter, caption: entry.caption },
    parameters: entry.parameters.map((parameter) => copied(parameter, parameterDescription)),
  };
}

function parameterDescription(entry: ParameterEntry): ParameterDescription {
  const { name, meaning, defaultValue, tried, min, max, step } = entry;
  const allowed: ParameterDescription['allowed'] =
    min !== undefined && max !== undefined && step !== undefined
      ? { kind: 'number', min, max, step }
      : { kind: 'choice', options: entry.options };
  return { name, meaning, defaultValue, tried, allowed };
}

function row(outcome: Outcome): Omit<OutcomeRow, 'memoryBits'> {
  return {
    filter: outcome.filter,
    count: outcome.count,
    distinct: outcome.distinct,
    repeats: outcome.repeats,
    falsePositives: outcome.falsePositives,
    falseNegatives: outcome.falseNegatives,
    fpr: outcome.fpr ?? null,
    fnr: outcome.fnr ?? null,
    error: outcome.error ?? null,
    load: outcome.load,
    nsPerObservation: outcome.nsPerObservation ?? null,
    prediction: prediction(outcome),
  };
}

function prediction(outcome: Outcome): PredictionRow | null {
  const { predictedFpr: fpr, predictedFnr: fnr, predictedBy: by } = outcome;
  if (fpr === undefined || fnr === undefined || by === undefined) {
    return null;
  }
  return {
    fpr,
    fnr,
    by,
    trust: outcome.predictedTrust ?? '',
    loose: outcome.predictedLoose ?? '',
  };
}

function curves(simulator: Simulator, filterCount: number): Curves {
  const all: Curves = { position: [], filters: [], bound: [] };
  for (let index = 0; index < filterCount; index += 1) {
    const curve = simulator.curve(index, STRETCHES);
    if (curve === undefined) {
      continue;
    }
    copied(curve, (curve) => {
      all.position = Array.from(curve.position);
      all.bound = rates(curve.boundFpr);
      all.filters.push(filterCurves(curve));
    });
  }
  return all;
}

function filterCurves(curve: Curve): Curves['filters'][number] {
  return {
    measured: {
      fpr: rates(curve.fpr),
      fnr: rates(curve.fnr),
      error: rates(curve.error),
      load: rates(curve.load),
    },
    predicted: {
      fpr: rates(curve.predictedFpr),
      fnr: rates(curve.predictedFnr),
      error: rates(curve.predictedError),
      load: rates(curve.predictedLoad),
    },
  };
}

function profile(profile: Profile): Omit<ProfileData, keyof LineProfile> {
  const { gapCount } = profile;
  return {
    count: profile.count,
    distinct: profile.distinct,
    gaps: Array.from(profile.gapFrom, (from, index) => ({ from, count: gapCount[index] ?? 0 })),
    gapsSampledOneIn: profile.gapsSampledOneIn,
  };
}

export function lineProfile(profile: KeyProfile): LineProfile {
  const { topCounts } = profile;
  return {
    read: profile.read,
    withoutKey: profile.withoutKey,
    top: profile.topKeys.map((key, index) => ({ key, count: topCounts[index] ?? 0 })),
    topTooLow: profile.topTooLow,
    rate: rate(profile),
  };
}

function rate(profile: KeyProfile): RateData | null {
  const counts = Array.from(profile.rateCounts);
  return counts.length === 0
    ? null
    : { fromSeconds: profile.rateFromSeconds, widthSeconds: profile.rateWidthSeconds, counts };
}

function rates(values: Float64Array): Rate[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : value));
}
