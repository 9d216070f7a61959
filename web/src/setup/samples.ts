// The sample logs. The engine generates them, like `dedupstore generate`.

import type { SampleSpec } from '../engine/query-protocol.js';
import type { KeySpec } from '../wasm/dedupstore_wasm.js';

export interface Sample {
  id: string;
  title: string;
  fileName: string;
  spec: SampleSpec;
  /** The key, if it is not the most likely one. */
  key?: KeySpec;
}

const COUNT = 50_000;

export const SAMPLES: readonly Sample[] = [
  {
    id: 'crawl',
    title: 'Crawl',
    fileName: 'crawl.log',
    spec: { stream: 'crawl:12:900', count: COUNT, seed: 1, form: 'keys' },
  },
  {
    id: 'depths',
    title: 'Crawl with depths',
    fileName: 'crawl.tsv',
    spec: { stream: 'crawl:12:900', count: COUNT, seed: 1, form: 'with-importance' },
    key: {
      part: { fields: { numbers: [1], delimiter: '\t' } },
      normalize: false,
      importance: 'importance=2,importance-delimiter=%09,importance-format=depth',
    },
  },
  {
    id: 'access',
    title: 'Access log',
    fileName: 'access.log',
    spec: { stream: 'crawl:1:9000', count: COUNT, seed: 2, form: 'access-log' },
  },
  {
    id: 'clicks',
    title: 'Click stream',
    fileName: 'clicks.jsonl',
    spec: { stream: 'drift:35:4000', count: COUNT, seed: 3, form: 'clicks' },
  },
];

/** The command that generates a sample. */
export function generateCommand(id: string): string | null {
  const sample = SAMPLES.find((sample) => sample.id === id);
  if (sample === undefined) {
    return null;
  }
  const { stream, count, seed, form } = sample.spec;
  const forms: Record<string, string> = { keys: '', 'with-importance': ' --with-importance' };
  const option = forms[form] ?? ` --as ${form}`;
  return `dedupstore generate ${stream} --count ${count} --seed ${seed}${option} > ${sample.fileName}`;
}
