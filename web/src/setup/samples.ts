// The logs that the page can make by itself: what `dedupstore generate` prints for the
// same stream.

import type { SampleSpec } from './protocol.js';

export interface Sample {
  id: string;
  title: string;
  /** What the log is called. */
  name: string;
  spec: SampleSpec;
}

const COUNT = 50_000;

export const SAMPLES: readonly Sample[] = [
  {
    id: 'crawl',
    title: 'Crawl',
    name: 'crawl.log',
    spec: { stream: 'crawl:12:900', count: COUNT, seed: 1, form: 'keys' },
  },
  {
    id: 'access',
    title: 'Access log',
    name: 'access.log',
    spec: { stream: 'crawl:1:9000', count: COUNT, seed: 2, form: 'access-log' },
  },
  {
    id: 'clicks',
    title: 'Click stream',
    name: 'clicks.jsonl',
    spec: { stream: 'drift:35:4000', count: COUNT, seed: 3, form: 'clicks' },
  },
];
