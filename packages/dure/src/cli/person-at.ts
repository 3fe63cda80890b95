import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { isTerminal, type Output } from "./output.ts";

/** A person at the terminal. Each answer is undefined once they have left (ctrl-C, ctrl-D). */
export interface Person {
  readonly ask: (question: string) => Promise<string | undefined>;
  /** What is typed or pasted is not shown. */
  readonly askSecret: (question: string) => Promise<string | undefined>;
  /** Aborts when they leave. */
  readonly left: AbortSignal;
  readonly close: () => void;
}

/** Asks on the terminal; undefined: no person is there. */
export function personAt(output: Output): Person | undefined {
  const { stdin, stdout } = output.streams;
  if (!isTerminal(stdin) || !output.isTerminal) return undefined;

  let isSecret = false;
  const shown = new Writable({
    write(part: Buffer, _encoding, done) {
      if (!isSecret) stdout.write(part);
      done();
    },
  });
  const lines = createInterface({ input: stdin, output: shown, terminal: true });
  const over = new AbortController();
  lines.once("close", () => over.abort());
  lines.once("SIGINT", () => lines.close());

  const ask = async (question: string): Promise<string | undefined> => {
    if (over.signal.aborted) return undefined;
    output.line(question);

    return lines.question("> ", { signal: over.signal }).catch(() => undefined);
  };
  const askSecret = async (question: string): Promise<string | undefined> => {
    if (over.signal.aborted) return undefined;
    output.line(question);
    isSecret = true;
    try {
      return await lines.question("", { signal: over.signal }).catch(() => undefined);
    } finally {
      isSecret = false;
    }
  };

  return { ask, askSecret, left: over.signal, close: () => lines.close() };
}
