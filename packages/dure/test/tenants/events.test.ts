import { afterAll, beforeAll, expect, test } from "vitest";
import { SseReader } from "../../src/server/test-server.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { startContractTeam, type ContractTeam } from "../contract/contract-team.ts";
import type { Scope } from "../../src/kernel/access.ts";

let team: ContractTeam;

beforeAll(async () => {
  team = await startContractTeam();
}, 120_000);

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

interface Reader {
  readonly tenant: string;
  readonly sse: SseReader;
}

const sessionOf = (data: unknown): string => (data as { session?: string }).session ?? "";
const textOf = ({ sse }: Reader): string => JSON.stringify(sse.frames);

async function tokenOf(
  tenant: string,
  scopes: Scope[] = ["chat", "jobs", "rooms"],
): Promise<Record<string, string>> {
  const { token } = await new PostgresTokenStore({ database: team.database }).create({
    name: tenant || "none",
    scopes,
    tenant,
  });
  return { authorization: `Bearer ${token}` };
}

async function say(tenant: string, session: string): Promise<void> {
  const headers = { ...(await tokenOf(tenant)), "content-type": "application/json" };
  const answer = await fetch(`${team.url}/v1/agent/chat`, {
    method: "POST",
    headers,
    body: JSON.stringify({ session_id: session, message: "안녕하세요", service: "desk" }),
  });
  expect(answer.status).toBe(200);
}

test("a reader of the log gets what is stored of its tenant and what happens then, and nothing of others", async () => {
  const tenants = ["", "acme", "beta"];
  for (const tenant of tenants) await say(tenant, `before-${tenant}`);
  const readers: Reader[] = [];
  for (const tenant of tenants) {
    readers.push({
      tenant,
      sse: new SseReader(
        await fetch(`${team.url}/v1/events?last=1000`, { headers: await tokenOf(tenant) }),
      ),
    });
  }
  const everything = new SseReader(
    await fetch(`${team.url}/v1/events?last=1000`, { headers: await tokenOf("", ["admin"]) }),
  );

  for (const tenant of [...tenants, ...tenants]) await say(tenant, `live-${tenant}`);
  for (const tenant of tenants) await say(tenant, "the-end");
  const isEnd = (name: string) => (reader: SseReader) =>
    reader.frames.filter(({ event, data }) => event === "turn.done" && sessionOf(data) === name)
      .length > 0;
  for (const { sse } of readers) await sse.until(isEnd("the-end"));
  await everything.until(isEnd("beta/the-end"));

  for (const reader of readers) {
    const sessions = reader.sse.frames
      .map(({ data }) => sessionOf(data))
      .filter((session) => session !== "");
    expect(new Set(sessions), reader.tenant).toEqual(
      new Set([`before-${reader.tenant}`, `live-${reader.tenant}`, "the-end"]),
    );
    expect(textOf(reader)).not.toContain('"tenant"');
  }
  expect(
    new Set(
      everything.frames.map(({ data }) => sessionOf(data)).filter((session) => session !== ""),
    ),
  ).toEqual(
    new Set(
      tenants.flatMap((tenant) =>
        ["before-", "live-"]
          .map((when) => `${tenant && `${tenant}/`}${when}${tenant}`)
          .concat(`${tenant && `${tenant}/`}the-end`),
      ),
    ),
  );
  for (const sse of [...readers.map((reader) => reader.sse), everything]) {
    await sse[Symbol.asyncDispose]();
  }
}, 60_000);

test("a session's events are read by its id, and another tenant's key gives none", async () => {
  for (const tenant of ["acme", "beta"]) await say(tenant, "ceo");
  const read = async (session: string): Promise<readonly unknown[]> => {
    const ends = new SseReader(
      await fetch(
        `${team.url}/v1/events?${new URLSearchParams({ session, last: "1000" }).toString()}`,
        { headers: await tokenOf("acme") },
      ),
    );
    await using marked = new SseReader(
      await fetch(`${team.url}/v1/events?last=1000&types=turn.*`, {
        headers: await tokenOf("acme"),
      }),
    );
    await marked.until(({ frames }) =>
      frames.some(({ event, data }) => event === "turn.done" && sessionOf(data) === "ceo"),
    );
    await say("acme", "ceo"); // behind everything that the first reader could have been told
    await marked.until(
      ({ frames }) =>
        frames.filter(({ event, data }) => event === "turn.done" && sessionOf(data) === "ceo")
          .length > 1,
    );
    await ends[Symbol.asyncDispose]();
    return [...new Set(ends.frames.map(({ data }) => sessionOf(data)))];
  };

  expect(await read("ceo")).toEqual(["ceo"]);
  expect(await read("beta/ceo")).toEqual([]);
}, 60_000);
