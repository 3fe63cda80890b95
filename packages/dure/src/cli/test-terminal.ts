import { PassThrough } from "node:stream";
import type { Streams } from "./output.ts";
import { main } from "./program.ts";

/**
 * A command on a terminal on which these keys are pressed, each after some words have been read.
 */
export async function atTerminal(
  args: readonly string[],
  presses: readonly (readonly [string, string])[],
): Promise<{ readonly exitCode: number; readonly shown: string }> {
  const left = [...presses];
  let shown = "";
  let readTo = 0;
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin });
  const hear = (part: Buffer): void => {
    shown += part.toString();
    const [words, keys] = left[0] ?? [];
    if (words === undefined || keys === undefined || !shown.includes(words, readTo)) return;
    left.shift();
    readTo = shown.length;
    setImmediate(() => stdin.write(keys));
  };
  const screen = () => Object.assign(new PassThrough().on("data", hear), { isTTY: true });
  const streams = { stdin, stdout: screen(), stderr: screen() } as unknown as Streams;

  const exitCode = await main([...args], streams);
  return { exitCode, shown };
}
