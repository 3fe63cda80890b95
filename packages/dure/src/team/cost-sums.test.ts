import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { testDatabase } from "../durable/test-database.ts";
import { chatAgent } from "../engine/agent/agent.ts";
import { defineService, flow } from "../engine/service/service.ts";
import { silentLogger } from "../kernel/logger.ts";
import { FULL } from "../kernel/test-tiers.ts";
import { readTeam } from "./config.ts";
import { teamCosts } from "./costs.ts";
import { readEnvironment } from "./environment.ts";
import { startTeam } from "./start.ts";

const SAID = "The desk is open from nine to five on weekdays.";

/**
 * A provider that keeps a bill: each answer with the usage that it reports, each that is cut with
 * what it has read and said until then. Every fifth call fails without a bill, every seventh is
 * cut.
 */
async function billingProvider() {
  const bill = { tokensIn: 0, tokensOut: 0, answered: 0, failed: 0, cut: 0 };
  let calls = 0;
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const nth = ++calls;
    if (nth % 5 === 0) {
      bill.failed++;
      response.writeHead(503, { "content-type": "application/json" });
      response.end('{"error":{"message":"busy"}}');
      return;
    }

    const frame = (members: object): string =>
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...members })}\n\n`;
    const says = (content: string): string =>
      frame({
        choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }],
      });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(says(SAID));

    if (nth % 7 === 0) {
      bill.cut++;
      bill.tokensIn += Math.round(body.length / 5);
      bill.tokensOut += Math.round(SAID.length / 4);
      setImmediate(() => response.destroy());
      return;
    }

    bill.answered++;
    const usage = { prompt_tokens: 300 + nth, completion_tokens: 40 + nth };
    bill.tokensIn += usage.prompt_tokens;
    bill.tokensOut += usage.completion_tokens;
    response.write(frame({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
    const total_tokens = usage.prompt_tokens + usage.completion_tokens;
    response.end(`${frame({ choices: [], usage: { ...usage, total_tokens } })}data: [DONE]\n\n`);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    bill,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

test(
  "the sums of costs are what the provider billed, with retries, folds and cut calls, within 1 %",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using provider = await billingProvider();
    await using stored = await testDatabase();
    const helper = chatAgent({
      name: "helper",
      prompt: "Answer briefly.",
      card: { policy: { maxAttempts: 5, backoffSec: 0.01 } },
    });
    const desk = defineService({
      name: "desk",
      agents: { helper },
      memory: { summarizeThreshold: 3, keepRecentTurns: 1 },
      flows: {
        DEFAULT: flow(async (turn) =>
          turn.done({ message: (await turn.agent("helper", "…")).text }),
        ),
      },
    });
    const team = await startTeam(
      await readTeam({
        services: { desk },
        model: "openai-compatible:m",
        prices: { "openai-compatible:m": { in: 3, out: 15 } },
      }),
      readEnvironment({
        ...{ DATABASE_URL: stored.url, PORT: "0" },
        ...{ OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: provider.url },
      }),
      { logger: silentLogger },
    );
    try {
      for (let turn = 1; turn <= 24; turn++) {
        await fetch(`${team.url}/v1/agent/chat`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ session_id: "mina", message: `question ${turn}` }),
        });
      }
    } finally {
      await team.stop(); // a fold may still run
    }

    const itself = (id: string): string => id;
    const { total, byAgent, byModel, overTime } = await teamCosts({
      database: stored.database,
      budgets: undefined,
      timeZone: "UTC",
      agentName: itself,
      serviceName: itself,
    }).read(2);
    const { bill } = provider;
    const near = (counted: number, billed: number): number => Math.abs(counted - billed) / billed;

    const money = (some: readonly { readonly microUsd: number }[]): number =>
      some.reduce((sum, { microUsd }) => sum + microUsd, 0);

    const folds = byAgent.find(({ id }) => id === "memory")?.calls ?? 0;
    expect([bill.failed, bill.cut, folds].every((count) => count > 0)).toBe(true);
    expect(near(total.tokensIn, bill.tokensIn)).toBeLessThan(0.01);
    expect(near(total.tokensOut, bill.tokensOut)).toBeLessThan(0.01);
    expect(near(total.microUsd, bill.tokensIn * 3 + bill.tokensOut * 15)).toBeLessThan(0.01);
    const sums = [byAgent, byModel, overTime.agent, overTime.service, overTime.model].map(money);
    expect(sums).toEqual(sums.map(() => total.microUsd));
  },
);
