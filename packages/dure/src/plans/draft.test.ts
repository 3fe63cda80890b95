import { expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import type { Llm } from "../models/card.ts";
import { Models } from "../models/models.ts";
import type { ModelRequest } from "../models/model.ts";
import { offlineModel } from "../models/offline.ts";
import { draftPlan, withoutFence, workersOfDraft } from "./draft.ts";
import { PlanThreads } from "./threads/plan-threads.ts";

const GOOD = `plan: sessions
roles: modules
workers: { default: { kind: own, name: coder } }
ports:
  - { id: core, role: core, goal: Sessions expire., owns: [src/core/**], acceptance: npm test }
`;

async function draft(
  answers: readonly string[],
  goal = "Sessions expire",
  files: readonly string[] = ["src/core/session.ts"],
): Promise<{ text: string; asked: ModelRequest[] }> {
  const asked: ModelRequest[] = [];
  const model = offlineModel("drafter", async (request) => {
    asked.push(structuredClone(request));
    return { text: answers[asked.length - 1] ?? "" };
  });
  const models = new Models({ clock: systemClock, logger: silentLogger, offline: [model] });
  const text = await draftPlan(
    {
      models,
      llm: { provider: "offline", model: "drafter", fallbacks: [] },
      clock: systemClock,
      threads: new PlanThreads(),
      workers: workersOfDraft(["coder"], { provider: "offline", model: "drafter", fallbacks: [] }),
    },
    goal,
    files,
    { signal: new AbortController().signal },
  );
  return { text, asked };
}

test("a good proposal is taken as it is, without the fence around it", async () => {
  const { text, asked } = await draft([`Here it is:\n\`\`\`yaml\n${GOOD}\`\`\`\n`]);

  expect(text).toBe(GOOD);
  expect(asked).toHaveLength(1);
  expect(JSON.stringify(asked[0]!.messages)).toContain("src/core/session.ts");
});

test("a wrong proposal goes back once with its problems; a person gets what comes then", async () => {
  const { text, asked } = await draft(["plan: sessions\nports: []\n", GOOD]);
  const stubborn = await draft(["plan: a\nports: []\n", "plan: b\nports: []\n", GOOD]);

  expect(text).toBe(GOOD);
  expect(JSON.stringify(asked[1]!.messages.at(-1))).toMatch(/line \d+: ports/);
  expect([stubborn.text, stubborn.asked.length]).toEqual(["plan: b\nports: []\n", 2]);
});

test("a draft has workers of the team, else its model, and says when there is only a stand-in", async () => {
  const llm: Llm = { provider: "anthropic", model: "claude", fallbacks: [] };
  const offline: Llm = { ...llm, provider: "offline" };
  const idle = GOOD.replace("{ kind: own, name: coder }", "{ kind: offline }");

  const { asked } = await draft([GOOD]);
  const { text } = await draft([idle]);

  expect(asked[0]!.system).toContain("{ default: { kind: own, name: coder } }");
  expect(workersOfDraft([], llm).spec).toBe('{ kind: model, model: "anthropic:claude" }');
  expect(workersOfDraft([], offline).spec).toBe("{ kind: offline }");
  expect(text).toMatch(/^# The offline worker below is a stand-in: it changes nothing/);
  expect(text.endsWith(idle)).toBe(true);
});

test("nothing is no proposal, and a long list of files is cut", async () => {
  const files = Array.from({ length: 5_000 }, (_, index) => `src/folder-${index}/file-${index}.ts`);

  await expect(draft(["```yaml\n\n```"])).rejects.toMatchObject({ code: "DRAFT_EMPTY" });
  expect(JSON.stringify((await draft([GOOD], "x", files)).asked[0]!.messages)).toMatch(
    /… and \d+ more/,
  );
  expect(withoutFence("plan: a")).toBe("plan: a\n");
});
