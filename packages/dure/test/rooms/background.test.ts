import { mkdtemp, readFile, rm } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../until.ts";
import { chatAgent, defineService, flow, offlineModel, readEnvironment, readTeam, silentLogger, startTeam, type ModelRequest, type OfflineReply, type RunningTeam, type TeamOptions } from "../../src/index.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";

const GENERAL = "web:general";

test("P4 ask_agent goes in the background and tells the room its result; collaborate goes in the open", { timeout: 60_000 }, async () => {
  const { team } = await start({
    ruda: ({ said, called }) => {
      if (said.startsWith("이든의 답변이에요")) return "이든 말로는 괜찮대요";
      if (called) return "뒤에서 물어볼게요";
      return { toolCalls: [{ name: "ask_agent", args: { agent: "eden", message: "배포해도 괜찮을까요?", waitSec: 0 } }] };
    },
    eden: () => "네, 지금 배포해도 괜찮아요. 시험이 모두 통과했습니다.",
  });

  await say(team, "@루다 이든한테 조용히 물어봐 줘");

  await eventually(async () => expect(await linesOf(team, GENERAL)).toEqual(["민준: @루다 이든한테 조용히 물어봐 줘", "루다: 뒤에서 물어볼게요", "루다: 이든 말로는 괜찮대요"]));
  expect(await team.rooms!.reader.threads(GENERAL, NOBODY)).toEqual([]);
});

test("what is said in the background is reported once: a thread of the report channel per conversation, and a file; no agent hears it", { timeout: 60_000 }, async () => {
  const { team, folder } = await start(
    {
      ruda: ({ said }) => (said.includes("답변이에요") ? "ANNOUNCE_SKIP" : "그럼 금요일 오후 세 시로 하겠습니다. 확인 부탁드려요."),
      eden: ({ said }) => (said.includes("금요일") ? "REPLY_SKIP" : "금요일 오후가 가장 한가합니다. 어떠세요?"),
    },
    { rooms: { channels: { general: {}, report: { collaborate: false } }, sink: { channel: "report", file: "report.ndjson" } } },
  );

  const asked = await team.jobs!.ask({ requester: "ruda", agent: "eden", message: "언제 배포할까요?", topic: "배포 시각", maxTurns: 3, waitSec: 30 });

  expect(asked.status).toBe("ok");
  const [thread] = await eventually(async () => {
    const threads = await team.rooms!.reader.threads("web:report", NOBODY);
    expect(threads).toHaveLength(1);
    return threads;
  });
  expect(thread!.name).toBe("[리포트] 루다 ↔ 이든 · 배포 시각");
  await eventually(async () => expect((await linesOf(team, thread!.id)).slice(0, 2)).toEqual(["이든: 금요일 오후가 가장 한가합니다. 어떠세요?", "루다: 그럼 금요일 오후 세 시로 하겠습니다. 확인 부탁드려요."]));
  await eventually(async () => {
    const lines = (await readFile(path.join(folder, "report.ndjson"), "utf8")).trim().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { name: string }).name).slice(0, 2)).toEqual(["이든", "루다"]);
  });
  expect(await team.rooms!.reader.observations({ place: thread!.id, tenant: "" })).toEqual([]);
  for (const message of await team.rooms!.reader.messages(thread!.id, {})) expect(message).toMatchObject({ mark: "sink", roles: {} });
});

test("a webhook gets each line once, in batches with a key; four refusals are escalated, and a report thread that was closed is opened anew", { timeout: 90_000 }, async () => {
  const batches: { key: string | undefined; items: { id: string; text: string }[] }[] = [];
  let refuses = false;
  const desk = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")));
    request.on("end", () => {
      batches.push({ key: request.headers["idempotency-key"] as string | undefined, items: (JSON.parse(body) as { items: { id: string; text: string }[] }).items });
      response.writeHead(refuses ? 500 : 204).end();
    });
  });
  desk.listen(0, "127.0.0.1");
  await once(desk, "listening");
  onTestFinished(() => void desk.close());
  const { team, database } = await start({ eden: () => "금요일이 좋습니다. 어떠세요?", ruda: () => "REPLY_SKIP" }, { rooms: { channels: { general: {}, report: { collaborate: false } }, sink: { channel: "report", webhook: `http://127.0.0.1:${(desk.address() as AddressInfo).port}/report` } } });
  const asked = await team.jobs!.ask({ requester: "ruda", agent: "eden", message: "언제 배포할까요?", maxTurns: 2, waitSec: 30 });
  await eventually(() => expect(batches.flatMap(({ items }) => items.map(({ text }) => text))).toEqual(["금요일이 좋습니다. 어떠세요?"]));
  expect(batches[0]!.key).toMatch(/^sink\/webhook\//);
  const [first] = await eventually(async () => {
    const threads = await team.rooms!.reader.threads("web:report", NOBODY);
    expect(threads).toHaveLength(1);
    expect(await linesOf(team, threads[0]!.id)).toHaveLength(1);
    return threads;
  });

  refuses = true;
  await database.query("update dure.places set state = 'closed' where id = $1", [first!.id]);
  await database.query("select dure.emit($1)", [JSON.stringify([{ type: "job.turn", role: "delegation", job: asked.jobId, data: { speaker: "eden", text: "덧붙이면, 오후가 낫습니다." } }])]);

  await eventually(async () => {
    const open = (await team.rooms!.reader.threads("web:report", NOBODY)).filter(({ state }) => state === "open");
    expect(open.map(({ name }) => name)).toEqual([first!.name]);
    expect(await linesOf(team, open[0]!.id)).toEqual(["이든: 덧붙이면, 오후가 낫습니다."]);
  });
  await eventually(async () => expect((await team.inbox.list({ tenant: "", status: "open" })).items).toMatchObject([{ type: "delivery", context: { to: "webhook", attempts: 4 } }]), { patienceMs: 30_000 });
  expect(new Set(batches.slice(1).map(({ key }) => key)).size).toBe(1);
});

test("P3 an agent inside a background job may call collaborate: the thread begins in the default channel", { timeout: 60_000 }, async () => {
  const { team } = await start({
    eden: ({ said, called, session }) => {
      if (session !== "job") return "맡은 일을 마쳤어요";
      return called || !said.includes("맡겨 줘") ? "루다에게 공개로 맡겼습니다. 그쪽에서 이어 가겠습니다." : { toolCalls: [{ name: "collaborate", args: { targetAgent: "ruda", message: "이어서 봐 주세요" } }] };
    },
    ruda: () => ({ toolCalls: [{ name: "stay_silent", args: {} }] }),
  });

  await team.jobs!.ask({ requester: "ruda", agent: "eden", message: "누군가에게 맡겨 줘", maxTurns: 1, waitSec: 30 });

  await eventually(async () => expect((await team.rooms!.reader.threads(GENERAL, NOBODY)).map(({ name }) => name)).toEqual(["[협업] 이든 → 루다 · 이어서 봐 주세요"]));
});

interface Said {
  readonly said: string;
  readonly called: boolean;
  readonly session: "room" | "job";
}

async function start(behave: Readonly<Partial<Record<"ruda" | "eden", (heard: Said) => OfflineReply>>>, more: Partial<TeamOptions> = {}): Promise<{ team: RunningTeam; folder: string; database: Client }> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-background-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const database = await testDatabaseUrl();
  onTestFinished(() => database[Symbol.asyncDispose]());
  const models = (["ruda", "eden"] as const).map((name) => offlineModel(name, (request) => behave[name]?.(saidIn(request)) ?? "네"));
  const helper = chatAgent({ name: "helper", card: { llm: "offline:echo" } });
  const minimal = defineService({ name: "minimal", agents: { helper }, flows: { DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent("helper", "…")).text })) } });
  const options: TeamOptions = {
    name: "두레",
    locale: "ko",
    model: "offline:echo",
    offlineModels: models,
    agents: { ruda: { displayName: "루다", leads: true, card: { llm: "offline:ruda" } }, eden: { displayName: "이든", card: { llm: "offline:eden" } } },
    services: { minimal },
    ...more,
  };
  const team = await startTeam(await readTeam(options, folder), { ...readEnvironment({ PORT: "0" }), databaseUrl: database.url }, { logger: silentLogger });
  onTestFinished(() => team.stop());
  const client = new Client({ connectionString: database.url });
  await client.connect();
  onTestFinished(() => client.end());
  return { team, folder, database: client };
}

function saidIn(request: ModelRequest): Said {
  const lastUser = request.messages.findLastIndex((message) => message.role === "user");
  const message = request.messages[lastUser];
  const whole = JSON.stringify(request.messages);
  return {
    said: message?.role === "user" ? message.text : "",
    called: request.messages.slice(lastUser + 1).some((entry) => entry.role === "tool"),
    session: whole.includes("<room>") || whole.includes("<background-work>") ? "room" : "job",
  };
}

const NOBODY = { tenant: "", person: "" };

async function say(team: RunningTeam, text: string): Promise<void> {
  await team.rooms!.post({ tenant: "", person: "민준" }, { place: GENERAL, text });
}

async function linesOf(team: RunningTeam, place: string): Promise<readonly string[]> {
  return (await team.rooms!.reader.messages(place, {})).filter(({ delivery }) => delivery === "sent").map(({ authorName, text }) => `${authorName}: ${text}`);
}
