import { expect, test } from "vitest";
import { testDatabase } from "../../durable/test-database.ts";
import { PostgresTokenStore } from "../../server/token-store.ts";
import { countApprovals, MergeGate, type MergeRule } from "./merge-gate.ts";
import type { RepositorySetting } from "./named-repositories.ts";
import { planOf, startTestRuns } from "./test-runs.ts";

const ONE_OTHER: MergeRule = { approvals: 1, not: "author" };
const { signal } = new AbortController();

/** A run that has ended, its author's token, and a gate with a rule. */
async function openGate(rule: MergeRule, settings: readonly RepositorySetting[] = []) {
  const stack = new AsyncDisposableStack();
  const stored = stack.use(await testDatabase());
  const team = stack.use(
    await startTestRuns({
      url: stored.url,
      build: async () => ({ status: "succeeded", commit: "built", output: {} }) as never,
    }),
  );
  const tokens = new PostgresTokenStore({ database: stored.database });
  const tokenOf = async (name: string): Promise<string> =>
    (await tokens.create({ name, scopes: ["plans"] })).record.id;
  const by = await tokenOf("mina");
  const run = await team.runs.run({ plan: planOf({ a: "" }), repository: "/shop", by }, { signal });
  const gate = new MergeGate({
    database: stored.database,
    repositories: { settingsOf: async () => settings },
    rule,
  });

  return { stack, gate, tokenOf, result: (commit: string) => ({ ...run, commit }) };
}

test("a result waits for another person's approval, and one of its author's other token is none", async () => {
  const { stack, gate, tokenOf, result } = await openGate(ONE_OTHER);
  await using _ = stack;
  const refused = { code: "MERGE_NOT_APPROVED" };
  const first = result("aaaa");

  await expect(gate.assertMayMerge(first, { signal })).rejects.toMatchObject(refused);
  const own = await gate.approve(
    first,
    "aaaa",
    { person: "mina", by: await tokenOf("mina") },
    { signal },
  );
  expect(own).toMatchObject({ needed: 1, counted: 0, approvals: [{ person: "mina" }] });
  await expect(gate.assertMayMerge(first, { signal })).rejects.toMatchObject(refused);

  await gate.approve(first, "aaaa", { person: "junho", by: await tokenOf("junho") }, { signal });
  await gate.assertMayMerge(first, { signal });
});

test("an approval is of one commit: work that went on waits again", async () => {
  const { stack, gate, result } = await openGate({ approvals: 1 });
  await using _ = stack;
  const who = { person: "junho", by: "token_junho" };
  await gate.approve(result("aaaa"), "aaaa", who, { signal });

  await expect(gate.assertMayMerge(result("bbbb"), { signal })).rejects.toMatchObject({
    code: "MERGE_NOT_APPROVED",
    details: { commit: "bbbb", needed: 1, counted: 0 },
  });
  await expect(gate.approve(result("bbbb"), "aaaa", who, { signal })).rejects.toMatchObject({
    code: "APPROVAL_STALE",
    details: { commit: "bbbb" },
  });
});

test("the strictest rule of a repository goes before that of the team", async () => {
  const settings = [{ path: "/shop" }, { path: "/shop", merge: { approvals: 2 } }];
  const { stack, gate, result } = await openGate({ approvals: 1 }, settings);
  await using _ = stack;
  await gate.approve(result("aaaa"), "aaaa", { person: "junho", by: "1" }, { signal });

  await expect(gate.assertMayMerge(result("aaaa"), { signal })).rejects.toMatchObject({
    details: { needed: 2, counted: 1 },
  });
});

test("a repository that is named twice has what each name asks for, in any order", async () => {
  const named = [
    { path: "/shop", merge: { approvals: 1 } },
    { path: "/shop", merge: ONE_OTHER },
  ];
  for (const settings of [named, named.toReversed()]) {
    const { stack, gate, tokenOf, result } = await openGate({}, settings);
    await using _ = stack;
    const own = { person: "mina", by: await tokenOf("mina") };
    await gate.approve(result("aaaa"), "aaaa", own, { signal });

    await expect(gate.assertMayMerge(result("aaaa"), { signal })).rejects.toMatchObject({
      details: { needed: 1, counted: 0 },
    });
  }
});

const by = (...people: readonly string[]) => people.map((person) => ({ person, isNamed: true }));

test("a person counts once, and the author only where the rule does not leave them out", () => {
  const approvals = by("mina", "mina", "junho");

  expect(countApprovals(approvals, { not: null, author: "mina" })).toBe(2);
  expect(countApprovals(approvals, { not: "author", author: "mina" })).toBe(1);
  expect(countApprovals(approvals, { not: "author", author: "sora" })).toBe(2);
});

test("where nothing names the author, one of those who approved may be the author", () => {
  const rule = { not: "author", author: null } as const;

  expect(countApprovals([], rule)).toBe(0);
  expect(countApprovals(by("mina", "mina"), rule)).toBe(0);
  expect(countApprovals(by("mina", "junho"), rule)).toBe(1);
});

test("an approval by a token of no person does not count where the author does not", () => {
  const approvals = [{ person: "DURE_TOKEN", isNamed: false }, ...by("junho")];

  expect(countApprovals(approvals, { not: "author", author: "mina" })).toBe(1);
  expect(countApprovals(approvals, { not: null, author: "mina" })).toBe(2);
});

test.each(["token_environment", "machine:Mina"])(
  "a run that %s began waits for two people, for one of them may have begun it",
  async (startedBy) => {
    const { stack, gate, tokenOf, result } = await openGate(ONE_OTHER);
    await using _ = stack;
    const run = { ...result("aaaa"), startedBy };
    const shared = { person: "DURE_TOKEN", by: "token_environment" };
    const approve = async (person: string): Promise<number> => {
      const who = { person, by: await tokenOf(person) };
      return (await gate.approve(run, "aaaa", who, { signal })).counted;
    };

    expect((await gate.approve(run, "aaaa", shared, { signal })).counted).toBe(0);
    expect(await approve("mina")).toBe(0);
    await expect(gate.assertMayMerge(run, { signal })).rejects.toMatchObject({
      code: "MERGE_NOT_APPROVED",
    });
    expect(await approve("junho")).toBe(1);
    await gate.assertMayMerge(run, { signal });
    expect(await gate.state(run, { signal })).toMatchObject({ author: null, not: "author" });
  },
);
