// @module-tag slow
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  defineTeam,
  readEnvironment,
  readTeam,
  startTeam,
  type Logger,
  type RunningTeam,
} from "dure/team";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { minimalModel } from "../../../examples/minimal/offline.ts";
import minimal from "../../../examples/minimal/service.ts";
import { Database } from "../../dure/src/durable/database.ts";
import { testDatabaseUrl } from "../../dure/src/durable/test-database.ts";
import { silentLogger } from "../../dure/src/kernel/logger.ts";
import { launchBrowser, openPage, siteInPackage, SLOW_HOOK_MS } from "./browser.ts";
import { FULL, sampled } from "../../dure/src/kernel/test-tiers.ts";

/** Who comes in with a browser: the real server, a real Chromium, and pages of other origins. */

let browser: Browser;

beforeAll(async () => {
  [browser] = await Promise.all([launchBrowser(), siteInPackage()]);
}, SLOW_HOOK_MS);

afterAll(() => browser?.close());

const TOKEN = "a-token-from-the-environment";

interface Stage extends AsyncDisposable {
  readonly team: RunningTeam;
  readonly database: Database;
  /** `<status> <method> <path>` of what the server has answered. */
  readonly answered: readonly string[];
}

async function openStage(environment: Record<string, string> = {}): Promise<Stage> {
  await using starting = new AsyncDisposableStack();
  const owned = starting.use(await testDatabaseUrl());
  const answered: string[] = [];
  const info: Logger["info"] = (fields) => {
    const { status, method, path } = fields as { status?: number; method?: string; path?: string };
    if (status !== undefined) answered.push(`${status} ${method!} ${path!}`);
  };
  const options = defineTeam({
    name: "두레",
    locale: "ko",
    model: "offline:minimal",
    offlineModels: [minimalModel],
    services: { minimal },
  });
  const team = await startTeam(
    await readTeam(options, import.meta.dirname),
    readEnvironment({ DATABASE_URL: owned.url, PORT: "0", ...environment }),
    { logger: { ...silentLogger, info, debug: info } },
  );
  starting.defer(() => team.stop());
  const database = await Database.open({
    url: owned.url,
    applicationName: "access-page",
    logger: silentLogger,
    max: 2,
  });
  starting.defer(() => database.close());
  const kept = starting.move();
  return { team, database, answered, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const COUNTED = [
  "turns",
  "sessions",
  "escalations",
  "login_sessions",
  "login_links",
  "audit",
  "tokens",
];

async function rowsOf({ database }: Stage): Promise<unknown> {
  const [row] = await database.query({
    text: `select ${COUNTED.map((table) => `(select count(*) from dure.${table}) as ${table}`).join(", ")}`,
  });
  return row;
}

/**
 * All ways in which a page makes a browser ask another server, without its consent. Each ends
 * before the next begins.
 */
const ATTACK = `
  const server = new URLSearchParams(location.search).get("server");
  const chat = server + "/v1/agent/chat/stream?session_id=forged&message=hi";
  const text = JSON.stringify({ session_id: "forged", message: "hi" });
  const frame = document.body.appendChild(Object.assign(document.createElement("iframe"), { name: "frame" }));
  const loaded = (element) => new Promise((done) => { element.onload = element.onerror = done; });
  const within = (work) => Promise.race([work, new Promise((done) => setTimeout(done, 2000))]);
  const element = (tag, attributes) => { const made = Object.assign(document.createElement(tag), attributes); const done = loaded(made); document.body.append(made); return done; };
  const form = (action, enctype, fields) => {
    const made = Object.assign(document.createElement("form"), { method: "POST", action, enctype, target: "frame" });
    for (const [name, value] of Object.entries(fields)) made.append(Object.assign(document.createElement("input"), { name, value }));
    document.body.append(made);
    const done = loaded(frame);
    made.submit();
    return done;
  };
  const ways = {
    image: () => element("img", { src: chat }),
    script: () => element("script", { src: chat }),
    style: () => element("link", { rel: "stylesheet", href: chat }),
    frame: () => element("iframe", { src: chat }),
    source: () => new Promise((done) => { const source = new EventSource(chat, { withCredentials: true }); source.onerror = source.onopen = () => { source.close(); done(); }; }),
    get: () => fetch(chat, { mode: "no-cors", credentials: "include" }),
    text: () => fetch(server + "/v1/agent/chat", { method: "POST", mode: "no-cors", credentials: "include", headers: { "content-type": "text/plain" }, body: text }),
    cors: () => fetch(server + "/v1/agent/chat", { method: "POST", credentials: "include", headers: { "content-type": "application/json" }, body: text }),
    empty: () => fetch(server + "/v1/login/links", { method: "POST", mode: "no-cors", credentials: "include" }),
    forget: () => fetch(server + "/v1/agent/sessions/mine", { method: "DELETE", credentials: "include" }),
    beacon: async () => void navigator.sendBeacon(server + "/v1/agent/chat", text),
    plainForm: () => form(server + "/v1/agent/chat", "text/plain", { '{"session_id":"forged","message":"hi","x":"': '"}' }),
    urlForm: () => form(server + "/v1/agent/chat", "application/x-www-form-urlencoded", { session_id: "forged", message: "hi" }),
    emptyForm: () => form(server + "/v1/login/links", "application/x-www-form-urlencoded", {}),
    logout: () => form(server + "/v1/logout", "application/x-www-form-urlencoded", {}),
  };
  window.attack = async () => {
    for (const way of Object.values(ways)) await within(Promise.resolve().then(way).catch(() => {}));
    return Object.keys(ways).length;
  };
`;

async function attacker(): Promise<{ port: number } & AsyncDisposable> {
  const server = createServer((request, response) => {
    const isScript = request.url === "/attack.js";
    response
      .writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" })
      .end(isScript ? ATTACK : "<!doctype html><body><script src=/attack.js></script>");
  }).listen(0);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => server.close().closeAllConnections(),
  };
}

/** With the server on 127.0.0.1: the same site with another port, and another site. */
const PLACES = ["127.0.0.1", "localhost"];

const WHO = sampled(["the person at the machine", "a login"] as const, 1);

test.for(WHO.rows)(
  "a page of another origin does nothing as %s",
  { ...WHO.options, timeout: 120_000 },
  async (who) => {
    await using stage = await openStage(who === "a login" ? { DURE_TOKEN: TOKEN } : {});
    await using evil = await attacker();
    const { url } = stage.team;
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${url}/healthz`); // dure's own origin, without the questions that its page asks by itself
    if (who === "a login") {
      expect(
        await page.evaluate(
          async (token) =>
            (
              await fetch("/v1/login", {
                method: "POST",
                headers: { "content-type": "application/json" },
                body: JSON.stringify({ token }),
              })
            ).status,
          TOKEN,
        ),
      ).toBe(204);
    }
    const asOwnPage = await page.evaluate(async () => {
      const answer = await fetch("/v1/agent/chat/stream?session_id=mine&message=hi");
      return [answer.status, (await answer.text()).includes("event: DONE")];
    });
    expect(asOwnPage).toEqual([200, true]); // the same way, from dure's own page, does work
    await expect.poll(() => stage.answered).toContain("200 GET /v1/agent/chat/stream");
    const before = await rowsOf(stage);

    for (const host of PLACES) {
      const answeredBefore = stage.answered.length;
      await page.goto(`http://${host}:${evil.port}/?server=${encodeURIComponent(url)}`);
      expect(await page.evaluate("attack()")).toBe(15);
      const forged = `${url}/v1/agent/chat/stream?session_id=forged&message=hi`;
      await Promise.all([
        page.waitForURL(forged),
        page.evaluate(`location.assign(${JSON.stringify(forged)})`),
      ]);
      await expect
        .poll(
          () =>
            stage.answered
              .slice(answeredBefore)
              .filter((line) => / (GET|POST) \/v1\/agent\/chat/.test(line)).length,
          { timeout: 20_000 },
        )
        .toBeGreaterThanOrEqual(9);
      const answers = stage.answered.slice(answeredBefore).filter((line) => line.includes(" /v1/"));
      expect(answers.filter((line) => !/^(401|403|405|415) /.test(line))).toEqual([]);
    }

    expect(await rowsOf(stage)).toEqual(before);
    await page.goto(`${url}/healthz`);
    expect(await page.evaluate(async () => (await fetch("/v1/me")).status)).toBe(200); // and no login was ended
    await context.close();
  },
);

test(
  "a login opens the page, gets a new cookie while it is used, and when it is ended the page asks again",
  { timeout: 120_000 },
  async () => {
    await using stage = await openStage({ DURE_TOKEN: TOKEN });
    await using opened = await openPage(browser, `${stage.team.url}/chat`);
    const { page } = opened;
    const cookie = async (): Promise<string | undefined> =>
      (await page.context().cookies()).find(({ name }) => name.startsWith("dure_session"))?.value;
    await page.getByLabel("토큰").first().fill(TOKEN);
    await page.getByRole("button", { name: "들어가기" }).click();
    await page
      .getByRole("link", { name: "확인 요청" })
      .or(page.getByRole("navigation"))
      .first()
      .waitFor();
    await expect.poll(cookie).toBeDefined();
    const first = await cookie();

    // The document has the navigation before there is a page; only the page has the field.
    const isThere = (): Promise<void> => page.getByRole("textbox").first().waitFor();
    // An answer that a reload cuts off takes its new cookie along: the next one comes later.
    const due =
      "update dure.login_sessions set next_at = null, rotated_at = rotated_at - interval '16 minutes'";
    const afterUse = async (): Promise<string | undefined> => {
      await stage.database.query({ text: due });
      await page.reload();
      await isThere();
      return cookie();
    };
    await expect.poll(afterUse).not.toBe(first);
    await page.reload();
    await isThere();
    const [{ id } = { id: "" }] = await stage.database.query<{ id: string }>({
      text: "select id from dure.login_sessions where revoked_at is null",
    });
    const ended = await fetch(`${stage.team.url}/v1/login/sessions/${id}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    // It may have heard of the end by itself, and then has no links.
    for (const to of ["/events", "/audit"]) {
      await page.evaluate(
        (href) => document.querySelector<HTMLElement>(href)?.click(),
        `a[href="${to}"]`,
      );
    }

    expect(ended.status).toBe(204);
    await page.getByRole("heading", { name: "들어가기" }).waitFor();
    expect(first).toMatch(/^login_[0-9A-Z]{26}\.[A-Za-z0-9_-]{43}$/);
    expect(opened.complaints).toEqual([]);
  },
);

test(
  "the link of the start opens the page once, and leaves the address without its secret",
  { ...FULL, timeout: 60_000 },
  async () => {
    await using stage = await openStage({ DURE_LOGIN_ALWAYS: "true" });
    await using opened = await openPage(browser, stage.team.loginLink!);
    await opened.page.getByRole("navigation").first().waitFor();
    expect(new URL(opened.page.url()).search).toBe("");

    await using again = await openPage(browser, stage.team.loginLink!);
    await again.page.getByText("dure login").first().waitFor();

    expect(await again.page.getByRole("heading", { name: "들어가기" }).count()).toBe(1);
    await again.page.getByText("이미 쓴 링크이거나 시간이 지났어요").waitFor();
    expect([opened.complaints, again.complaints]).toEqual([[], []]);
  },
);
