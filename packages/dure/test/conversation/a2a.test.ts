// @module-tag slow
import { FULL } from "../../src/kernel/test-tiers.ts";
import { describe, expect, test } from "vitest";
import { combineServices, keywordRouter } from "../../src/engine/service/combine.ts";
import { remoteService } from "../../src/engine/remote/remote-service.ts";
import { defineService, flow } from "../../src/engine/service/service.ts";
import { startTestEngine, type TestEngine } from "../../src/engine/test-engine.ts";
import { joinTeam } from "../../src/durable/test-members.ts";
import { Outbox } from "../../src/durable/outbox.ts";
import { HookDelivery } from "../../src/engine/effects/hooks.ts";
import { eventually } from "../until.ts";
import { startA2aAgent, type A2aCall } from "./a2a-agent.ts";

const weather = (url: string, auth?: string) =>
  remoteService(url, { name: "weather", protocol: "a2a", ...(auth !== undefined && { auth }) });

test("an agent of the official SDK answers as a service does, piece by piece, in its session's context", async () => {
  await using agent = await startA2aAgent((call) => {
    call.working("Looking outside.");
    for (const piece of ["It is ", "sunny."]) call.write(piece);
    call.end("COMPLETED", "Have a nice day.");
  });
  await using team = await startTestEngine(weather(agent.url, "secret"));

  const { done, events } = await team.say("How is it?", { session: "mina" });
  await team.say("And now?", { session: "mina" });

  expect(done).toMatchObject({
    message: "It is sunny.\n\nHave a nice day.",
    nextAction: "DONE",
    stateSnapshot: { stage: "TASK_STATE_COMPLETED", task: agent.calls[0]!.taskId },
    trace: { agents: [{ agent: "weather", success: true }] },
  });
  expect(events.filter(({ type }) => type !== "LLM_TOKEN").map(({ type }) => type)).toEqual([
    "AGENT_START",
    "LLM_DONE",
    "AGENT_DONE",
    "DONE",
  ]);
  expect(events.flatMap((event) => (event.type === "LLM_TOKEN" ? [event.data] : [])).join("")).toBe(
    done.message,
  );
  expect(agent.calls.map(({ contextId, text }) => [contextId, text])).toEqual([
    ["mina", "How is it?"],
    ["mina", "And now?"],
  ]);
  expect(new Set(agent.calls.map(({ taskId }) => taskId)).size).toBe(2);
  expect(
    new Set(
      agent.headers.map(
        (headers) => `${String(headers["a2a-version"])} ${String(headers["authorization"])}`,
      ),
    ),
  ).toEqual(new Set(["1.0 Bearer secret"]));
});

test("a task that asks goes on with the next message of its session, and with no other's", async () => {
  await using agent = await startA2aAgent((call) =>
    call.isFollowUp
      ? call.end("COMPLETED", `Sunny in ${call.text}.`)
      : call.end("INPUT_REQUIRED", "Where?"),
  );
  await using team = await startTestEngine(weather(agent.url));

  const asked = await team.say("How is it?", { session: "mina" });
  const other = await team.say("How is it?", { session: "jun" });
  const answered = await team.say("Seoul", { session: "mina" });

  expect([asked, other, answered].map(({ done }) => [done.message, done.nextAction])).toEqual([
    ["Where?", "ASK"],
    ["Where?", "ASK"],
    ["Sunny in Seoul.", "DONE"],
  ]);
  expect(agent.calls[2]!.taskId).toBe(agent.calls[0]!.taskId);
});

test("among several services a person stays with an agent whose task asks, and leaves it with its end", async () => {
  await using agent = await startA2aAgent((call) =>
    call.isFollowUp
      ? call.end("COMPLETED", `Sunny in ${call.text}.`)
      : call.end("INPUT_REQUIRED", "Where?"),
  );
  const faq = defineService({
    name: "faq",
    agents: {},
    flows: { DEFAULT: flow(async (turn) => turn.done({ message: `faq: ${turn.message}` })) },
  });
  await using team = await startTestEngine(
    combineServices({
      services: [faq, weather(agent.url)],
      router: keywordRouter({
        rules: [{ service: "weather", keywords: ["weather"] }],
        default: "faq",
      }),
    }),
  );
  const answers: string[] = [];

  for (const message of ["hello", "weather please", "Seoul", "thanks"]) {
    answers.push((await team.say(message)).done.message);
  }

  expect(answers).toEqual(["faq: hello", "Where?", "Sunny in Seoul.", "faq: thanks"]);
});

describe("an agent whose task asks, and that the person leaves", () => {
  /** Books on a yes that goes on with its task, and asks otherwise. */
  async function openBoth() {
    await using stack = new AsyncDisposableStack();
    const cancelled: string[] = [];
    const booked: string[] = [];
    const agent = stack.use(
      await startA2aAgent((call) => {
        call.cancelled.addEventListener("abort", () => void cancelled.push(call.taskId));
        if (call.isFollowUp && call.text === "yes") booked.push(call.taskId);
        if (call.isFollowUp) call.end("COMPLETED", "Booked.");
        else call.end("INPUT_REQUIRED", "Shall I book it?");
      }),
    );
    const faq = defineService({
      name: "faq",
      agents: {},
      flows: { DEFAULT: flow(async (turn) => turn.done({ message: `faq: ${turn.message}` })) },
    });
    const router = keywordRouter({
      rules: [{ service: "faq", keywords: ["faq"] }],
      default: "weather",
    });
    const both = combineServices({
      name: "both",
      services: [weather(agent.url), faq],
      router,
      asksToLeave: (message) => message === "faq",
    });
    const services = [both, weather(agent.url), faq];
    const team = stack.use(await startTestEngine(services));
    const us = stack.use(await joinTeam(team.url));
    const outbox = stack.use(new Outbox(us));
    const { logger, lease } = us;
    const delivery = new HookDelivery({ services, logger, lease: lease.signal });
    outbox.handle("hook", delivery.handler);
    outbox.start();
    const kept = stack.move();
    return { team, agent, cancelled, booked, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  test.each([
    ["within a combined service", "both", "both"],
    ["for a service of its own", "weather", "faq"],
  ])("is told so, %s: a yes afterwards is asked again", async (_how, service, other) => {
    await using place = await openBoth();
    const { team, agent, cancelled, booked } = place;

    await team.say("book it", { service });
    const left = await team.say("faq", { service: other });
    const again = await team.say("yes", { service });

    expect([left.done.message, again.done.message]).toEqual(["faq: faq", "Shall I book it?"]);
    expect(booked).toEqual([]);
    await eventually(() => expect(cancelled).toEqual([agent.calls[0]!.taskId]));
    expect((await team.say("yes", { service })).done.message).toBe("Booked.");
    expect(booked).toEqual([agent.calls[1]!.taskId]);
  });
});

test.each([{ streaming: false }, { messageOnly: true }, { streaming: false, messageOnly: true }])(
  "an agent with %j is answered by, too",
  async (options) => {
    await using agent = await startA2aAgent(
      (call) =>
        options.messageOnly ? call.reply("Sunny.") : (call.write("Sunny."), call.end("COMPLETED")),
      options,
    );
    await using team = await startTestEngine(weather(agent.url));

    expect((await team.say("How is it?")).done).toMatchObject({ message: "Sunny." });
  },
);

test.each([
  ["FAILED", "REMOTE_FAILED"],
  ["REJECTED", "REMOTE_REJECTED"],
  ["CANCELED", "REMOTE_CANCELLED"],
  ["AUTH_REQUIRED", "REMOTE_AUTH_REQUIRED"],
] as const)(
  "a task that ends in %s is an error DONE with %s, which says why",
  async (state, code) => {
    await using agent = await startA2aAgent((call) => call.end(state, "The station is closed."));
    await using team = await startTestEngine(weather(agent.url));

    const { done } = await team.say("How is it?");

    expect(done.error).toMatchObject({
      code,
      message: expect.stringContaining("The station is closed.") as string,
    });
  },
);

test(
  "what is no agent of A2A 1.x, or leads a token elsewhere, is refused without a call",
  FULL,
  async () => {
    await using old = await startA2aAgent(() => {}, { version: "0.3" });
    await using agent = await startA2aAgent(() => {});
    await using team = await startTestEngine([
      weather(old.url),
      remoteService("http://127.0.0.1:9", { name: "gone", protocol: "a2a" }),
      remoteService(agent.url.replace("127.0.0.1", "localhost"), {
        name: "elsewhere",
        protocol: "a2a",
        auth: "secret",
      }),
    ]);

    const codes = await Promise.all(
      ["weather", "gone", "elsewhere"].map(
        async (service) =>
          (await team.say("How is it?", { session: service, service })).done.error?.code,
      ),
    );

    expect(codes).toEqual(["REMOTE_UNSUPPORTED", "REMOTE_UNAVAILABLE", "REMOTE_UNTRUSTED"]);
    expect([old.calls, agent.calls]).toEqual([[], []]);
  },
);

/**
 * An agent that does not stream tells the task's id with its end: until then the task is found by
 * its message.
 */
const TELLING = [{ streaming: true }, { streaming: false }];

test.each(TELLING)("with %j a stop cancels the task there", async (options) => {
  const begun = Promise.withResolvers<A2aCall>();
  await using agent = await startA2aAgent(async (call) => {
    call.write("It is ");
    begun.resolve(call);
    await new Promise((resolve) =>
      call.cancelled.addEventListener("abort", resolve, { once: true }),
    );
    call.end("CANCELED");
  }, options);
  await using team = await startTestEngine(weather(agent.url));
  const { turnId } = await team.engine.accept({ session: "s1", message: "How is it?" });
  const call = await begun.promise;

  await team.engine.stopTurn(turnId);

  expect((await lastOf(team, turnId)).error?.code).toBe("TURN_STOPPED");
  await eventually(() => expect(call.cancelled.aborted).toBe(true));
});

test.each(TELLING)(
  "with %j a cut connection is taken up again: nothing is asked twice, and the text is whole",
  async (options) => {
    const gate = Promise.withResolvers<void>();
    await using agent = await startA2aAgent(async (call) => {
      call.write("It is ");
      await gate.promise;
      call.write("sunny.");
      call.end("COMPLETED");
    }, options);
    await using team = await startTestEngine(weather(agent.url));
    const { turnId } = await team.engine.accept({ session: "s1", message: "How is it?" });
    const reading = lastOf(team, turnId);
    await eventually(async () => expect((await typesOf(team, turnId)).length).toBeGreaterThan(0));
    await eventually(() => expect(agent.calls).toHaveLength(1));
    const asked = agent.headers.length;

    agent.cut();
    await eventually(() => expect(agent.headers.length).toBeGreaterThan(asked));
    gate.resolve();

    expect((await reading).message).toBe("It is sunny.");
    expect(agent.calls).toHaveLength(1);
  },
);

test.each(
  TELLING.flatMap((options) =>
    ["while the agent works", "after it has answered"].map((when) => [options, when] as const),
  ),
)(
  "with %j a turn whose process dies %s goes on elsewhere with the same call",
  async (options, when) => {
    const gate = Promise.withResolvers<void>();
    await using agent = await startA2aAgent(async (call) => {
      call.write("It is ");
      await gate.promise;
      call.write("sunny.");
      call.end("COMPLETED");
    }, options);
    await using first = await startTestEngine(weather(agent.url));
    const { turnId } = await first.engine.accept({ session: "s1", message: "How is it?" });
    await eventually(() => expect(agent.calls).toHaveLength(1));

    first.fence();
    if (when === "after it has answered") gate.resolve();
    await using second = await startTestEngine(weather(agent.url), { on: { url: first.url } });
    await second.engine.store.release(first.processId);
    await second.engine.pickUp();
    gate.resolve();

    expect((await lastOf(second, turnId)).message).toBe("It is sunny.");
    expect(agent.calls).toMatchObject([{ messageId: expect.stringContaining(turnId) as string }]);
  },
);

async function lastOf({ engine }: TestEngine, turnId: string) {
  for await (const { event } of engine.read(turnId)) if (event.type === "DONE") return event.data;
  throw new Error("there is no DONE");
}

async function typesOf({ database }: TestEngine, turnId: string): Promise<readonly string[]> {
  return (
    await database.query<{ type: string }>(
      { text: "select type from dure.turn_events where turn_id = $1 order by seq" },
      [turnId],
    )
  ).map(({ type }) => type);
}
