import { FULL } from "../kernel/test-tiers.ts";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { chatAgent } from "../engine/agent/agent.ts";
import { combineServices, keywordRouter, type AnyService } from "../engine/service/combine.ts";
import { defineService, flow, type Service } from "../engine/service/service.ts";
import { teamTools } from "../engine/agent/team-tools.ts";
import { testDatabase, type TestDatabase } from "../durable/test-database.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import { silentLogger } from "../kernel/logger.ts";
import type { ModelRequest } from "../models/model.ts";
import { offlineModel, type OfflineRespond } from "../models/offline.ts";
import { readTeam, type TeamOptions } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { startTeam, type RunningTeam } from "./start.ts";

const ANSWER = "네, 지금 배포해도 괜찮아요. 시험이 모두 통과했습니다.";

/** The desk of a bank: two agents in one flow, of which only the clerk may ask the team. */
function bank(name = "bank"): Service {
  const clerk = chatAgent({
    name: "clerk",
    prompt: "You are the clerk.",
    card: { llm: "offline:clerk" },
    tools: { ask_agent: teamTools.ask_agent },
  });
  const greeter = chatAgent({
    name: "greeter",
    prompt: "You are the greeter.",
    card: { llm: "offline:greeter" },
  });
  return defineService({
    name,
    agents: { greeter, clerk },
    flows: {
      DEFAULT: flow(async (turn) => {
        await turn.agent("greeter", "…", { show: false });
        return turn.done({ message: (await turn.agent("clerk", "…")).text });
      }),
    },
  });
}

interface Stage {
  readonly clerk: OfflineRespond;
  readonly services?: Readonly<Record<string, AnyService | string>>;
  readonly agents?: TeamOptions["agents"];
  readonly eden?: OfflineRespond;
}

async function start(
  db: TestDatabase,
  stage: Stage,
  folder: string = import.meta.dirname,
): Promise<
  RunningTeam & AsyncDisposable & { readonly seen: Readonly<Record<string, ModelRequest[]>> }
> {
  const seen: Record<string, ModelRequest[]> = { clerk: [], greeter: [], eden: [] };
  const model = (name: string, respond: OfflineRespond) =>
    offlineModel(name, (request, context) => {
      seen[name]!.push(request);
      return respond(request, context);
    });
  const options: TeamOptions = {
    name: "두레",
    locale: "ko",
    model: "offline:echo",
    offlineModels: [
      model("clerk", stage.clerk),
      model("greeter", () => "안녕하세요."),
      model("eden", stage.eden ?? (() => ANSWER)),
    ],
    services: stage.services ?? { bank: bank() },
    agents: stage.agents ?? {
      teller: { displayName: "창구", leads: true, service: "bank" },
      eden: { displayName: "이든", card: { llm: "offline:eden" } },
    },
  };
  const team = await startTeam(
    await readTeam(options, folder),
    { ...readEnvironment({ PORT: "0" }), databaseUrl: db.url },
    { logger: silentLogger },
  );
  return Object.assign(team, { seen, [Symbol.asyncDispose]: () => team.stop() });
}

const say = (team: RunningTeam, message: string, session = "s1", service = "bank") =>
  team.engine.turn({ session, service, message }).done;
const told = (request: Pick<ModelRequest, "messages">): string =>
  request.messages
    .map((message) => ("text" in message ? message.text : JSON.stringify(message.result)))
    .join("\n");

/**
 * Asks eden in its first words, waiting `waitSec`; afterwards it says what its last tool answered,
 * or the person's words.
 */
const asking =
  (waitSec: number): OfflineRespond =>
  (request) => {
    const last = request.messages.at(-1)!;
    if (last.role === "tool") return `결과: ${JSON.stringify(last.result)}`;
    return told({ messages: [last] }).includes("물어봐")
      ? {
          toolCalls: [
            {
              name: "ask_agent",
              args: { agent: "eden", message: "배포해도 괜찮을까요?", waitSec },
            },
          ],
        }
      : "네.";
  };

test(
  "an agent of a service asks the team's agents in the name of the agent behind the service",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using db = await testDatabase();
    await using team = await start(db, { clerk: asking(30) });

    const done = await say(team, "이든한테 물어봐 줘");

    expect(done.message).toContain("시험이 모두 통과했습니다");
    expect((await team.jobs!.list()).items).toMatchObject([
      { requester: "teller", target: "eden", status: "COMPLETED" },
    ]);
  },
);

test(
  "what it asked in the background is told to the agent that can ask, in its next turn there, once",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using db = await testDatabase();
    await using team = await start(db, { clerk: asking(0) });
    await say(team, "이든한테 물어봐 줘");
    await expect
      .poll(() => db.database.query({ text: "select turn_id from dure.job_notes" }), {
        timeout: 20_000,
      })
      .toEqual([{ turn_id: null }]);

    for (const message of ["어떻게 됐어요?", "그래요"]) await say(team, message);

    const [second, third] = team.seen["clerk"]!.slice(-2).map(told);
    expect(second).toContain(`> ${ANSWER}`);
    expect(second).toMatch(/ended[\s\S]*어떻게 됐어요\?$/); // data stands before the person's words
    expect(third).not.toContain(ANSWER);
    expect(team.seen["greeter"]!.map(told).join("\n")).not.toContain(ANSWER);
    expect(
      await db.database.query({
        text: "select count(*)::integer as turns from dure.turns where session_id = 's1'",
      }),
    ).toEqual([{ turns: 3 }]);
  },
);

test(
  "a turn that fails has told nothing: the next one tells it again",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using db = await testDatabase();
    const clerk: OfflineRespond = (request, context) => {
      if (told(request).endsWith("넘어져")) {
        throw new DureError("MODEL_REFUSED", "no", { class: "input" });
      }
      return asking(0)(request, context);
    };
    await using team = await start(db, { clerk });
    await say(team, "이든한테 물어봐 줘");
    await expect
      .poll(() => db.database.query({ text: "select turn_id from dure.job_notes" }), {
        timeout: 20_000,
      })
      .toEqual([{ turn_id: null }]);

    const failed = await say(team, "넘어져");
    expect(failed.error).toBeDefined();
    await say(team, "어떻게 됐어요?");

    expect(told(team.seen["clerk"]!.at(-1)!)).toContain(`> ${ANSWER}`);
  },
);

test("a service whose agents ask needs an agent of the team that answers through it: said at the start", async () => {
  await using db = await testDatabase();
  const failure = await start(db, {
    clerk: asking(0),
    agents: { eden: { leads: true, card: { llm: "offline:eden" } } },
  }).catch((error: unknown) => error as DureError);
  expect(failure).toMatchObject({
    code: "TEAM_TOOL_UNBOUND",
    message: expect.stringContaining(
      'Service "bank": agents.clerk names the tool ask_agent',
    ) as string,
    hint: expect.stringContaining('service: "bank"') as string,
  });
});

test(
  "of several agents behind one service the session says who asks; else no agent may ask",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using db = await testDatabase();
    const agents = {
      teller: { leads: true, service: "bank" },
      adviser: { service: "bank" },
      eden: { card: { llm: "offline:eden" } },
    };
    await using team = await start(db, { clerk: asking(30), agents });

    expect((await say(team, "이든한테 물어봐 줘")).message).toContain("AGENT_UNCLEAR");
    const asked = await team.jobs!.ask({
      requester: "eden",
      agent: "adviser",
      message: "이든한테 물어봐 줄 수 있나요?",
    });

    expect(asked.status).toBe("ok");
    expect((await team.jobs!.list()).items).toMatchObject([
      { requester: "adviser", target: "eden", parentJobId: asked.jobId },
      { requester: "eden", target: "adviser" },
    ]);
  },
);

test("services of a combination have them too", { timeout: 60_000 }, async () => {
  await using db = await testDatabase();
  const desk = combineServices({
    name: "desk",
    services: [bank()],
    router: keywordRouter({ rules: [], default: "bank" }),
  });
  await using team = await start(db, {
    clerk: asking(30),
    services: { desk },
    agents: { teller: { leads: true, service: "desk" }, eden: { card: { llm: "offline:eden" } } },
  });

  expect((await say(team, "이든한테 물어봐 줘", "s1", "desk")).message).toContain(
    "시험이 모두 통과했습니다",
  );
});

test("a declared service names them in its card", { ...FULL, timeout: 60_000 }, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-declared-"));
  await using _folder = {
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
  const service = path.join(folder, "bank");
  await mkdir(path.join(service, "prompts"), { recursive: true });
  await writeFile(
    path.join(service, "service.yaml"),
    "name: bank\nagents:\n  clerk:\n    class: chat\nflows:\n  handlers:\n    DEFAULT: talk\n",
  );
  await writeFile(
    path.join(service, "card.json"),
    JSON.stringify({ llm: "offline:clerk", tools: ["ask_agent"] }),
  );
  await writeFile(path.join(service, "prompt.md"), "You are the clerk.");
  await writeFile(
    path.join(service, "flows.mjs"),
    "export async function* talk(turn) { return { message: (await turn.agent('clerk', '…')).text }; }\n",
  );
  await using db = await testDatabase();
  await using team = await start(
    db,
    { clerk: asking(30), services: { bank: "./bank" } },
    folder,
  ).catch((error: unknown) =>
    Promise.reject(
      new Error(
        `${codeOf(error)}: ${String(error)} ${JSON.stringify((error as { problems?: unknown }).problems)}`,
      ),
    ),
  );

  expect((await say(team, "이든한테 물어봐 줘")).message).toContain("시험이 모두 통과했습니다");
});
