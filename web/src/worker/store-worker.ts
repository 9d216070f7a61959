// Makes a store or looks into one, and is ended. Only the complete engine knows stores, so
// that the page's first load goes without.

import type { FromStoreWorker, ToStoreWorker } from '../store-protocol.js';
import { explain } from './explain.js';
import { load } from './load.js';
import { lookInto } from './store-look.js';
import { prime } from './store-primer.js';

self.onmessage = ({ data }: MessageEvent<ToStoreWorker>) => {
  carryOut(data).catch((error: unknown) => tell({ kind: 'refused', message: explain(error) }));
};

async function carryOut(order: ToStoreWorker): Promise<void> {
  await load('complete');
  switch (order.kind) {
    case 'prime':
      tell({ kind: 'primed', tar: await prime(order.order, tellShare) });
      break;
    case 'look':
      tell({ kind: 'looked', report: await lookInto(order.store) });
      break;
  }
}

function tellShare(share: number): void {
  tell({ kind: 'priming', share });
}

function tell(message: FromStoreWorker): void {
  self.postMessage(message);
}
