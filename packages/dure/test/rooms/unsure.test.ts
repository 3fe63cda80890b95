import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { WebAdapter } from "../../src/channels/web/web-adapter.ts";
import { WebFaultSwitch } from "@dure/testing";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import {
  collaborate,
  deployTool,
  ANONYMOUS,
  readyTeamOn,
  settled,
  silent,
  stateOf,
} from "./helpers.ts";
import type { TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";
import type { Escalation } from "../../src/wire/escalations.ts";

const GENERAL = "web:general";
const BOSS = { tenant: "", name: "boss" };

const AT_ONCE = {
  text: "update dure.outbox set next_at = clock_timestamp() where state = 'pending' and attempts > 0",
};

/**
 * 루다 has asked 이든, its message cannot be found any more, and a person has to say what became of it.
 */
async function unsureRequest(): Promise<{
  team: TestTeam;
  message: string;
  escalation: string;
  shown: () => Promise<readonly string[]>;
}> {
  const faults = new WebFaultSwitch();
  const platform = webPlatform();
  const team = await readyTeamOn(platform, {
    behave: { ruda: silent },
    adapter: (database) => new WebAdapter({ database, faults }),
  });
  faults.add({ what: "post", failure: "transient", times: 4, agent: "ruda" });
  faults.add({ what: "find", failure: "permission", times: 10 });
  const asked = await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });
  const escalation = await onlyQuestion(team);
  return {
    team,
    message: asked.messageId,
    escalation: escalation.id,
    shown: () => platform.shown(team, asked.threadId),
  };
}

/** The one open escalation: it leaves three answers. */
async function onlyQuestion(team: TestTeam): Promise<Escalation> {
  const {
    items: [escalation],
  } = await eventually(async () => {
    await team.database.query(AT_ONCE); // the pauses between attempts are shown by E4
    const page = await team.inbox.list({ tenant: "", status: "open" });
    expect(page.items).toHaveLength(1);
    return page;
  });
  expect(escalation).toMatchObject({ type: "delivery", context: { outcome: "unknown" } });
  expect(escalation!.suggestedActions.map(({ value }) => value)).toEqual([
    "sent",
    "again",
    "failed",
  ]);
  return escalation!;
}

describe("a post whose arrival is unknown", { timeout: 60_000 }, () => {
  test.each(["sent", "again"])(
    "goes on when a person says `%s`: the asked agent hears it once, and the request is open again",
    FULL,
    async (value) => {
      const { team, message, escalation, shown } = await unsureRequest();
      expect(team.calls("eden")).toBe(0);

      await team.inbox.answer(escalation, { value }, BOSS);

      await eventually(() => expect(team.calls("eden")).toBe(1));
      await settled(team);
      expect((await team.rooms.message(message, ANONYMOUS)).delivery).toBe("sent");
      expect(await requestsOf(team)).toEqual(["answered"]);
      if (value === "again") {
        expect(await shown()).toEqual(["루다: @이든 검토", "이든: 이든의 답입니다"]);
      }
    },
  );

  test("stays unsaid when a person gives it up", FULL, async () => {
    const { team, message, escalation } = await unsureRequest();

    await team.inbox.answer(escalation, { value: "failed" }, BOSS);

    await eventually(async () =>
      expect((await team.rooms.message(message, ANONYMOUS)).delivery).toBe("failed"),
    );
    expect(await requestsOf(team)).toEqual(["withdrawn"]);
    expect(team.calls("eden")).toBe(0);
  });
});

/**
 * 루다 was told to hand over; the answer to the thread's making was lost, and no account may look for it.
 */
async function unsureThread({ isMade }: { isMade: boolean }): Promise<{
  team: TestTeam;
  escalation: string;
  thread: string;
  shown: (place: string) => Promise<readonly string[]>;
  made: () => Promise<number>;
}> {
  const faults = new WebFaultSwitch();
  const platform = webPlatform();
  const handsOver = "이든한테 맡겨 줘";
  const team = await readyTeamOn(platform, {
    adapter: (database) => new WebAdapter({ database, faults }),
    behave: {
      ruda: (heard) =>
        heard.results.length > 0
          ? "맡겼습니다"
          : heard.text.includes(handsOver)
            ? {
                toolCalls: [
                  { name: "collaborate", args: { targetAgent: "eden", message: "검토" } },
                ],
              }
            : { toolCalls: [{ name: "stay_silent", args: {} }] },
    },
  });
  faults.add({ what: "thread", failure: "transient", afterDoing: isMade });
  faults.add({ what: "find", failure: "permission" });
  await platform.say(team, `@루다 ${handsOver}`);
  const { id, context, title } = await onlyQuestion(team);
  const [thread] = await team.rooms.reader.threads(GENERAL, ANONYMOUS);
  expect(thread).toMatchObject({ id: context["place"], state: "closed" });
  expect(title).toContain("[협업] 루다 → 이든 · 검토");
  return {
    team,
    escalation: id,
    thread: thread!.id,
    shown: (place) => platform.shown(team, place),
    made: async () =>
      (await team.database.query({ text: "select from dure.web_posts where id like 'thread-%'" }))
        .length,
  };
}

describe("a thread whose making is unknown", { timeout: 60_000 }, () => {
  test.each([
    ["sent", true, "it is there and is found"],
    ["again", false, "it is not there and is made"],
  ])(
    "is used when a person says `%s`: it has what waited for it once, and the request is open again",
    FULL,
    async (value, isMade) => {
      const { team, escalation, thread, shown, made } = await unsureThread({ isMade });
      expect(team.calls("eden")).toBe(0);

      await team.inbox.answer(escalation, { value }, BOSS);

      await eventually(async () => expect(await requestsOf(team)).toEqual(["answered"]));
      await settled(team);
      expect(await made()).toBe(1);
      expect(await stateOf(team, thread)).toBe("open");
      expect(await shown(thread)).toEqual(["루다: @이든 검토", "이든: 이든의 답입니다"]);
      expect(
        (await shown(GENERAL)).filter((line) => line.includes("이든 님이 답했어요")),
      ).toHaveLength(1);
    },
  );

  test(
    "is never made on the word that it is there: when it is not found, the question is asked again",
    FULL,
    async () => {
      const { team, escalation, thread, shown, made } = await unsureThread({ isMade: false });

      await team.inbox.answer(escalation, { value: "sent", note: "분명히 있어요" }, BOSS);
      const again = await eventually(async () => {
        const question = await onlyQuestion(team);
        expect(question.id).not.toBe(escalation);
        return question;
      });

      expect(await made()).toBe(0);
      await settled(team);
      expect(
        (await shown(GENERAL)).filter((line) => line.includes("전달되지 않았어요")),
      ).toHaveLength(1);
      await team.inbox.answer(again.id, { value: "again" }, BOSS);
      await eventually(async () => expect((await shown(thread))[0]).toBe("루다: @이든 검토"));
      expect(await made()).toBe(1);
    },
  );

  test(
    "stays unmade when a person gives it up, and what waited for it has failed",
    FULL,
    async () => {
      const { team, escalation, thread } = await unsureThread({ isMade: false });

      await team.inbox.answer(escalation, { value: "failed" }, BOSS);

      await eventually(async () =>
        expect(
          (await team.rooms.reader.messages(thread, {})).map(({ delivery }) => delivery),
        ).toEqual(["failed"]),
      );
      expect(await stateOf(team, thread)).toBe("closed");
      expect(await requestsOf(team)).toEqual(["withdrawn"]);
      expect(
        await team.database.query({
          text: "select state from dure.outbox where payload->>'kind' = 'thread'",
        }),
      ).toEqual([{ state: "failed" }]);
      expect(team.calls("eden")).toBe(0);
    },
  );

  test(
    "on Discord it is the one whose link a person gives, but not a thread of another channel",
    FULL,
    async () => {
      const stage: DiscordStage = await discordPlatform();
      const { discord, guild, places } = stage;
      const team = await readyTeamOn(stage, { behave: { ruda: silent } });
      const THREADS = { route: "/channels/{channel}/threads", method: "POST" } as const;
      discord.fault(THREADS, { kind: "5xx", after: "nothing" });
      discord.fault({ route: "/guilds/{guild}/threads/active", method: "GET" }, { kind: "403" });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "검토",
      });
      const first = await onlyQuestion(team);
      const minjun = stage.person("민준");
      const [elsewhere, here] = [
        minjun.startThread(places.quiet, "다른 곳"),
        minjun.startThread(places.general, "검토는 여기서"),
      ];

      await team.inbox.answer(
        first.id,
        { value: "sent", note: `https://discord.com/channels/${guild.id}/${elsewhere.id}` },
        BOSS,
      );
      const second = await eventually(async () => {
        const question = await onlyQuestion(team);
        expect(question.id).not.toBe(first.id);
        return question;
      });
      await team.inbox.answer(
        second.id,
        { value: "sent", note: `https://discord.com/channels/${guild.id}/${here.id}` },
        BOSS,
      );

      await eventually(async () =>
        expect(await stage.shown(team, threadId)).toEqual([
          "루다: @이든 검토",
          "이든: 이든의 답입니다",
        ]),
      );
      expect(discord.messages(here).filter(({ authorIsBot }) => authorIsBot)).toHaveLength(2);
      expect(discord.messages(elsewhere).filter(({ authorIsBot }) => authorIsBot)).toEqual([]);
      expect(
        discord.requests.filter(
          ({ method, route }) => method === "POST" && route === THREADS.route,
        ),
      ).toHaveLength(1);
    },
  );

  test(
    "what people had written in it before it was found is its own then, and called agents take part",
    FULL,
    async () => {
      const stage: DiscordStage = await discordPlatform();
      const { discord, guild, places, bots } = stage;
      const team = await readyTeamOn(stage, {
        behave: {
          ruda: silent,
          eden: (heard) =>
            heard.background.includes("저는 먼저 왔어요") ? "먼저 오셨군요" : "못 들었습니다",
          seum: (heard) => (/같이|계속/.test(heard.text) ? "봅니다" : silent(heard)),
        },
      });
      discord.fault(
        { route: "/channels/{channel}/threads", method: "POST" },
        { kind: "5xx", after: "nothing" },
      );
      discord.fault({ route: "/guilds/{guild}/threads/active", method: "GET" }, { kind: "403" });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "검토",
      });
      const { id } = await onlyQuestion(team);
      const minjun = stage.person("민준");
      const here = minjun.startThread(places.general, "검토는 여기서");
      minjun.post(here, "저는 먼저 왔어요");
      minjun.post(here, `${discord.mention(bots.seum)} 같이 봐요`);
      await eventually(() =>
        expect(discord.messages(here).at(-1)).toMatchObject({ author: "세움" }),
      );
      await settled(team);
      const [double] = await team.database.query<{ id: string }>(
        { text: "select id from dure.places where thread = $1" },
        [here.id],
      );
      const [reader, latecomer] = ["민준", "수아"].map((person) => ({ tenant: "", person }));
      await team.rooms.reader.read(reader!, threadId, 1);
      await team.rooms.reader.read(reader!, double!.id, 2);
      await team.rooms.reader.read(latecomer!, double!.id, 3);

      await team.inbox.answer(
        id,
        { value: "sent", note: `https://discord.com/channels/${guild.id}/${here.id}` },
        BOSS,
      );

      await eventually(async () =>
        expect((await stage.shown(team, threadId)).slice(-2)).toEqual([
          "루다: @이든 검토",
          "이든: 먼저 오셨군요",
        ]),
      );
      await settled(team);
      const lines = await team.rooms.reader.messages(threadId, {});
      expect(lines.map(({ authorName, text }) => `${authorName}: ${text}`).sort()).toEqual(
        [
          "루다: <@eden> 검토",
          "민준: <@seum> 같이 봐요",
          "민준: 저는 먼저 왔어요",
          "세움: 봅니다",
          "이든: 먼저 오셨군요",
        ].sort(),
      );
      expect(await team.rooms.reader.messages(double!.id, {})).toEqual([]);
      expect(await stateOf(team, double!.id)).toBe("closed");
      // Who had read the thread so far has also read what it read in the double; for others too much
      // is new rather than too little.
      expect((await team.rooms.reader.thread(threadId, reader!))?.unread).toBe(2);
      expect((await team.rooms.reader.thread(threadId, latecomer!))?.unread).toBe(5);
      expect(await team.rooms.reader.thread(double!.id, ANONYMOUS)).toMatchObject({
        messages: 0,
        unread: 0,
      });
      expect(
        (await team.rooms.reader.thread(threadId, ANONYMOUS))?.participants.toSorted(),
      ).toEqual(["eden", "ruda", "seum"]);
      expect(
        await team.database.query(
          { text: "select cardinality(recent) as recent from dure.places where id = $1" },
          [threadId],
        ),
      ).toEqual([{ recent: 3 }]); // 세움's counts too

      minjun.post(here, "그럼 계속해요");
      await eventually(async () =>
        expect(
          (await stage.shown(team, threadId)).filter((line) => line.startsWith("세움")),
        ).toHaveLength(2),
      );
    },
  );

  test(
    "what agents had said in it counts for its guards: stopped agents stay stopped until a person acts",
    FULL,
    async () => {
      const chatty = (): string => `이야기 ${Math.random()}`;
      const stage: DiscordStage = await discordPlatform();
      const { discord, guild, places, bots } = stage;
      const team = await readyTeamOn(stage, {
        behave: { ruda: silent, eden: silent, seum: chatty, dajim: chatty },
        limits: { threadMessages: 3 },
      });
      discord.fault(
        { route: "/channels/{channel}/threads", method: "POST" },
        { kind: "5xx", after: "nothing" },
      );
      discord.fault({ route: "/guilds/{guild}/threads/active", method: "GET" }, { kind: "403" });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "검토",
      });
      const { id } = await onlyQuestion(team);
      const minjun = stage.person("민준");
      const here = minjun.startThread(places.general, "검토는 여기서");
      minjun.post(
        here,
        `${discord.mention(bots.seum)} ${discord.mention(bots.dajim)} 이야기해 봐요`,
      );
      await eventually(
        async () =>
          expect(
            await team.database.query({
              text: `
            select agent_messages, cardinality(recent) as recent
            from dure.places
            where state = 'suspended'`,
            }),
          ).toEqual([{ agent_messages: expect.toBeOneOf([4, 5]), recent: 4 }]), // one may be on its way
      );
      await settled(team);
      const loops = async (): Promise<readonly (string | undefined)[]> =>
        (await team.inbox.list({ tenant: "", status: "open" })).items
          .filter(({ type }) => type === "conflict")
          .map(({ source }) => source?.room);
      expect(await loops()).toHaveLength(1);

      await team.inbox.answer(
        id,
        { value: "sent", note: `https://discord.com/channels/${guild.id}/${here.id}` },
        BOSS,
      );
      await eventually(async () =>
        expect((await stage.shown(team, threadId)).at(-1)).toBe("루다: @이든 검토"),
      );
      await settled(team);

      expect(await stateOf(team, threadId)).toBe("suspended");
      expect(
        await team.database.query(
          { text: "select cardinality(recent) as recent from dure.places where id = $1" },
          [threadId],
        ),
      ).toEqual([{ recent: 4 }]); // of five the newest that decide
      expect(team.calls("eden")).toBe(0);
      await team.rooms.resume(threadId, { tenant: "", person: "민준" });
      expect(await stateOf(team, threadId)).toBe("open");
      expect(await loops()).toEqual([]);
    },
  );

  test(
    "what had begun in it goes on there when it is found: answers, confirmations and questions",
    FULL,
    async () => {
      const writing = Promise.withResolvers<string>();
      const reviewing = Promise.withResolvers<string>();
      const { tool: deploy, done } = deployTool();
      const stage: DiscordStage = await discordPlatform();
      const { discord, guild, places, bots } = stage;
      const team = await readyTeamOn(stage, {
        tools: { deploy },
        behave: {
          eden: (heard) => (heard.text.includes("로그") ? reviewing.promise : silent(heard)),
          dajim: (heard) => (heard.text.includes("길게") ? writing.promise : silent(heard)),
          seum: (heard) =>
            /^(루다|이든|다짐)/.test(heard.text)
              ? silent(heard)
              : heard.text.includes("배포해") && heard.results.length === 0
                ? { toolCalls: [{ name: "deploy", args: { version: "1.0" } }] }
                : "배포했습니다",
          ruda: (heard) =>
            heard.text.includes("맡겨")
              ? heard.results.length > 0
                ? "맡겼습니다"
                : {
                    toolCalls: [
                      {
                        name: "collaborate",
                        args: { targetAgent: "eden", message: "로그를 봐 줘", topic: "로그" },
                      },
                    ],
                  }
              : silent(heard),
        },
      });
      discord.fault(
        { route: "/channels/{channel}/threads", method: "POST" },
        { kind: "5xx", after: "nothing" },
      );
      discord.fault({ route: "/guilds/{guild}/threads/active", method: "GET" }, { kind: "403" });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "검토",
      });
      const { id } = await onlyQuestion(team);
      const minjun = stage.person("민준");
      const here = minjun.startThread(places.general, "검토는 여기서");
      for (const [bot, text] of [
        ["dajim", "길게 써 줘"],
        ["seum", "1.0 배포해 줘"],
        ["ruda", "이든한테 로그를 맡겨 줘"],
      ] as const) {
        minjun.post(here, `${discord.mention(bots[bot])} ${text}`);
      }
      const [approve] = await eventually(() => {
        const question = discord.messages(here).find(({ buttons }) => buttons.length > 0);
        expect(question).toBeDefined();
        return question!.buttons;
      });
      await eventually(() => expect(team.calls("dajim") * team.calls("eden")).toBeGreaterThan(0));
      await eventually(() =>
        expect(discord.messages(here).map(({ text }) => text)).toContain("맡겼습니다"),
      );
      const { items } = await team.inbox.list({ tenant: "", status: "open" });
      expect(items.map(({ type }) => type).sort()).toEqual(["decision", "delivery"]);

      await team.inbox.answer(
        id,
        { value: "sent", note: `https://discord.com/channels/${guild.id}/${here.id}` },
        BOSS,
      );
      await eventually(async () =>
        expect((await stage.shown(team, threadId)).at(-1)).toBe("루다: @이든 검토"),
      );
      writing.resolve("다 썼습니다");
      await minjun.press(approve!);
      reviewing.resolve("로그는 깨끗합니다");

      const rest = ["다짐: 다 썼습니다", "세움: 배포했습니다"];
      await eventually(
        async () =>
          expect(
            (await stage.shown(team, threadId)).filter((line) => rest.includes(line)).sort(),
          ).toEqual(rest),
        { patienceMs: 20_000 },
      );
      await eventually(
        async () =>
          expect(
            (await stage.shown(team, threadId)).filter((line) =>
              line.startsWith("루다: 이든 님이 답했어요"),
            ),
          ).toHaveLength(1),
        { patienceMs: 20_000 },
      );
      await settled(team);
      expect(done).toEqual(["1.0"]);
      expect(
        await team.database.query({
          text: "select outcome from dure.handlings where outcome in ('place_closed', 'failed')",
        }),
      ).toEqual([]);
      expect(
        discord.messages(here).filter(({ text }) => rest.some((line) => line.endsWith(text))),
      ).toHaveLength(2);
    },
  );
});

async function requestsOf(team: TestTeam): Promise<readonly string[]> {
  return (
    await team.database.query<{ state: string }>({ text: "select state from dure.requests" })
  ).map(({ state }) => state);
}
