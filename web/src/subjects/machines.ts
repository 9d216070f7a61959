// A Bloom filter that is divided among machines, some of which have failed.

import { create, specText } from '../ui/element.js';
import { formatCount, formatCounted, formatShare } from '../ui/number-format.js';
import { InvalidInput } from '../ui/invalid-input.js';
import type { SliceOutcome } from '../wasm/dedupstore_wasm.js';
import { choiceControl, numberControl } from './controls.js';
import { type Definition, NO_ANSWER } from './panel.js';
import { type Column, counted, measured, shared, table } from './table.js';

const RULES = {
  seen: 'counts as set: keys are skipped',
  new: 'counts as clear: pages are fetched again',
  unknown: 'is unknown: the crawler decides',
};

const COLUMNS: readonly Column<SliceOutcome>[] = [
  shared('fpr', 'New keys skipped', (it) => it.fpr),
  shared('predicted_fpr', 'Theory', (it) => it.predictedFpr),
  shared('fnr', 'Repeats let through', (it) => it.fnr),
  shared('predicted_fnr', 'Theory', (it) => it.predictedFnr),
  counted('unknown', 'Unknown', (it) => it.unknown),
  measured('messages_test', 'Tests per line', (it) => it.messagesTest),
  measured('messages_set', 'Sets per line', (it) => it.messagesSet),
  shared('hottest', 'Share of the busiest machine', (it) => it.hottest),
];

/** Ways to divide a filter among so many machines. */
function waysFor(machines: number): string[] {
  const ways = [`horizontal:${machines}`, `vertical:${machines}`];
  return machines % 2 === 0 && machines > 2 ? [...ways, `diced:${machines / 2}x2`] : ways;
}

function words(slices: string): string {
  const [way = ''] = slices.split(':');
  const names: Record<string, string> = {
    horizontal: 'each key on one machine',
    vertical: 'each machine a range of the bits',
    diced: 'each key on two machines',
  };
  return names[way] ?? slices;
}

export function machines(): Definition {
  const count = numberControl('Machines', 8, { min: 1, max: 1000 });
  const failed = numberControl('Of these, failed', 1, { min: 0, max: 1000 });
  const rule = choiceControl('A bit on a failed machine', RULES);
  const k = numberControl('Bits per key', 4, { min: 1, max: 32 });
  return {
    intro:
      'One Bloom filter in the memory above, divided among machines that answer over a network. ' +
      'How it is divided decides how many messages a key costs, and what a failure does.',
    controls: [count, failed, rule, k],
    subject: () => {
      if (failed.value() > count.value()) {
        throw new InvalidInput('No more machines can have failed than there are.');
      }
      const slices = waysFor(count.value());
      return { slices: { slices, k: k.value(), failed: failed.value(), rule: rule.value() } };
    },
    answer: (result) => {
      if (result.kind !== 'slices') {
        return NO_ANSWER;
      }
      const { outcomes } = result;
      const [first] = outcomes;
      const down =
        first?.failed === 0
          ? 'While no machine has failed'
          : `With ${formatCount(first?.failed ?? 0)} of ${formatCounted(first?.sites ?? 0, 'machine')} down`;
      const list = (of: string, share: (outcome: SliceOutcome) => number | null) =>
        outcomes
          .map((it, index) => `${formatShare(share(it))}${index === 0 ? of : ''} with ${words(it.slices)}`)
          .join(', ');
      const letsThrough = outcomes.some(({ falseNegatives }) => falseNegatives > 0)
        ? `; it lets ${list(' of repeats through', ({ fnr }) => fnr)}`
        : ', and lets no repeat through';
      return {
        sentence: `${down}, the filter skips ${list(' of new keys', ({ fpr }) => fpr)}${letsThrough}.`,
        details: [
          table('A filter on many machines', 'Divided so that', COLUMNS, outcomes.map((row) => ({
            id: row.slices,
            label: create('span', {}, words(row.slices), create('br'), specText(row.slices)),
            row,
          }))),
        ],
        options: [
          ...['--filter', `bloom:k=${k.value()}`],
          ...outcomes.flatMap(({ slices }) => ['--slices', slices]),
          ...['--failed', String(failed.value()), '--rule', rule.value()],
        ],
      };
    },
  };
}
