// @module-tag slow
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { json } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { recentAnswers } from "../../src/rooms/look/recent-answers.ts";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { readyTeamOn, settled, silent, type TeamOptions } from "./helpers.ts";
import { wordsKnownTo } from "./known-words.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { Behave, Name, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const SECRET = "SECRET-4444";
/** What a person is told where no place is as private. */
const KEPT =
  "여기는 비공개라 이든에게 맡기지 않았어요. 이든에게 직접 말을 걸어 주세요. " +
  "모두 읽어도 괜찮다면 채널에서 다시 부탁해 주세요.";
const MINJUN = { tenant: "", person: "민준" };
const SEOYEON = { tenant: "", person: "서연" };
const OPERATOR = { tenant: "", person: "", seesAll: true };

/** 루다 asks 이든, who asks 세움; all that tools answered is kept. */
function relay(results: unknown[] = [], more: Record<string, string> = {}): TeamOptions {
  const passes =
    (targetAgent: Name): Behave =>
    (heard) => {
      results.push(...heard.results);
      if (heard.results.length > 0) return "맡겼어요";
      if (!heard.text.includes("전해 줘")) return silent(heard);
      const args = { targetAgent, message: `${SECRET} 확인하고 전해 줘`, ...more };
      return { toolCalls: [{ name: "collaborate", args }] };
    };
  return { behave: { ruda: passes("eden"), eden: passes("seum"), seum: () => `${SECRET} 봤어요` } };
}

describe("a hand-over from a direct room of the web", { timeout: 60_000 }, () => {
  test("goes to a thread of that room, and so does what the asked agent hands on", async () => {
    const { team, direct } = await webTeam(relay());

    await team.rooms.post(MINJUN, { place: direct, text: "이든한테 전해 줘" });
    const threads = await eventually(async () => {
      const found = await team.rooms.reader.threads(direct, MINJUN);
      expect(found.flatMap(({ participants }) => participants)).toContain("seum");
      return found;
    });
    await settled(team);

    const [thread] = threads;
    expect(threads).toHaveLength(1);
    expect(thread?.name).toBe("[협업] 루다 → 이든");
    expect([...thread!.participants].sort()).toEqual(["eden", "ruda", "seum"]);
    const said = await team.rooms.reader.messages(thread!.id, {});
    expect(said.map(({ author }) => author)).toContain("seum");
    const atHome = await team.rooms.reader.messages(direct, {});
    expect(atHome.map(({ text }) => text).join()).toContain(`/rooms/${thread!.id}`);
  });

  test("is read by its person alone, whichever way another one looks", async () => {
    const { team, direct } = await webTeam(relay());

    await team.rooms.post(MINJUN, { place: direct, text: "이든한테 전해 줘" });
    const [thread] = await eventually(async () => {
      const found = await team.rooms.reader.threads(direct, MINJUN);
      expect(found).toHaveLength(1);
      return found;
    });
    await settled(team);

    for (const other of [SEOYEON, { tenant: "acme", person: "민준" }, OPERATOR]) {
      await expect(team.rooms.place(thread!.id, other)).rejects.toMatchObject({
        code: "PLACE_UNKNOWN",
      });
      expect(await team.rooms.reader.threads(direct, other)).toEqual([]);
      expect(await team.rooms.reader.thread(thread!.id, other)).toBeUndefined();
      expect(await answersIn(team, other)).toEqual([]);
    }
    expect(await answersIn(team, MINJUN)).toContain(thread!.id);
    expect(await team.rooms.reader.threads("web:general", MINJUN)).toEqual([]);
    expect(await wordsKnownTo(team, SEOYEON.person, SECRET)).toEqual([]);
    const heard = await team.rooms.reader.observations({ tenant: "" });
    expect(JSON.stringify(heard)).not.toContain(SECRET);
  });

  test("is answered there: its person writes to both, and no other agent hears it", async () => {
    const { team, direct } = await webTeam({ behave: { ruda: relay().behave!.ruda! } });
    await team.rooms.post(MINJUN, { place: direct, text: "이든한테 전해 줘" });
    const [thread] = await eventually(async () => {
      const found = await team.rooms.reader.threads(direct, MINJUN);
      expect(found).toHaveLength(1);
      return found;
    });
    await settled(team);

    const { messageId } = await team.rooms.post(MINJUN, { place: thread!.id, text: "더 있어요?" });
    await settled(team);

    const { roles } = await team.rooms.message(messageId, MINJUN);
    expect(Object.keys(roles).toSorted()).toEqual(["eden", "ruda"]);
    expect(team.calls("dajim")).toBe(0);
  });

  test("shares no thread with what the pair is asked elsewhere, either way", async () => {
    const { team, direct } = await webTeam({ ...relay(), limits: { pairCalls: 20 } });
    const seoyeons = await team.rooms.direct(SEOYEON, "ruda");
    const ask = async (who: typeof MINJUN, place: string): Promise<void> => {
      await team.rooms.post(who, { place, text: "@루다 이든한테 전해 줘" });
      await settled(team);
    };

    await ask(MINJUN, "web:general");
    await ask(MINJUN, direct);
    await ask(SEOYEON, seoyeons.id);
    await ask(MINJUN, "web:general");
    await ask(MINJUN, direct);

    expect(await threadsOfPair(team)).toEqual([
      { parent: "web:general", is_private: false, asked: 2 },
      { parent: direct, is_private: true, asked: 2 },
      { parent: seoyeons.id, is_private: true, asked: 1 },
    ]);
  });

  test.each([
    ["a channel", { channelId: "web:general" }],
    ["a thread of a channel", { threadId: "the open one" }],
  ])("is refused where the call names %s", async (_what, named) => {
    const { team, direct } = await webTeam({});
    const open = await team.rooms.collaboration.collaborate(
      { agent: "ruda" },
      { targetAgent: "eden", message: "안녕하세요" },
    );
    const threadId = open.ok && "threadId" in named ? open.threadId : undefined;

    const result = await team.rooms.collaboration.collaborate(
      { agent: "ruda", session: `room:ruda:${direct}` },
      { targetAgent: "eden", message: SECRET, ...named, threadId },
    );

    expect(result).toMatchObject({ ok: false, code: "PRIVATE_ORIGIN" });
    expect(await wordsKnownTo(team, SEOYEON.person, SECRET)).toEqual([]);
  });

  test("goes on in its thread after a restart", async () => {
    const options = { ...relay(), limits: { threadMessages: 100, pairCalls: 100 } };
    const { team, direct } = await webTeam(options);
    const ask = async (on: TestTeam): Promise<readonly ThreadState[]> => {
      await on.rooms.post(MINJUN, { place: direct, text: "이든한테 전해 줘" });
      await eventually(async () =>
        expect(await on.rooms.reader.threads(direct, MINJUN)).not.toEqual([]),
      );
      await settled(on);
      const threads = await on.rooms.reader.threads(direct, MINJUN);
      return threads.map(({ id, state }) => ({ id, state }));
    };

    const before = await ask(team);
    await team.stop();
    const second = await readyTeamOn(webPlatform(), { on: team, ...options });
    const after = await ask(second);

    expect(after).toEqual(before);
    expect(after).toMatchObject([{ state: "open" }]);
  });

  test("stays there from a job that was asked for there", async () => {
    const { team, direct } = await webTeam({});
    const job = "job_00000000000000000000000001";
    await team.database.query(
      {
        text: `
          insert into dure.jobs (
            id, root_id, root_work, origin_session, requester, target, message, intent,
            conversation_id, max_turns, queued_ms, progress_ms
          )
          values ($1, $1, 'w', $2, 'ruda', 'eden', 'm', 'QUESTION', 'c', 1, 0, 0)`,
      },
      [job, `room:ruda:${direct}`],
    );

    const result = await team.rooms.collaboration.collaborate(
      { agent: "eden", session: `job:${job}:eden` },
      { targetAgent: "seum", message: `${SECRET} 확인` },
    );

    expect(result).toMatchObject({ ok: true, channelId: direct });
    expect(await wordsKnownTo(team, SEOYEON.person, SECRET)).toEqual([]);
  });
});

describe("a hand-over from a direct message of a platform", { timeout: 60_000 }, () => {
  test("on Discord is refused, and no word of it is in a channel or a title", async () => {
    const results: unknown[] = [];
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, relay(results));
    const minjun = stage.person("민준");

    minjun.post(minjun.directMessages(stage.bots.ruda), `${SECRET} 이든한테 전해 줘`);

    await eventually(() => expect(results).toHaveLength(1));
    await settled(team);
    expect(results).toMatchObject([{ ok: false, code: "PRIVATE_ORIGIN" }]);
    expect(JSON.stringify(results)).toContain("write to eden directly");
    const inDirect = stage.discord.messages(minjun.directMessages(stage.bots.ruda));
    expect(
      inDirect
        .map(({ text }) => text)
        .slice(1)
        .toSorted(),
    ).toEqual([KEPT, "맡겼어요"].toSorted());
    expect(stage.discord.threads(stage.places.general)).toEqual([]);
    expect(stage.discord.messages(stage.places.general)).toEqual([]);
    expect(await wordsKnownTo(team, SEOYEON.person, SECRET)).toEqual([]);
  });

  test("on Slack is refused, and no word of it is in a channel or a title", async () => {
    const results: unknown[] = [];
    const stage = await slackPlatform();
    const team = await readyTeamOn(stage, relay(results));
    const { slack, apps, places } = stage;
    const minjun = stage.person("민준");

    minjun.post({ channel: slack.direct(apps.ruda, minjun) }, `${SECRET} 이든한테 전해 줘`);

    await eventually(() => expect(results).toHaveLength(1));
    await settled(team);
    expect(results).toMatchObject([{ ok: false, code: "PRIVATE_ORIGIN" }]);
    const inDirect = slack.messages({ channel: slack.direct(apps.ruda, minjun) });
    expect(
      inDirect
        .map(({ text }) => text)
        .slice(1)
        .toSorted(),
    ).toEqual([KEPT, "맡겼어요"].toSorted());
    expect(slack.messages({ channel: places.general })).toEqual([]);
    expect(await wordsKnownTo(team, SEOYEON.person, SECRET)).toEqual([]);
  });

  test("in a group message of Slack is refused, and its members alone read what is said", async () => {
    const results: unknown[] = [];
    const stage = await slackPlatform();
    const team = await readyTeamOn(stage, relay(results));
    const { slack, apps, places } = stage;
    const minjun = stage.person("민준");
    const channel = slack.group(apps.ruda, minjun, stage.person("서연"));

    minjun.post({ channel }, `${SECRET} 이든한테 전해 줘`);

    await eventually(() =>
      expect(slack.messages({ channel }).map(({ text }) => text)).toContain("맡겼어요"),
    );
    await settled(team);
    expect(results).toMatchObject([{ ok: false, code: "PRIVATE_ORIGIN" }]);
    expect(slack.messages({ channel: places.general })).toEqual([]);
    expect(await wordsKnownTo(team, SEOYEON.person, SECRET)).toEqual([]);
    expect(await answersIn(team, SEOYEON)).toEqual([]);
  });

  test("in a group message of Slack is not begun where the team takes it for a channel", async () => {
    const stage = await slackPlatform();
    const minjun = stage.person("민준");
    const group = stage.slack.group(stage.apps.ruda, stage.apps.eden, minjun);
    const channels = [...stage.channels];
    channels[0] = { ...channels[0]!, channel: group.id };
    const before = minjun.post({ channel: group }, `${SECRET} 하나`);
    const team = await readyTeamOn({ ...stage, channels }, { behave: { ruda: () => "네" } });

    const root = minjun.post({ channel: group }, `${SECRET} 둘`);
    minjun.post({ channel: group, threadTs: root.ts }, `${SECRET} 셋`);
    minjun.post({ channel: group, threadTs: before.ts }, `${SECRET} 넷`);
    const direct = stage.slack.direct(stage.apps.ruda, minjun);
    minjun.post({ channel: direct }, "들려요?");
    await eventually(() => expect(stage.slack.messages({ channel: direct })).toHaveLength(2));
    await settled(team);

    expect(await wordsKnownTo(team, SEOYEON.person, SECRET)).toEqual([]);
    const posted = stage.slack.requests.filter(({ method }) => method === "chat.postMessage");
    expect(posted.map(({ args }) => args["channel"])).toEqual([direct.id]);
  });

  test("in a private thread of Discord is refused where the call names a channel", async () => {
    const results: unknown[] = [];
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, relay(results, { channelId: "discord:quiet" }));
    const minjun = stage.person("민준");
    const secret = minjun.startThread(stage.places.general, "우리끼리", { isPrivate: true });

    minjun.post(secret, `${stage.discord.mention(stage.bots.ruda)} ${SECRET} 이든한테 전해 줘`);

    await eventually(() => expect(results).toHaveLength(1));
    await settled(team);
    expect(results).toMatchObject([{ ok: false, code: "PRIVATE_ORIGIN" }]);
    expect(await wordsKnownTo(team, SEOYEON.person, SECRET)).toEqual([]);
  });
});

describe("what a sink is told of private work", { timeout: 60_000 }, () => {
  const origins: Record<string, string> = {
    job_open: "room:ruda:web:general",
    job_direct: "room:ruda:direct_1",
    job_private: "room:ruda:private_1",
    job_last: "room:ruda:web:general",
  };

  test.each([
    ["nothing by default", undefined, ["job_open", "job_last"]],
    ["all where its setting says so", true, Object.keys(origins)],
  ])("is %s, at its address and in its file", async (_title, isPrivate, told) => {
    const posted: string[] = [];
    const address = await receiver(posted);
    const folder = await mkdtemp(path.join(tmpdir(), "dure-sink-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = path.join(folder, "report.ndjson");
    const team = await readyTeamOn(webPlatform(), {
      sink: { webhook: address, file, private: isPrivate },
      originOf: (job) => origins[job],
    });
    await eventually(async () =>
      expect(
        await team.database.query({ text: "select from dure.cursors where name = 'room.sink'" }),
      ).toHaveLength(1),
    );

    await sayInJobs(team, Object.keys(origins));

    const written = async (): Promise<readonly string[]> =>
      conversationsIn((await readFile(file, "utf8")).trim().split("\n"));
    await eventually(async () => expect(await written()).toContain("job_last"));
    await eventually(() => expect(conversationsIn(posted)).toContain("job_last"));
    expect(await written()).toEqual(told);
    expect(conversationsIn(posted)).toEqual(told);
  });
});

/** Each job has its last turn said, in this order. */
async function sayInJobs({ database }: TestTeam, jobs: readonly string[]): Promise<void> {
  const events = jobs.map((job) => ({
    type: "job.turn",
    role: "delegation",
    job,
    data: { speaker: "eden", text: SECRET },
  }));
  await database.query({ text: "select dure.emit($1)" }, [JSON.stringify(events)]);
}

function conversationsIn(lines: readonly string[]): readonly string[] {
  return lines.map((line) => (JSON.parse(line) as { conversation: string }).conversation);
}

/** A webhook's other end: keeps each line that it is sent. */
async function receiver(lines: string[]): Promise<string> {
  const desk = createServer((request, response) => {
    void json(request).then((body) => {
      const { items } = body as { items: readonly object[] };
      lines.push(...items.map((item) => JSON.stringify(item)));
      response.writeHead(204).end();
    });
  });
  desk.listen(0, "127.0.0.1");
  await once(desk, "listening");
  onTestFinished(() => void desk.close());
  return `http://127.0.0.1:${(desk.address() as AddressInfo).port}/report`;
}

interface ThreadState {
  readonly id: string;
  readonly state: string;
}

async function webTeam(options: TeamOptions): Promise<{ team: TestTeam; direct: string }> {
  const team = await readyTeamOn(webPlatform(), options);
  const { id } = await team.rooms.direct(MINJUN, "ruda");
  return { team, direct: id };
}

/** Places in which 이든 has answered lately, as its page shows them. */
async function answersIn(
  { database }: TestTeam,
  who: { tenant: string; person: string },
): Promise<readonly string[]> {
  const answers = await recentAnswers(database, "eden", { who, limit: 50 });
  return answers.map(({ place }) => place);
}

async function threadsOfPair({ database }: TestTeam): Promise<readonly unknown[]> {
  return database.query({
    text: `
      select p.parent, starts_with(p.id, 'private_') as is_private, count(*)::integer as asked
      from dure.requests r
      join dure.places p on p.id = r.thread
      where r.from_agent = 'ruda' and r.to_agent = 'eden'
      group by p.parent, p.id
      order by min(r.created_at)`,
  });
}
