// Runs one small filter line by line and reports all of its cells.

import { engineFor } from '../engine/settings.js';
import type { FromInsideWorker, ToInsideWorker } from '../inside/protocol.js';
import { errorMessage } from './error-message.js';
import { FilterPlayer } from './filter-player.js';
import { loadEngine } from './load-engine.js';
import { Pacer } from './pacer.js';

let pacer: Pacer | undefined;
let player: FilterPlayer | undefined;

self.onmessage = ({ data }: MessageEvent<ToInsideWorker>) => {
  switch (data.kind) {
    case 'start': {
      const { request } = data;
      const started = new Pacer(request.pace);
      pacer = started;
      loadEngine(engineFor(request.key))
        .then((engine) => {
          player = new FilterPlayer(engine, request, started, post);
          return player.run();
        })
        .catch((error: unknown) => post({ kind: 'failed', message: errorMessage(error) }));
      break;
    }
    case 'pace':
      pacer?.setPace(data.pace);
      break;
    case 'step':
      pacer?.step(data.lines);
      break;
    case 'selectKey':
      player?.selectKey(data.id);
      break;
    case 'describeCell':
      player?.describeCell(data.index);
      break;
  }
};

function post(message: FromInsideWorker): void {
  self.postMessage(message);
}
