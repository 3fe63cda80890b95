import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { PlanEntry, SessionUpdate } from "@agentclientprotocol/sdk";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { testRepository, type TestRepository } from "../plans/real-runs.ts";
import { until } from "../until.ts";
import { Editor } from "./editor.ts";

/** Tasks that an editor begins over `dure acp`, with the official client of ACP. */

const TEAM = fileURLToPath(new URL("task-team", import.meta.url));
/** What it was told decides how long it works, and how well. */
const WORKER = `
told=$(cat)
echo "worker at work"
case "$told" in *hang*) sleep 600;; *slow*) sleep 5;; esac
case "$told" in *bad*) echo nothing > src/none.txt;; *) echo hello > src/hello.txt;; esac
`;
const TASKS = ["--own", "src/**", "--accept", "test -f src/hello.txt", "--worker", WORKER];
const SLOW = { ...FULL, timeout: 120_000 };

const stack = new AsyncDisposableStack();
let environment: Readonly<Record<string, string>>;
let server: ServerProcess;
let repository: TestRepository;
const editors: Editor[] = [];

beforeAll(async () => {
  const databaseUrl = stack.use(await testDatabaseUrl()).url;
  const home = await mkdtemp(path.join(tmpdir(), "dure-acp-task-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  environment = { DATABASE_URL: databaseUrl, DURE_HOME: home };
  await serve();
}, 120_000);

beforeEach(async () => {
  repository = await testRepository({ "src/old.txt": "old", "README.md": "A repository." });
});

afterEach(async () => {
  for (const editor of editors.splice(0)) await editor[Symbol.asyncDispose]();
  await repository[Symbol.asyncDispose]();
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stack.disposeAsync();
}, 60_000);

async function serve(): Promise<void> {
  server = ServerProcess.spawn(environment, TEAM);
  await server.url;
}

async function open(more = [...TASKS, "--tries", "1"]): Promise<Editor> {
  const editor = await Editor.open(TEAM, environment, more);
  editors.push(editor);
  return editor;
}

interface ToldRun {
  readonly id: string;
  readonly status: string;
}

/** Runs of this test's repository. */
async function runs(): Promise<readonly ToldRun[]> {
  const answer = await fetch(`${await server.url}/v1/runs?limit=200`);
  const { items } = (await answer.json()) as { items: (ToldRun & { repository: string })[] };
  return items.filter((run) => run.repository === repository.folder);
}

function begun(): Promise<ToldRun> {
  return until(
    async () => (await runs()).at(0),
    () => "no run was begun",
  );
}

/** A worker of the run works. */
async function working(editor: Editor): Promise<void> {
  await until(
    () =>
      plans(editor)
        .at(-1)
        ?.some(({ status, content }) => isWork(content, status)),
    () => `no worker works: ${JSON.stringify(editor.updates)}`,
  );
}

function isWork(content: string, status: string): boolean {
  return content === "Try 1: implement" && status === "in_progress";
}

function plans({ updates }: Editor): readonly PlanEntry[][] {
  const isPlan = (update: SessionUpdate) => update.sessionUpdate === "plan";
  return updates.filter(isPlan).map(({ entries }) => entries);
}

describe("an editor that begins a task", SLOW, () => {
  test("sees its plan go on, merges it, and has the work in its repository", async () => {
    const editor = await open();
    const { session, modes } = await editor.begin("dure:task", repository.folder);
    editor.choose = () => 0;

    const { stopReason } = await editor.prompt(session, "Write hello.");

    expect(modes.availableModes.at(-1)).toMatchObject({ id: "dure:task", name: "Task" });
    expect(stopReason).toBe("end_turn");
    expect(plans(editor)[0]!.at(-1)!.status).toBe("pending");
    expect(plans(editor).at(-1)).toEqual([
      { content: "Prepare a tree of its own", priority: "medium", status: "completed" },
      { content: "Run the acceptance at the start", priority: "medium", status: "completed" },
      { content: "Try 1: implement", priority: "medium", status: "completed" },
      { content: "Try 1: run the acceptance", priority: "medium", status: "completed" },
      { content: "Bring the result to its branch", priority: "medium", status: "completed" },
    ]);
    expect(JSON.stringify(editor.updates)).toContain("worker at work");
    expect(editor.asked).toHaveLength(1);
    expect(JSON.stringify(editor.asked[0]!.toolCall.content)).toContain("new src/hello.txt");
    expect(editor.said).toContain("Merged into main");
    expect(await readFile(path.join(repository.folder, "src/hello.txt"), "utf8")).toBe("hello\n");
  });

  test("leaves the result on its branch when its person does not merge", async () => {
    const editor = await open();
    const { session } = await editor.begin("dure:task", repository.folder);
    editor.choose = () => 1;
    const main = await repository.git("rev-parse", "main");

    await editor.prompt(session, "Write hello.");

    expect(editor.said).toContain("dure/task-write-hello");
    expect(editor.said).not.toContain("Merged");
    expect(await repository.git("rev-parse", "main")).toBe(main);
    expect(await repository.git("show", "dure/task-write-hello:src/hello.txt")).toBe("hello");
  });

  test("is asked what is to become of work that fails, and is told how it ended", async () => {
    const editor = await open();
    const { session } = await editor.begin("dure:task", repository.folder);

    const { stopReason } = await editor.prompt(session, "Do a bad thing.");

    expect(stopReason).toBe("end_turn");
    expect(editor.asked[0]!.options.length).toBeGreaterThan(1);
    expect(editor.said).toContain("The task has ended as failed");
  });

  test("has another try when its person says so", async () => {
    const editor = await open();
    const { session } = await editor.begin("dure:task", repository.folder);
    let asked = 0;
    editor.choose = ({ options }) => {
      asked += 1;
      const retry = options.findIndex(({ name }) => name === "Retry");
      return asked === 1 ? retry : undefined;
    };

    await editor.prompt(session, "Do a bad thing.");

    const entries = plans(editor)
      .at(-1)!
      .map(({ content }) => content);
    expect(entries).toContain("Try 2: implement");
    expect(await runs()).toHaveLength(1);
  });

  test.each([
    ["approves it", "Approve", "The task is done: dure/task-write-hello", "success"],
    ["goes on without it", "Go on without it", "The task has ended as", "failed"],
  ] as const)(
    "is asked about work that is held for its person, who %s",
    async (_what, answer, words, status) => {
      const editor = await open([...TASKS, "--tries", "1", "--gate"]);
      const { session } = await editor.begin("dure:task", repository.folder);
      editor.choose = ({ options }) => {
        const found = options.findIndex(({ name }) => name === answer);
        return found === -1 ? undefined : found;
      };

      await editor.prompt(session, "Write hello.");

      const { toolCall, options } = editor.asked[0]!;
      expect(toolCall.title).toContain("waits for approval");
      expect(options.map(({ kind }) => kind)).toEqual([
        "allow_once",
        "reject_once",
        "reject_once",
        "reject_once",
      ]);
      expect(editor.said).toContain(words);
      expect(await runs()).toMatchObject([{ status }]);
    },
  );

  test("stops it, and goes on with another", async () => {
    const editor = await open();
    const { session } = await editor.begin("dure:task", repository.folder);
    const prompted = editor.prompt(session, "Now hang.");
    await working(editor);
    await editor.cancel(session);

    expect(await prompted).toEqual({ stopReason: "cancelled" });
    expect((await runs())[0]!.status).toBe("cancelled");
    expect(await editor.prompt(session, "Write hello.")).toEqual({ stopReason: "end_turn" });
    expect(await runs()).toHaveLength(2);
  });

  test("has no such mode without the words of its command line, and is refused half of them", async () => {
    const plain = await open([]);

    const { modes } = await plain.begin();

    expect(modes.availableModes.map(({ id }) => id)).toEqual(["desk"]);
    await expect(open(["--own", "src/**"])).rejects.toThrow();
  });

  test("is refused a folder that is no repository, in the words of dure", async () => {
    const editor = await open();
    const { session } = await editor.begin("dure:task", "/");

    await expect(editor.prompt(session, "Write hello.")).rejects.toThrow(/repository/iu);
  });
});

test(
  "a session that has tasks alone is listed, beside those of words, once each",
  SLOW,
  async () => {
    const editor = await open();
    const { session } = await editor.begin("dure:task", repository.folder);
    await editor.prompt(session, "Write hello.\nAnd nothing else.");
    const { session: both } = await editor.begin("dure:task", repository.folder);
    await editor.prompt(both, "Write hello again.");
    await editor.setMode(both, "desk");
    await editor.prompt(both, "hello");
    const another = await open();

    const { sessions } = await another.list();
    const ids = sessions.map(({ sessionId }) => sessionId);

    expect(sessions.find(({ sessionId }) => sessionId === session)).toMatchObject({
      title: "Write hello.",
      cwd: "/project",
      updatedAt: expect.stringMatching(/^\d{4}-/u) as string,
    });
    expect(ids.filter((id) => id === both)).toHaveLength(1);
    expect(ids.indexOf(both)).toBeLessThan(ids.indexOf(session));
    const talker = await open([]);
    const { sessions: talks } = await talker.list();
    expect(talks.map(({ sessionId }) => sessionId)).not.toContain(session);
  },
);

describe("killed while a task works", SLOW, () => {
  test("an agent is started again, finds the run by its session, and begins no other", async () => {
    const first = await open();
    const { session } = await first.begin("dure:task", repository.folder);
    first.prompt(session, "Write hello, slow.").catch(() => undefined);
    await working(first);
    await first.kill();

    const second = await open();
    second.choose = () => 0;
    const modes = await second.load(session);
    await second.saying("Merged into main");

    expect(modes.currentModeId).toBe("dure:task");
    expect(second.told[0]).toEqual({ who: "user", text: "Write hello, slow." });
    expect(await runs()).toMatchObject([{ status: "success" }]);
    const third = await open();
    await third.load(session);
    expect(third.said).toContain("The task is done: dure/task-write-hello");
    expect(third.asked).toEqual([]);
  });

  test("a server is started again, and the prompt ends with the result of one run", async () => {
    const editor = await open();
    const { session } = await editor.begin("dure:task", repository.folder);
    editor.choose = () => 0;
    const prompted = editor.prompt(session, "Write hello, slow.");
    await working(editor);
    await server.kill();
    await serve();

    expect(await prompted).toEqual({ stopReason: "end_turn" });
    expect(await runs()).toMatchObject([{ status: "success" }]);
    expect(editor.said).toContain("Merged into main");
  });

  test("an editor that leaves stops nothing", async () => {
    const editor = await open();
    const { session } = await editor.begin("dure:task", repository.folder);
    editor.prompt(session, "Write hello, slow.").catch(() => undefined);
    await working(editor);
    await editor.leave();

    const { id } = await begun();
    const status = await until(
      async () => (await runs()).find((run) => run.status !== "running")?.status,
      () => `${id} did not end`,
      { patienceMs: 60_000 },
    );
    expect(status).toBe("success");
  });
});
