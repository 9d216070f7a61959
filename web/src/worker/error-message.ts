/** The engine's refusals are sentences already; a trap is only a name. */
export function explain(error: unknown): string {
  if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
    return (
      `The engine stopped (${error.message}). It has probably run out of memory: ` +
      'try a smaller memory, fewer filters or a shorter log.'
    );
  }
  return error instanceof Error ? error.message : String(error);
}
