import { expect, test } from "vitest";
import { z } from "zod";
import { PNG } from "../durable/files/test-files.ts";
import { testDatabase } from "../durable/test-database.ts";
import { chatAgent } from "../engine/agent/agent.ts";
import { fileResult } from "../engine/agent/file-result.ts";
import { tool } from "../engine/agent/tool.ts";
import { defineService, flow } from "../engine/service/service.ts";
import type { JobAnnouncement } from "../jobs/announcement.ts";
import { saying, startTestTeam, type TestTeam } from "../jobs/test-jobs.ts";
import type { JsonObject } from "../kernel/json.ts";
import { silentLogger } from "../kernel/logger.ts";
import type { ModelRequest } from "../models/model.ts";
import { offlineModel } from "../models/offline.ts";
import { Directory } from "../rooms/directory.ts";
import { announcementHandler, startTeam } from "./start.ts";
import { readTeam } from "./config.ts";
import { readEnvironment } from "./environment.ts";

const said = (request: ModelRequest): string =>
  (request.messages.findLast(({ role }) => role === "user") as { text: string }).text;

test.each([
  ["in its words", "이든 말로는 괜찮대요.", "이든 말로는 괜찮대요."],
  ["not at all, and without the mark, when no person needs to hear of it", "ANNOUNCE_SKIP", ""],
])(
  "an agent in a chat tells what came of its background work %s",
  { timeout: 60_000 },
  async (_, answer, shown) => {
    await using db = await testDatabase();
    const ruda = offlineModel("ruda", (request) => {
      if (said(request).startsWith("이든의 답변이에요")) return answer;
      return request.messages.at(-1)!.role === "tool"
        ? "뒤에서 물어볼게요."
        : {
            toolCalls: [
              {
                name: "ask_agent",
                args: { agent: "eden", message: "배포해도 괜찮을까요?", waitSec: 0 },
              },
            ],
          };
    });
    const eden = offlineModel(
      "eden",
      () => "네, 지금 배포해도 괜찮아요. 시험이 모두 통과했습니다.",
    );
    const helper = chatAgent({ name: "helper", card: { llm: "offline:echo" } });
    const minimal = defineService({
      name: "minimal",
      agents: { helper },
      flows: {
        DEFAULT: flow(async (turn) =>
          turn.done({ message: (await turn.agent("helper", "…")).text }),
        ),
      },
    });
    const options = {
      name: "두레",
      locale: "ko" as const,
      model: "offline:echo",
      offlineModels: [ruda, eden],
      services: { minimal },
      agents: {
        ruda: { displayName: "루다", leads: true, card: { llm: "offline:ruda" } },
        eden: { displayName: "이든", card: { llm: "offline:eden" } },
      },
    };
    const team = await startTeam(
      await readTeam(options, import.meta.dirname),
      { ...readEnvironment({ PORT: "0" }), databaseUrl: db.url },
      { logger: silentLogger },
    );
    await using _stop = { [Symbol.asyncDispose]: () => team.stop() };

    await team.engine.turn({ session: "s1", service: "ruda", message: "이든한테 물어봐 줘" }).done;

    const messages = async (): Promise<unknown> =>
      (
        await db.database.query<{ message: string }>({
          text: `
            select done->>'message' as message
            from dure.turns
            where session_id = 's1' and status = 'done'
            order by accepted_at`,
        })
      ).map(({ message }) => message);
    await expect.poll(messages, { timeout: 20_000 }).toEqual(["뒤에서 물어볼게요.", shown]);
    const tokens = await db.database.query({
      text: `
        select e.data
        from dure.turn_events e
        join dure.turns t on t.id = e.turn_id
        where t.session_id = 's1' and t.author = 'system' and e.type = 'LLM_TOKEN'`,
    });
    expect(tokens).toEqual([]);
  },
);

test("the place of origin is told within 120 s, or by another attempt", () => {
  const conversations = { accept: () => Promise.reject(new Error("is not asked here")) };
  const handler = announcementHandler({
    conversations,
    jobs: {
      keepNote: () => Promise.resolve(),
      files: { carryMade: () => Promise.resolve([]) },
    },
    directory: new Directory({ agents: [], channels: [] }),
    locale: "ko",
  });

  expect(handler.policy).toMatchObject({ timeoutMs: 120_000 });
});

const draw = tool({
  description: "Draws.",
  inputSchema: z.object({}),
  effect: "none",
  execute: () => fileResult({ drawn: 1 }, [{ name: "drawn.png", bytes: PNG }]),
});

/** Ends of the turns of a session, as their clients were told. */
async function endsIn({ database }: TestTeam, session: string): Promise<readonly JsonObject[]> {
  const rows = await database.query<{ done: JsonObject }>(
    { text: "select done from dure.turns where session_id = $1 and status = 'done'" },
    [session],
  );
  return rows.map(({ done }) => done);
}

test("files that background work made are shown with the words of who asked, once", async () => {
  await using db = await testDatabase();
  await using team = await startTestTeam({
    url: db.url,
    agents: {
      ruda: saying("It is drawn."),
      eden: ({ messages }) =>
        messages.at(-1)?.role === "tool" ? "Drawn." : { toolCalls: [{ name: "draw", args: {} }] },
    },
    tools: () => ({ draw }),
  });
  const { jobId } = await team.jobs.ask({
    requester: "ruda",
    agent: "eden",
    message: "Draw a pixel.",
  });
  const person = { id: "ruda", displayName: "Ruda", service: "ruda", leads: true, accounts: {} };
  const handler = announcementHandler({
    conversations: team.engine,
    jobs: team.jobs,
    directory: new Directory({ agents: [person], channels: [] }),
    locale: "en",
  });
  const notice: JobAnnouncement = {
    ...{ jobId, tenant: "", session: "desk", turn: null, requester: "ruda", target: "eden" },
    ...{ status: "COMPLETED", outcome: "conclusion", message: "Draw a pixel.", topic: null },
    ...{ error: null, reply: "Drawn.", by: "eden" },
  };
  const context = {
    ...{ key: "job:1:announce:1", attempt: 1, inDoubt: false },
    signal: new AbortController().signal,
  };

  await handler.send(notice as unknown as JsonObject, context);
  await handler.send(notice as unknown as JsonObject, context);

  await expect.poll(() => endsIn(team, "desk"), { timeout: 20_000 }).toHaveLength(1);
  const [done] = await endsIn(team, "desk");
  const files = done!["files"] as readonly { id: string; name: string }[];
  expect(files.map(({ name }) => name)).toEqual(["drawn.png"]);
  const told = team.asked["ruda"]!.at(-1)!.messages.at(-1)!;
  expect(told).toMatchObject({ role: "user", files: [{ name: "drawn.png" }] });
  expect(await team.engine.files.read(files[0]!.id, { session: "desk" })).toEqual(Buffer.from(PNG));
});
