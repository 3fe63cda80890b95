import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import path from "node:path";
import { systemClock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { childEnvironment } from "../team/environment.ts";
import { STARTED_BY_NPM } from "./start.ts";

/** A team of this machine alone, whose server lives as long as a command. */
export interface LocalTeam extends AsyncDisposable {
  readonly dir: string;
  readonly url: string;
}

/** A server that does not end after SIGTERM is killed, milliseconds: its runs go on in the next. */
const PATIENCE = 10_000;
/** Characters of what a server said before it ended. */
const MAX_SAID = 2_000;

/** Its agent is asked nothing: it works on tasks. */
const FILES = {
  "dure.yaml": "name: local\n",
  "agents/dure/agent.md":
    "---\nname: dure\ndescription: Does one thing at a time.\n---\n\nAnswer briefly.\n",
} as const;

/**
 * Starts a server for this command; several commands at once have one each, over the same database.
 * What one leaves undone the next goes on with. Throws `LOCAL_TEAM_FAILED`.
 *
 * @param program this program's own file
 */
export async function startLocalTeam(program: string): Promise<LocalTeam> {
  const dir = path.join(homedir(), ".local", "share", "dure", "local");
  await makeTeam(dir);
  const args = [...process.execArgv, program, "start", "--json", "--dir", dir];
  // It ends with this process, also where that is killed.
  const env = childEnvironment({ PORT: "0", DURE_URL: undefined, [STARTED_BY_NPM]: "task" });
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const url = await addressOf(child);

  return { dir, url, [Symbol.asyncDispose]: () => end(child) };
}

/** Files that are there stay as the person has made them. */
async function makeTeam(dir: string): Promise<void> {
  for (const [name, text] of Object.entries(FILES)) {
    const file = path.join(dir, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
}

async function addressOf(child: ChildProcess): Promise<string> {
  const there = Promise.withResolvers<string>();
  let said = "";
  const hear = (text: string): void => {
    said = `${said}${text}`.slice(-MAX_SAID);
    const url = /^\{"url":"(http[^"]+)"/m.exec(said)?.[1];
    if (url !== undefined) there.resolve(url);
  };
  for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding("utf8").on("data", hear);
  child.once("error", there.reject);
  child.once("exit", (code) => there.reject(failed(code, said)));

  return there.promise;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  child.once("exit", () => resolve());
  const cancel = systemClock.after(PATIENCE, () => child.kill("SIGKILL"));
  child.kill("SIGTERM");
  await promise;
  cancel();
}

function failed(code: number | null, said: string): DureError {
  const last = said.trim().split("\n").at(-1) ?? "";
  return new DureError("LOCAL_TEAM_FAILED", `The server for this task ended (${code}): ${last}`, {
    class: "unavailable",
    hint: "Look what it lacks: dure doctor --dir ~/.local/share/dure/local",
  });
}
