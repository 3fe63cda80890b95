import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { realPlan, startRealRuns, type TestRepository } from "./real-runs.ts";
import { openStage } from "./stage.ts";

const FILES = { "src/a/a.txt": "base\n", "src/b/b.txt": "base\n", "src/c/c.txt": "base\n" };

const PORT = (id: string, more: string): string =>
  `  - { id: ${id}, role: ${id}, goal: Make ${id}., owns: [src/${id}/**], acceptance: "true"${more} }`;

/** Its worker keeps every prompt that it gets. */
const PLAN = (ports: readonly string[]): string =>
  [
    "plan: kept",
    "roles: modules",
    "workers:",
    "  default:",
    "    kind: command",
    '    command: [sh, -c, "cat >> src/$DURE_PORT_ID/prompt.txt"]',
    "ports:",
    ...ports,
    "",
  ].join("\n");

const TWO = PLAN([PORT("a", ", gate: person"), PORT("b", ", dependsOn: [a]"), PORT("c", "")]);
const ONE = PLAN([PORT("a", "")]);

async function begin(
  { runs }: TestRuns,
  repository: TestRepository,
  text: string,
): Promise<{ id: string; statuses: () => Promise<string> }> {
  const plan = realPlan(text);
  const { id } = await runs.run({ plan, repository: repository.folder, by: "minjun" });
  const statuses = async (): Promise<string> => {
    const run = await runs.get(id);
    const said = run.ports.map(({ id: port, status, because }) =>
      [port, status, ...(status === "failed" ? [because?.message] : [])].join(" "),
    );
    const standing = [run.status, ...said].join(", ");
    // What is over does not become anything else; a test that waits for more says so at once.
    if (run.status === "failed") throw new Error(standing);
    return standing;
  };
  return { id, statuses };
}

const BY = { by: "jiwoo", name: "jiwoo", tenant: "" };

/** What a worker has changed, without its lines. */
const CHANGE = () =>
  Promise.resolve({
    changes: [{ path: "src/a/prompt.txt", kind: "modified" as const }],
    patch: "",
    isCut: false,
  });

const until = (what: () => Promise<unknown>) =>
  expect.poll(what, { timeout: 45_000, interval: 100 });

test(
  "a port with a gate waits for a person without a slot, and goes on when it is approved",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await openStage(FILES);
    const { id, statuses } = await begin(runs, repository, TWO);
    await until(statuses).toBe("running, a held, b waiting, c succeeded");

    const [asked] = (await runs.inbox.list({ status: "open", tenant: "" })).items;
    const answers = asked!.suggestedActions.map(({ value }) => value);
    const port = await runs.runs.port(id, "a");
    const early = runs.runs.commands.order(id, { type: "approve", port: "c" }, { by: "minjun" });
    await expect(early).rejects.toThrow("The port waits for no approval.");
    await runs.runs.commands.order(id, { type: "approve", port: "a" }, { by: "minjun" });

    await until(statuses).toBe("success, a succeeded, b succeeded, c succeeded");
    expect({ type: asked!.type, answers }).toEqual({
      type: "decision",
      answers: ["approve", "send_back", "skip", "cancel"],
    });
    expect((await runs.inbox.get(asked!.id, { tenant: "" })).status).toBe("resolved");
    expect((await runs.runs.port(id, "a")).resultCommit).toBe(port.resultCommit);
  },
);

test(
  "what is sent back with an answer and with comments is the next prompt, and asked about anew",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs, repository } = await openStage(FILES);
    const { id, statuses } = await begin(runs, repository, TWO);
    await until(statuses).toBe("running, a held, b waiting, c succeeded");
    const about = { run: id, port: "a", tenant: "" };
    const line = {
      path: "src/a/prompt.txt",
      line: 1,
      side: "new",
      quote: "  Who you are  ",
    } as const;
    await runs.runs.reviews.add(about, { ...line, text: "Shorter, please.", by: "minjun" }, CHANGE);

    const [asked] = (await runs.inbox.list({ status: "open", tenant: "" })).items;
    await runs.inbox.answer(asked!.id, { value: "send_back", note: "Not yet." }, BY);
    await until(
      async () => (await runs.inbox.list({ status: "open", tenant: "" })).items.length,
    ).toBe(1);
    await until(statuses).toBe("running, a held, b waiting, c succeeded");
    const [again] = (await runs.inbox.list({ status: "open", tenant: "" })).items;
    await runs.inbox.answer(again!.id, { value: "approve" }, BY);
    await until(statuses).toBe("success, a succeeded, b succeeded, c succeeded");

    const prompts = await repository.git("show", "dure/kept:src/a/prompt.txt");
    expect(prompts).toContain("jiwoo reviewed this work and asks for changes:\n- Not yet.");
    expect(prompts).toContain("- src/a/prompt.txt:1 `Who you are`: Shorter, please.");
    const [comment] = await runs.runs.reviews.comments(about);
    expect(comment).toMatchObject({ text: "Shorter, please.", by: "minjun", sentTry: 1 });
    expect(again!.id).not.toBe(asked!.id);
  },
);

test(
  "a review of a run that has succeeded is carried out once, also by the process after a crash",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { runs: first, repository, home, url } = await openStage(FILES);
    const { id, statuses } = await begin(first, repository, ONE);
    await until(statuses).toBe("success, a succeeded");
    const about = { run: id, port: "a", tenant: "" };
    const file = { path: "src/a/prompt.txt", line: null, side: "new", quote: "" } as const;
    await first.runs.reviews.add(about, { ...file, text: "Say it twice.", by: "minjun" }, CHANGE);
    const order = await first.runs.reviews.order(about, "minjun", undefined);
    // Stored, and then the process is gone before a leader has looked.
    await first.runs.stop();
    const number = await first.runs.records.orders.give(undefined, id, order, "minjun");
    const twice = await first.runs.records.orders.give(undefined, id, order, "minjun");

    await using second = await startRealRuns({ url, home });
    await until(async () => (await second.runs.get(id)).ports[0]!.triesPair).toBe(4);
    await until(async () => (await second.runs.get(id)).status).toBe("success");

    const outcomes = [number, twice].map((one) => second.runs.records.orders.outcome(one));
    const [done, refused] = await Promise.all(outcomes);
    expect(done).toEqual({ ok: true });
    expect(refused).toMatchObject({ code: "port-not-done" });
    const prompts = await repository.git("show", "dure/kept:src/a/prompt.txt");
    expect(prompts.split("Say it twice.")).toHaveLength(2);
    const { steps } = await second.runs.port(id, "a");
    expect(steps.filter(({ kind }) => kind === "implement")).toHaveLength(2);
  },
);

test(
  "a review that changes nothing is no success: it waits for a person, who approves or says more",
  { timeout: 120_000 },
  async () => {
    const { runs, repository } = await openStage(FILES);
    const once = '"test -e src/a/made.txt || echo made > src/a/made.txt"';
    const text = ONE.replace('"cat >> src/$DURE_PORT_ID/prompt.txt"', once);
    const { id, statuses } = await begin(runs, repository, text);
    await until(statuses).toBe("success, a succeeded");
    const before = await runs.runs.port(id, "a");
    const about = { run: id, port: "a", tenant: "" };
    const review = await runs.runs.reviews.order(about, "minjun", "Name it otherwise.");

    await runs.runs.commands.order(id, review, { by: "minjun" });

    await until(statuses).toBe("running, a held");
    const port = await runs.runs.port(id, "a");
    expect(port.because).toEqual({
      code: "REVIEW_UNCHANGED",
      message: "The review of a came to no change.",
      hint: expect.stringContaining(`dure plan review ${id} a --send`) as string,
    });
    expect(port.resultCommit).toBe(before.resultCommit);
    const open = async () => (await runs.inbox.list({ status: "open", tenant: "" })).items;
    const [first] = await open();
    expect(first).toMatchObject({ type: "decision", context: { code: "REVIEW_UNCHANGED" } });
    await runs.inbox.answer(first!.id, { value: "send_back", note: "Name it b." }, BY);
    await until(async () => (await open()).map(({ id: asked }) => asked === first!.id)).toEqual([
      false,
    ]);
    await until(statuses).toBe("running, a held");
    await runs.runs.commands.order(id, { type: "approve", port: "a" }, { by: "minjun" });
    await until(statuses).toBe("success, a succeeded");
    expect((await runs.runs.port(id, "a")).because).toBeNull();
    expect(await open()).toEqual([]);
  },
);
