import { spawn } from "node:child_process";
import { once } from "node:events";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test, vi } from "vitest";
import { endWithReader } from "./closed-pipe.ts";

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));

afterEach(() => vi.restoreAllMocks());

test.each([["--help"], ["completion", "bash"]])(
  "a reader that leaves early ends dure %s %s without a word",
  async (...args) => {
    const child = spawn(process.execPath, ["--conditions=dure-source", PROGRAM, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();

    const [said, [exitCode]] = await Promise.all([text(child.stderr), once(child, "exit")]);

    expect([exitCode, said]).toEqual([0, ""]);
  },
  60_000,
);

test("a server goes on without a reader, and no other error is taken for one", () => {
  const exit = vi.spyOn(process, "exit").mockReturnValue(undefined as never);
  const stream = new Writable() as unknown as NodeJS.WriteStream;
  endWithReader({ stdout: stream, stderr: stream, argv: ["node", "dure", "--json", "start"] });

  stream.emit("error", Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));

  expect(exit).not.toHaveBeenCalled();
  expect(() => stream.emit("error", new Error("the disk is full"))).toThrow("the disk is full");
});
