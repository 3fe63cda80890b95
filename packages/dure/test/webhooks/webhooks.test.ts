import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { web } from "../../src/channels/index.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { readTeam } from "../../src/team/config.ts";
import { defineTeam } from "../../src/team/define-team.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam, type RunningTeam } from "../../src/team/start.ts";

/** Signed deliveries at two servers of one team. */
const SECRET = "a-plain-secret-0123456789";
const ADMIN = "webhooks-admin-token-0123456789";

const stack = new AsyncDisposableStack();
let servers: readonly RunningTeam[] = [];

beforeAll(async () => {
  const { url } = stack.use(await testDatabase());
  const hook = { secret: SECRET };
  const options = defineTeam({
    name: "hooked",
    locale: "en",
    model: "offline:echo",
    agents: { ruda: { displayName: "Ruda" }, eden: { displayName: "Eden" } },
    rooms: { adapters: [web()], channels: { general: { defaultAgent: "ruda" } } },
    hooks: {
      deploys: { ...hook, room: "general", text: "Deployed {{ref}} by {{by.name}}." },
      look: { ...hook, agent: "ruda", target: "eden", text: "Look at {{ref}}." },
      acme: { ...hook, tenant: "acme", agent: "ruda", target: "eden" },
      nothing: { secret: "${DURE_TEST_NO_SUCH_SECRET}", room: "general" },
    },
  });
  const start = async (): Promise<RunningTeam> => {
    const environment = readEnvironment({ DATABASE_URL: url, PORT: "0", DURE_TOKEN: ADMIN });
    const team = await startTeam(await readTeam(options), environment, { logger: silentLogger });
    stack.defer(() => team.stop());
    return team;
  };
  servers = [await start(), await start()];
}, 120_000);

afterAll(() => stack.disposeAsync(), 60_000);

interface Sending {
  readonly id: string;
  readonly body?: string;
  readonly secret?: string;
  /** Seconds that it is old. */
  readonly age?: number;
  readonly server?: number;
}

const BODY = JSON.stringify({ ref: "v1.2", by: { name: "kim" } });

function deliver(name: string, sending: Sending): Promise<Response> {
  const { id, body = BODY, secret = SECRET, age = 0, server = 0 } = sending;
  const at = String(Math.floor(Date.now() / 1_000) - age);
  const mac = createHmac("sha256", secret).update(`${id}.${at}.${body}`).digest("base64");
  const headers = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": at,
    "webhook-signature": `v1,${mac}`,
  };
  return fetch(`${servers[server]!.url}/v1/hooks/${name}`, { method: "POST", headers, body });
}

async function get<Answer>(path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${ADMIN}` };
  return (await (await fetch(servers[0]!.url + path, { headers })).json()) as Answer;
}

interface Said {
  readonly author_kind: string;
  readonly author_name: string;
  readonly text: string;
}

/** What was said in the room by no agent, and by whom. */
async function saidByHooks(): Promise<readonly unknown[]> {
  const { items } = await get<{ items: readonly Said[] }>("/v1/rooms/web:general/messages");
  return items
    .filter(({ author_kind: kind }) => kind !== "agent")
    .map(({ author_name: name, text }) => [name, text]);
}

async function jobs(): Promise<readonly object[]> {
  return (await get<{ items: readonly object[] }>("/v1/jobs")).items;
}

describe("a signed delivery", FULL, () => {
  test("is one message, however often and wherever it comes", async () => {
    const answers = await Promise.all([
      deliver("deploys", { id: "msg_1" }),
      deliver("deploys", { id: "msg_1", server: 1 }),
    ]);
    const again = await deliver("deploys", { id: "msg_1", age: 10 });
    const ids = (await Promise.all([...answers, again].map((answer) => answer.json()))) as {
      message_id: string;
    }[];

    expect([...answers, again].map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(ids.map(({ message_id: id }) => id)).size).toBe(1);
    expect(await saidByHooks()).toEqual([["hook deploys", "Deployed v1.2 by kim."]]);
  });

  test("is one job, in the audit log under the hook's name", async () => {
    const answers = await Promise.all([
      deliver("look", { id: "msg_2" }),
      deliver("look", { id: "msg_2", server: 1 }),
    ]);
    const [first, second] = (await Promise.all(answers.map((answer) => answer.json()))) as {
      job_id: string;
    }[];

    expect(second).toEqual(first);
    expect(await get(`/v1/jobs/${first!.job_id}`)).toMatchObject({ target: "eden" });
    expect(await get("/v1/audit")).toMatchObject({
      items: expect.arrayContaining([
        expect.objectContaining({ name: "hook:look", subject: first!.job_id }),
      ]) as unknown,
    });
  });

  test("does what it does for the tenant of its hook", async () => {
    const { job_id: job } = (await (await deliver("acme", { id: "msg_3" })).json()) as {
      job_id: string;
    };

    expect(await get(`/v1/jobs/${job}`)).toMatchObject({ tenant: "acme" });
  });
});

describe("refused, and nothing is done", FULL, () => {
  test.each([
    ["another secret", "look", { secret: "another-secret-0123" }, 401, "HOOK_REFUSED"],
    ["an old one", "look", { age: 400 }, 401, "HOOK_REFUSED"],
    ["one of the future", "look", { age: -400 }, 401, "HOOK_REFUSED"],
    ["an unknown hook", "none", {}, 401, "HOOK_REFUSED"],
    ["a hook without a secret", "nothing", {}, 503, "HOOK_UNAVAILABLE"],
    ["a body that is no JSON", "look", { body: "{" }, 400, "BODY_INVALID"],
    ["a body without fields", "deploys", { body: "[1,2]" }, 400, "HOOK_BODY_INVALID"],
  ])("%s", async (what, name, change, status, code) => {
    const before = await jobs();

    const answer = await deliver(name, { id: `msg_${what.replaceAll(" ", "_")}`, ...change });

    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ code });
    expect(await jobs()).toHaveLength(before.length);
  });

  test("no headers, and a token in their place", async () => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${ADMIN}` };
    const url = `${servers[0]!.url}/v1/hooks/look`;

    const answer = await fetch(url, { method: "POST", headers, body: BODY });

    expect(answer.status).toBe(401);
    expect(await answer.json()).toMatchObject({ title: "The delivery is refused" });
  });
});
