// @module-tag slow
import { describe, expect, test } from "vitest";
import type { MessageQuery } from "../../src/rooms/look/message-search.ts";
import { discordPlatform } from "./discord-platform.ts";
import { readyTeamOn, settled } from "./helpers.ts";
import type { TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const MINJUN = { tenant: "", person: "민준" };
const SEOYEON = { tenant: "", person: "서연" };
const ACME = { tenant: "acme", person: "민준" };
const OPERATOR = { tenant: "", person: "", seesAll: true };

async function found(team: TestTeam, who: typeof MINJUN, query: MessageQuery): Promise<string[]> {
  const { items } = await team.rooms.reader.search(query, who);
  return items.map(({ authorName, excerpt }) => `${authorName}: ${excerpt}`);
}

/** As many messages of a person in the channel, one a minute. */
async function fill(team: TestTeam, place: string, count: number): Promise<void> {
  await team.database.query(
    {
      text: `
        insert into dure.room_messages (
          id, place, seq, author_kind, author, author_name, text, at, heard_at
        )
        select 'message_' || n, $1, 1000 + n, 'person', '하늘', '하늘', '자리를 채우는 말 ' || lpad(n::text, 5, '0'),
          timestamptz '2026-11-20 00:00Z' + n * interval '1 minute',
          timestamptz '2026-11-20 00:00Z' + n * interval '1 minute'
        from generate_series(1, $2::integer) n`,
    },
    [place, count],
  );
}

describe("messages are found", { timeout: 60_000 }, () => {
  test("by their words in any case, by author and by time, the newest first", async () => {
    const team = await readyTeamOn(webPlatform());
    const place = "web:general";
    await team.rooms.post(MINJUN, { place, text: "@이든 Login 화면 봐 주세요" });
    await team.rooms.post(SEOYEON, { place, text: "@이든 login 100% 끝났나요_" });
    await settled(team);

    const both = ["서연: @이든 login 100% 끝났나요_", "민준: @이든 Login 화면 봐 주세요"];
    expect(await found(team, MINJUN, { text: "LOGIN" })).toEqual(both);
    expect(await found(team, MINJUN, { text: "login", author: "서연" })).toEqual([both[0]]);
    expect(await found(team, MINJUN, { text: "이든의 답", author: "eden" })).toHaveLength(2);
    expect(await found(team, MINJUN, { text: "이든", authorKind: "person" })).toEqual(both);
    expect(await found(team, MINJUN, { text: "100%" })).toEqual([both[0]]);
    expect(await found(team, MINJUN, { text: "나요_" })).toEqual([both[0]]);
    expect(await found(team, MINJUN, { text: "login_" })).toEqual([]);
    const soon = Date.now() + 60_000;
    expect(await found(team, MINJUN, { text: "login", after: soon })).toEqual([]);
    expect(await found(team, MINJUN, { text: "login", before: soon })).toEqual(both);
  });

  test("by those alone who may see their room", async () => {
    const team = await readyTeamOn(webPlatform());
    const { id: place } = await team.rooms.direct(MINJUN, "eden");
    await team.rooms.post(MINJUN, { place, text: "나만 아는 비밀이에요" });
    await team.rooms.place("web:general", ACME);
    await team.rooms.post(ACME, { place: "web:general", text: "우리 회사 비밀이에요" });
    await settled(team);

    expect(await found(team, MINJUN, { text: "비밀" })).toEqual(["민준: 나만 아는 비밀이에요"]);
    expect(await found(team, SEOYEON, { text: "비밀" })).toEqual([]);
    expect(await found(team, ACME, { text: "비밀" })).toEqual(["민준: 우리 회사 비밀이에요"]);
    expect(await found(team, OPERATOR, { text: "비밀" })).toEqual(["민준: 우리 회사 비밀이에요"]);
  });

  test("in a private channel of a platform by operators alone", async () => {
    const platform = await discordPlatform();
    const team = await readyTeamOn(platform);
    await platform.say(team, "@이든 채널에서 한 말");
    await settled(team);
    await team.database.query({ text: "update dure.places set seen_by_all = false" });

    expect(await found(team, MINJUN, { text: "채널에서 한 말" })).toEqual([]);
    expect(await found(team, OPERATOR, { text: "채널에서 한 말" })).toHaveLength(1);
  });

  test("page by page, each once, and a call ends after 20,000 messages that do not fit", async () => {
    const team = await readyTeamOn(webPlatform());
    await fill(team, "web:general", 20_050);
    const search = (text: string, cursor?: string) =>
      team.rooms.reader.search({ text, limit: 5, cursor }, MINJUN);

    const first = await search("채우는 말 00007");
    expect(first).toEqual({ items: [], nextCursor: expect.any(String) });
    const second = await search("채우는 말 00007", first.nextCursor!);
    expect(second).toEqual({
      items: [expect.objectContaining({ id: "message_7" })],
      nextCursor: null,
    });

    const one = await search("채우는");
    const two = await search("채우는", one.nextCursor!);
    const ids = [...one.items, ...two.items].map(({ id }) => id);
    expect(ids).toEqual(Array.from({ length: 10 }, (_, index) => `message_${20_050 - index}`));
  });

  test("with the words in the excerpt, wherever in a long message they stand", async () => {
    const team = await readyTeamOn(webPlatform());
    const text = `${"앞말 ".repeat(300)}찾는 낱말${" 뒷말".repeat(300)}`;
    await team.rooms.post(MINJUN, { place: "web:general", text });

    const { items } = await team.rooms.reader.search({ text: "찾는 낱말" }, MINJUN);

    expect(items[0]!.excerpt).toMatch(/^….{30,40}찾는 낱말.+…$/u);
    expect(items[0]!.excerpt.length).toBeLessThan(190);
  });
});
