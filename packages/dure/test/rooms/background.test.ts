// @module-tag slow
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "pg";
import { Webhook } from "standardwebhooks";
import { describe, expect, onTestFinished, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import {
  chatAgent,
  defineService,
  flow,
  offlineModel,
  type ModelRequest,
  type OfflineReply,
} from "../../src/index.ts";
import { discord, slack } from "../../src/channels/index.ts";
import {
  readEnvironment,
  readTeam,
  silentLogger,
  startTeam,
  type RunningTeam,
  type TeamOptions,
} from "../../src/team/index.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { agentsFile } from "../../src/rooms/handover/guide.ts";
import { ROOM_LIMITS } from "../../src/rooms/limits.ts";
import { FakeDiscord, FakeSlack } from "@dure/testing";
import { OPEN_SLACK_LIMITS, slackPlaceOf } from "./slack-platform.ts";

const GENERAL = "web:general";
const SECRET = "a-secret-of-the-team";
const official = new Webhook(SECRET, { format: "raw" });

/** The same team on its own rooms, on Discord alone, and on Slack alone. */
describe.each([
  ["web", onWeb],
  ["discord", onDiscord],
  ["slack", onSlack],
] as const)("on %s", { timeout: 60_000 }, (name, stageOf) => {
  test(
    "P1 P2 the prompt of a scaffolded team tells of its agents, its guards and its tools",
    FULL,
    async () => {
      const prompts: string[] = [];
      const { team, stage } = await start(
        { ruda: ({ prompt }) => (prompts.push(prompt), "네") },
        { stageOf, scaffolded: true },
      );

      await stage.say(team, "@루다 안녕");
      await eventually(async () =>
        expect(await stage.lines(team)).toEqual(["민준: @루다 안녕", "루다: 네"]),
      );

      expect(prompts[0]).toContain("Visible work comes first");
      expect(prompts[0]).toContain("`collaborate`");
      expect(prompts[0]).toContain("who takes part is heard without being named");
      expect(prompts[0]).toContain(`${ROOM_LIMITS.pairCalls} calls of a pair`);
      expect(prompts[0]).toContain(`${ROOM_LIMITS.threadMessages} agent messages of a thread`);
    },
  );

  test(
    "P4 ask_agent goes in the background and tells the room its result; collaborate goes in the open",
    FULL,
    async () => {
      const prompts: string[] = [];
      const { team, stage } = await start(
        {
          ruda: ({ said, called, prompt }) => {
            prompts.push(prompt);
            if (said.startsWith("이든의 답변이에요")) return "이든 말로는 괜찮대요";
            if (said.includes("공개로")) {
              return called
                ? "맡겼어요"
                : {
                    toolCalls: [
                      {
                        name: "collaborate",
                        args: { targetAgent: "eden", message: "공개로 봐 주세요" },
                      },
                    ],
                  };
            }
            if (!said.includes("조용히")) return { toolCalls: [{ name: "stay_silent", args: {} }] };
            if (called) return "뒤에서 물어볼게요";
            return {
              toolCalls: [
                {
                  name: "ask_agent",
                  args: { agent: "eden", message: "배포해도 괜찮을까요?", waitSec: 0 },
                },
              ],
            };
          },
          eden: () => "네, 지금 배포해도 괜찮아요. 시험이 모두 통과했습니다.",
        },
        { stageOf },
      );

      await stage.say(team, "@루다 이든한테 조용히 물어봐 줘");

      await eventually(async () =>
        expect(await stage.lines(team)).toEqual([
          "민준: @루다 이든한테 조용히 물어봐 줘",
          "루다: 뒤에서 물어볼게요",
          "루다: 이든 말로는 괜찮대요",
        ]),
      );
      expect(await team.rooms!.reader.threads(`${name}:general`, ANONYMOUS)).toEqual([]);
      expect(prompts[0]).toContain("goes in the background, with `ask_agent`");

      await stage.say(team, "@루다 공개로 맡겨 줘");
      const [thread] = await eventually(async () => {
        const threads = await team.rooms!.reader.threads(`${name}:general`, ANONYMOUS);
        expect(threads.map((one) => one.name)).toEqual(["[협업] 루다 → 이든 · 공개로 봐 주세요"]);
        return threads;
      });
      await eventually(async () =>
        expect((await stage.lines(team, thread!.id)).slice(0, 2)).toEqual([
          "루다: @이든 공개로 봐 주세요",
          "이든: 네, 지금 배포해도 괜찮아요. 시험이 모두 통과했습니다.",
        ]),
      );
    },
  );

  const tags = name === "slack" ? FULL : { tags: [] };

  test(
    "P3 an agent inside a background job may call collaborate; the default channel gets the thread",
    tags,
    async () => {
      const prompts: string[] = [];
      const { team, stage } = await start(
        {
          eden: ({ said, called, session, prompt }) => {
            if (session !== "job") return "맡은 일을 마쳤어요";
            prompts.push(prompt);
            return called || !said.includes("맡겨 줘")
              ? "루다에게 공개로 맡겼습니다. 그쪽에서 이어 가겠습니다."
              : {
                  toolCalls: [
                    {
                      name: "collaborate",
                      args: { targetAgent: "ruda", message: "이어서 봐 주세요" },
                    },
                  ],
                };
          },
          ruda: () => ({ toolCalls: [{ name: "stay_silent", args: {} }] }),
        },
        { stageOf },
      );

      await team.jobs!.ask({
        requester: "ruda",
        agent: "eden",
        message: "누군가에게 맡겨 줘",
        maxTurns: 1,
        waitSec: 30,
      });

      const [thread] = await eventually(async () => {
        const threads = await team.rooms!.reader.threads(`${name}:general`, ANONYMOUS);
        expect(threads.map((one) => one.name)).toEqual(["[협업] 이든 → 루다 · 이어서 봐 주세요"]);
        return threads;
      });
      await eventually(async () =>
        expect((await stage.lines(team, thread!.id))[0]).toBe("이든: @루다 이어서 봐 주세요"),
      );
      expect(prompts[0]).toContain("You may use both, also within a background job.");
    },
  );
});

test(
  "background talk is reported once, a thread per conversation and a file, and no agent hears it",
  { ...FULL, timeout: 60_000 },
  async () => {
    const { team, folder } = await start(
      {
        ruda: ({ said }) =>
          said.includes("답변이에요")
            ? "ANNOUNCE_SKIP"
            : "그럼 금요일 오후 세 시로 하겠습니다. 확인 부탁드려요.",
        eden: ({ said }) =>
          said.includes("금요일") ? "REPLY_SKIP" : "금요일 오후가 가장 한가합니다. 어떠세요?",
      },
      {
        rooms: {
          channels: { general: {}, report: { collaborate: false } },
          sink: { channel: "report", file: "report.ndjson" },
        },
      },
    );

    const asked = await team.jobs!.ask({
      requester: "ruda",
      agent: "eden",
      message: "언제 배포할까요?",
      topic: "배포 시각",
      maxTurns: 3,
      waitSec: 30,
    });

    expect(asked.status).toBe("ok");
    const [thread] = await eventually(async () => {
      const threads = await team.rooms!.reader.threads("web:report", ANONYMOUS);
      expect(threads).toHaveLength(1);
      return threads;
    });
    expect(thread!.name).toBe("[리포트] 루다 ↔ 이든 · 배포 시각");
    await eventually(async () =>
      expect((await linesOf(team, thread!.id)).slice(0, 2)).toEqual([
        "이든: 금요일 오후가 가장 한가합니다. 어떠세요?",
        "루다: 그럼 금요일 오후 세 시로 하겠습니다. 확인 부탁드려요.",
      ]),
    );
    await eventually(async () => {
      const lines = (await readFile(path.join(folder, "report.ndjson"), "utf8")).trim().split("\n");
      expect(lines.map((line) => (JSON.parse(line) as { name: string }).name).slice(0, 2)).toEqual([
        "이든",
        "루다",
      ]);
    });
    expect(await team.rooms!.reader.observations({ place: thread!.id, tenant: "" })).toEqual([]);
    for (const message of await team.rooms!.reader.messages(thread!.id, {})) {
      expect(message).toMatchObject({ mark: "sink", roles: {} });
    }
  },
);

test(
  "a webhook gets each line once in signed and keyed batches; four refusals are escalated",
  { ...FULL, timeout: 90_000 },
  async () => {
    const batches: { key: string | undefined; items: { id: string; text: string }[] }[] = [];
    let refuses = false;
    const desk = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")));
      request.on("end", () => {
        batches.push({
          key: request.headers["idempotency-key"] as string | undefined,
          ...(official.verify(body, request.headers as Record<string, string>) as {
            items: { id: string; text: string }[];
          }),
        });
        response.writeHead(refuses ? 500 : 204).end();
      });
    });
    desk.listen(0, "127.0.0.1");
    await once(desk, "listening");
    onTestFinished(() => void desk.close());
    const { team, database } = await start(
      { eden: () => "금요일이 좋습니다. 어떠세요?", ruda: () => "REPLY_SKIP" },
      {
        rooms: {
          channels: { general: {}, report: { collaborate: false } },
          sink: {
            channel: "report",
            webhook: `http://127.0.0.1:${(desk.address() as AddressInfo).port}/report`,
          },
        },
      },
    );
    const asked = await team.jobs!.ask({
      requester: "ruda",
      agent: "eden",
      message: "언제 배포할까요?",
      maxTurns: 2,
      waitSec: 30,
    });
    await eventually(() =>
      expect(batches.flatMap(({ items }) => items.map(({ text }) => text))).toEqual([
        "금요일이 좋습니다. 어떠세요?",
      ]),
    );
    expect(batches[0]!.key).toMatch(/^sink\/webhook\//);
    const [first] = await eventually(async () => {
      const threads = await team.rooms!.reader.threads("web:report", ANONYMOUS);
      expect(threads).toHaveLength(1);
      expect(await linesOf(team, threads[0]!.id)).toHaveLength(1);
      return threads;
    });

    refuses = true;
    await database.query("update dure.places set state = 'closed' where id = $1", [first!.id]);
    await database.query("select dure.emit($1)", [
      JSON.stringify([
        {
          type: "job.turn",
          role: "delegation",
          job: asked.jobId,
          data: { speaker: "eden", text: "덧붙이면, 오후가 낫습니다." },
        },
      ]),
    ]);

    await eventually(async () => {
      const open = (await team.rooms!.reader.threads("web:report", ANONYMOUS)).filter(
        ({ state }) => state === "open",
      );
      expect(open.map(({ name }) => name)).toEqual([first!.name]);
      expect(await linesOf(team, open[0]!.id)).toEqual(["이든: 덧붙이면, 오후가 낫습니다."]);
    });
    await eventually(
      async () =>
        expect((await team.inbox.list({ tenant: "", status: "open" })).items).toMatchObject([
          { type: "delivery", context: { to: "webhook", attempts: 4 } },
        ]),
      { patienceMs: 30_000 },
    );
    expect(new Set(batches.slice(1).map(({ key }) => key)).size).toBe(1);
  },
);

interface Said {
  readonly said: string;
  /** What it was told before everything else. */
  readonly prompt: string;
  readonly called: boolean;
  readonly session: "room" | "job";
}

/** Where a team talks: how people speak in #general, and what they see there or in a thread. */
interface Stage {
  readonly options: Partial<TeamOptions>;
  readonly environment: Readonly<Record<string, string>>;
  say(team: RunningTeam, text: string): Promise<void>;
  lines(team: RunningTeam, thread?: string): Promise<readonly string[]>;
}

async function onWeb(): Promise<Stage> {
  return {
    options: {},
    environment: {},
    say: async (team, text) =>
      void (await team.rooms!.post({ tenant: "", person: "민준" }, { place: GENERAL, text })),
    lines: async (team, thread = GENERAL) =>
      (await linesOf(team, thread)).map((line) =>
        line.replace(
          /<@(\w+)>/g,
          (_all, id: string) => `@${NAMES[id as keyof typeof NAMES] ?? id}`,
        ),
      ),
  };
}

async function onDiscord(): Promise<Stage> {
  const double = await FakeDiscord.start({ identifyWindowMs: 1 });
  onTestFinished(() => double.stop());
  const general = double.addChannel(double.addGuild("두레"), "general");
  const bots = (["ruda", "eden"] as const).map((id) =>
    double.addBot({ name: NAMES[id], token: `token-${id}` }),
  );
  const minjun = double.addPerson("민준");
  return {
    options: { rooms: { adapters: [discord()], channels: { general: { discord: general.id } } } },
    environment: {
      DISCORD_API_URL: double.url,
      DISCORD_TOKEN_RUDA: "token-ruda",
      DISCORD_TOKEN_EDEN: "token-eden",
    },
    say: async (_team, text) =>
      void minjun.post(
        general,
        text.replace(/@(루다|이든)/g, (_all, name: string) =>
          double.mention(bots.find((bot) => bot.name === name)!),
        ),
      ),
    lines: async (team, thread) => {
      const address =
        thread === undefined ? undefined : (await team.rooms!.place(thread, ANONYMOUS)).thread;
      if (address === null) return []; // not made yet
      const place =
        address === undefined ? general : double.threads(general).find(({ id }) => id === address)!;
      return double
        .messages(place)
        .filter(({ type }) => type !== 18)
        .map(
          ({ author, text }) =>
            `${author}: ` +
            text.replace(
              /<@(\d+)>/g,
              (_all, id: string) => `@${bots.find((bot) => bot.id === id)?.name ?? id}`,
            ),
        );
    },
  };
}

async function onSlack(): Promise<Stage> {
  const double = await FakeSlack.start({ rateLimits: OPEN_SLACK_LIMITS });
  onTestFinished(() => double.stop());
  const general = double.addChannel("general");
  const apps = (["ruda", "eden"] as const).map((id) =>
    double.addApp({ name: NAMES[id], botToken: `xoxb-${id}`, appToken: `xapp-${id}` }),
  );
  const minjun = double.addPerson("민준");
  const tokens = (["ruda", "eden"] as const).flatMap((id) => [
    [`SLACK_BOT_TOKEN_${id.toUpperCase()}`, `xoxb-${id}`],
    [`SLACK_APP_TOKEN_${id.toUpperCase()}`, `xapp-${id}`],
  ]);
  return {
    options: {
      rooms: { adapters: [slack()], channels: { general: { ids: { slack: general.id } } } },
    },
    environment: {
      SLACK_API_URL: double.url,
      ...(Object.fromEntries(tokens) as Record<string, string>),
    },
    say: async (_team, text) => {
      const mentioned = apps.reduce(
        (all, app) => all.replaceAll(`@${app.name}`, double.mention(app)),
        text,
      );
      minjun.post({ channel: general }, mentioned);
    },
    lines: async (team, thread) => {
      const address =
        thread === undefined ? undefined : (await team.rooms!.place(thread, ANONYMOUS)).thread;
      if (address === null) return []; // not made yet
      return double
        .messages(slackPlaceOf({ adapter: "slack", channel: general.id, thread: address }))
        .filter(({ eventType }) => eventType !== "dure_thread")
        .map(({ author, text }) => {
          const named = apps.reduce(
            (all, app) => all.replaceAll(double.mention(app), `@${app.name}`),
            text,
          );
          return `${author}: ${named}`;
        });
    },
  };
}

const NAMES = { ruda: "루다", eden: "이든" } as const;

async function start(
  behave: Readonly<Partial<Record<"ruda" | "eden", (heard: Said) => OfflineReply>>>,
  {
    stageOf = onWeb,
    scaffolded = false,
    ...more
  }: Partial<TeamOptions> & { stageOf?: () => Promise<Stage>; scaffolded?: boolean } = {},
): Promise<{ team: RunningTeam; folder: string; database: Client; stage: Stage }> {
  const stage = await stageOf();
  const folder = await mkdtemp(path.join(tmpdir(), "dure-background-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  // As `dure init` does.
  if (scaffolded) await writeFile(path.join(folder, "AGENTS.md"), agentsFile(ROOM_LIMITS));
  const database = await testDatabaseUrl();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const models = (["ruda", "eden"] as const).map((name) =>
    offlineModel(name, (request) => behave[name]?.(saidIn(request)) ?? "네"),
  );
  const helper = chatAgent({ name: "helper", card: { llm: "offline:echo" } });
  const minimal = defineService({
    name: "minimal",
    agents: { helper },
    flows: {
      DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })),
    },
  });
  const options: TeamOptions = {
    name: "두레",
    locale: "ko",
    model: "offline:echo",
    offlineModels: models,
    agents: {
      ruda: { displayName: "루다", leads: true, card: { llm: "offline:ruda" } },
      eden: { displayName: "이든", card: { llm: "offline:eden" } },
    },
    services: { minimal },
    ...stage.options,
    ...more,
  };
  const team = await startTeam(
    await readTeam(options, folder),
    {
      ...readEnvironment({ PORT: "0", DURE_WEBHOOK_SECRET: SECRET, ...stage.environment }),
      databaseUrl: database.url,
    },
    { logger: silentLogger },
  );
  onTestFinished(() => team.stop());
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  await eventually(async () =>
    expect((await team.rooms!.reader.agents()).map(({ accounts }) => accounts[0]?.state)).toEqual([
      "ready",
      "ready",
    ]),
  );
  return { team, folder, database: client, stage };
}

function saidIn(request: ModelRequest): Said {
  const lastUser = request.messages.findLastIndex((message) => message.role === "user");
  const message = request.messages[lastUser];
  const whole = JSON.stringify(request.messages);
  return {
    said: message?.role === "user" ? message.text : "",
    prompt: request.system ?? "",
    called: request.messages.slice(lastUser + 1).some((entry) => entry.role === "tool"),
    session: whole.includes("<room>") || whole.includes("<background-work>") ? "room" : "job",
  };
}

const ANONYMOUS = { tenant: "", person: "" };

async function linesOf(team: RunningTeam, place: string): Promise<readonly string[]> {
  return (await team.rooms!.reader.messages(place, {}))
    .filter(({ delivery }) => delivery === "sent")
    .map(({ authorName, text }) => `${authorName}: ${text}`);
}
