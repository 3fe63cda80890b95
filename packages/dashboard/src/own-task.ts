/**
 * Sends each request in a task of its own. A page that reads eight things at once would hear no key
 * until all of them are sent.
 */
export function inOwnTask(make: typeof fetch): typeof fetch {
  return async (input, init) => {
    await nextTask();
    return make(input, init);
  };
}

/** A timer waits for a second in a tab that is not looked at; a message does not. */
export function nextTask(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  const { promise, resolve } = Promise.withResolvers<void>();
  port1.addEventListener(
    "message",
    () => {
      port1.close();
      resolve();
    },
    { once: true },
  );
  port1.start();
  port2.postMessage(undefined);

  return promise;
}
