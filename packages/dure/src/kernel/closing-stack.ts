/**
 * What was opened, closed in reverse order. `AsyncDisposableStack` does the same on Node 24; Node 22
 * has none.
 */
export class ClosingStack implements AsyncDisposable {
  #closers: (() => Promise<void>)[] = [];

  /** Runs `close` at the end, before what was opened earlier is closed. */
  defer(close: () => Promise<void>): void {
    this.#closers.push(close);
  }

  /** All of it as another stack; this one has nothing to close any more. */
  move(): ClosingStack {
    const other = new ClosingStack();
    other.#closers = this.#closers.splice(0);

    return other;
  }

  /** Closes everything, whatever fails; then throws what failed. Twice is once. */
  async [Symbol.asyncDispose](): Promise<void> {
    const errors: unknown[] = [];
    for (const close of this.#closers.splice(0).toReversed()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, "Several parts did not close.");
  }
}
