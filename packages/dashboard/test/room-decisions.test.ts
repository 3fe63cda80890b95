import type { PlatformEvent, RoomMessage } from "dure/client";
import { describe, expect, test } from "vitest";
import { onlineOf } from "../src/agents/online.ts";
import {
  mentionable,
  mentionBegun,
  mentionPieces,
  mentionWritten,
  othersOf,
  plainOf,
} from "../src/rooms/mention.ts";
import { newsOf } from "../src/rooms/news.ts";
import { unseenOf, type Posting } from "../src/rooms/room-posts.ts";
import {
  EMPTY_TIMELINE,
  MAX_KEPT,
  withMessage,
  withNewer,
  withNewest,
  withOlder,
  withPart,
  withoutWork,
  withWork,
  writersOf,
  type Timeline,
} from "../../dure/src/react/timeline.ts";
import { roomNewsOf, withoutSpeakers } from "../../dure/src/react/room-follower.ts";
import { agoOf, standOf } from "../src/rooms/stand-of.ts";

const TEAM = [
  { id: "ruda", displayName: "루다" },
  { id: "eden", displayName: "이든" },
  { id: "seum", displayName: "세움" },
  { id: "night-owl", displayName: "밤 부엉이" },
];

describe("a mention that is being written", () => {
  test("begins at an @ that begins a word, and ends with the word", () => {
    expect(mentionBegun("안녕 @루", 5)).toEqual({ from: 3, query: "루" });
    expect(mentionBegun("@", 1)).toEqual({ from: 0, query: "" });
    expect(mentionBegun("(@이든", 4)).toEqual({ from: 1, query: "이든" });
    expect(mentionBegun("＠루", 2)).toEqual({ from: 0, query: "루" }); // the wide sign
    expect(mentionBegun("mina@ex", 7)).toBeUndefined();
    expect(mentionBegun("@루다 이것", 6)).toBeUndefined();
  });

  test("finds a name by its first letters, also in an open syllable, and an id", () => {
    const found = (query: string): readonly string[] =>
      mentionable(query, TEAM).map(({ id }) => id);

    expect(found("")).toEqual(["ruda", "eden", "seum", "night-owl"]);
    for (const query of ["ㄹ", "루", "룯", "루다", "ru", "RUDA"]) {
      expect(found(query), query).toEqual(["ruda"]);
    }
    expect(found("읻")).toEqual(["eden"]);
    expect(found("e")).toEqual(["eden", "seum"]); // begins with it, before holds it
    expect(found("없음")).toEqual([]);
  });

  test("is written out as the name, before what stands behind the caret; a shared name gives way to the id", () => {
    const begun = { from: 3, query: "루" };
    expect(mentionWritten({ text: "안녕 @루", caret: 5, begun }, TEAM[0]!, TEAM)).toEqual({
      text: "안녕 @루다 ",
      caret: 7,
    });
    expect(mentionWritten({ text: "안녕 @루 씨", caret: 5, begun }, TEAM[0]!, TEAM)).toEqual({
      text: "안녕 @루다 씨",
      caret: 7,
    });
    expect(
      mentionWritten({ text: "안녕 @루", caret: 5, begun }, TEAM[0]!, [
        ...TEAM,
        { id: "other", displayName: "루다" },
      ]).text,
    ).toBe("안녕 @ruda ");
  });
});

test("a message in one line has no signs of markdown, links, or ids of agents", () => {
  const text = "**이든** 님이 답했어요 → [\\[협업\\] 루다](/rooms/thread_1)\n- <@eden> `확인`";

  expect(plainOf({ text, mentions: [] }, [{ id: "eden", displayName: "이든" }])).toBe(
    "이든 님이 답했어요 → [협업] 루다 @이든 확인",
  );
});

test("mentions are drawn as the server found them: names, ids in angle brackets, nothing else", () => {
  expect(mentionPieces("@루다가 <@eden>에게, @세움 과 @edenx", ["ruda", "eden"], TEAM)).toEqual([
    { agent: "ruda", label: "@루다" },
    "가 ",
    { agent: "eden", label: "@이든" },
    "에게, @세움 과 @edenx",
  ]);
  expect(mentionPieces("＠루다!", ["ruda"], TEAM)).toEqual([
    { agent: "ruda", label: "@루다" },
    "!",
  ]);
  expect(mentionPieces("<@nobody> @밤 부엉이", ["night-owl"], TEAM)).toEqual([
    "<@nobody> ",
    { agent: "night-owl", label: "@밤 부엉이" },
  ]);
});

test("a person whose message is there writes no more, and is still in the room", () => {
  const people = {
    room: "web:general",
    here: ["민준", "서연"],
    hereCount: 2,
    typing: ["민준", "서연"],
    typingCount: 2,
  };

  expect(withoutSpeakers(people, [aMessage(1)])).toEqual({
    ...people,
    typing: ["서연"],
    typingCount: 1,
  });
  expect(withoutSpeakers(people, [aMessage(1, { authorKind: "agent" })])).toEqual(people);
});

test("people besides the reader are named, and counted beyond the names", () => {
  expect(othersOf(["민준", "서연"], 2, "서연")).toEqual({ names: ["민준"], count: 1 });
  expect(othersOf(["민준", "지우"], 9, "서연")).toEqual({ names: ["민준", "지우"], count: 9 });
  expect(othersOf(undefined, undefined, "서연")).toEqual({ names: [], count: 0 });
});

test("how long ago something was is said in the unit in which people say it", () => {
  const now = Date.UTC(2026, 10, 30, 12);
  const ago = (ms: number): string =>
    `${agoOf(now - ms, "ko", now)} / ${agoOf(now - ms, "en", now)}`;

  expect([-5_000, 59_000, 120_000, 3_600_000, 3 * 86_400_000].map(ago)).toEqual([
    "방금 / just now",
    "방금 / just now",
    "2분 전 / 2 minutes ago",
    "1시간 전 / 1 hour ago",
    "3일 전 / 3 days ago",
  ]);
  expect(ago(30 * 86_400_000)).toContain("10월");
});

function aMessage(seq: number, part: Partial<RoomMessage> = {}): RoomMessage {
  return {
    id: `message_${seq}`,
    place: "web:general",
    seq,
    author: "민준",
    authorKind: "person",
    authorName: "민준",
    text: "말",
    mentions: [],
    mark: null,
    replyTo: null,
    delivery: "sent",
    deliveryError: null,
    attachments: [],
    buttons: null,
    at: seq * 1_000,
    editedAt: null,
    deletedAt: null,
    reactions: [],
    thread: null,
    roles: [],
    ...part,
  };
}

function someMessages(from: number, to: number): RoomMessage[] {
  return Array.from({ length: to - from + 1 }, (_, index) => aMessage(from + index));
}

function seqsOf({ messages }: Timeline): number[] {
  return messages.map(({ seq }) => seq);
}

describe("a timeline", () => {
  const known = withNewest(undefined, { items: someMessages(41, 100), typing: [] });

  test("has no gap: a newest page that does not touch what is known takes its place", () => {
    expect(seqsOf(withNewest(known, { items: someMessages(90, 102), typing: [] }))).toEqual(
      seqsOf({ ...known, messages: someMessages(41, 102) }),
    );
    expect(seqsOf(withNewest(known, { items: someMessages(200, 205), typing: [] }))).toEqual([
      200, 201, 202, 203, 204, 205,
    ]);
    expect(withNewest(undefined, { items: [], typing: [] })).toEqual(EMPTY_TIMELINE);
  });

  test("grows at both ends, each message once, and knows whether there is more", () => {
    const older = withOlder(known, { items: someMessages(1, 40), typing: [] });

    expect([known.hasOlder, older.hasOlder]).toEqual([true, false]);
    expect(
      seqsOf(withNewer(older, { items: someMessages(100, 101), typing: ["eden"] })).length,
    ).toBe(101);
  });

  test("is read around a message: joined where they touch, else a part that keeps its reader", () => {
    const near = withPart(known, { items: someMessages(10, 45), typing: [] });
    const far = withPart(known, { items: someMessages(1, 20), typing: [] });
    const below = withNewer(far, { items: someMessages(21, 60), typing: [] });

    expect([seqsOf(near).length, near.hasOlder, near.hasNewer]).toEqual([91, true, false]);
    expect([seqsOf(far).length, far.hasOlder, far.hasNewer]).toEqual([20, false, true]);
    expect(seqsOf(withNewest(far, { items: someMessages(90, 102), typing: [] }))).toHaveLength(20);
    expect([seqsOf(below).at(-1), below.hasNewer]).toEqual([60, false]);
  });

  test("is bounded: the oldest go, and can be had again", () => {
    const long = withNewer(known, { items: someMessages(101, MAX_KEPT + 200), typing: [] });

    expect(long.messages).toHaveLength(MAX_KEPT);
    expect(long.hasOlder).toBe(true);
  });

  test("knows who writes: what the server said, and what events told since", () => {
    const busy = withWork({ ...known, typing: ["seum"] }, "message_100", ["ruda", "eden"]);
    expect(writersOf(busy)).toEqual(["seum", "ruda", "eden"]);

    const answered = withMessage(
      busy,
      aMessage(100, {
        roles: [
          { agent: "ruda", role: "HANDLER", because: "mentioned", answeredBy: "message_101" },
        ],
      }),
    );
    expect(writersOf(answered)).toEqual(["seum", "eden"]);
    expect(
      writersOf(withoutWork(withoutWork(answered, "message_100", "eden"), "message_7", "seum")),
    ).toEqual([]);
  });

  test("takes a changed message only where the message stands", () => {
    expect(withMessage(known, aMessage(7, { text: "neu" }))).toBe(known);
    expect(withMessage(known, aMessage(50, { text: "고친 말" })).messages[9]?.text).toBe("고친 말");
  });

  test("puts words of one author under one name for five minutes and a day", () => {
    const first = aMessage(1, { at: Date.parse("2026-11-20T10:00:00") });

    expect(standOf(undefined, first)).toBe("new-day");
    expect(standOf(first, { ...first, at: first.at + 60_000 })).toBe("same-name");
    expect(standOf(first, { ...first, at: first.at + 6 * 60_000 })).toBe("own-name");
    expect(standOf(first, { ...first, author: "서연", at: first.at + 1 })).toBe("own-name");
    expect(standOf(first, { ...first, replyTo: "message_0" })).toBe("own-name");
    expect(standOf(first, { ...first, at: first.at + 24 * 3_600_000 })).toBe("new-day");
  });
});

describe("words that were just sent", () => {
  const posting = (part: Partial<Posting> = {}): Posting => ({
    clientId: "c1",
    who: "민준",
    place: "web:general",
    text: "말",
    after: 4,
    status: "sending",
    ...part,
  });

  test("are shown until their message is, each message standing for one of them", () => {
    expect(unseenOf([posting()], [aMessage(4)])).toHaveLength(1); // the same words, said before
    expect(unseenOf([posting()], [aMessage(5)])).toEqual([]);
    expect(
      unseenOf([posting(), posting({ clientId: "c2" })], [aMessage(5)]).map(
        ({ clientId }) => clientId,
      ),
    ).toEqual(["c2"]);
    expect(unseenOf([posting()], [aMessage(5, { author: "서연" })])).toHaveLength(1);
  });

  test("and seem to have failed stand there if they did arrive, unless they could be another person's", () => {
    expect(unseenOf([posting({ status: "failed" })], [aMessage(5)])).toEqual([]);
    expect(unseenOf([posting({ status: "failed", who: undefined })], [aMessage(5)])).toHaveLength(
      1,
    );
  });
});

describe("news", () => {
  const event = (
    type: string,
    data: object,
    part: Partial<Pick<PlatformEvent, "room" | "agent" | "role">> = {},
  ): PlatformEvent => {
    const event = { id: "1.2.3", type, role: "conversation", room: "web:general", at: 1, data };
    return { ...event, ...part } as PlatformEvent;
  };

  test("of a message say where it stands and who answers it", () => {
    expect(
      roomNewsOf(
        event("room.message", { message: "m1", roles: { ruda: "HANDLER", eden: "OBSERVER" } }),
      ),
    ).toEqual({
      grown: "web:general",
      begun: { place: "web:general", message: "m1", agents: ["ruda"] },
    });
    expect(
      roomNewsOf(event("room.handled", { message: "m1", answer: "m2" }, { agent: "ruda" })),
    ).toMatchObject({
      grown: "web:general",
      changed: { message: "m1" },
      ended: { message: "m1", agent: "ruda" },
    });
  });

  test("of anything else say what to read again", () => {
    expect(roomNewsOf(event("room.delivery_failed", { message: "m1" }))).toMatchObject({
      changed: { message: "m1" },
    });
    expect(newsOf(event("room.resting", { guard: "exchange" }))).toEqual({ rooms: true });
    expect(newsOf(event("agent.paused", { by: "mina" }))).toEqual({ agents: true });
    expect(newsOf(event("escalation.resolved", { id: "e1" }))).toEqual({ escalations: true });
  });
});

test("an agent that can be reached on one account is reachable", () => {
  const account = (state: "ready" | "refused") => ({
    adapter: "web",
    id: "ruda",
    state,
    platformId: null,
    detail: null,
    reason: null,
    changedAt: 1,
  });

  const paused = null;
  expect(onlineOf({ accounts: [account("refused"), account("ready")], paused })).toBe("ready");
  expect(onlineOf({ accounts: [account("refused")], paused })).toBe("refused");
  expect(onlineOf({ accounts: [account("ready")], paused: { by: "mina", at: 1 } })).toBe("paused");
  expect(onlineOf({ accounts: [], paused })).toBe("none");
});
