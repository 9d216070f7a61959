// Advice for a log: it is read once, and filters are tried over a sample of its keys.

import { type AdviceGiven, Adviser, Wish } from '../wasm/dedupstore_wasm.js';
import type { AdviceData, AdviceOrder, FromWorker, Wish as WishSpec } from '../protocol.js';
import { chunksOf } from './chunks.js';
import { keyChoice } from './key.js';
import { NothingToRead } from './nothing-to-read.js';
import { withPart } from './part.js';
import { copied } from './plain.js';

const PROGRESS_MILLISECONDS = 100;

export async function advise(
  order: AdviceOrder,
  tell: (message: FromWorker) => void,
): Promise<void> {
  const adviser = copied(keyChoice(order.key), (key) =>
    withPart(order.part, (part) => new Adviser(key, part)),
  );
  let toldAt = performance.now();
  for await (const { bytes, readBytes } of chunksOf(order.log, order.name)) {
    adviser.feed(bytes);
    if (performance.now() - toldAt >= PROGRESS_MILLISECONDS) {
      tell({ kind: 'advising', share: readBytes / order.log.size });
      toldAt = performance.now();
    }
    if (adviser.isOver) {
      break;
    }
  }
  adviser.finish();
  if (adviser.count === 0) {
    throw new NothingToRead(order, adviser.withoutKey);
  }
  tell({ kind: 'advising', share: 1 });
  const advice = copied(wish(order.wish), (wish) => adviser.advise(wish));
  tell({ kind: 'advised', advice: copied(advice, plainAdvice) });
}

function wish({ memoryBits, prefer, maxFpr, maxFnr, costFp, costFn }: WishSpec): Wish {
  const wish = new Wish(memoryBits, prefer);
  wish.bear(maxFpr ?? undefined, maxFnr ?? undefined);
  wish.costs(costFp, costFn);
  return wish;
}

function plainAdvice(advice: AdviceGiven): AdviceData {
  return {
    estimates: advice.estimates.map((estimate) =>
      copied(estimate, ({ filter, fpr, fnr, cost }) => ({ filter, fpr, fnr, cost })),
    ),
    keepsBounds: advice.keepsBounds,
    reason: advice.reason,
    papers: advice.papers ?? null,
    sureness: advice.sureness,
    observations: advice.observations ?? null,
    distinct: advice.distinct,
    leastFpr: advice.leastFpr ?? null,
  };
}
