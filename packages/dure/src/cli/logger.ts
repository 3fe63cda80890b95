import { pino, destination } from "pino";
import type { Logger } from "../kernel/logger.ts";
import { SECRET_KEYS, SECRET_VALUE } from "../kernel/secret-keys.ts";
import type { LogLevel } from "../team/environment.ts";
import { harmless } from "./harmless.ts";

/** Where the values stand that never reach a log. */
const SECRETS = SECRET_KEYS.flatMap((key) => [key, `*.${key}`]);

/** pino on stderr: JSON for machines; on a terminal a line with time, level and message. */
export function createLogger(options: { level: LogLevel; isTerminal: boolean }): Logger {
  if (!options.isTerminal) {
    return pino(
      { level: options.level, redact: { paths: SECRETS, censor: SECRET_VALUE } },
      destination({ dest: 2, sync: true }),
    );
  }

  const lines = {
    write: (line: string): void => void process.stderr.write(`${harmless(readable(line))}\n`),
  };
  return pino({ level: options.level, redact: { paths: SECRETS, censor: SECRET_VALUE } }, lines);
}

const LEVEL_NAMES: Readonly<Record<number, string>> = {
  10: "trace",
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
  60: "fatal",
};

function readable(line: string): string {
  const { time, level, msg, error } = JSON.parse(line) as {
    time: number;
    level: number;
    msg?: string;
    error?: unknown;
  };

  const clock = new Date(time).toTimeString().slice(0, 8);

  return (
    `${clock} ${(LEVEL_NAMES[level] ?? "info").padEnd(5)} ` +
    `${msg ?? ""}${typeof error === "string" ? ` (${error})` : ""}`
  );
}
