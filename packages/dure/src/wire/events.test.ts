import { expect, test } from "vitest";
import { EVENTS, PlatformEventJson, type NewPlatformEvent, type PlatformEvent } from "./events.ts";

const turn = { id: "1.2.3", at: 1, session: "mina", turn: "turn_1" };

test("an event is described by its type, and a type that no release has is none", () => {
  const accepted = { ...turn, type: "turn.accepted", role: "conversation" };

  expect(PlatformEventJson.safeParse({ ...accepted, data: { author: "person" } }).success).toBe(
    true,
  );
  expect(PlatformEventJson.safeParse({ ...accepted, data: {} }).success).toBe(false);
  expect(PlatformEventJson.safeParse({ ...accepted, type: "moon.rose" }).success).toBe(false);
});

test("a writer's event with another type's data, a wrong role or no data does not compile", () => {
  const written: NewPlatformEvent[] = [
    { type: "turn.accepted", role: "conversation", data: { author: "person" } },
    // @ts-expect-error -- a turn is accepted from a person or from dure itself
    { type: "turn.accepted", role: "conversation", data: { author: "dog" } },
    // @ts-expect-error -- it tells of a conversation
    { type: "turn.accepted", role: "system", data: { author: "person" } },
    // @ts-expect-error -- a job's data
    { type: "turn.accepted", role: "conversation", data: { turn: 1 } },
    // @ts-expect-error -- no release has it
    { type: "moon.rose", role: "system", data: {} },
  ];

  expect(written.filter(({ type }) => type in EVENTS)).toHaveLength(4);
});

test("a reader needs no cast for what it knows, and must not take that for everything", () => {
  const wordsOf = (event: PlatformEvent): string => {
    if (event.type === "job.turn") return `${event.data.speaker}: ${event.data.text}`;
    if (event.type === "(of a newer server)") return Object.keys(event.data).join(", ");
    return event.type;
  };

  const job = { requester: "a", target: "b", turnsDone: 1, maxTurns: 3, conversationId: "c" };
  const said = { number: 1, speaker: "ruda", text: "hello", tokensIn: 1, tokensOut: 1 };
  const data = {
    ...job,
    ...said,
    status: "RUNNING",
    parentJobId: null,
    costMicroUsd: null,
  } as const;
  expect(wordsOf({ ...turn, type: "job.turn", role: "delegation", data })).toBe("ruda: hello");
});
