import { pino, destination } from "pino";
import type { Logger } from "../kernel/logger.ts";
import type { LogLevel } from "../team/environment.ts";
import { harmless } from "./harmless.ts";

/**
 * Keys whose values never reach a log, wherever they come from. Source: docs/spec/platform §6, §7.
 */
const SECRETS = [
  "token",
  "apiKey",
  "password",
  "secret",
  "authorization",
  "databaseUrl",
  "connectionString",
].flatMap((key) => [key, `*.${key}`]);

/** pino on stderr: JSON for machines; on a terminal a line with time, level and message. */
export function createLogger(options: { level: LogLevel; isTerminal: boolean }): Logger {
  if (!options.isTerminal) {
    return pino(
      { level: options.level, redact: { paths: SECRETS, censor: "[secret]" } },
      destination({ dest: 2, sync: true }),
    );
  }

  const lines = {
    write: (line: string): void => void process.stderr.write(`${harmless(readable(line))}\n`),
  };
  return pino({ level: options.level, redact: { paths: SECRETS, censor: "[secret]" } }, lines);
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
