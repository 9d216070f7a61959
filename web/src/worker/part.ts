// The part of a log that is read, as the engine has it.

import { LogPart } from '../wasm/dedupstore_wasm.js';
import type { LogPart as LogPartSpec } from '../protocol.js';
import { copied } from './plain.js';

export function withPart<T>(spec: LogPartSpec, use: (part: LogPart) => T): T {
  return copied(engineOf(spec), use);
}

function engineOf(spec: LogPartSpec): LogPart {
  switch (spec.kind) {
    case 'all':
      return LogPart.all();
    case 'keys':
      return LogPart.oneKeyIn(spec.oneIn);
    case 'lines':
      return LogPart.firstLines(spec.first);
  }
}
