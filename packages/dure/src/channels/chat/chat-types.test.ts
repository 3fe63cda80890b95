import type { Adapter, ChatInstance, StateAdapter } from "chat";
import { expect, test } from "vitest";
import type { ChatAdapter, ChatHost, ChatState } from "./chat-types.ts";

/**
 * What dure wrote down of the package `chat`, held against the package by the compiler: a version
 * of it that asks for more does not pass `tsc`.
 */

/** What adapters may ask of a chat and dure does not have: none of those that are tested does. */
type Unanswered = "history" | "transcripts";

const adapter = (theirs: Adapter): ChatAdapter => theirs;
const host = (ours: ChatHost): Omit<ChatInstance, Unanswered> => ours as never;
const state = (theirs: StateAdapter): ChatState => theirs;
const members: Record<Exclude<keyof ChatInstance, Unanswered>, true> = {} as Record<
  keyof ChatHost,
  true
>;
const none: Record<Exclude<keyof ChatHost, keyof ChatInstance>, true> = {};

test("the types of dure fit those of the package chat", () => {
  expect([adapter, host, state].map(({ length }) => length)).toEqual([1, 1, 1]);
  expect([members, none]).toEqual([{}, {}]);
});
