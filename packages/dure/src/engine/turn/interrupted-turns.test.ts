// @module-tag slow
import { expect, test } from "vitest";
import { z } from "zod";
import { DureError } from "../../kernel/errors.ts";
import { offlineModel, type OfflineModel } from "../../models/offline.ts";
import type { Database } from "../../durable/database.ts";
import { chatAgent } from "../agent/agent.ts";
import { tool, type AnyTool } from "../agent/tool.ts";
import { defineService, flow, type Service } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";

/** Calls `work` once, then says what it gave. */
function callingModel(): { model: OfflineModel; results: string[] } {
  const results: string[] = [];
  const model = offlineModel("caller", (request) => {
    const last = request.messages.at(-1);
    if (last?.role !== "tool") return { toolCalls: [{ name: "work", args: {} }] };
    results.push(JSON.stringify(last.result));
    return "told";
  });
  return { model, results };
}

function serviceWith(work: AnyTool, handler?: Service["flows"][string]): Service {
  const agent = chatAgent({ name: "worker", prompt: "Work.", tools: { work } });
  return defineService({
    name: "working",
    agents: { worker: agent },
    flows: {
      DEFAULT:
        handler ??
        flow(async (turn) => turn.done({ message: (await turn.agent("worker", "…")).text })),
    },
  });
}

/** Of dure's own database: a session that is cut, and one that may not write. */
const TROUBLES = {
  cut: (database: Database) =>
    database.query({ text: "select pg_terminate_backend(pg_backend_pid())" }),
  "read-only": (database: Database) =>
    database.transaction(async (tx) => {
      await tx.query({ text: "set transaction read only" });
      await tx.query({ text: "delete from dure.outbox" });
    }),
  "wrapped and cut": async (database: Database) => {
    try {
      await database.query({ text: "select pg_terminate_backend(pg_backend_pid())" });
    } catch (cause) {
      throw new DureError("COLLABORATE_FAILED", "It was not handed over.", { cause });
    }
  },
} as const;

for (const [trouble, meet] of Object.entries(TROUBLES)) {
  for (const effect of ["none", "idempotent"] as const) {
    test(`an ${effect} tool that meets a database that is ${trouble} is called again, and no model reads of it`, async () => {
      const { model, results } = callingModel();
      const keys: string[] = [];
      const work = tool({
        description: "Works.",
        inputSchema: z.object({}),
        effect,
        execute: async (_input, { key }) => {
          keys.push(key);
          if (keys.length === 1) await meet(t.database);
          return "done";
        },
      });
      await using t = await startTestEngine(serviceWith(work), { offline: [model] });

      const { done } = await t.say("go");

      expect(done).toMatchObject({ message: "told" });
      expect(done.error).toBeUndefined();
      expect(results).toEqual(['"done"']);
      expect(keys).toEqual([keys[0], keys[0]]);
    });
  }
}

test("a once tool that meets dure's own database away is settled by its rule, not told as failed", async () => {
  const { model, results } = callingModel();
  let calls = 0;
  const work = tool({
    description: "Pays.",
    inputSchema: z.object({}),
    effect: "once",
    recover: "probe",
    settle: "0s",
    timeout: "1s",
    probe: async () => "not_happened",
    execute: async () => {
      calls += 1;
      if (calls === 1) await TROUBLES.cut(t.database);
      return "paid";
    },
  });
  await using t = await startTestEngine(serviceWith(work), { offline: [model] });

  const { done } = await t.say("go");

  expect(done.error).toBeUndefined();
  expect(results).toEqual(['"paid"']);
  expect(calls).toBe(2);
});

test("a handler that catches the error of an interrupted agent does not end the turn with its excuse", async () => {
  const { model } = callingModel();
  let calls = 0;
  const work = tool({
    description: "Works.",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: async () => {
      calls += 1;
      if (calls === 1) await TROUBLES.cut(t.database);
      return "done";
    },
  });
  const excusing = flow(async (turn) => {
    const said = await turn.agent("worker", "…").catch(() => ({ text: "It did not work." }));
    return turn.done({ message: said.text });
  });
  await using t = await startTestEngine(serviceWith(work, excusing), { offline: [model] });

  expect((await t.say("go")).done).toMatchObject({ message: "told" });
});

test("a tool that cannot reach a system of its own tells its model so", async () => {
  const { model, results } = callingModel();
  const work = tool({
    description: "Works.",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: () => {
      throw Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" });
    },
  });
  await using t = await startTestEngine(serviceWith(work), { offline: [model] });

  const { done } = await t.say("go");

  expect(done.error).toBeUndefined();
  expect(results).toEqual(['"ECONNREFUSED: connect ECONNREFUSED 127.0.0.1:1"']);
});
