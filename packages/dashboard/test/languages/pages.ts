import type { Page } from "playwright-core";
import { toWire } from "../../../dure/src/kernel/wire.ts";
import { DoubleServer } from "../double/server.ts";
import { anEscalation, FILES, runInTheMiddle, VIEW } from "../plans/runs.ts";
import {
  AGENT,
  AGENT_FILES,
  AGENTS,
  CLOSED,
  DETAIL,
  DRAFT,
  EDIT,
  ESCALATIONS,
  GENERAL,
  JOBS,
  MESSAGES,
  REPLAYABLE,
  RUNNING,
  SCHEDULE,
  THREAD,
  TRACE,
  TRACE_LINE,
  TRACE_TEXTS,
} from "./records.ts";

/** Every page with records, for tests that look at all of them. */

export interface Visit {
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

export const VISITS: readonly Visit[] = [
  { name: "the start page", path: "/", ready: ".start-steps", open: [".start-tour button"] },
  { name: "rooms", path: "/rooms/web%3Ageneral", ready: ".role-mark", open: [".role-mark"] },
  { name: "a closed room", path: "/rooms/web%3Aclosed", ready: ".room-banner" },
  { name: "a thread", path: "/rooms/thread_1", ready: ".room-message" },
  { name: "a room that is gone", path: "/rooms/web%3Anowhere", ready: ".center-page" },
  { name: "jobs and schedules", path: "/jobs", ready: ".schedules li" },
  { name: "a job", path: "/jobs/job_1", ready: ".job-outcome" },
  { name: "a running job", path: "/jobs/job_2", ready: ".job-outcome" },
  { name: "agents", path: "/agents", ready: ".agent-accounts" },
  { name: "an agent", path: "/agents/ruda", ready: ".agent-edit", open: AGENT_OPENS },
  { name: "traces", path: "/traces?state=done&model=m", ready: ".flow-line" },
  { name: "a chain of work", path: "/traces/turn_1", ready: ".flow-row" },
  { name: "an agent that is gone", path: "/agents/gone", ready: ".center-page h1" },
  { name: "a draft", path: "/plans/drafts/draft_1", ready: ".draft-ports" },
  { name: "a replay", path: "/replay/turn_1", ready: ".replay-card" },
  { name: "no page", path: "/nope", ready: ".center-page h1" },
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
/** The plan that stands in the empty field for one. */
const SAMPLE = "plan: login\nbase: main\nports:\n  - id: domain";
/** What the tests and the double write as a person would, and names that each page may show. */
export const OWN_WORDS = [
  "한국어",
  "English",
  "엄마에게 5만원 보내줘",
  "민준",
  "develop",
  "../shop",
  "turn.start",
  "limits > opens again after 15 minutes",
  SAMPLE,
];

export async function startServer(site: string, port = 0): Promise<DoubleServer> {
  const server = await new DoubleServer({ site, port }).start();
  server.plans.files.push(...FILES);
  server.plans.views.set("login", VIEW);
  runInTheMiddle(server, "run_1");
  server.plans.escalations.push(anEscalation("run_1"));
  server.plans.drafts.push(DRAFT);
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
export async function answerRecords(page: Page): Promise<void> {
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
    [/\/v1\/agent\/turns\/turn_1\/replay/, REPLAYABLE],
    [/\/v1\/schedules$/, { items: [SCHEDULE] }],
    [/\/v1\/traces\/turn_1\/texts/, TRACE_TEXTS],
    [/\/v1\/traces\/turn_1/, TRACE],
    [/\/v1\/traces\?/, { items: [TRACE_LINE], nextCursor: "more" }],
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
