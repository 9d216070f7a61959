// Builds or inspects one store. Only the complete engine has stores.

import type { FromStoreWorker, StoreRequest } from '../store/protocol.js';
import { errorMessage } from './error-message.js';
import { loadEngine } from './load-engine.js';
import { buildStore } from './store-builder.js';
import { inspectStore } from './store-inspector.js';

self.onmessage = ({ data }: MessageEvent<StoreRequest>) => {
  handle(data).catch((error: unknown) => post({ kind: 'failed', message: errorMessage(error) }));
};

async function handle(request: StoreRequest): Promise<void> {
  const engine = await loadEngine('complete');
  switch (request.kind) {
    case 'build': {
      const reportShare = (share: number) => post({ kind: 'building', share });
      post({ kind: 'built', tar: await buildStore(engine, request.request, reportShare) });
      break;
    }
    case 'inspect':
      post({ kind: 'inspected', report: await inspectStore(engine, request.store) });
      break;
  }
}

function post(message: FromStoreWorker): void {
  self.postMessage(message);
}
