// Trees of Bloom filters near the producers of keys.

import { specText } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import { formatCount, formatCounted, formatDigits, formatShare } from '../ui/number-format.js';
import type { TreeLevel, TreeOutcome } from '../wasm/dedupstore_wasm.js';
import { choiceControl, numberControl } from './controls.js';
import { type Definition, NO_ANSWER } from './panel.js';
import { type Column, counted, measured, shared, table } from './table.js';

const PRODUCERS = { random: 'a random site', field: 'named by a field of the line' };

const COLUMNS: readonly Column<TreeOutcome>[] = [
  shared('fpr', 'New keys skipped', (it) => it.fpr),
  shared('fnr', 'Repeats let through', (it) => it.fnr),
  counted('differs_from_single', 'Other verdicts than one filter', (it) => it.differsFromSingle),
  measured('messages_remote', 'Remote messages per line', (it) => it.messagesRemote),
];

const LEVELS: readonly Column<TreeLevel>[] = [
  counted('nodes', 'Nodes', (it) => it.nodes),
  counted('accesses', 'Accesses', (it) => it.accesses),
  counted('hits', 'Repeats found here', (it) => it.hits),
];

/** A tree with more nodes takes too much memory in a browser. */
const MAX_NODES = 5000;

export function trees(): Definition {
  const levels = numberControl('Levels', 3, { min: 1, max: 8 });
  const fanout = numberControl('Branches per node', 4, { min: 2, max: 64 });
  const producer = choiceControl('The site of a line is', PRODUCERS);
  const field = numberControl('Number of that field', 1, { min: 1, max: 1000 });
  const specs = () => {
    const nodes = (fanout.value() ** levels.value() - 1) / (fanout.value() - 1);
    if (nodes > MAX_NODES) {
      throw new InvalidInput(`This tree has ${formatCount(nodes)} nodes; the page runs at most ${formatCount(MAX_NODES)}.`);
    }
    return ['dense', 'sparse'].map((order) => `${order}:levels=${levels.value()},fanout=${fanout.value()}`);
  };
  const hasField = () => {
    field.element.hidden = producer.value() !== 'field';
    return !field.element.hidden;
  };
  hasField();
  return {
    intro:
      'Each site asks a Bloom filter nearby, and only if that has not seen the key, those above ' +
      'it. The memory above is that of each node. In a dense tree, a site also remembers keys that ' +
      'it found above; in a sparse tree, it asks again.',
    controls: [levels, fanout, producer, field],
    subject: () => ({
      trees: {
        trees: specs(),
        producer: hasField() ? { numbers: [field.value()], delimiter: null } : null,
      },
    }),
    answer: (result) => {
      if (result.kind !== 'trees') {
        return NO_ANSWER;
      }
      const { outcomes, withoutProducer } = result;
      const [first] = outcomes;
      const nearby = first?.levels.at(-1)?.hits ?? 0;
      const remote = formatDigits(first?.messagesRemote ?? 0);
      const missing =
        withoutProducer === 0 ? '' : ` ${formatCounted(withoutProducer, 'line')} without that field ${withoutProducer === 1 ? 'was' : 'were'} skipped.`;
      return {
        sentence:
          `With ${formatCounted(first?.nodes ?? 0, 'node')}, ${formatCount(nearby)} of ${formatCounted(first?.repeats ?? 0, 'repeat')} are found at the ` +
          `site itself; a line costs ${remote} messages to other nodes, and ${formatShare(first?.fpr ?? null)} of new keys are skipped.${missing}`,
        details: [
          table('Trees', 'Tree', COLUMNS, outcomes.map((row) => ({ id: row.tree, label: specText(row.tree), row }))),
          ...outcomes.map(({ tree, levels }) =>
            table(`Levels of ${tree}; 0 is the root`, 'Level', LEVELS, levels.map((row) => ({
              id: `${tree} ${row.level}`, label: String(row.level), row,
            }))),
          ),
        ],
        options: [
          ...outcomes.flatMap(({ tree }) => ['--tree', tree]),
          ...(hasField() ? ['--producer-field', String(field.value())] : []),
        ],
      };
    },
  };
}
