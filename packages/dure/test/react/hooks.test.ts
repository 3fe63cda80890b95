import { createElement, type FunctionComponent } from "react";
import { renderToString } from "react-dom/server";
import { DureClient } from "dure/client";
import { DureHub, DureProvider, ROOM_EVENTS, roomOf, useRoom, useRun, useTurn } from "dure/react";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startRoomsTeam, type RoomsTeam } from "../../../dashboard/test/rooms/team.ts";
import { until } from "../until.ts";

/** What a browser does with these hooks: packages/dashboard/test/{chat,rooms,plans}.test.ts. */
let team: RoomsTeam;

beforeAll(async () => void (team = await startRoomsTeam()), 60_000);
afterAll(() => team?.[Symbol.asyncDispose]());

/** A hub of a page, and the paths that it has asked for. `late`: what a turn's stream waits for. */
function page(late?: Promise<void>): { hub: DureHub; asked: string[] } {
  const asked: string[] = [];
  const client = new DureClient({
    baseUrl: team.url,
    fetch: async (input, init) => {
      const { pathname } = new URL(input as string);
      asked.push(pathname);
      const response = await fetch(input, init);
      return late === undefined || init?.method !== "POST" ? response : held(response, late);
    },
  });
  return { hub: new DureHub({ client }), asked };
}

/** A response whose words come when `late` allows it; its head is there at once. */
function held(response: Response, late: Promise<void>): Response {
  const wait = new TransformStream<Uint8Array, Uint8Array>({
    transform: async (part, to) => {
      if (new TextDecoder().decode(part).includes("DONE")) await late;
      to.enqueue(part);
    },
  });
  return new Response(response.body!.pipeThrough(wait), response);
}

function ignore(): void {}

test("components around which there is no provider say what is missing", () => {
  const Alone: FunctionComponent = () => useRun("run_1").connection;

  expect(() => renderToString(createElement(Alone))).toThrow("Put a DureProvider around");
});

test("on a server the hooks render what is known, and open no stream", () => {
  const { hub, asked } = page();
  const Shown: FunctionComponent = () => {
    const turn = useTurn("react-server", { exists: false });
    const room = useRoom("web:general", { asPerson: "미나" });
    const { run } = useRun("run_1");
    return `${turn.phase} ${room.messages.length} ${run === undefined}`;
  };

  const html = renderToString(createElement(DureProvider, { hub }, createElement(Shown)));

  expect(html).toBe("new 0 true");
  expect(asked).toEqual([]);
});

test("a room is read, hears what an agent answers, and shares its stream", async () => {
  const { hub, asked } = page();
  const room = roomOf(hub, "web:general", "미나");
  const leave = room.subscribe(ignore);
  const others = hub.events.follow(ROOM_EVENTS, { onEvent: ignore });
  await until(
    () => room.snapshot().timeline !== undefined,
    () => "it did not come",
  );

  await hub.client.rooms("미나").post("web:general", { text: "@루다 안녕하세요" });
  await until(
    () => saidIn(room.snapshot()).includes("루다의 답입니다. 확인했어요."),
    () => "it did not come",
  );

  expect(saidIn(room.snapshot())).toContain("@루다 안녕하세요");
  expect(asked.filter((path) => path === "/v1/events")).toHaveLength(1);
  expect(roomOf(hub, "web:general", "미나")).toBe(room);
  leave();
  others();
});

test("a place that does not exist is told as a problem, and asked for once", async () => {
  const { hub, asked } = page();
  const room = roomOf(hub, "web:nowhere", "미나");
  const leave = room.subscribe(ignore);
  await until(
    () => room.snapshot().problem !== undefined,
    () => "it did not come",
  );

  expect(room.snapshot().problem?.class).toBe("not-found");
  expect(room.snapshot().timeline).toBeUndefined();
  expect(asked.filter((path) => path.includes("nowhere")).length).toBeLessThanOrEqual(2);
  leave();
});

test("a conversation sends in order, ends its turn, and is the same for all who ask", async () => {
  const { hub } = page();
  const conversation = hub.conversations.open("react-1", false);
  const leave = conversation.subscribe(ignore);

  conversation.send("배송은 얼마나 걸려요?", { service: "faq" });
  await until(
    () => conversation.snapshot().entries.some(({ role }) => role === "assistant"),
    () => "it did not come",
  );

  const { entries, turn } = conversation.snapshot();
  expect(entries.map(({ role }) => role)).toEqual(["user", "assistant"]);
  expect(turn).toBeUndefined();
  expect(hub.conversations.open("react-1")).toBe(conversation);
  leave();
});

test("an answer is shown when its stream ends, also where the session is read before", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { hub } = page(promise);
  const conversation = hub.conversations.open("react-late", false);
  const leave = conversation.subscribe(ignore);
  conversation.send("배송은 얼마나 걸려요?", { service: "faq" });
  await until(
    async () => (await hub.client.session("react-late").catch(() => undefined))?.history[1],
    () => "the answer was not stored",
  );

  await until(
    () => conversation.snapshot().turn,
    () => "the turn is not followed",
  );
  await conversation.load();
  const before = conversation.snapshot();
  resolve();
  await until(
    () => conversation.snapshot().turn === undefined,
    () => "the stream did not end",
  );

  expect(before.entries.map(({ role }) => role)).toEqual(["user"]);
  expect(before.turn?.connection).toBe("connected");
  expect(conversation.snapshot().entries.map(({ role }) => role)).toEqual(["user", "assistant"]);
  leave();
});

test("a run that does not exist is told as a problem", async () => {
  const { hub } = page();
  const { runOf } = await import("dure/react");
  const run = runOf(hub, "run_none");
  const leave = run.subscribe(ignore);
  await until(
    () => run.snapshot().problem !== undefined,
    () => "it did not come",
  );

  expect(run.snapshot()).toMatchObject({ run: undefined, connection: "connected" });
  leave();
});

function saidIn(view: ReturnType<ReturnType<typeof roomOf>["snapshot"]>): readonly string[] {
  return view.timeline?.messages.map(({ text }) => text) ?? [];
}
