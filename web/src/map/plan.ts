// What the map sweeps beside memory: the filters of the run, or one parameter of one of them.

import type { Entry, FilterDescription, RunOrder } from './protocol.js';

/** From an eighth of the memory to eight times as much. */
export const FACTORS = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8];

export interface MapPlan {
  label: string;
  /** The filters swept, in their text form. */
  filters: string[];
}

/** A setting of a plan, by its place among the filters and its step among the memories. */
export interface MapSetting extends Entry {
  place: number;
  step: number;
}

export function plansOf({ entries }: RunOrder, registry: FilterDescription[]): MapPlan[] {
  const filters = entries.map(({ filter }) => filter);
  const plans: MapPlan[] = [{ label: 'Filters, each in several memories', filters }];
  for (const filter of new Set(filters)) {
    const name = filter.split(':')[0];
    const description = registry.find((description) => description.name === name);
    for (const { name: parameter, tried } of description?.parameters ?? []) {
      const swept = tried.map((value) => withValue(filter, parameter, value));
      plans.push({ label: `${parameter} of ${filter}`, filters: swept });
    }
  }
  return plans.filter(({ filters }) => filters.length > 1 || filters === plans[0]?.filters);
}

export function settingsOf({ filters }: MapPlan, memoryBits: number): MapSetting[] {
  return FACTORS.flatMap((factor, step) =>
    filters.map((filter, place) => ({
      filter,
      memoryBits: Math.ceil(memoryBits * factor),
      place,
      step,
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
