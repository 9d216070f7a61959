// A filter that grows, beside Bloom filters that were planned for a size.

import { create, specText } from '../ui/element.js';
import { formatBytes, formatCount, formatCounted, formatShare } from '../ui/number-format.js';
import type { GrowthPoint } from '../wasm/dedupstore_wasm.js';
import { choiceControl } from './controls.js';
import { type Definition, NO_ANSWER } from './panel.js';
import { type Column, counted, shared, table } from './table.js';

const RESERVES = { '2': '2 times the memory', '4': '4 times the memory', '16': '16 times the memory', '64': '64 times the memory' };
const RATES = { '0.01': '1 %', '0.001': '0.1 %', '0.0001': '0.01 %' };

function columns(small: string, reserve: string): Column<GrowthPoint>[] {
  return [
    counted('distinct', 'Distinct keys', (it) => it.distinct),
    { key: 'used_bytes', heading: 'Memory in use', value: (it) => it.usedBytes, format: (it) => formatBytes(it ?? 0) },
    counted('parts', 'Parts', (it) => it.parts),
    shared('growing_fpr', 'New keys skipped', (it) => it.growingFpr),
    shared('small_fpr', `Bloom in ${small}`, (it) => it.smallFpr),
    shared('large_fpr', `Bloom in ${reserve}`, (it) => it.largeFpr),
  ];
}

export function growth(): Definition {
  const reserve = choiceControl('Reserve', RESERVES, '4');
  const rate = choiceControl('New keys skipped, at most', RATES, '0.001');
  return {
    intro:
      'A Bloom filter is planned for a number of keys; with more it is wrong more and more often. A ' +
      'growing filter reserves room, uses it as keys come, and stays below its rate until the ' +
      'reserve is full.',
    controls: [reserve, rate],
    subject: () => ({ growth: { fpr: Number(rate.value()), reserve: Number(reserve.value()) } }),
    answer: (result) => {
      if (result.kind !== 'growth') {
        return NO_ANSWER;
      }
      const { filter, points, keysLeft } = result;
      const [small, whole] = [formatBytes(result.smallBits / 8), formatBytes(result.reserveBits / 8)];
      const end = points.at(-1);
      const left =
        keysLeft < 1
          ? 'The reserve is full, so the rate rises from here on.'
          : `About ${formatCounted(keysLeft, 'more key')} fit${keysLeft === 1 ? 's' : ''}.`;
      return {
        sentence:
          `After ${formatCounted(end?.distinct ?? 0, 'key')}, the growing filter uses ${formatBytes(end?.usedBytes ?? 0)} of ${whole} and has ` +
          `skipped ${formatShare(end?.growingFpr ?? null)} of new keys; a Bloom filter planned for ${small} has skipped ` +
          `${formatShare(end?.smallFpr ?? null)}. ${left}`,
        details: [
          table('A filter that grows, and Bloom filters beside it', 'Lines', columns(small, whole), points.map((row) => ({
            id: String(row.lines), label: formatCount(row.lines), row,
          }))),
          create('p', { class: 'hint' }, 'The growing filter is ', specText(filter), '. Its first part has half of the memory above.'),
        ],
        options: ['--filter', filter, '--filter', 'bloom'],
        memoryBits: result.reserveBits,
      };
    },
  };
}
