import { once } from "node:events";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type AgentCard, verifyAgentCardSignature } from "@a2a-js/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startBank, type Bank } from "../../../../examples/transfer/bank/bank.ts";
import { Database } from "../../src/durable/database.ts";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { macOf } from "../../src/escalations/sign-webhook.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { until } from "../until.ts";

/** Push notifications of a real team of two processes, to a receiver that is told. */
const TEAM = fileURLToPath(new URL("doing-team", import.meta.url));
const SECRET = "a-secret-of-the-webhooks";

interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });

const stack = new AsyncDisposableStack();
const received: Received[] = [];
/** Answers before all others, by path. */
const refusals = new Map<string, number>();
let port: number;
let bank: Bank;
let database: Database;
let servers: ServerProcess[];

beforeAll(async () => {
  bank = await startBank();
  stack.defer(() => bank.stop());
  port = await startReceiver();
  const databaseUrl = stack.use(await testDatabaseUrl()).url;
  const logger = silentLogger;
  database = await Database.open({ url: databaseUrl, applicationName: "pushes", logger, max: 2 });
  stack.defer(() => database.close());
  const environment = {
    DATABASE_URL: databaseUrl,
    A2A_BANK_URL: bank.url,
    A2A_PUSH_TO: `127.0.0.1:${port}`,
    DURE_WEBHOOK_SECRET: SECRET,
    DURE_A2A_KEY_FILE: await keyFile(),
  };
  servers = await Promise.all([serve(environment), serve(environment)]);
}, 120_000);

afterAll(async () => stack.disposeAsync(), 60_000);

async function keyFile(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-key-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, "key.pem");
  await writeFile(file, keys.privateKey.export({ type: "pkcs8", format: "pem" }));
  return file;
}

async function serve(environment: Readonly<Record<string, string>>): Promise<ServerProcess> {
  const home = await mkdtemp(path.join(tmpdir(), "dure-push-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const server = ServerProcess.spawn({ ...environment, DURE_HOME: home }, TEAM);
  stack.use(server);
  await server.url;
  return server;
}

async function startReceiver(): Promise<number> {
  const receiver = createServer((request, response) => {
    void text(request).then((body) => {
      const at = request.url!;
      received.push({ path: at, headers: request.headers, body });
      response.statusCode = refusals.get(at) ?? 204;
      refusals.delete(at);
      response.end();
    });
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  stack.defer(() => void receiver.close());
  return (receiver.address() as AddressInfo).port;
}

async function begin(said: string, url: string): Promise<string> {
  const answer = await fetch(`${await servers[0]!.url}/a2a/v1/payments/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({
      message: { messageId: said, role: "ROLE_USER", parts: [{ text: said }] },
      configuration: {
        returnImmediately: true,
        taskPushNotificationConfig: {
          url,
          token: "of-the-receiver",
          authentication: { scheme: "Bearer", credentials: "let-me-in" },
        },
      },
    }),
  });
  const { task } = (await answer.json()) as { task: { id: string } };
  return task.id;
}

function toldAt(at: string): readonly Received[] {
  return received.filter((one) => one.path === at);
}

function told(at: string, times = 1): Promise<true> {
  return until(
    () => toldAt(at).length >= times && (true as const),
    () => `${at} was not told: ${servers.flatMap(({ log }) => log.slice(-10)).join("\n")}`,
    { patienceMs: 60_000 },
  );
}

test("the cards are signed with the key of the team", FULL, async () => {
  const url = `${await servers[1]!.url}/.well-known/agent-card.json`;
  const card = (await (await fetch(url)).json()) as AgentCard;

  const verify = verifyAgentCardSignature(() => Promise.resolve(keys.publicKey));
  await expect(verify(card)).resolves.toBeUndefined();
});

describe("push notifications", { ...FULL, timeout: 120_000 }, () => {
  test("a receiver that is away is told again, under the same id", async () => {
    refusals.set("/away", 503);

    await begin("kim 3000", `http://127.0.0.1:${port}/away`);
    await told("/away", 2);

    const ids = toldAt("/away").map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(1);
  });

  test("a name that leads inside is not told, and tried no more", async () => {
    const task = await begin("park 2000", `http://localhost:${port}/inside`);
    await until(
      async () => {
        const [entry] = await database.query<{ state: string }>(
          { text: "select state from dure.outbox where key like $1" },
          [`${task}/%`],
        );
        return entry?.state === "failed";
      },
      () => "it was not given up",
      { patienceMs: 60_000 },
    );

    expect(toldAt("/inside")).toEqual([]);
  });

  test("the end of a task is told once, signed, though the process that began it is killed", async () => {
    bank.addFaults({ kind: "delay", when: "after", ms: 4_000 });
    const task = await begin("hong 5000", `http://127.0.0.1:${port}/told`);
    await until(
      () => bank.bookings().some(({ to }) => to === "hong"),
      () => "nothing was booked",
    );
    await servers[0]!.kill();
    await told("/told");

    const [{ headers, body }] = toldAt("/told") as [Received];
    const timestamp = String(headers["webhook-timestamp"]);
    const mac = macOf({ id: String(headers["webhook-id"]), timestamp, body }, SECRET);
    expect(JSON.parse(body)).toMatchObject({
      task: { id: task, status: { state: "TASK_STATE_COMPLETED" } },
    });
    expect(headers).toMatchObject({
      "webhook-signature": `v1,${mac.toString("base64")}`,
      "x-a2a-notification-token": "of-the-receiver",
      authorization: "Bearer let-me-in",
    });
    expect(bank.bookings().filter(({ to }) => to === "hong")).toHaveLength(1);
    const rows = await database.query({ text: "select 1 from dure.outbox where key like $1" }, [
      `${task}/%`,
    ]);
    expect(rows).toHaveLength(1);
  });
});
