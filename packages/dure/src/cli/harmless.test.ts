import { readdir, readFile } from "node:fs/promises";
import { Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import { DureError } from "../kernel/errors.ts";
import { startTestServer } from "../server/test-server.ts";
import { harmless, harmlessJson } from "./harmless.ts";
import { Output } from "./output.ts";
import { main } from "./program.ts";

/**
 * Sets the title, writes to the clipboard, hides text, clears the screen in C1, and turns the
 * direction around.
 */
const HOSTILE =
  "\u001b]0;owned\u0007\u001b]52;c;ZXZpbA==\u0007\u001b[8mhidden\u001b[0m\u009b2J\u202egnp.exe\u2066\u0008\u000d";
const COMMAND =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
/**
 * Styles of this program, which are the only control sequences that may stand in what it prints.
 */
const OWN_STYLES = /\u001b\[(?:1|2|22|31|32|33|39)m/g;

interface Terminal {
  readonly streams: {
    stdin: NodeJS.ReadStream;
    stdout: NodeJS.WriteStream;
    stderr: NodeJS.WriteStream;
  };
  readonly shown: { stdout: string; stderr: string };
}

function terminal({ isTTY = true } = {}): Terminal {
  const shown = { stdout: "", stderr: "" };
  const stream = (name: "stdout" | "stderr"): NodeJS.WriteStream => {
    const into = new Writable({
      write: (part: Buffer, _, done) => ((shown[name] += part.toString()), done()),
    });
    return Object.assign(into, { isTTY }) as unknown as NodeJS.WriteStream;
  };
  return {
    shown,
    streams: { stdin: process.stdin, stdout: stream("stdout"), stderr: stream("stderr") },
  };
}

describe("text of others", () => {
  test("is written out where a terminal would obey it, and stays as it is elsewhere", () => {
    expect(harmless("a\u001b[31mb\u009b\u202e")).toBe("a\\x1b[31mb\\x9b\\u202e");
    expect(harmless("안녕\t하세요\r\n👩‍💻 é\n")).toBe("안녕\t하세요\n👩‍💻 é\n");
  });

  test("is written out in each character that breaks a line or turns its direction", () => {
    const codes = [0x08, 0x0b, 0x7f, 0x85, 0x61c, 0x200e, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066];
    for (const code of codes) {
      const char = String.fromCharCode(code);

      expect(harmless(`a${char}b`)).toMatch(/^a\\[xu][0-9a-f]{2,4}b$/u);
      expect(harmlessJson(char)).not.toContain(char);
    }
  });

  test("is escaped in JSON so that reading it gives the same value", () => {
    const json = harmlessJson({ [HOSTILE]: HOSTILE });

    expect(json).not.toMatch(COMMAND);
    expect(JSON.parse(json)).toEqual({ [HOSTILE]: HOSTILE });
  });

  test("reaches a terminal harmless by every way of saying something, between this program's own styles", () => {
    const { streams, shown } = terminal();
    const output = new Output({ streams, json: false, noColor: false });

    output.line(`${output.colors.green("ok")} ${HOSTILE}`);
    output.line(output.colors.red(HOSTILE));
    output.note(HOSTILE);
    output.write(HOSTILE);
    output.table([[HOSTILE, "b"]]);
    output.error(new DureError(HOSTILE, HOSTILE, { hint: HOSTILE }));
    output.error(new Error(HOSTILE));

    expect(shown.stdout).toContain("\u001b[32mok\u001b[39m");
    expect(shown.stdout).toContain("\\x1b]0;owned\\x07");
    expect(shown.stdout.replace(OWN_STYLES, "")).not.toMatch(COMMAND);
    expect(shown.stderr.replace(OWN_STYLES, "")).not.toMatch(COMMAND);
  });

  test("reaches a file byte by byte where a command prints a file, such as a patch", () => {
    const { streams, shown } = terminal({ isTTY: false });

    new Output({ streams, json: false, noColor: false }).write(HOSTILE);

    expect(shown.stdout).toBe(HOSTILE);
  });
});

test("no command writes past the output but lists that are drawn anew, the log and commander's help", async () => {
  const all = await readdir(import.meta.dirname, { recursive: true });
  const files = all.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  const writing: string[] = [];
  for (const name of files) {
    const text = await readFile(`${import.meta.dirname}/${name}`, "utf8");
    if (
      /console\.|process\.std(?:out|err)\b|streams\.std(?:out|err)\.write|new Listr\(/.test(text)
    ) {
      writing.push(name);
    }
  }

  expect(writing.sort()).toEqual([
    "logger.ts",
    "output.ts",
    "plan-watch.ts",
    "program.ts",
    "tasks.ts",
  ]);
});

describe("a command that asks a server", () => {
  const HOSTILE_EVENT = { type: "turn.done", session: "mina", data: { message: HOSTILE } };

  test.each([
    ["events, for people", []],
    ["events, as JSON", ["--json"]],
  ])("prints hostile %s harmless", async (_, more) => {
    await using server = await startTestServer();
    server.events.publish(HOSTILE_EVENT);
    const { streams, shown } = terminal();

    await main(["events", "--url", server.url, ...more], streams);

    expect(shown.stdout).toContain("owned");
    expect(shown.stdout.replace(OWN_STYLES, "")).not.toMatch(COMMAND);
  });
});
