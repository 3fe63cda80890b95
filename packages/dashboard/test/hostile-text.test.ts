// @module-tag slow
import { readFile } from "node:fs/promises";
import { DureClient } from "dure/client";
import type { Browser, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sampled } from "../../dure/src/kernel/test-tiers.ts";
import { launchBrowser, openPage, siteInPackage, SLOW_HOOK_MS } from "./browser.ts";
import { DoubleServer } from "./double/server.ts";
import { startEscalationsTeam, type EscalationsTeam } from "./escalations/team.ts";
import { startJobsTeam, type JobsTeam } from "./jobs/team.ts";
import { FILES, runInTheMiddle, VIEW } from "./plans/runs.ts";
import { startRoomsTeam, type RoomsTeam } from "./rooms/team.ts";

/**
 * Stored scripts on every page. What people, agents, workers and repositories write is hostile
 * here: the words that a page gets from its server end in markup that runs where a page trusts it.
 * None of it may become part of the page.
 */
const MARK = "dure-was-owned";
const ATTACK = [
  `"'><img src=x onerror="document.title='${MARK}'">`,
  `<script>document.title='${MARK}'</script>`,
  `<svg onload="document.title='${MARK}'"></svg>`,
  `<iframe srcdoc="<script>parent.document.title='${MARK}'</script>"></iframe>`,
  `[link](javascript:document.title='${MARK}') ![image](https://evil.example/pixel.png)`,
  `<a href="data:text/html,owned" style="position:fixed;inset:0">cover</a>`,
].join(" ");

/**
 * Words of people and models; ids, statuses and addresses have no blank and are left as they are.
 */
function isProse(key: string, value: string): boolean {
  return PROSE_KEYS.has(key) || /[\s\u3131-\uD79D]/.test(value);
}

const PROSE_KEYS = new Set([
  ...[
    "title",
    "name",
    "message",
    "text",
    "content",
    "summary",
    "reason",
    "hint",
    "goal",
    "person",
    "note",
  ],
  ...[
    "display_name",
    "label",
    "description",
    "path",
    "file",
    "patch",
    "topic",
    "task",
    "command",
    "output",
  ],
]);

function poisoned(value: unknown, key = ""): unknown {
  if (typeof value === "string") return isProse(key, value) ? `${value} ${ATTACK}` : value;
  if (Array.isArray(value)) return value.map((item) => poisoned(item, key));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, poisoned(member, name)]);
  return Object.fromEntries(members) as unknown;
}

/** Poisons every answer in JSON until it is disposed; streams of events go through as they are. */
async function poisonAnswers(page: Page): Promise<AsyncDisposable> {
  await page.route("**/v1/**", async (route: Route) => {
    if (route.request().headers()["accept"]?.includes("event-stream")) return route.continue();
    const response = await route.fetch();
    const type = response.headers()["content-type"] ?? "";
    if (!type.includes("json")) return route.fulfill({ response });
    return route.fulfill({ response, json: poisoned(await response.json()) });
  });
  return { [Symbol.asyncDispose]: () => page.unrouteAll({ behavior: "ignoreErrors" }) };
}

const world = new AsyncDisposableStack();
let browser: Browser;
let rooms: RoomsTeam;
let jobs: JobsTeam;
let escalations: EscalationsTeam;
let double: DoubleServer;
let job: string;
let turn: string;

beforeAll(async () => {
  const site = await siteInPackage();
  const starting = [startRoomsTeam(), startJobsTeam(), startEscalationsTeam()] as const;
  [browser, rooms, jobs, escalations] = await Promise.all([launchBrowser(), ...starting]);
  world.defer(() => browser.close());
  for (const team of [rooms, jobs, escalations]) world.use(team);
  double = world.use(await new DoubleServer({ site }).start());
  await fill();
}, SLOW_HOOK_MS);

afterAll(() => world.disposeAsync());

/** Hostile words through the product's own doors, and the double's pages with something on each. */
async function fill(): Promise<void> {
  await post(`${rooms.url}/v1/rooms/web%3Ageneral/messages`, {
    text: `@루다 ${ATTACK}`,
    as_person: ATTACK.slice(0, 40),
  });
  const asked = {
    agent: "ruda",
    target: "eden",
    message: ATTACK,
    topic: ATTACK.slice(0, 100),
    maxTurns: 2,
  };
  job = (await new DureClient({ baseUrl: jobs.url }).jobs.ask(asked)).jobId;
  const said = { sessionId: "hostile", service: "faq", message: ATTACK };
  turn = await new DureClient({ baseUrl: rooms.url }).sendMessage(said).turnId;
  await escalations.raise({ title: ATTACK.slice(0, 250), context: { tail: ATTACK } });

  double.plans.files.push(...FILES);
  double.plans.views.set("login", VIEW);
  const run = runInTheMiddle(double);
  Object.assign(run, poisoned(run)); // its page hears of it by its stream
  double.plans.proposal = DRAFT;
  double.plans.proposalNotes = { questions: [ATTACK], open: [ATTACK] };
  await post(`${double.url}/v1/drafts`, { goal: ATTACK });
  double.emit({ type: "job.step", role: "delegation", session: "s1", data: { step: ATTACK } });
  double.costs = COSTS;
  double.audit = [{ id: 1, at: Date.UTC(2026, 10, 22), tenant: "", person: ATTACK, ...DEED }];
  const asksDouble = { session_id: "hostile", service: "transfer", message: ATTACK };
  await post(`${double.url}/v1/agent/chat/stream`, asksDouble);
}

async function post(url: string, body: object): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  await response.text();
}

const DEED = { name: "token_1", what: "own.deed", subject: "job_1", outcome: "done" };
const SUM = { calls: 3, tokens_in: 10, tokens_out: 5, micro_usd: 7_500, unpriced: 0 };
const COSTS = {
  since: "2026-10-24",
  time_zone: "Asia/Seoul",
  total: SUM,
  by_day: [{ id: "2026-11-22", name: "2026-11-22", ...SUM }],
  by_agent: [{ id: "ruda", name: "루다", ...SUM }],
  by_service: [{ id: "transfer", name: "송금", ...SUM }],
  by_model: [{ id: "offline:x", name: "offline:x", ...SUM }],
  over_time: { agent: [], service: [], model: [] },
  budgets: [],
};

const DRAFT = JSON.stringify({
  plan: "login",
  ports: [{ id: "api", goal: ATTACK, owns: ["src/**"], acceptance: "true" }],
});

interface HostilePage {
  /** As the router writes it. */
  readonly route: string;
  readonly address: () => string;
  /** Whether a first visit asks who it is. */
  readonly asksForName?: boolean | undefined;
}

const PAGES: readonly HostilePage[] = [
  { route: "/", address: () => `${escalations.url}/` },
  { route: "/rooms", address: () => `${rooms.url}/rooms`, asksForName: true },
  { route: "/rooms/$place", address: () => `${rooms.url}/rooms/web%3Ageneral`, asksForName: true },
  { route: "/jobs", address: () => `${jobs.url}/jobs` },
  { route: "/jobs/$id", address: () => `${jobs.url}/jobs/${job}` },
  { route: "/plans", address: () => `${double.url}/plans` },
  { route: "/plans/start/$plan", address: () => `${double.url}/plans/start/login` },
  { route: "/plans/drafts/$draft", address: () => `${double.url}/plans/drafts/draft_1` },
  { route: "/plans/runs/$run", address: () => `${double.url}/plans/runs/run_middle` },
  { route: "ports/$port", address: () => `${double.url}/plans/runs/run_middle/ports/api` },
  { route: "/agents", address: () => `${rooms.url}/agents` },
  { route: "/agents/$agent", address: () => `${rooms.url}/agents/eden` },
  { route: "/chat", address: () => `${double.url}/chat` },
  { route: "/chat/$session", address: () => `${double.url}/chat/hostile` },
  { route: "/replay/$turn", address: () => `${rooms.url}/replay/${turn}` },
  { route: "/traces", address: () => `${rooms.url}/traces` },
  { route: "/traces/$id", address: () => `${rooms.url}/traces/${turn}` },
  { route: "/escalations", address: () => `${escalations.url}/escalations` },
  { route: "/events", address: () => `${double.url}/events` },
  { route: "/costs", address: () => `${double.url}/costs` },
  { route: "/audit", address: () => `${double.url}/audit` },
];

async function sayWho(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: /이름|Name/ }).fill("민준");
  await page.keyboard.press("Enter");
}

/** What markup of the attack would have left in a page that took it for its own. */
function takenAsMarkup(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const signs =
      "img[src='x'], iframe, svg[onload], [onerror], a[href^='javascript:' i], a[href^='data:' i]";
    const scripts = [...document.scripts].filter((script) => script.src === "");
    return [...document.querySelectorAll(signs), ...scripts].map((one) =>
      one.outerHTML.slice(0, 200),
    );
  });
}

describe("hostile words on every page", { timeout: 60_000 }, () => {
  test("the table below has every page of the router", async () => {
    const source = await readFile(new URL("../src/router.tsx", import.meta.url), "utf8");
    const routes = [...source.matchAll(/path: "([^"]+)"/g)].map(([, path]) => path!);
    const inTable = PAGES.map(({ route }) => route.replace("/jobs/$id", "$id"));

    expect(routes.length).toBeGreaterThan(10);
    expect(routes.toSorted()).toEqual(inTable.toSorted());
  });

  const visited = sampled(PAGES, 6);

  test.for(visited.rows)(
    "$route shows them as text, runs nothing and asks no other host",
    visited.options,
    async (one) => {
      const { address, asksForName } = one;
      await using opened = await openPage(browser, "about:blank");
      const { page, complaints } = opened;
      await using _poison = await poisonAnswers(page);
      complaints.length = 0;
      const elsewhere: string[] = [];
      page.on("request", (request) => {
        if (!request.url().startsWith(new URL(address()).origin)) elsewhere.push(request.url());
      });

      await page.goto(address());
      if (asksForName) await sayWho(page);
      await page.getByText(MARK).first().waitFor({ state: "attached", timeout: 20_000 });

      expect(await takenAsMarkup(page)).toEqual([]);
      expect(await page.title()).not.toBe(MARK);
      expect(elsewhere.filter((url) => !url.startsWith("data:"))).toEqual([]);
      expect(complaints.filter((line) => !line.startsWith("request:"))).toEqual([]);
    },
  );
});
