import { expect, test } from "vitest";
import { chatAgent } from "../engine/agent/agent.ts";
import { defineService, flow } from "../engine/service/service.ts";
import { testDatabase } from "../durable/test-database.ts";
import { silentLogger } from "../kernel/logger.ts";
import type { ModelRequest } from "../models/model.ts";
import { offlineModel } from "../models/offline.ts";
import { Directory } from "../rooms/directory.ts";
import { announcementHandler } from "./announcements.ts";
import { readTeam } from "./config.ts";
import { readEnvironment } from "./environment.ts";
import { startTeam } from "./start.ts";

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
    jobs: { keepNote: () => Promise.resolve() },
    directory: new Directory({ agents: [], channels: [] }),
    locale: "ko",
  });

  expect(handler.policy).toMatchObject({ timeoutMs: 120_000 });
});
