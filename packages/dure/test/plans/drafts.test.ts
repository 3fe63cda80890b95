import { afterAll, beforeAll, expect, test } from "vitest";
import { DureClient } from "../../src/client/index.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { DraftWish } from "../../src/plans/drafts/draft-prompt.ts";
import { startPlanServer, type PlanServer } from "./plan-server.ts";

/** Drafts of plans, as people make them ready: over HTTP, by several, with answers. */

const TEXT = `\
plan: ends
roles: modules
workers: { default: { kind: offline } }
ports:
  - { id: a, role: a, goal: Sessions end., owns: [src/price/**], acceptance: "true" }
  - { id: b, role: b, goal: Say so., owns: [src/stock/**], dependsOn: [a], acceptance: "true" }
`;
const QUESTION = "After how long? Assumed: 30 minutes.";

let at: PlanServer;
let client: DureClient;
const wishes: DraftWish[] = [];
let propose: (wish: DraftWish) => string;

beforeAll(async () => {
  at = await startPlanServer((wish) => {
    wishes.push(wish);
    return propose(wish);
  });
  client = new DureClient({ baseUrl: at.server.url });
}, 60_000);
afterAll(() => at?.[Symbol.asyncDispose](), 60_000);

const asks = (): string => `# question: ${QUESTION}\n# open: The page.\n${TEXT}`;

test("its questions are rows; their answers go into a revised draft", FULL, async () => {
  propose = asks;
  const { drafts } = client.plans;
  const draft = await drafts.make({ goal: "Sessions end" });

  expect(draft.questions).toEqual([{ question: QUESTION, answer: null }]);
  expect(draft.open).toEqual(["The page."]);
  expect(draft.text).not.toContain("question:");
  expect(draft).toMatchObject({ version: 1, problems: [] });

  const edited = await drafts.save(draft, {
    change: { kind: "set", port: "a", set: { title: "The core" } },
  });
  propose = () => TEXT.replace("Sessions end.", "Sessions end after an hour.");
  const answer = { question: QUESTION, answer: "One hour" };
  const revised = await drafts.answer(edited, [answer]);

  expect(wishes.at(-1)).toMatchObject({ answers: [answer], before: edited.text });
  expect(revised.questions).toEqual([answer]);
  expect(revised.ports[0]?.goal).toBe("Sessions end after an hour.");
});

test("answers outlive a model that fails, and are told to the next one", FULL, async () => {
  propose = asks;
  const { drafts } = client.plans;
  const draft = await drafts.make({ goal: "Sessions end" });
  propose = () => {
    throw new Error("The model is away.");
  };
  const answer = { question: QUESTION, answer: "One hour" };
  await expect(drafts.answer(draft, [answer])).rejects.toThrow();

  await using other = await at.serve({});
  const again = new DureClient({ baseUrl: other.url }).plans.drafts;
  const stored = await again.get(draft.id);
  expect(stored.questions).toEqual([answer]);
  propose = () => TEXT;
  const revised = await again.answer(stored, []);
  expect(wishes.at(-1)).toMatchObject({ answers: [answer] });
  expect(revised.version).toBe(stored.version + 1);
});

test("each change is checked at once, and its problems name the port", FULL, async () => {
  const { drafts } = client.plans;
  const draft = await drafts.make({ text: TEXT });
  const wrong = await drafts.save(draft, {
    change: { kind: "set", port: "a", set: { owns: ["src/stock/**"], dependsOn: ["b"] } },
  });

  expect(wrong.problems.map(({ key }) => key)).toContainEqual(expect.stringMatching(/^ports\./));
  expect(wrong.problemCount).toBeGreaterThan(0);
  const mended = await drafts.save(wrong, { text: TEXT });
  expect(mended).toMatchObject({ problemCount: 0, ports: [{ id: "a" }, { id: "b" }] });
  expect(await drafts.remove(mended)).not.toContainEqual(expect.objectContaining({ id: draft.id }));
  await expect(drafts.get(draft.id)).rejects.toMatchObject({ code: "DRAFT_UNKNOWN" });
});

test("of two people at once the second is told, and nothing is overwritten", FULL, async () => {
  const { drafts } = client.plans;
  const draft = await drafts.make({ text: TEXT });
  const change = (title: string) =>
    drafts.save(draft, { change: { kind: "set", port: "a", set: { title } } });
  const [first, second] = await Promise.allSettled([change("One"), change("Two")]);
  const refused = [first, second].find((one) => one.status === "rejected");

  expect([first, second].filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(refused?.reason).toMatchObject({
    code: "DRAFT_CHANGED",
    hint: expect.stringContaining("was not saved") as string,
  });
  expect((await drafts.get(draft.id)).version).toBe(2);
});
