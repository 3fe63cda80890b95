import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/**
 * The bank of the example team: the one that BANK_URL names, else a process of its own that is
 * started when it is first needed. Its book lies in the team's data folder, so every start of the
 * team finds the same bookings.
 */
export function exampleBank(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): () => Promise<string> {
  const examples = path.resolve(import.meta.dirname, "../..");
  return async () => {
    const given = environment["BANK_URL"]?.trim();
    if (given) return given;
    return findOrStartBank(
      path.resolve(
        examples,
        environment["DURE_HOME"]?.trim() || ".dure",
        "bank",
        "bookings.ndjson",
      ),
    );
  };
}

/**
 * The address of the one bank that keeps `file`; started when it does not run. It lives as long as
 * the process that started it, and half a minute beyond its last request, so that a server that was
 * killed finds it again.
 *
 * There is one bank per file because there is one TCP port per file: the process that binds it first is the
 * bank, and a second one finds the port taken before it has opened the file. No lock file can go
 * stale. Only when another program listens there is the next port tried, and never while one of the
 * ports gives no clear answer: two banks with one book are worse than none.
 */
export async function findOrStartBank(file: string): Promise<string> {
  const ports = portsOf(file);
  for (let tries = 0; tries < TRIES; tries++) {
    const keepers = await Promise.all(ports.map((port) => keeperOf(urlOf(port), file)));
    const running = ports[keepers.indexOf("ours")];
    if (running !== undefined) return urlOf(running);

    const free = ports[keepers.findIndex((keeper) => keeper !== "another")];
    if (free === undefined) {
      throw new Error(
        `No bank can be started for ${file}: its ports ${ports.join(", ")} are taken. Set ` +
          "BANK_URL, or free one of them.",
      );
    }
    if (keepers.includes("unclear")) await sleep(WAIT_MS);
    else await startBankProcess(file, free);
  }
  throw new Error(
    `The bank for ${file} gives no answer at ${urlOf(ports[0]!)}. Set BANK_URL, or look ` +
      "at what listens there.",
  );
}

const TRIES = 30;
const WAIT_MS = 100;

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/**
 * Below the range from which systems give out ports by themselves (32768 on Linux, 49152
 * elsewhere).
 */
const FIRST_PORT = 21_000;
const PORTS = 8_000;
const PORT_TRIES = 3;

function portsOf(file: string): number[] {
  const first = createHash("sha256").update(file).digest().readUInt32BE(0);
  return Array.from(
    { length: PORT_TRIES },
    (_, index) => FIRST_PORT + ((first + index * 101) % PORTS),
  );
}

const identitySchema = z.object({
  service: z.literal("example-bank"),
  file: z.string().nullable(),
});

/**
 * Who listens at `url`: the bank of this file, another program, none; or it is not clear (it is
 * starting, ending, or busy).
 */
async function keeperOf(
  url: string,
  file: string,
): Promise<"ours" | "another" | "none" | "unclear"> {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(IDENTITY_TIMEOUT_MS),
      redirect: "error",
    });
    const identity = identitySchema.safeParse(await response.json().catch(() => undefined));
    return identity.success && identity.data.file === file ? "ours" : "another";
  } catch (error) {
    const cause: unknown = error instanceof Error ? error.cause : undefined;
    const code =
      typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "";
    if (code === "ECONNREFUSED") return "none";
    return code.startsWith("HPE_") ? "another" : "unclear"; // HPE: what came was no HTTP
  }
}

const IDENTITY_TIMEOUT_MS = 2_000;

/** Returns when it listens, or has ended because another one does. */
async function startBankProcess(file: string, port: number): Promise<void> {
  mkdirSync(path.dirname(file), { recursive: true });
  const main = fileURLToPath(new URL("./main.ts", import.meta.url));
  // Its own group, so that a ctrl-C in the terminal does not cut a transfer that is on its way; its
  // stdin ends with us.
  const child = spawn(
    process.execPath,
    [main, "--listen", String(port), "--file", file, "--while-stdin"],
    { detached: true, stdio: ["pipe", "pipe", "ignore"] },
  );
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => resolve());
    child.stdout.once("data", () => resolve());
  });
  child.stdout.destroy();
  child.unref();
  for (const stream of [child.stdin, child.stdout]) (stream as { unref?: () => void }).unref?.();
}
