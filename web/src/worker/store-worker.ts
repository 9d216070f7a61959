// Makes a store or looks into one, and is ended. Stores need an engine of their own only
// here, so the page's first load goes without.

import initialise from '../wasm/dedupstore_wasm.js';
import type { FromStoreWorker, ToStoreWorker } from '../store-protocol.js';
import { explain } from './explain.js';
import { lookInto } from './store-look.js';
import { prime } from './store-primer.js';

self.onmessage = ({ data }: MessageEvent<ToStoreWorker>) => {
  carryOut(data).catch((error: unknown) => tell({ kind: 'refused', message: explain(error) }));
};

async function carryOut(order: ToStoreWorker): Promise<void> {
  await initialise();
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
