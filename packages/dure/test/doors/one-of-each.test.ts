import { FULL } from "../../src/kernel/test-tiers.ts";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadTeam, readEnvironment, readPlan, silentLogger, startTeam } from "dure/team";
import type { LoadedTeam, PlanRun, RunningTeam } from "dure/team";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { eventually } from "../until.ts";

/**
 * A team as a person has it: a folder with a configuration. Each test adds a channel, a worker or a
 * model of its own by the public doors, and counts the files that it touched.
 */

const BEFORE = `
import { web } from "dure/channels";
import { defineTeam } from "dure/team";
import { desk } from "./desk.ts";

export default defineTeam({
  name: "doves",
  model: "offline:echo",
  agents: { ruda: { leads: true } },
  services: { desk },
  rooms: { adapters: [web()] },
  plans: { ownFolder: true },
});
`;

/** The configuration with all three: one import and one member for each. */
const AFTER = `
import { web } from "dure/channels";
import { defineTeam } from "dure/team";
import { desk } from "./desk.ts";
import { pigeon } from "./pigeon-channel/pigeon.ts";
import { scribe } from "./scribe-worker/scribe.ts";
import { parrot } from "./parrot-model/parrot.ts";

export default defineTeam({
  name: "doves",
  model: "offline:parrot",
  agents: { ruda: { leads: true } },
  services: { desk },
  rooms: { adapters: [web(), pigeon] },
  plans: { ownFolder: true, workers: { scribe } },
  offlineModels: [parrot],
});
`;

const DESK = `
import { defineService, flow } from "dure";

export const desk = defineService({
  name: "desk",
  agents: {},
  flows: { DEFAULT: flow((turn) => turn.done({ message: "hello" })) },
});
`;

const PIGEON = `
import { ChannelError, type ChannelAdapter, type ChannelKind, type ChannelPort } from "dure/channels";

/** A platform in memory: what was posted, and the port by which it tells. */
export const loft: { posts: string[]; port: ChannelPort | undefined } = { posts: [], port: undefined };

class PigeonAdapter implements ChannelAdapter {
  readonly name = "pigeon";
  readonly isLocal = true;
  readonly limits = { messageLength: 2_000, threadNameLength: 100, keyMemoryMs: 60_000 };
  async start(port: ChannelPort): Promise<void> { loft.port = port; }
  async stop(): Promise<void> {}
  async connect(): Promise<void> {}
  async post({ text, key }: { text: string; key: string }): Promise<{ platformId: string }> {
    loft.posts.push(text);
    return { platformId: key };
  }
  async findPost() { return { found: "no" } as const; }
  async createThread(): Promise<never> { throw new ChannelError("permission", "Pigeons have no threads."); }
  async findThread() { return { found: "no" } as const; }
  typing(): void {}
  async readSince() { return []; }
}

export const pigeon: ChannelKind = { name: "pigeon", isLocal: true, open: () => new PigeonAdapter() };
`;

const SCRIBE = `
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { runWorker, type OpenWorker } from "dure/team";

export const scribe: OpenWorker = ({ clock }) => ({
  kind: "own",
  run: (assignment, { signal }) =>
    runWorker(
      assignment,
      async (report) => {
        report.say("writing");
        await writeFile(path.join(assignment.tree, "note.txt"), "coo\\n");
        return { status: "ready", summary: "Wrote the note.", claimedFiles: ["note.txt"] };
      },
      { clock, signal },
    ),
});
`;

const PARROT = `
import { offlineModel } from "dure";

export const parrot = offlineModel("parrot", () => "Polly says so.");
`;

const PLAN = `
plan: note
roles: modules
workers: { default: { kind: own, name: scribe } }
ports:
  - { id: note, role: note, goal: Write the note., owns: [note.txt], acceptance: grep -q coo note.txt }
`;

let folder: string;
let database: Awaited<ReturnType<typeof testDatabase>>;
let loaded: LoadedTeam;
let team: RunningTeam;
/** Files of the folder that another file had to change for. */
let changed: readonly string[];
let added: readonly string[];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "dure-doves-"));
  await symlink(path.resolve("node_modules"), path.join(folder, "node_modules"));
  await write({
    "dure.config.ts": BEFORE,
    "desk.ts": DESK,
    "plans/note.yaml": PLAN,
    ".gitignore": "node_modules\n.dure\n",
  });
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("commit", "--quiet", "-m", "Begin");

  await write({
    "pigeon-channel/pigeon.ts": PIGEON,
    "scribe-worker/scribe.ts": SCRIBE,
    "parrot-model/parrot.ts": PARROT,
    "dure.config.ts": AFTER,
  });
  git("add", "--all");
  changed = git("diff", "--cached", "--name-only", "--diff-filter=M").split("\n");
  added = git("diff", "--cached", "--name-only", "--diff-filter=A").split("\n");
  git("commit", "--quiet", "-m", "Add one of each");

  database = await testDatabase();
  loaded = await loadTeam(folder);
  const environment = { ...readEnvironment({ PORT: "0" }), databaseUrl: database.url };
  team = await startTeam(loaded, environment, { logger: silentLogger });
}, 60_000);

afterAll(async () => {
  await team?.stop();
  await database?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

test("a channel, a worker and a model of one's own are a folder and a line each", async () => {
  const lines = (text: string): readonly string[] => text.split("\n").filter(Boolean);
  const news = lines(AFTER).filter((line) => !lines(BEFORE).includes(line));

  expect(changed).toEqual(["dure.config.ts"]);
  expect(added).toEqual([
    "parrot-model/parrot.ts",
    "pigeon-channel/pigeon.ts",
    "scribe-worker/scribe.ts",
  ]);
  expect(news.filter((line) => line.startsWith("import "))).toHaveLength(3);
  expect(news.filter((line) => !line.startsWith("import "))).toEqual([
    '  model: "offline:parrot",',
    "  rooms: { adapters: [web(), pigeon] },",
    "  plans: { ownFolder: true, workers: { scribe } },",
    "  offlineModels: [parrot],",
  ]);
});

test("what a pigeon brings is answered there, in the words of the team's own model", async () => {
  const { loft } = (await import(path.join(folder, "pigeon-channel/pigeon.ts"))) as {
    loft: { posts: string[]; port: { received(...args: unknown[]): Promise<void> } };
  };
  await loft.port.received(
    { id: "ruda", agent: "ruda", displayName: "ruda" },
    {
      platformId: "p1",
      place: { adapter: "pigeon", channel: "general" },
      author: { platformId: "minjun", name: "민준", isBot: false },
      text: "@ruda hello",
      mentions: [],
      attachments: [],
      at: Date.now(),
    },
  );

  await eventually(() => expect(loft.posts).toEqual(["Polly says so."]));
});

test(
  "a plan is checked, started and followed by the door of teams, with a worker of one's own",
  FULL,
  async () => {
    const signal = AbortSignal.timeout(60_000);
    const text = await readFile(path.join(folder, "plans/note.yaml"), "utf8");

    const wrong = readPlan("note.yaml", text.replace("name: scribe", "script: a.yaml"));
    const right = readPlan("note.yaml", text);
    const files = await team.plans.list();
    const begun = await team.plans.start({ source: { name: "note" }, by: "민준" }, { signal });
    const ended = await followed(begun, signal);

    expect(wrong.problems.map(({ key }) => key)).toEqual([
      "workers.default.name",
      "workers.default.script",
    ]);
    expect(right.plan?.ports.map(({ id }) => id)).toEqual(["note"]);
    expect(files.map(({ name, problemCount }) => [name, problemCount])).toEqual([["note", 0]]);
    expect(ended.status).toBe("success");
    expect(git("show", `${ended.report?.branch ?? ""}:note.txt`)).toBe("coo");
  },
);

async function followed(run: PlanRun, signal: AbortSignal): Promise<PlanRun> {
  for await (const _frame of team.plans.runs.stream(run.id, { signal })) {
    // until it has ended
  }
  return team.plans.runs.get(run.id);
}

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text.trimStart());
  }
}

function git(...args: readonly string[]): string {
  const as = ["-c", "user.name=민준", "-c", "user.email=minjun@example.com"];
  return execFileSync("git", [...as, "-c", "commit.gpgSign=false", ...args], {
    cwd: folder,
    encoding: "utf8",
  }).trim();
}
