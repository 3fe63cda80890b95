import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openSandbox } from "../../src/plans/sandbox/sandbox.ts";
import { realPlan, startRealRuns, testRepository } from "./real-runs.ts";

/** Fills 400 MB of memory, and keeps it. */
const HOARD =
  "const all = []; for (let i = 0; i < 20; i++) all.push(Buffer.alloc(2e7, 1)); setInterval(() => all, 1e3)";
/** Fills 100 MB of the disk, and stays. */
const FLOOD = `for i in 1 2 3 4 5 6 7 8 9 10; do head -c 10000000 /dev/zero > src/disk/more-$i; done; exec sleep 60`;

const plan = {
  plan: "bounds",
  roles: "modules",
  limits: { tries: 1 },
  workers: {
    default: { kind: "command", command: ["sh", "-c", "echo made > src/modest/a.txt"] },
    memory: { kind: "command", command: ["node", "-e", HOARD] },
    disk: { kind: "command", command: ["sh", "-c", FLOOD] },
  },
  ports: ["memory", "disk", "modest"].map((id) => ({
    id,
    role: id,
    goal: "Make a file.",
    owns: [`src/${id}/**`],
    acceptance: `grep -q made src/${id}/a.txt`,
    timeout: "1m",
  })),
};

test(
  "a worker that takes too much ends its port in words, with what to do, and harms no other",
  { ...FULL, timeout: 90_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const { url } = stack.use(await testDatabase());
    const files = Object.fromEntries(plan.ports.map(({ id }) => [`src/${id}/begun.txt`, ""]));
    const repository = stack.use(await testRepository(files));
    const home = await mkdtemp(join(tmpdir(), "dure-home-"));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const sandbox = await openSandbox({
      wanted: "enforced",
      prefer: "namespaces",
      folder: join(home, "sandbox"),
      memoryBytes: 268_435_456,
      diskBytes: 50_000_000,
      clock: systemClock,
    });
    const { runs } = stack.use(await startRealRuns({ url, home, sandbox }));

    const { id } = await runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await expect
      .poll(async () => (await runs.get(id)).finishedAt !== null, { timeout: 60_000 })
      .toBe(true);

    const { status, report } = await runs.get(id);
    const missing = report!.missing.map(({ port, because }) => [port, because]);
    expect(status, JSON.stringify(report)).toBe("partial");
    expect(Object.fromEntries(missing)).toMatchObject({
      memory: {
        message: expect.stringContaining("took more memory than 256 MiB.") as string,
        hint: expect.stringContaining("raise plans.memoryBytes") as string,
      },
      disk: {
        message: expect.stringContaining("wrote more than 48 MiB to the disk.") as string,
        hint: expect.stringContaining("raise plans.diskBytes") as string,
      },
    });
    // What unshare says of a child that was killed is no word of the worker.
    expect(JSON.stringify(missing)).not.toContain("unshare");
    expect(await repository.git("show", `${report!.branch!}:src/modest/a.txt`)).toContain("made");
  },
);
