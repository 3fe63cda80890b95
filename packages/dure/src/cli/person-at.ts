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

/** On a keyboard that is set to Hangul the same keys say these. */
const HANGUL: Readonly<Record<string, string>> = { ㅛ: "y", ㅜ: "n", ㄷ: "e" };

/**
 * Asks for one key, without Enter; Enter itself is `y`. `left`: the person has gone (ctrl-C, ctrl-D).
 * `absent`: no person is there, and nothing was asked.
 */
export async function keyAt<Key extends string>(
  output: Output,
  question: string,
  keys: readonly Key[],
): Promise<Key | "left" | "absent"> {
  const { stdin, stdout } = output.streams;
  if (!isTerminal(stdin) || !output.isTerminal) return "absent";

  output.write(`${question} `);
  const { promise, resolve } = Promise.withResolvers<Key | "left">();
  const hear = (part: Buffer | string): void => {
    const pressed = String(part).toLowerCase();
    const key = /[\r\n]/.test(pressed) ? "y" : (HANGUL[pressed] ?? pressed);
    if (/[\u0003\u0004\u001b]/.test(pressed)) resolve("left");
    else if ((keys as readonly string[]).includes(key)) resolve(key as Key);
  };
  const gone = (): void => resolve("left");
  stdin.setRawMode(true);
  stdin.on("data", hear).once("end", gone).resume();
  try {
    const key = await promise;
    stdout.write(key === "left" ? "\n" : `${key}\n`);

    return key;
  } finally {
    stdin.off("data", hear).off("end", gone).pause();
    stdin.setRawMode(false);
  }
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
