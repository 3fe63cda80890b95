import { readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FULL, sampled } from "../../dure/src/kernel/test-tiers.ts";
import { toWire } from "../../dure/src/kernel/wire.ts";
import { eventually } from "../../dure/test/until.ts";
import { ERROR_WORDS_KO } from "../src/error-words.ko.ts";
import { TEXTS } from "../src/texts.ts";
import type { Language } from "../src/words.ts";
import { launchBrowser, openPage, siteInPackage, SLOW_HOOK_MS } from "./browser.ts";
import { DoubleServer } from "./double/server.ts";
import { addTexts, collectGiven, foreignWords, shownOn } from "./languages/foreign-words.ts";
import {
  AGENT,
  AGENTS,
  CLOSED,
  DETAIL,
  EDIT,
  ESCALATIONS,
  AGENT_FILES,
  GENERAL,
  JOBS,
  MESSAGES,
  RUNNING,
  THREAD,
  TRACE,
} from "./languages/records.ts";
import { anEscalation, FILES, runInTheMiddle, VIEW } from "./plans/runs.ts";

let browser: Browser;
let site: string;

beforeAll(async () => {
  [browser, site] = await Promise.all([launchBrowser(), siteInPackage()]);
}, SLOW_HOOK_MS);

afterAll(() => browser?.close());

describe("a word in the wrong language", () => {
  const none = new Set<string>();

  test.each([
    ["ko", "Retry", true],
    ["ko", "방 2 unread", true],
    ["ko", "Enter로 보내고 Shift+Enter로 줄을 바꿔요", false],
    ["en", "다시 시도", true],
    ["en", "2 건", true],
    ["en", "Retry", false],
  ] as const)("on a page in %s: “%s” is found (%s)", (language, words, isForeign) => {
    expect(foreignWords([words], language, none)).toEqual(isForeign ? [words] : []);
  });

  test("is not what the server sent: names, ids, codes and what people wrote", () => {
    const given = new Set(["루다", "job_1", "Support desk"]);

    expect(foreignWords(["Pause: 루다 · web"], "en", given)).toEqual([]);
    expect(foreignWords(["멈추기: Support desk (job_1)"], "ko", given)).toEqual([]);
    expect(foreignWords(["멈추기: Support"], "ko", given)).toEqual(["멈추기: Support"]);
  });

  test("is also one that the server happens to send, if it is a whole sentence of ours", () => {
    const word = TEXTS.en.jobs.waitsForPerson;

    expect(foreignWords([word], "ko", new Set([word]))).toEqual([word]);
  });
});

test("what has words in Korean is a code that the server sends", async () => {
  const errors = await readFile(new URL("../../../docs/reference/errors.md", import.meta.url));
  const sent = new Set(errors.toString().match(/(?<=`)[A-Z][A-Z0-9_]+(?=`)/g));
  const isNamedByCaller = (code: string): boolean => code.endsWith("_NOT_ALLOWED");

  const unknown = Object.keys(ERROR_WORDS_KO).filter((code) => !sent.has(code));

  expect(unknown.filter((code) => !isNamedByCaller(code))).toEqual([]);
});

interface Visit {
  readonly name: string;
  readonly path: string;
  /** Seen when the page has its records. */
  readonly ready: string;
  /** What is opened on the page, one after the other. */
  readonly open?: readonly string[];
}

/** A change of the history, the editor of the last file, and what it may hold. */
const AGENT_OPENS = [
  ".agent-edit summary",
  ".agent-file:has-text('agent.yaml') > summary",
  ".agent-file:has-text('agent.yaml') button",
  ".agent-may-hold summary",
];

const VISITS: readonly Visit[] = [
  { name: "the start page", path: "/", ready: ".start-steps", open: [".start-tour button"] },
  { name: "rooms", path: "/rooms/web%3Ageneral", ready: ".roles" },
  { name: "a closed room", path: "/rooms/web%3Aclosed", ready: ".room-banner" },
  { name: "a thread", path: "/rooms/thread_1", ready: ".room-message" },
  { name: "a room that is gone", path: "/rooms/web%3Anowhere", ready: ".center-page" },
  { name: "jobs", path: "/jobs", ready: ".job-row" },
  { name: "a job", path: "/jobs/job_1", ready: ".job-outcome" },
  { name: "a running job", path: "/jobs/job_2", ready: ".job-outcome" },
  { name: "agents", path: "/agents", ready: ".agent-accounts" },
  { name: "an agent", path: "/agents/ruda", ready: ".agent-edit", open: AGENT_OPENS },
  { name: "a chain of work", path: "/traces/turn_1", ready: ".chain li" },
  { name: "an agent that is gone", path: "/agents/gone", ready: ".center-page h1" },
  { name: "plans", path: "/plans", ready: ".plan-file", open: [".plans-tools button >> nth=1"] },
  { name: "a plan before it starts", path: "/plans/start/login", ready: ".before-levels" },
  {
    name: "a run",
    path: "/plans/runs/run_1",
    ready: ".port-box",
    open: [".run-actions button:last-of-type"],
  },
  {
    name: "a port of a run",
    path: "/plans/runs/run_1/ports/limits",
    ready: ".run-side [role=tab]",
    open: [1, 2, 3, 4, 5].map((nth) => `.run-side [role=tab] >> nth=${nth}`),
  },
  { name: "a new conversation", path: "/chat", ready: ".composer" },
  {
    name: "escalations",
    path: "/escalations",
    ready: ".escalation",
    open: ["[data-value=retry] >> nth=0"],
  },
  { name: "closed escalations", path: "/escalations?tab=history", ready: ".escalation-answer" },
  { name: "costs", path: "/costs", ready: ".costs h2" },
  { name: "the audit log", path: "/audit", ready: ".audit-list" },
  { name: "events", path: "/events", ready: ".event-row" },
];
const SHOWN = sampled(VISITS, 4);

describe.each([
  ["ko", "ko-KR"],
  ["en", "en-US"],
] as const)("pages in %s", (language, locale) => {
  const options = { ...SHOWN.options, timeout: 60_000 };

  test.each(SHOWN.rows)("$name: every word of ours is in it", options, async (visit) => {
    await using server = await startServer();
    await using opened = await openPage(browser, `${server.url}/events`, { locale });
    const { page } = opened;
    const { given, settle } = collectGiven(page);
    await answerRecords(page);

    await page.goto(server.url + visit.path);
    await page.locator(visit.ready).first().waitFor();
    await expectOnlyOwnWords(page, language, { given, settle });
    for (const place of visit.open ?? []) {
      await page.locator(place).first().click();
      await expectOnlyOwnWords(page, language, { given, settle });
    }
  });

  test(
    "a conversation and its panel: every word of ours is in it",
    { ...FULL, timeout: 60_000 },
    async () => {
      await using server = await startServer();
      await using opened = await openPage(browser, `${server.url}/chat`, { locale });
      const { page } = opened;
      const { given, settle } = collectGiven(page);
      const words = TEXTS[language];
      await page.getByLabel(words.chat.placeholder).fill("엄마에게 5만원 보내줘");
      await page.getByLabel(words.chat.placeholder).press("Enter");
      await page.locator(".message[data-role=assistant]").first().waitFor();
      await page.getByText(words.chat.inputHint).waitFor();
      await page.waitForURL(/\/chat\/.+/);
      await page.reload();
      await page.locator(".message[data-role=assistant]").first().waitFor();

      for (const tab of ["agents", "state", "memory", "trace"] as const) {
        await page.getByRole("tab", { name: words.panel[tab] }).click();
        await expectOnlyOwnWords(page, language, { given, settle }, SERVICE_WORDS);
      }
    },
  );

  test("the login: every word of ours is in it", { timeout: 60_000 }, async () => {
    await using server = await new DoubleServer({ site, token: "secret" }).start();
    await using opened = await openPage(browser, server.url, { locale });
    await opened.page.getByRole("button", { name: TEXTS[language].shell.login.submit }).waitFor();

    expect(foreignWords(await shownOn(opened.page), language, new Set(["두레"]))).toEqual([]);
  });
});

/**
 * Fails where a page keeps a word of the other language. What the server sent is read after what is
 * shown, and the look is taken again: an answer may be on the page before this side has read it.
 */
async function expectOnlyOwnWords(
  page: Page,
  language: Language,
  sent: ReturnType<typeof collectGiven>,
  written?: ReadonlySet<string>,
): Promise<void> {
  const loader = page.locator("[role=status].mantine-Loader-root");
  await page.waitForLoadState("domcontentloaded");
  await eventually(
    async () => {
      await loader.first().waitFor({ state: "detached" });
      const shown = await shownOn(page);
      await sent.settle();
      addTexts(OWN_WORDS, sent.given);

      expect(foreignWords(shown, language, sent.given, written)).toEqual([]);
    },
    { patienceMs: 3000, everyMs: 250 },
  );
}

/** Buttons and slots of the service of the double, which names them in Korean. */
const SERVICE_WORDS = new Set(["확인", "취소", "받는 분", "금액", "메모", "보낼 날짜"]);
/** The plan that stands in the empty field for one. */
const SAMPLE = "plan: login\nbase: main\nports:\n  - id: domain";
/** What this file and the double write as a person would, and names that each page may show. */
const OWN_WORDS = [
  "한국어",
  "English",
  "엄마에게 5만원 보내줘",
  "민준",
  "develop",
  "../shop",
  "turn.start",
  SAMPLE,
];

async function startServer(): Promise<DoubleServer> {
  const server = await new DoubleServer({ site }).start();
  server.plans.files.push(...FILES);
  server.plans.views.set("login", VIEW);
  runInTheMiddle(server, "run_1");
  server.plans.escalations.push(anEscalation("run_1"));
  server.audit = [
    auditEntry(1, "job.cancel"),
    auditEntry(2, "escalation.approve"),
    { ...auditEntry(3, "run.merge"), outcome: "RUN_OVER" },
    { ...auditEntry(4, "login"), outcome: null },
  ];
  server.emit({ type: "turn.start", role: "conversation", session: "s1", data: { turn: 1 } });
  return server;
}

function auditEntry(id: number, what: string) {
  const at = Date.UTC(2026, 10, 22, 3) + id;
  const who = { tenant: "", name: "token_1", person: "민준" };
  return { id, at, ...who, what, subject: `job_${id}`, outcome: "done" as string | null };
}

/** Rooms, jobs and escalations, which the double does not have. */
async function answerRecords(page: Page): Promise<void> {
  const list = (items: readonly unknown[]) => ({ items, nextCursor: null });
  const answers: readonly (readonly [RegExp, object])[] = [
    [/\/v1\/rooms(\?|$)/, list([GENERAL, CLOSED])],
    [/\/v1\/rooms\/[^/]+\/messages/, { items: MESSAGES, typing: ["eden"] }],
    [/\/v1\/rooms\/[^/]+\/threads/, list([THREAD])],
    [/\/v1\/threads\/thread_1/, THREAD],
    [/\/v1\/agents(\?|$)/, list(AGENTS)],
    [/\/v1\/agents\/ruda/, AGENT],
    [/\/v1\/agents\/ruda\/files$/, AGENT_FILES],
    [/\/v1\/agents\/ruda\/edits$/, list([EDIT])],
    [/\/v1\/agents\/ruda\/edits\/2$/, EDIT],
    [/\/v1\/traces\/turn_1/, TRACE],
    [/\/v1\/jobs(\?|$)/, list(JOBS)],
    [/\/v1\/jobs\/job_1/, DETAIL],
    [/\/v1\/jobs\/job_2/, RUNNING],
  ];
  for (const [path, answer] of answers) {
    await page.route(path, (route) => route.fulfill({ json: toWire(answer) }));
  }
  await page.route(/\/v1\/escalations\?/, async (route) => {
    const { searchParams } = new URL(route.request().url());
    if (searchParams.has("run")) return route.fallback();
    const status = searchParams.get("status");
    const items = ESCALATIONS.filter((one) => status === null || one.status === status);
    return route.fulfill({ json: toWire(list(items)) });
  });
  await page.addInitScript(() => localStorage.setItem("dure-person", "민준"));
}
