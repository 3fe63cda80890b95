import { setDefaultCACertificates, getCACertificates } from "node:tls";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DureClient } from "../../src/client/client.ts";
import { testDatabase, type TestDatabase } from "../../src/durable/test-database.ts";
import { raiseEscalations } from "../../src/escalations/inbox.ts";
import type { Scope } from "../../src/kernel/access.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import { offlineModel } from "../../src/models/offline.ts";
import { PostgresTokenStore } from "../../src/server/token-store.ts";
import { readTeam } from "../../src/team/config.ts";
import { defineTeam } from "../../src/team/define-team.ts";
import { readEnvironment } from "../../src/team/environment.ts";
import { startTeam } from "../../src/team/start.ts";
import { eventually } from "../until.ts";
import { PushService, type TestBrowser } from "./push-service.ts";

/** Who is told by the tenant, the scopes and the roles of the token of their browser. */
const stack = new AsyncDisposableStack();
const LONG = { patienceMs: 30_000, everyMs: 30 };
let service: PushService;
let database: TestDatabase;
let url: string;

const eden = offlineModel("eden", () => "다 했어요");

beforeAll(async () => {
  service = stack.use(await PushService.start());
  const trusted = getCACertificates();
  setDefaultCACertificates([...trusted, await readFile(service.certificate, "utf8")]);
  stack.defer(() => setDefaultCACertificates(trusted));
  database = stack.use(await testDatabase());
  const options = defineTeam({
    name: "alerts",
    locale: "ko",
    model: "offline:eden",
    offlineModels: [eden],
    agents: { eden: { displayName: "이든", leads: true } },
    rooms: { gather: { policy: "queue" } },
    notify: { after: "1s", pushTo: [service.host] },
  });
  const environment = readEnvironment({ DATABASE_URL: database.url, PORT: "0" });
  const running = await startTeam(await readTeam(options, import.meta.dirname), environment, {
    logger: silentLogger,
  });
  stack.defer(() => running.stop());
  url = running.url;
}, 120_000);
afterAll(() => stack.disposeAsync(), 60_000);

interface Visitor {
  readonly client: DureClient;
  readonly browser: TestBrowser;
}

async function visitor(
  name: string,
  given: { tenant?: string; scopes?: readonly Scope[]; roles?: readonly string[] } = {},
): Promise<Visitor> {
  const { scopes = ["rooms"], ...of } = given;
  const store = new PostgresTokenStore({ database: database.database });
  const { token } = await store.create({ name, scopes, ...of });
  const client = new DureClient({ baseUrl: url, token });
  const browser = service.browser(`${service.pushed.length}-${encodeURIComponent(token)}`);
  await client.notifications().subscribe(browser.subscription);
  return { client, browser };
}

async function settled(): Promise<void> {
  await eventually(async () => {
    const open = await database.database.query({
      text: `
        select topic
        from dure.outbox
        where state in ('pending', 'sending')
        union all
        select 'handling'
        from dure.handlings
        where state <> 'done'
        union all
        select 'escalation'
        from dure.escalations
        where status = 'open' and next_step_at is not null`,
    });
    expect(open).toEqual([]);
  }, LONG);
}

test("a person of another tenant with the same name is told nothing", async () => {
  const ours = await visitor("민준", { tenant: "acme" });
  const theirs = await visitor("민준", { tenant: "beta" });
  const other = await visitor("서연", { tenant: "acme" });

  await ours.client.rooms().post("web:general", { text: "다 됐어?" });
  await other.client.rooms().post("web:general", { text: "@민준 님도 봐 주세요" });
  await eventually(() => expect(ours.browser.read).toHaveLength(2), LONG);
  await settled();

  expect(theirs.browser.read).toEqual([]);
  expect(ours.browser.read.map(({ title }) => title).toSorted()).toEqual([
    "서연 님이 나를 불렀어요",
    "이든 님이 답했어요",
  ]);
});

test("a person is not told of another's direct room, though it names them", async () => {
  const one = await visitor("하준", { tenant: "acme" });
  const named = await visitor("지우", { tenant: "acme" });

  const room = await one.client.rooms().direct("eden");
  await one.client.rooms().post(room.id, { text: "@지우 이야기인데요" });
  await eventually(() => expect(one.browser.read).toHaveLength(1), LONG);
  await settled();

  expect(named.browser.read).toEqual([]);
});

test("an escalation is told to those who decide it: operators, and the role it asks for", async () => {
  const scopes = ["rooms", "chat"] as const;
  const admin = await visitor("운영", { scopes: ["admin"] });
  const ofTenant = await visitor("팀장", { tenant: "acme", scopes: ["admin"] });
  const treasury = await visitor("재무", { tenant: "acme", scopes, roles: ["treasury"] });
  const without = await visitor("손님", { tenant: "acme", scopes });
  const elsewhere = await visitor("이웃", { tenant: "beta", scopes: ["admin"] });
  const silent = await visitor("바쁨", { tenant: "acme", scopes: ["admin"] });
  await silent.client.notifications().choose("mentions-and-answers");

  await raiseEscalations(database.database, [
    {
      tenant: "acme",
      subject: "pay:1",
      type: "decision",
      severity: "high",
      source: {},
      title: "홍길동에게 50,000원을 보낼까요?",
      description: "",
      context: { needs: { role: "treasury" } },
      suggestedActions: [{ value: "approve", code: "approve", label: "Approve" }],
    },
  ]);
  const told = [admin, ofTenant, treasury];
  await eventually(() => {
    for (const { browser } of told) expect(browser.read).toHaveLength(1);
  }, LONG);
  await settled();

  expect(admin.browser.read[0]).toMatchObject({
    title: "결정을 기다리는 확인 요청이 있어요",
    body: "홍길동에게 50,000원을 보낼까요?",
    path: "/escalations",
  });
  for (const { browser } of [without, elsewhere, silent]) expect(browser.read).toEqual([]);
});

test("a browser whose token is revoked is told no more", async () => {
  const { client, browser } = await visitor("떠남", { tenant: "acme" });
  const other = await visitor("남음", { tenant: "acme" });
  await client.rooms().post("web:general", { text: "안녕" });
  await eventually(() => expect(browser.read).toHaveLength(1), LONG);

  await database.database.query({
    text: "update dure.tokens set revoked_at = clock_timestamp() where name = '떠남'",
  });
  await other.client.rooms().post("web:general", { text: "@떠남 잘 가요" });
  await settled();

  expect(browser.read).toHaveLength(1);
});
