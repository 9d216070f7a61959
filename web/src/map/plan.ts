// The settings that the map compares: all filters of the run, or several values of one
// parameter, each with several memory sizes.

import type { RunRequest } from '../engine/run-protocol.js';
import type { FilterSetting } from '../engine/settings.js';
import type { FilterDescription } from '../wasm/dedupstore_wasm.js';

/** Multiples of the run's memory. */
export const MEMORY_FACTORS = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8];

export interface MapPlan {
  label: string;
  /** Whether the filters are values of one parameter, which are drawn in their order. */
  isSweep: boolean;
  /** The filters in their text form. */
  filters: string[];
}

export interface MapSetting extends FilterSetting {
  /** The index of the filter in the plan. */
  filterIndex: number;
  /** The index of the memory in MEMORY_FACTORS. */
  memoryIndex: number;
}

export function mapPlans(
  { filters: settings }: RunRequest,
  descriptions: FilterDescription[],
): MapPlan[] {
  const filters = settings.map(({ filter }) => filter);
  const plans: MapPlan[] = [
    { label: 'All filters of the run', isSweep: false, filters },
  ];
  for (const filter of new Set(filters)) {
    const name = filter.split(':')[0];
    const description = descriptions.find((description) => description.name === name);
    for (const { name: parameter, sweptValues } of description?.parameters ?? []) {
      const swept = sweptValues.map((value) => withValue(filter, parameter, value));
      plans.push({ label: `${parameter} of ${filter}`, isSweep: true, filters: swept });
    }
  }
  return plans.filter(({ filters }) => filters.length > 1 || filters === plans[0]?.filters);
}

export function mapSettings({ filters }: MapPlan, memoryBits: number): MapSetting[] {
  return MEMORY_FACTORS.flatMap((factor, memoryIndex) =>
    filters.map((filter, filterIndex) => ({
      filter,
      memoryBits: Math.ceil(memoryBits * factor),
      filterIndex,
      memoryIndex,
    })),
  );
}

/** A text form with another value for one of its parameters. */
function withValue(filter: string, parameter: string, value: string): string {
  const [name = '', values = ''] = filter.split(':');
  const parts = values.split(',').map((part) => {
    return part.split('=')[0] === parameter ? `${parameter}=${value}` : part;
  });
  return `${name}:${parts.join(',')}`;
}
