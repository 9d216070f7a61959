const { port1, port2 } = new MessageChannel();

/** Lets the worker receive messages. A timer would wait some milliseconds longer. */
export function yieldToMessages(): Promise<void> {
  return new Promise((resolve) => {
    port1.onmessage = () => resolve();
    port2.postMessage(null);
  });
}
