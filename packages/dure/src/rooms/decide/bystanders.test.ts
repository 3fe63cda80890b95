import { expect, test } from "vitest";
import { asideOf } from "./bystanders.ts";
import { Directory, type RoomAgent } from "../directory.ts";
import type { SpokenMessage } from "./consequences.ts";

const AGENTS = ["ruda", "eden", "seum"].map((id): RoomAgent => ({
  id,
  displayName: id,
  service: id,
  leads: id === "ruda",
  accounts: { discord: { id } },
}));
const CHANNEL = { key: "general", adapter: "discord", name: "general", channel: "1" };
const setting = {
  directory: new Directory({ agents: AGENTS, channels: [{ ...CHANNEL, collaborate: true }] }),
  allowBots: false,
};

test("who is named is called, and the others record", () => {
  const { records, calls } = asideOf(said(["eden"], ["ruda"]), ["eden", "seum"], setting);

  expect([...records.keys()]).toEqual(["seum"]);
  expect(calls.map(({ payload }) => payload)).toEqual([
    { kind: "join", place: "thread_1", agent: "eden" },
  ]);
});

test("who takes part already is not called again", () => {
  const { records, calls } = asideOf(said(["eden"], ["ruda", "eden"]), ["eden"], setting);

  expect([...records.keys()]).toEqual([]);
  expect(calls).toEqual([]);
});

test("without agents beside the thread nothing is told aside", () => {
  expect(asideOf(said(["eden"], ["ruda"]), [], setting)).toEqual({ records: new Map(), calls: [] });
});

/** 민준 has said something in a thread of these agents. */
function said(mentions: readonly string[], participants: readonly string[]): SpokenMessage {
  return {
    place: {
      id: "thread_1",
      adapter: "discord",
      kind: "thread",
      parent: "discord:general",
      name: "일",
      tenant: "",
      guild: "9",
      channel: "1",
      thread: "2",
      person: null,
      agent: null,
      owner: "ruda",
      isSink: false,
      isPrivate: false,
      state: "open",
      suspendedUntil: null,
      closedBecause: null,
      closedFor: null,
      archived: false,
      awayFrom: null,
      awayUntil: null,
      now: 0,
      participants,
      departed: [],
      agentMessages: 0,
      recent: [],
    },
    message: {
      id: "message_1",
      authorKind: "person",
      author: "7",
      authorName: "민준",
      text: "말",
      mentions,
      mark: null,
      ends: false,
      request: null,
    },
    step: { state: "open", agentMessages: 0, recent: [] },
    agents: [],
  };
}
