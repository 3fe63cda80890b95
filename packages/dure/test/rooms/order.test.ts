// @module-tag slow
import { describe, expect, onTestFinished, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { PostgresProxy } from "@dure/testing";
import { silentLogger, type Logger } from "../../src/kernel/logger.ts";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { openTypes, readyTeamOn, settled, ONE_BY_ONE } from "./helpers.ts";
import type { Behave, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const GENERAL = "web:general";
const MESSAGES = "/channels/{channel}/messages";

/** `민준: 물음 2` is answered with `답 2`. */
const echo: Behave = ({ text }) => `답 ${text.replace(/\D/g, "")}`;

describe("the order of answers in a room", { timeout: 60_000 }, () => {
  test(
    "an answer that fails and is tried again stays before the answers behind it",
    FULL,
    async () => {
      const { platform, team, proxy } = await teamBehindProxy();
      const cut = proxy.cut(1, ({ name }) => name === "handling.composed");

      await platform.say(team, "물음 1");
      await cut.reached;
      await platform.say(team, "물음 2");
      await platform.say(team, "물음 3");

      await eventually(async () => expect((await answers(team)).length).toBe(3));
      expect(await answers(team)).toEqual(["루다: 답 1", "루다: 답 2", "루다: 답 3"]);
      expect(await triesOf(team)).toEqual([0, 0, 0]); // a lost connection is no failure of the work
    },
  );

  test("the second of two agents keeps its place while it waits for the first", async () => {
    const first = Promise.withResolvers<string>();
    const platform = webPlatform();
    const team = await readyTeamOn(platform, {
      gather: ONE_BY_ONE,
      behave: { eden: () => first.promise, seum: echo },
      limits: { secondaryWaitMs: 60_000 },
    });

    await platform.say(team, "@이든 @세움 물음 1");
    await platform.say(team, "@세움 물음 2");
    await eventually(() => expect(team.calls("eden")).toBe(1));
    first.resolve("먼저요");

    await eventually(async () =>
      expect((await answers(team)).filter((line) => line.startsWith("세움"))).toHaveLength(2),
    );
    expect((await answers(team)).filter((line) => line.startsWith("세움"))).toEqual([
      "세움: 답 1",
      "세움: 답 2",
    ]);
  });

  test("work that cannot be done in eight tries ends as failed, its person is told, and the next goes on", async () => {
    const platform = webPlatform();
    const team = await readyTeamOn(platform, { gather: ONE_BY_ONE, behave: { ruda: echo } });
    await breakWorkOf(team, "물음 1");

    await platform.say(team, "물음 1");
    await platform.say(team, "물음 2");
    await eventually(async () => expect(await triesOf(team)).toEqual([1, 0]));
    expect(await answers(team)).toEqual([]);
    await team.database.query({
      text: "update dure.handlings set tries = 7, not_before = clock_timestamp() where tries = 1",
    });

    await settled(team);
    expect(await answers(team)).toEqual([
      expect.stringMatching(/^루다: .*(못|실패)/),
      "루다: 답 2",
    ]);
    expect(
      await team.database.query({ text: "select outcome from dure.handlings order by created_at" }),
    ).toEqual([{ outcome: "failed" }, { outcome: "answered" }]);
  });

  test("a model that refuses its key is no passing trouble: the person and an operator are told so", async () => {
    const platform = webPlatform();
    let isMended = false;
    const ruda: Behave = (heard) => (isMended ? echo(heard) : { error: { status: 401 } });
    const team = await readyTeamOn(platform, { gather: ONE_BY_ONE, behave: { ruda } });

    await platform.say(team, "물음 1");
    await settled(team);
    await platform.say(team, "물음 2");
    await settled(team);

    for (const answer of await answers(team)) {
      expect(answer).toContain("운영자에게 알렸");
      expect(answer).not.toContain("잠시 뒤");
    }
    expect(await openTypes(team)).toEqual(["account"]); // once

    isMended = true;
    await platform.say(team, "물음 3");
    await settled(team);
    expect((await answers(team)).at(-1)).toBe("루다: 답 3");
    expect(await openTypes(team)).toEqual([]);
  });

  test("a turn that cannot be accepted for now is told in the log, and tried until it is", async () => {
    const platform = webPlatform();
    const lines: string[] = [];
    const logger: Logger = { ...silentLogger, warn: (_fields, text) => void lines.push(text) };
    const team = await readyTeamOn(platform, {
      gather: ONE_BY_ONE,
      behave: { ruda: echo },
      logger,
    });
    await team.database.query({
      text: "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no room'; end $$",
    });
    await team.database.query({
      text: "create trigger refuse before insert on dure.turns for each row execute function refuse()",
    });

    await platform.say(team, "물음 1");
    await eventually(() => expect(lines.join()).toContain("could not be asked 3 times"));
    await team.database.query({ text: "drop trigger refuse on dure.turns" });

    await settled(team);
    expect(await answers(team)).toEqual(["루다: 답 1"]);
  });

  test("of many processes that look at once each session's work is given to one, in its order", async () => {
    const platform = webPlatform();
    const hold = Promise.withResolvers<string>();
    const team = await readyTeamOn(platform, {
      gather: ONE_BY_ONE,
      behave: { ruda: () => hold.promise },
    });
    for (const text of ["물음 1", "물음 2", "물음 3"]) await platform.say(team, text);
    await eventually(() => expect(team.calls("ruda")).toBe(1));

    const looks = Array.from({ length: 12 }, (_none, index) =>
      team.database.query({ text: "select id from dure.start_handlings($1, 64, '{}')" }, [
        `process_${index}`,
      ]),
    );
    const given = (await Promise.all(looks)).flat();

    expect(given).toEqual([]); // the first is worked on, and the others stand behind it
    hold.resolve("답");
    await settled(team);
    expect(await answers(team)).toHaveLength(3);
  });

  test("a row that was committed behind a younger one that has begun waits for its end", async () => {
    const platform = webPlatform();
    const hold = Promise.withResolvers<string>();
    const team = await readyTeamOn(platform, {
      gather: ONE_BY_ONE,
      behave: { ruda: () => hold.promise },
    });
    await platform.say(team, "물음 1");
    await eventually(() => expect(team.calls("ruda")).toBe(1));
    await team.database.query({
      text: `insert into dure.handlings (id, agent, place, session, state, turn, created_at)
             select 'handling_late', agent, place, session, 'waiting', 'turn_late', created_at - interval '1 second' from dure.handlings`,
    });

    const given = await team.database.query({
      text: "select id from dure.start_handlings('process_other', 64, '{}')",
    });

    expect(given).toEqual([]);
    await team.database.query({ text: "delete from dure.handlings where id = 'handling_late'" });
    hold.resolve("답");
    await settled(team);
  });

  test("an answer is not said by a process whose work another one holds", async () => {
    const platform = webPlatform();
    const hold = Promise.withResolvers<string>();
    const team = await readyTeamOn(platform, {
      gather: ONE_BY_ONE,
      behave: { ruda: () => hold.promise },
    });
    await platform.say(team, "물음 1");
    await eventually(() => expect(team.calls("ruda")).toBe(1));
    await giveWorkAway(team);

    hold.resolve("답");
    await eventually(async () =>
      expect(
        await team.database.query({ text: "select from dure.turns where finished_at is not null" }),
      ).toHaveLength(1),
    );
    await platform.say(team, "@이든 물음 2");
    await eventually(async () => expect(await answers(team)).toContain("이든: 이든의 답입니다"));

    expect(await answers(team)).toEqual(["이든: 이든의 답입니다"]);
    expect(
      await team.database.query({
        text: "select holder from dure.handlings where state = 'running'",
      }),
    ).toEqual([{ holder: "process_other" }]);
  });

  test(
    "a gap that its process could not read is read by the next one, whatever was heard meanwhile",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const first = await readyTeamOn(stage, { gather: ONE_BY_ONE, behave: { ruda: echo } });
      await stage.say(first, "물음 1");
      await settled(first);
      await first.stop();
      stage.person("민준").post(stage.places.general, "물음 2");
      const outage = stage.discord.fault(
        { route: MESSAGES, method: "GET", times: 1_000 },
        { kind: "5xx", status: 500 },
      );
      const second = await readyTeamOn(stage, {
        on: first,
        gather: ONE_BY_ONE,
        behave: { ruda: echo },
      });
      stage.person("민준").post(stage.places.general, "물음 3");
      await eventually(async () =>
        expect(await stage.shown(second, "discord:general")).toContain("루다: 답 3"),
      );
      await second.stop();
      outage.cancel();

      const third = await readyTeamOn(stage, {
        on: first,
        gather: ONE_BY_ONE,
        behave: { ruda: echo },
      });

      await eventually(async () =>
        expect(await stage.shown(third, "discord:general")).toContain("루다: 답 2"),
      );
      await settled(third);
      expect(
        (await stage.shown(third, "discord:general")).filter((line) => line.startsWith("루다")),
      ).toHaveLength(3);
    },
  );
});

async function teamBehindProxy(): Promise<{
  platform: ReturnType<typeof webPlatform>;
  team: TestTeam;
  proxy: PostgresProxy;
}> {
  const owned = await testDatabase();
  onTestFinished(() => owned[Symbol.asyncDispose]());
  const proxy = await PostgresProxy.start(owned.url);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const platform = webPlatform();
  const team = await readyTeamOn(platform, {
    on: { url: proxy.url },
    gather: ONE_BY_ONE,
    behave: { ruda: echo },
  });
  return { platform, team, proxy };
}

/** To a process that lives, as far as the others can see. */
async function giveWorkAway(team: TestTeam): Promise<void> {
  await team.database.query({
    text: `insert into dure.processes (id, app_version, host, machine, pid, pid_started, renewed_at)
           values ('process_other', '1', 'h', 'm', 1, '1', clock_timestamp() + interval '1 hour')`,
  });
  await team.database.query({ text: "update dure.handlings set holder = 'process_other'" });
}

async function answers(team: TestTeam): Promise<readonly string[]> {
  const rows = await team.database.query<{ author_name: string; text: string }>(
    {
      text: `
        select author_name, text
        from dure.room_messages
        where place = $1
        and author_kind = 'agent'
        order by seq`,
    },
    [GENERAL],
  );
  return rows.map(({ author_name, text }) => `${author_name}: ${text}`);
}

async function triesOf(team: TestTeam): Promise<readonly number[]> {
  const rows = await team.database.query<{ tries: number }>({
    text: "select tries from dure.handlings order by created_at, id",
  });
  return rows.map(({ tries }) => tries);
}

/** The database refuses to store what the turn of this message is to be asked. */
async function breakWorkOf(team: TestTeam, text: string): Promise<void> {
  await team.database.query({
    text: `create function public.break_work() returns trigger language plpgsql as $$
      begin
        if new.input is not null and exists (select from dure.room_messages m where m.id = new.message and m.text = '${text}') then
          raise exception 'broken for a test';
        end if;
        return new;
      end $$`,
  });
  await team.database.query({
    text: `
      create trigger break_work before update on dure.handlings
      for each row execute function public.break_work()`,
  });
}
