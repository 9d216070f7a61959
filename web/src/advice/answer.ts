// The text of advice: what to use, and the runners-up.

import { partName } from '../setup/log-part-input.js';
import { create, specText } from '../ui/element.js';
import { formatBytes, formatCounted, formatDigits, formatShare } from '../ui/number-format.js';
import type { Advice, Estimate } from '../wasm/dedupstore_wasm.js';
import type { AdviceRequest } from './protocol.js';

/** The recommendation as a sentence, and the estimates as a table, the best first. */
export function adviceText(
  advice: Advice,
  shown: [Estimate, ...Estimate[]],
  request: AdviceRequest,
): HTMLElement[] {
  return [sentence(advice, shown[0], request), table(shown, request)];
}

function sentence(advice: Advice, recommended: Estimate, request: AdviceRequest): HTMLElement {
  const memory = formatBytes(request.requirements.memoryBits / 8);
  const part = partName(request.part);
  const basis =
    advice.observations === null
      ? `On ${request.name}`
      : `Tried on ${formatCounted(advice.observations, 'line')} of ${request.name}`;
  const sample = part === '' ? '' : ` This is from a sample of the log: ${part}.`;
  const { enough } = advice;
  const more =
    enough === null
      ? []
      : [' The limits can be kept in about ', create('strong', { 'data-bits': String(enough.memoryBits) }, formatBytes(enough.memoryBits / 8)), ', with ', specText(enough.filter), '.'];
  return create(
    'p',
    { class: 'advice-sentence' },
    'Use ',
    create('strong', {}, specText(recommended.filter)),
    ` in ${memory}: ${advice.reason}. ${basis}, it is expected to skip `,
    `${formatShare(recommended.fpr)} of new keys and to let ${formatShare(recommended.fnr)} of `,
    `repeats through; ${advice.certainty}.${sample}`,
    ...more,
  );
}

function table(estimates: Estimate[], { requirements }: AdviceRequest): HTMLElement {
  // With equal costs of 1, the cost per line is the share of wrong verdicts.
  const isShare = requirements.costFp === 1 && requirements.costFn === 1;
  const columns = ['Filter', 'FPR', 'FNR', isShare ? 'Wrong lines' : 'Cost per line'];
  const head = create('tr', {}, ...columns.map((text) => create('th', { scope: 'col' }, text)));
  const rows = estimates.map(({ filter, fpr, fnr, cost }) =>
    create(
      'tr',
      { 'data-filter': filter },
      create('th', { scope: 'row' }, specText(filter)),
      cell('fpr', fpr, formatShare),
      cell('fnr', fnr, formatShare),
      cell('cost', cost, isShare ? formatShare : formatDigits),
    ),
  );
  return create(
    'table',
    { class: 'numbers', id: 'advice-table' },
    create('caption', {}, 'The recommended filter and the runners-up'),
    create('thead', {}, head),
    create('tbody', {}, ...rows),
  );
}

/** The text is rounded; `data-value` holds the exact number. */
function cell(column: string, value: number, format: (value: number) => string): HTMLElement {
  return create('td', { 'data-column': column, 'data-value': String(value) }, format(value));
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
