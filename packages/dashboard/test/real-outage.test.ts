import pg from "pg";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabaseUrl } from "../../dure/src/durable/test-database.ts";
import { FULL } from "../../dure/src/kernel/test-tiers.ts";
import { TEXTS } from "./texts.ts";
import { launchBrowser, openPage, siteInPackage, SLOW_HOOK_MS, violations } from "./browser.ts";
import { foreignWords, shownOn } from "./languages/foreign-words.ts";
import { OWN_WORDS } from "./languages/pages.ts";
import { ServerProcess } from "./real/server-process.ts";

/** Pages of a real server whose database goes away. */

const world = new AsyncDisposableStack();
let browser: Browser;
let server: ServerProcess;
let database: string;

beforeAll(async () => {
  const { url } = world.use(await testDatabaseUrl());
  database = url;
  const starting = siteInPackage().then(() => ServerProcess.start({ DATABASE_URL: url }));
  [browser, server] = await Promise.all([launchBrowser(), starting]);
  world.use(server);
  world.defer(() => browser.close());
}, SLOW_HOOK_MS);

afterAll(() => world.disposeAsync());

/** The database has no connections and takes none, until the block ends. */
async function takeDatabaseAway(): Promise<AsyncDisposable> {
  const { pathname } = new URL(database);
  const name = pathname.slice(1);
  const client = new pg.Client({ connectionString: databaseUrl("postgres") });
  await client.connect();
  await client.query(`alter database ${name} with allow_connections false`);
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
    [name],
  );
  return {
    async [Symbol.asyncDispose]() {
      await client.query(`alter database ${name} with allow_connections true`);
      await client.end();
    },
  };
}

function databaseUrl(name: string): string {
  const url = new URL(database);
  url.pathname = `/${name}`;
  return url.href;
}

const PATHS = [
  "/",
  "/chat",
  "/rooms",
  "/plans",
  "/escalations",
  "/costs",
  "/audit",
  "/events",
] as const;
const SLOW = { ...FULL, timeout: 90_000 };
const { connection } = TEXTS.ko.shell;

test.each(PATHS)(
  "%s opened without a database says so, and opens when it is back",
  SLOW,
  async (path) => {
    await using opened = await openPage(browser, `${server.url}/nope`);
    const { page } = opened;
    page.setDefaultTimeout(30_000);
    {
      await using _gone = await takeDatabaseAway();
      await page.goto(server.url + path);
      await page
        .getByText(connection.starved)
        .or(page.getByText(connection.notNow))
        .first()
        .waitFor();
      await expectSaidWell(page);
    }

    await page.getByText(connection.starved).waitFor({ state: "detached" });
    await page.locator(".shell-main h1, .shell-main h2, .composer").first().waitFor();
    await page.locator(".shell-main .problem").first().waitFor({ state: "detached" });
  },
);

test(
  "a message written without a database waits, and is answered once when it is back",
  SLOW,
  async () => {
    await using opened = await openPage(browser, `${server.url}/chat`);
    const { page } = opened;
    page.setDefaultTimeout(30_000);
    await page.getByRole("button", { name: /^창구/ }).click();
    {
      await using _gone = await takeDatabaseAway();
      await page.getByText(connection.starved).waitFor();
      await page.getByRole("textbox", { name: "메시지 쓰기" }).fill("여기 있나요");
      await page.keyboard.press("Enter");
      await page.getByText(TEXTS.ko.chat.sending).waitFor();
      await expectSaidWell(page);
    }

    await page.getByText("“여기 있나요”라고 하셨네요.").waitFor();
    await page.reload();
    await page.getByText("“여기 있나요”라고 하셨네요.").waitFor();
    const roles = await page
      .locator(".message")
      .evaluateAll((all) => all.map((one) => one.getAttribute("data-role")));
    expect(roles).toEqual(["user", "assistant"]);
  },
);

test(
  "a page that stands open shows nothing as alive while the database is away",
  SLOW,
  async () => {
    await using opened = await openPage(browser, `${server.url}/events`);
    const { page } = opened;
    page.setDefaultTimeout(30_000);
    await page.locator(".live-dot").waitFor();
    {
      await using _gone = await takeDatabaseAway();
      await page.getByText(connection.starved).waitFor();
      await page.locator(".live-dot").waitFor({ state: "detached" });
      expect(await violations(page)).toEqual([]);
    }

    await page.getByText(connection.back).waitFor();
    await page.locator(".live-dot").waitFor();
  },
);

/** In the page's language, and neither as a fault of the server nor of a token. */
async function expectSaidWell(page: Page): Promise<void> {
  const shown = await shownOn(page);
  expect(shown.join("\n")).not.toMatch(/서버 로그|서버에 닿지 않아요|토큰을/);
  expect(foreignWords(shown, "ko", new Set(OWN_WORDS))).toEqual([]);
}
