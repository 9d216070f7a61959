// "How much memory?": on the log of the page by trying, and without a log by formulas.

import type { QueryClient } from '../engine/queries.js';
import type { FilterSetting, LogSource } from '../engine/settings.js';
import { find } from '../ui/element.js';
import { CalculatorView } from './calculator-view.js';
import { LogMemoryView } from './log-memory-view.js';
import markup from './markup.html?raw';
import type { CalculatorState } from './state.js';

export interface CalculatorHost {
  /** The log and the filters of the page; throws InvalidInput if there are none. */
  source(): Promise<LogSource & { seed: number; filters: string[] }>;
  /** Takes a filter and its memory over into the settings. */
  use(setting: FilterSetting): void;
}

/** Fills the section. It is loaded when it is opened. */
export function openCalculator(
  queries: QueryClient,
  host: CalculatorHost,
  state: CalculatorState,
): CalculatorView {
  find('calculator-content', HTMLElement).innerHTML = markup;
  new LogMemoryView(host);
  const view = new CalculatorView(queries, host);
  view.restore(state);
  return view;
}
