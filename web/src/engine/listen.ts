/** Passes on the messages of a worker, and the failure to start it. */
export function listen<Message>(
  worker: Worker,
  receive: (message: Message) => void,
  fail: (message: string) => void,
): void {
  worker.onmessage = (event: MessageEvent<Message>) => receive(event.data);
  worker.onerror = (event) => {
    event.preventDefault();
    const reason = event.message || 'its script did not load';
    fail(`The engine could not be started: ${reason}.`);
  };
}
