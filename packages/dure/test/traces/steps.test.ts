// @module-tag slow
import { expect, test } from "vitest";
import type { WorkTraceStep } from "dure/client";
import { startTraceTeam } from "./trace-team.ts";

const SLOW = { timeout: 60_000 };

const lineOf = ({ kind, title, status }: WorkTraceStep): string => `${kind} ${title} ${status}`;

async function turnOf(words: string, team: Awaited<ReturnType<typeof startTraceTeam>>) {
  const client = await team.personOf("mina", ["chat", "rooms", "jobs", "plans"]);
  const admin = await team.personOf("root", ["admin"]);
  const sent = client.sendMessage({ sessionId: "s", service: "ruda", message: words });
  await sent.done;
  return { client, admin, turn: await sent.turnId };
}

test("a turn consists of its agent, its model calls and its tool, with numbers", SLOW, async () => {
  const { admin, turn } = await turnOf("do it in the background", await startTraceTeam());

  const { steps } = await admin.trace(turn);
  const own = steps.filter((step) => step.turn === turn);

  expect(own.map(lineOf)).toEqual([
    "agent ruda done",
    "model ruda done",
    "tool ask_agent done",
    "model ruda done",
  ]);
  const [agent, model] = own;
  expect(own.slice(1).map(({ under }) => under)).toEqual([
    agent!.place,
    agent!.place,
    agent!.place,
  ]);
  expect(model).toMatchObject({ model: "offline:one", attempt: 1, error: null });
  expect(model!.tokensIn).toBeGreaterThan(0);
  expect(model!.at).toBeGreaterThanOrEqual(agent!.at - 50);
  expect(own.every(({ endedAt, at }) => endedAt !== null && endedAt >= at)).toBe(true);
});

test(
  "the prompt of a call is made again, and its hash says that it is the one sent",
  SLOW,
  async () => {
    const { client, admin, turn } = await turnOf("hello there", await startTraceTeam());
    const again = client.sendMessage({
      sessionId: "s",
      service: "ruda",
      message: "and in the background",
    });
    await again.done;
    const second = await again.turnId;

    const { steps } = await admin.trace(second);
    const calls = steps.filter(({ kind, turn: of }) => kind === "model" && of === second);
    const first = await admin.traces.texts(second, { at: calls[0]!.place });
    const last = await admin.traces.texts(second, { at: calls[1]!.place });

    expect(first.prompt).toMatchObject({ isAsSent: true });
    expect(
      first.prompt!.messages.map(({ part, data }) => [part, (data as { text?: string }).text]),
    ).toEqual([
      ["history", "hello there"],
      ["history", "That is done."],
      ["message", "and in the background"],
    ]);
    expect(first.prompt!.tools).toContain("ask_agent");
    expect(last.prompt).toMatchObject({ isAsSent: true });
    expect(last.prompt!.messages.slice(-2).map(({ part }) => part)).toEqual(["work", "work"]);
    expect(last.result).toBe("Handed on.");
    expect(await admin.traces.texts(turn)).toMatchObject({
      args: "hello there",
      result: "That is done.",
    });
  },
);

test("who may only chat sees no tools and no texts of steps", SLOW, async () => {
  const { client, turn } = await turnOf("do it in the background", await startTraceTeam());

  const { steps } = await client.trace(turn);

  expect(new Set(steps.map(({ kind }) => kind))).toEqual(new Set(["agent", "model"]));
  await expect(client.traces.texts(turn, { at: steps[0]!.place })).rejects.toMatchObject({
    code: "SCOPE_MISSING",
  });
});
