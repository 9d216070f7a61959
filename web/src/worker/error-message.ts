/** Returns a sentence for the user. The engine's own errors are sentences already. */
export function errorMessage(error: unknown): string {
  if (isTrap(error)) {
    return (
      `The engine stopped (${error.message}). It probably ran out of memory: ` +
      'try less memory, fewer filters or a shorter log.'
    );
  }
  return error instanceof Error ? error.message : String(error);
}

/** Whether an error has stopped the engine. Its state is undefined afterwards. */
export function isTrap(error: unknown): error is Error {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
}
