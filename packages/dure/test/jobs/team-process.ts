/**
 * One process of a team for tests that kill it: `node team-process.ts '<settings as JSON>'`. Says
 * what happens as JSON lines; hears `ask <JSON>`, `cancel <job>`, `retry <job>`, `stop`. Its agents note every
 * call in the table test_calls, past the proxy, so that the count outlives the process.
 */
import { createInterface } from "node:readline";
import { z } from "zod";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { Database } from "../../src/durable/database.ts";
import { ANNOUNCE_TOPIC } from "../../src/jobs/announcement.ts";
import type { AskRequest } from "../../src/jobs/ask.ts";
import { tool } from "../../src/engine/agent/tool.ts";
import { startTestTeam, talkative, type TestAgent } from "../../src/jobs/test-jobs.ts";
import type { TeamSettings } from "./team.ts";

const settings = JSON.parse(process.argv[2]!) as TeamSettings;
const direct = await Database.open({
  url: settings.directUrl,
  applicationName: "test-agents",
  logger: silentLogger,
  max: 2,
});

function say(what: string, facts: object = {}): void {
  process.stdout.write(`${JSON.stringify({ say: what, at: systemClock.now(), ...facts })}\n`);
}

/** Notes each payment past the proxy. */
const pay = tool({
  description: "Pays.",
  inputSchema: z.object({}),
  effect: "once",
  execute: async () => {
    await direct.query({ text: "insert into test_calls (agent) values ('bank')" });
    return "paid";
  },
});
const payer: TestAgent = (request) => {
  if (request.messages.at(-1)?.role !== "tool") return { toolCalls: [{ name: "pay", args: {} }] };
  if (settings.pays === "answers") return "Mina has got the payment.";
  if (settings.pays === "away") return { error: { status: 503 } };
  say("hangs");
  return new Promise(() => {});
};

function agentOf(name: string): TestAgent {
  if (settings.pays !== undefined && name === "eden") return payer;
  return async (request, context) => {
    const text = (await talkative(request, context)) as string;
    const turn = Number(/\((\d+|\?), \d+\)$/.exec(text)?.[1]);
    const asked = JSON.stringify(request.messages.at(-1));
    await direct.query(
      { text: "insert into test_calls (agent, turn, asked) values ($1, $2, $3)" },
      [name, turn, asked],
    );
    say("asked", { agent: name, turn });
    if (settings.poison !== undefined && asked.includes(settings.poison)) {
      process.kill(process.pid, "SIGKILL");
    }
    if (settings.hold && settings.hold.turn === turn && (settings.hold.agent ?? name) === name) {
      await new Promise((_, reject) =>
        context.signal.addEventListener(
          "abort",
          () => (say("cut", { agent: name, turn }), reject(context.signal.reason as Error)),
          { once: true },
        ),
      );
    }
    if (settings.delayMs) await systemClock.sleep(settings.delayMs, { signal: context.signal });
    return text;
  };
}

const toStderr = (_fields: object, message: string): void =>
  void process.stderr.write(`${message}\n`);
const team = await startTestTeam({
  url: settings.url,
  agents: Object.fromEntries(settings.agents.map((name) => [name, agentOf(name)])),
  logger: { debug() {}, info: toStderr, warn: toStderr, error: toStderr },
  ...(settings.version !== undefined && { version: settings.version }),
  ...(settings.pays !== undefined && {
    tools: () => ({ pay }),
    engine: {
      patienceMs: () => (settings.pays === "away" ? 150 : 60_000),
      outageRetry: { firstMs: 10, maxMs: 20 },
      attemptRules: () => undefined,
    },
  }),
  onFenced: () => {
    say("fenced");
    process.exit(75);
  },
});
team.outbox.handle(ANNOUNCE_TOPIC, {
  transactional: true,
  run: async (payload, { tx, key }) =>
    void (await tx.query(
      { name: "test.told", text: "insert into test_told (key, payload) values ($1, $2)" },
      [key, JSON.stringify(payload)],
    )),
});
void team.jobs.recovered.then((report) => say("recovered", report));

createInterface({ input: process.stdin }).on("line", (line) => {
  const word = line.split(" ", 1)[0];
  const rest = line.slice(line.indexOf(" ") + 1);
  if (word === "ask") {
    void team.jobs.ask(JSON.parse(rest) as AskRequest).then((result) => say("answer", result));
  }
  if (word === "cancel") {
    void team.jobs.cancel(rest).then(({ status }) => say("cancelled", { status }));
  }
  if (word === "retry") void team.jobs.retry(rest).then(() => say("retried"));
  if (word === "stop") void team[Symbol.asyncDispose]().then(() => process.exit(0));
});
say("ready", { process: team.processId });
