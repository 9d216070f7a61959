/** Returns a sentence for the user. The engine's own errors are sentences already. */
export function errorMessage(error: unknown): string {
  if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
    return (
      `The engine stopped (${error.message}). It probably ran out of memory: ` +
      'try less memory, fewer filters or a shorter log.'
    );
  }
  return error instanceof Error ? error.message : String(error);
}
