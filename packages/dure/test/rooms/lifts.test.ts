// @module-tag slow
import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import type { FakeMessage } from "@dure/testing";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import { collaborate, openTypes, readyTeamOn, settled, silent, stateOf } from "./helpers.ts";
import type { Behave } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const chatty: Behave = () => `이야기 ${Math.random()}`;

function lastIn(stage: DiscordStage): FakeMessage | undefined {
  return stage.discord.messages(stage.discord.threads(stage.places.general)[0]!).at(-1);
}

describe("what a person lifts", { timeout: 60_000 }, () => {
  test(
    "a suspended thread is opened by the button below the notice, only for people who may write there",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { behave: { ruda: chatty, eden: chatty } });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "이야기하자",
      });
      await eventually(async () => expect(await stateOf(team, threadId)).toBe("suspended"));
      await settled(team);
      const notice = stage.discord
        .messages(stage.discord.threads(stage.places.general)[0]!)
        .at(-1)!;
      const reader = stage.discord.addPerson("서연", {
        permissions: ["VIEW_CHANNEL", "SEND_MESSAGES", "READ_MESSAGE_HISTORY"],
      }); // not in threads
      const refused = await reader.press(notice.buttons[0]!);
      expect(refused.text).toContain("글을 쓸 수 있는 분만 풀 수 있어요");
      expect(await stateOf(team, threadId)).toBe("suspended");
      const writer = stage.discord.addPerson("지우", {
        permissions: ["VIEW_CHANNEL", "SEND_MESSAGES_IN_THREADS", "READ_MESSAGE_HISTORY"],
      });

      const shown = await writer.press(notice.buttons[0]!);

      expect(shown.text).toContain("풀기");
      await eventually(async () => expect(await stateOf(team, threadId)).toBe("open"));
      expect(await openTypes(team)).toEqual([]);
    },
  );

  test.each([
    ["resume", "open"],
    ["seen", "suspended"],
  ])("the answer `%s` in the inbox leaves a suspended thread %s", async (value, state) => {
    const team = await readyTeamOn(webPlatform(), { behave: { ruda: chatty, eden: chatty } });
    const { threadId } = await collaborate(team, "ruda", {
      targetAgent: "eden",
      message: "이야기하자",
    });
    await eventually(async () => expect(await stateOf(team, threadId)).toBe("suspended"));
    await settled(team);
    const {
      items: [question],
    } = await team.inbox.list({ tenant: "", status: "open" });

    await team.inbox.answer(question!.id, { value }, { tenant: "", name: "boss" });
    const {
      items: [marker],
    } = await team.inbox.list({ tenant: "", status: "resolved" });
    expect(marker?.resolution?.value).toBe(value);

    if (state === "open") {
      await eventually(async () => expect(await stateOf(team, threadId)).toBe("open"));
    } else expect(await stateOf(team, threadId)).toBe("suspended");
  });

  test("a pair that was blocked may call again at once when a person lifts it", async () => {
    const team = await readyTeamOn(webPlatform(), { behave: { ruda: silent, eden: silent } });
    for (const message of ["하나", "둘", "셋"]) {
      await collaborate(team, "ruda", { targetAgent: "eden", message });
    }
    expect(
      await team.rooms.collaboration.collaborate(
        { agent: "ruda" },
        { targetAgent: "eden", message: "넷" },
      ),
    ).toMatchObject({ ok: false, code: "LOOP_GUARD" });
    const [question] = (await team.inbox.list({ tenant: "", status: "open" })).items.filter(
      ({ type }) => type === "conflict",
    );

    await team.inbox.answer(question!.id, { value: "resume" }, { tenant: "", name: "boss" });

    await eventually(async () =>
      expect(
        await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "다섯" },
        ),
      ).toMatchObject({ ok: true }),
    );
  });

  test(
    "on Discord the notice of a blocked pair has a button that lets it call again",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { behave: { ruda: silent, eden: silent } });
      for (const message of ["하나", "둘", "셋"]) {
        await collaborate(team, "ruda", { targetAgent: "eden", message });
      }
      expect(
        await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "넷" },
        ),
      ).toMatchObject({ ok: false, code: "LOOP_GUARD" });
      await eventually(() => expect(lastIn(stage)?.buttons).toHaveLength(1));

      const shown = await stage.person("민준").press(lastIn(stage)!.buttons[0]!);

      expect(shown.text).toContain("풀기");
      await eventually(async () =>
        expect(
          await team.rooms.collaboration.collaborate(
            { agent: "ruda" },
            { targetAgent: "eden", message: "다섯" },
          ),
        ).toMatchObject({ ok: true }),
      );
    },
  );

  test(
    "on Discord the notice of a thread that rests has a button that wakes it",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, {
        behave: { ruda: chatty, eden: chatty },
        limits: { threadMessages: 100, exchangeMessages: 3 },
      });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "이야기하자",
      });
      await eventually(async () => expect(await stateOf(team, threadId)).toBe("resting"));
      await settled(team);

      const reader = stage.discord.addPerson("서연", {
        permissions: ["VIEW_CHANNEL", "READ_MESSAGE_HISTORY"],
      });
      expect((await reader.press(lastIn(stage)!.buttons[0]!)).text).toContain(
        "글을 쓸 수 있는 분만 풀 수 있어요",
      );
      expect(await stateOf(team, threadId)).toBe("resting");
      await stage.person("민준").press(lastIn(stage)!.buttons[0]!);

      expect(await stateOf(team, threadId)).toBe("open");
      expect(
        await team.database.query({ text: "select what, subject, outcome from dure.audit" }),
      ).toEqual([{ what: "thread.resume", subject: threadId, outcome: "done" }]);
    },
  );

  test(
    "a press that cannot be written into the audit log does nothing, and says so to who pressed",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, {
        behave: { ruda: chatty, eden: chatty },
        limits: { threadMessages: 100, exchangeMessages: 3 },
      });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "이야기하자",
      });
      await eventually(async () => expect(await stateOf(team, threadId)).toBe("resting"));
      await settled(team);
      await team.database.query({
        text: "alter table dure.audit add constraint full_disk check (what <> 'thread.resume')",
      });

      const shown = await stage.person("민준").press(lastIn(stage)!.buttons[0]!);

      expect(shown.text).toBe("지금은 처리하지 못했어요. 잠시 뒤에 다시 눌러 주세요.");
      expect(await stateOf(team, threadId)).toBe("resting");
    },
  );

  test("resuming a thread also lets the pair call again that works in it", async () => {
    const team = await readyTeamOn(webPlatform(), { behave: { ruda: silent, eden: silent } });
    const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나" });
    for (const message of ["둘", "셋"]) {
      await collaborate(team, "ruda", { targetAgent: "eden", message });
    }
    expect(
      await team.rooms.collaboration.collaborate(
        { agent: "ruda" },
        { targetAgent: "eden", message: "넷" },
      ),
    ).toMatchObject({ ok: false, code: "LOOP_GUARD" });

    await team.rooms.resume(threadId, { tenant: "", person: "민준" });

    expect(
      await team.rooms.collaboration.collaborate(
        { agent: "ruda" },
        { targetAgent: "eden", message: "다섯" },
      ),
    ).toMatchObject({ ok: true });
    expect(await openTypes(team)).toEqual([]);
  });

  test("however often a guard is met, its escalation is raised once", async () => {
    const team = await readyTeamOn(webPlatform(), { behave: { ruda: silent, eden: silent } });
    for (const message of ["하나", "둘", "셋"]) {
      await collaborate(team, "ruda", { targetAgent: "eden", message });
    }

    for (const message of ["넷", "다섯", "여섯"]) {
      await team.rooms.collaboration.collaborate(
        { agent: "ruda" },
        { targetAgent: "eden", message },
      );
    }

    const raised = await team.database.query<{ id: string }>({
      text: "select data->>'id' as id from dure.events where type = 'escalation.new'",
    });
    expect(raised).toEqual((await team.inbox.list({ tenant: "" })).items.map(({ id }) => ({ id })));
  });
});
