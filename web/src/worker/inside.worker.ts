// Runs one small filter line by line and reports all of its cells.

import { engineFor } from '../engine/settings.js';
import type { FromInsideWorker, ToInsideWorker } from '../inside/protocol.js';
import { errorMessage } from './error-message.js';
import { FilterPlayer } from './filter-player.js';
import { loadEngine } from './load-engine.js';
import { Pacer } from './pacer.js';

let pacer: Pacer | undefined;
/** Requests that arrive while the engine is loading wait for it. */
let player: Promise<FilterPlayer> | undefined;

self.onmessage = ({ data }: MessageEvent<ToInsideWorker>) => {
  switch (data.kind) {
    case 'start': {
      const { request } = data;
      const pacing = new Pacer(request.pace);
      pacer = pacing;
      player = loadEngine(engineFor(request.key, [request])).then(
        (engine) => new FilterPlayer(engine, request, pacing, post),
      );
      player
        .then((loaded) => loaded.run())
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
      whenLoaded((loaded) => loaded.selectKey(data.id));
      break;
    case 'describeCell':
      whenLoaded((loaded) => loaded.describeCell(data.index));
      break;
  }
};

/** Does nothing if the engine cannot be loaded: that is reported once, at the start. */
function whenLoaded(action: (loaded: FilterPlayer) => void): void {
  player?.then(action, () => undefined);
}

function post(message: FromInsideWorker): void {
  self.postMessage(message);
}
