// @module-tag slow
import { access, chmod, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { FULL, sampled } from "../../kernel/test-tiers.ts";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { boundMs } from "../../kernel/test-bounds.ts";
import { Models } from "../../models/models.ts";
import { ScriptedModel } from "@dure/testing";
import { openSandbox } from "../sandbox/sandbox.ts";
import { AcpWorker } from "./acp.ts";
import { CommandWorker } from "./command.ts";
import { ModelWorker } from "./model.ts";
import { OfflineWorker } from "./offline.ts";
import { aPlace, isAlive, workOn, type TestPlace } from "./test-worker.ts";
import type { Worker } from "./worker.ts";

// Every kind of worker in a sandbox that protects: what it does by itself, unasked, is held too.

const AGENT = fileURLToPath(new URL("../../../test/plans/acp-agent/agent.ts", import.meta.url));

/** A place in which `src` and the scratch folder are writable, and the rest of the tree is not. */
async function aConfinedPlace(): Promise<TestPlace> {
  const place = await aPlace({ "README.md": "theirs", "src/a.ts": "old" });
  const sandbox = await openSandbox({
    wanted: "enforced",
    folder: join(place.tree, "../sandbox"),
    clock: systemClock,
  });
  const confinement = {
    cwd: place.tree,
    writable: [join(place.tree, "src"), place.scratch],
    readOnly: [],
    hidden: [],
    disposable: [],
  };
  return { ...place, assignment: { ...place.assignment, sandbox, confinement } };
}

const edits = [
  { path: "src/a.ts", content: "new" },
  { path: "README.md", content: "mine" },
] as const;

const KINDS: readonly [string, () => { worker: Worker; prompt?: string }][] = [
  [
    "offline",
    () => ({
      worker: new OfflineWorker({
        script: {
          ports: {
            api: { implementer: [{ edits: edits.map((edit) => ({ ...edit, unasked: true })) }] },
          },
        },
        clock: systemClock,
      }),
    }),
  ],
  [
    "command",
    () => ({
      worker: new CommandWorker({
        command: ["/bin/sh", "-c", "printf new > src/a.ts; printf mine > README.md || echo held"],
        prompt: "stdin",
        clock: systemClock,
      }),
    }),
  ],
  [
    "acp",
    () => ({
      worker: new AcpWorker({ command: [process.execPath, AGENT], clock: systemClock }),
      prompt: `AGENT ${JSON.stringify({ edits: [...edits.map((edit) => ({ ...edit, by: "self" })), { path: "src/by-client.ts", content: "client" }], run: "printf mine > README.md || echo held" })}`,
    }),
  ],
  [
    "model",
    () => {
      const steps = [
        {
          toolCalls: [
            {
              name: "run",
              args: { command: "printf new > src/a.ts; printf mine > README.md || echo held" },
            },
          ],
        },
        { toolCalls: [{ name: "report", args: { status: "ready", summary: "done" } }] },
      ];
      const models = new Models({
        clock: systemClock,
        logger: silentLogger,
        offline: [new ScriptedModel(steps)],
      });
      return {
        worker: new ModelWorker({
          models,
          llm: { provider: "offline", model: "scripted", fallbacks: [] },
          clock: systemClock,
        }),
      };
    },
  ],
];

test.each(KINDS)(
  "what a worker of kind %s writes by itself lands where it owns, and nowhere else",
  async (_kind, make) => {
    await using place = await aConfinedPlace();
    await mkdir(join(place.tree, "test"));
    const { worker, prompt = "Work." } = make();

    const { result } = await workOn(worker, { ...place.assignment, prompt });

    expect(result).toMatchObject({ status: "ready" });
    expect(await readFile(join(place.tree, "src/a.ts"), "utf8")).toBe("new");
    expect(await readFile(join(place.tree, "README.md"), "utf8")).toBe("theirs");
    if (worker.kind === "acp") {
      expect(await readFile(join(place.tree, "src/by-client.ts"), "utf8")).toBe("client");
    }
    expect(place.started.length).toBeGreaterThan(0);
    expect(place.started.some(({ pid }) => isAlive(pid))).toBe(false);
  },
);

const ABORTED = sampled(["hangs", "ignores-cancel"], 1);
test.each(ABORTED.rows)(
  "an agent that %s is gone 2 s after an abort",
  ABORTED.options,
  async (mode) => {
    await using place = await aConfinedPlace();
    const controller = new AbortController();
    let abortedAt = 0;

    const work = (async () => {
      for await (const event of new AcpWorker({
        command: [process.execPath, AGENT, mode],
        clock: systemClock,
      }).run(place.assignment, { signal: controller.signal })) {
        if (event.type !== "progress" || event.currentTask !== "working") continue;
        abortedAt = systemClock.monotonic();
        controller.abort(new Error("cancelled"));
      }
    })();

    await expect(work).rejects.toThrow("cancelled");
    expect(systemClock.monotonic() - abortedAt).toBeLessThan(boundMs(2_000));
    expect(isAlive(place.started[0]!.pid)).toBe(false);
  },
);

test(
  "as another user on a copy an agent works directly, asks for its paths, and what it owns comes back",
  FULL,
  async () => {
    await using place = await aPlace({ "README.md": "theirs", "src/a.ts": "old" });
    await chmod(place.tree, 0o755);
    const folder = join("/var/tmp", `dure-sandbox-${process.pid}`);
    const opening = openSandbox({
      wanted: "enforced",
      kinds: ["other-user"],
      folder,
      clock: systemClock,
    });
    // Only root becomes another user.
    if (process.getuid?.() !== 0) {
      await expect(opening).rejects.toMatchObject({ code: "ISOLATION_UNAVAILABLE" });
      return;
    }
    const sandbox = await opening;
    const confinement = {
      cwd: place.tree,
      writable: [join(place.tree, "src"), place.scratch],
      readOnly: [],
      hidden: [],
      disposable: [],
    };
    const order = {
      edits: [
        { path: "src/a.ts", content: "new", by: "asked" },
        { path: "README.md", content: "mine", by: "asked" },
        { path: "README.md", content: "mine", by: "self" },
        { path: "src/b.ts", content: "client" },
      ],
    };

    const { events, result } = await workOn(
      new AcpWorker({ command: [process.execPath, AGENT], clock: systemClock }),
      { ...place.assignment, sandbox, confinement, prompt: `AGENT ${JSON.stringify(order)}` },
    );
    await rm(folder, { recursive: true, force: true });

    expect(result).toMatchObject({
      status: "ready",
      claimedFiles: ["src/a.ts"],
    });
    expect(events.filter(({ type }) => type === "violation")).toMatchObject([
      { path: "README.md", because: "not-owned" },
    ]);
    expect(await readFile(join(place.tree, "src/a.ts"), "utf8")).toBe("new");
    expect(await readFile(join(place.tree, "README.md"), "utf8")).toBe("theirs");
    await expect(access(join(place.tree, "src/b.ts"))).rejects.toThrow("ENOENT"); // its client serves no files then
  },
);

test("a crash of the process and a program that is not there are told as such", FULL, async () => {
  await using place = await aConfinedPlace();
  const crashing = new OfflineWorker({
    script: { ports: { api: { implementer: [{ crash: true }] } } },
    clock: systemClock,
  });
  const missing = new AcpWorker({ command: ["no-such-agent-here"], clock: systemClock });
  const missingProgram = new CommandWorker({
    command: ["no-such-program-here"],
    prompt: "stdin",
    clock: systemClock,
  });

  expect((await workOn(crashing, place.assignment)).result.error?.code).toBe("WORKER_DIED");
  expect((await workOn(missing, place.assignment)).result.error?.code).toBe("WORKER_NOT_STARTED");
  expect((await workOn(missingProgram, place.assignment)).result.error?.code).toBe(
    "WORKER_NOT_STARTED",
  );
  await expect(access(join(place.tree, "README.md"))).resolves.toBeUndefined();
});
