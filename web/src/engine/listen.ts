import { provideEngine } from './modules.js';
import type { EngineWanted } from './settings.js';

/** Passes on the messages of a worker, and the failure to start it. Provides its engine. */
export function listen<Message extends { kind: string }>(
  worker: Worker,
  receive: (message: Message) => void,
  fail: (message: string) => void,
): void {
  worker.onmessage = ({ data }: MessageEvent<Message | EngineWanted>) => {
    if (isEngineWanted(data)) {
      void provideEngine(worker, data.engine);
    } else {
      receive(data);
    }
  };
  worker.onerror = (event) => {
    event.preventDefault();
    const reason = event.message || 'its script did not load';
    fail(`The engine could not be started: ${reason}.`);
  };
}

function isEngineWanted(message: { kind: string }): message is EngineWanted {
  return message.kind === 'engineWanted';
}
