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
const state = (theirs: StateAdapter): ChatState => theirs;
/** Every other member is there, as the package has it. */
const host = (ours: ChatHost): Pick<ChatHost, Exclude<keyof ChatInstance, Unanswered>> => ours;
const answered = (theirs: ChatInstance): ChatHost => theirs;

test("the types of dure fit those of the package chat", () => {
  expect([adapter, state, host, answered].map(({ length }) => length)).toEqual([1, 1, 1, 1]);
});
