// @module-tag slow
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { toWire } from "../kernel/wire.ts";
import { main } from "./program.ts";

// What others wrote, from the wire to the terminal: by each command that prints it.

/** Sets the title, writes to the clipboard, hides text, clears the screen, turns the direction. */
const EVIL =
  "owned\u001b]0;t\u0007\u001b]52;c;ZXZpbA==\u0007\u001b[8m\u009b2J\u202egnp\u2066\u0008\u000d";
const COMMAND =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;
/** Styles of this program, the only control sequences that may stand in what it prints. */
const OWN_STYLES = /\u001b\[(?:1|2|22|31|32|33|39)m/g;

const BECAUSE = { code: EVIL, message: EVIL, hint: EVIL };
const ROOM = {
  id: EVIL,
  adapter: EVIL,
  kind: "channel",
  parent: null,
  name: EVIL,
  state: "suspended",
  suspendedUntil: 1,
  closedBecause: EVIL,
  archived: false,
  agent: null,
};
const THREAD = { ...ROOM, kind: "thread", participants: [EVIL], messages: 1, activeAt: 1 };
const JOB = {
  jobId: EVIL,
  status: "FAILED",
  outcome: "agent_error",
  requester: EVIL,
  requesterName: EVIL,
  target: EVIL,
  targetName: EVIL,
  message: EVIL,
  topic: EVIL,
  maxTurns: 2,
  turnsDone: 1,
  resumes: 3,
  lastError: { code: EVIL, message: EVIL },
  waiting: null,
  createdAt: 1,
  startedAt: 1,
  finishedAt: 2,
  turnStartedAt: null,
  turns: [{ number: 1, speaker: EVIL, text: EVIL, tokensIn: 1, tokensOut: 1, costMicroUsd: 1 }],
  words: [{ id: 1, author: EVIL, text: EVIL, at: 1, turn: 1 }],
  why: "stuck",
};
const PROBLEM = { file: EVIL, line: 3, column: 1, key: EVIL, message: EVIL, hint: EVIL };
const LEAVING = {
  target: EVIL,
  review: {
    confirm: EVIL,
    commit: EVIL,
    count: 1,
    findings: [{ rule: EVIL, path: EVIL, line: 1, excerpt: EVIL, commit: EVIL }],
  },
  allowed: [],
  gate: {
    commit: EVIL,
    needed: 2,
    counted: 1,
    approvals: [{ person: EVIL, by: EVIL, createdAt: 1 }],
    not: "author",
    author: EVIL,
  },
  mayConfirm: true,
};
const VIEW = {
  plan: EVIL,
  base: EVIL,
  baseCommit: EVIL,
  ports: [
    { id: EVIL, title: EVIL, owns: [EVIL], tests: [EVIL], dependsOn: [EVIL], acceptance: EVIL },
  ],
  levels: [[EVIL]],
  criticalPath: [EVIL],
  maxParallel: 1,
  mode: {
    mode: "parallel",
    because: EVIL,
    conditions: [{ name: EVIL, value: EVIL, holds: true }],
  },
  workers: [{ role: EVIL, kind: "command", command: [EVIL], model: EVIL }],
  network: [{ of: EVIL, policy: "provider", hosts: [EVIL] }],
  isolationWanted: "audit",
  unowned: [EVIL],
  unownedCount: 1,
  warnings: [{ code: EVIL, message: EVIL }],
};
const STEP = {
  try: 1,
  kind: "implement",
  member: "implementer",
  worker: EVIL,
  status: "done",
  task: EVIL,
  stalled: false,
  waiting: null,
  seenAt: 1,
  startedAt: 1,
  finishedAt: 2,
  tokensIn: 1,
  tokensOut: 1,
  output: {
    status: "failed",
    summary: EVIL,
    changes: [{ path: EVIL, kind: "new" }],
    failedFiles: [EVIL],
    unclaimedFiles: [EVIL],
    feedback: { success: false, failedTests: [{ name: EVIL }] },
  },
};
const PORT = {
  id: EVIL,
  status: "failed",
  triesMade: 1,
  waiting: null,
  unproven: false,
  triesPair: 3,
  triesOrchestrator: 0,
  tokensIn: 1,
  tokensOut: 1,
  spentMs: 1,
  because: BECAUSE,
  steps: [STEP],
  violations: [{ member: "tester", path: EVIL, wanted: "write", because: EVIL, found: "request" }],
  messages: [
    {
      id: 1,
      from: "operator",
      to: "implementer",
      type: "feedback",
      payload: { text: EVIL },
      deliveredAt: null,
      processedAt: null,
    },
  ],
};
const RUN = {
  id: EVIL,
  plan: EVIL,
  status: "failed",
  phase: "over",
  because: BECAUSE,
  isolation: "namespaces",
  promises: { network: "enforced", user: 1, isOtherUser: true, files: "enforced" },
  counts: { failed: 1 },
  createdAt: 1,
  ports: [PORT],
  report: {
    branch: EVIL,
    conflicts: [{ path: EVIL, ports: [EVIL], solvedBy: EVIL }],
    integration: { passed: false, exitCode: 1, output: EVIL },
    missing: [{ port: EVIL, because: BECAUSE }],
  },
};
const ESCALATION = {
  id: EVIL,
  source: { run: EVIL, port: EVIL },
  type: EVIL,
  severity: "high",
  status: "open",
  title: EVIL,
  description: EVIL,
  context: { [EVIL]: EVIL, more: { [EVIL]: EVIL } },
  suggestedActions: [{ value: EVIL, label: EVIL, asks: true }],
  resolution: null,
  resolvedBy: null,
  resolvedByPerson: null,
  createdAt: 1,
  expiresAt: 2,
  step: "person",
};
const RESOLVED = {
  ...ESCALATION,
  status: "resolved",
  resolution: { value: EVIL, note: EVIL },
  resolvedBy: EVIL,
  resolvedByPerson: EVIL,
};
const DEED = {
  at: 1,
  tenant: EVIL,
  name: EVIL,
  person: EVIL,
  what: EVIL,
  subject: EVIL,
  outcome: EVIL,
};
const DRAFT = {
  text: EVIL,
  questions: [EVIL],
  open: [EVIL],
  problems: [PROBLEM],
  problemCount: 1,
};
const page = (...items: readonly object[]): object => ({ items, nextCursor: EVIL });

/** A command, and what the server answers it by path; another path is refused in hostile words. */
const ROWS: readonly (readonly [command: string, answers: Readonly<Record<string, object>>])[] = [
  [
    "rooms list",
    {
      "/v1/rooms": page(ROOM),
      [`/v1/rooms/${encodeURIComponent(EVIL)}/threads`]: { items: [THREAD] },
    },
  ],
  ["rooms post room_1 hello", { "/v1/rooms/room_1/messages": { messageId: EVIL } }],
  ["stop room room_1", { "/v1/rooms/room_1/stop": { answers: EVIL, requests: 0, jobs: EVIL } }],
  ["stop thread refused", {}],
  ["pause refused", {}],
  ["jobs list", { "/v1/jobs": page(JOB) }],
  ["jobs show job_1", { "/v1/jobs/job_1": JOB }],
  ["jobs audit", { "/v1/jobs/audit": { items: [JOB] } }],
  ["jobs ask a b hello", { "/v1/jobs": { status: "ok", jobId: EVIL, reply: EVIL } }],
  ["jobs ask b a hello", { "/v1/jobs": { status: "error", jobId: EVIL, code: EVIL, hint: EVIL } }],
  ["jobs retry job_1", { "/v1/jobs/job_1/retry": JOB }],
  [
    "plan list",
    {
      "/v1/plans": {
        items: [{ name: EVIL, file: EVIL, ports: 1, problems: [PROBLEM], problemCount: 60 }],
      },
      "/v1/runs": page(RUN),
    },
  ],
  ["plan show login", { "/v1/plans/login": VIEW }],
  ["plan draft goal", { "/v1/plans/draft": DRAFT }],
  [
    "plan from goal",
    {
      "/v1/drafts": {
        ...DRAFT,
        id: EVIL,
        questions: [{ question: EVIL, answer: null }],
        problems: [],
        problemCount: 0,
      },
      "/v1/runs": VIEW,
    },
  ],
  ["plan run login --dry-run", { "/v1/runs": VIEW }],
  ["plan run login", { "/v1/runs": RUN }],
  ["plan runs", { "/v1/runs": page(RUN) }],
  ["plan status run_1", { "/v1/runs/run_1": RUN }],
  ["plan status run_1 api", { "/v1/runs/run_1/ports/api": PORT }],
  ["plan pause run_1", { "/v1/runs/run_1/pause": { carriedOut: true, run: RUN } }],
  [
    "plan diff run_1",
    {
      "/v1/runs/run_1/diff": {
        changes: [{ path: EVIL, kind: "new" }],
        patch: EVIL,
        isCut: false,
      },
      "/v1/runs/run_1/leaving": LEAVING,
    },
  ],
  [
    "plan merge run_1",
    { "/v1/runs/run_1/merge": { kind: "merged", target: EVIL, commit: EVIL, updated: EVIL } },
  ],
  [
    "plan clean",
    {
      "/v1/runs/clean": {
        items: [{ run: EVIL, plan: EVIL, outcome: "kept", because: BECAUSE }],
        next: null,
      },
    },
  ],
  ["escalations list", { "/v1/escalations": page(ESCALATION, RESOLVED) }],
  ["escalations show esc_1", { "/v1/escalations/esc_1": ESCALATION }],
  ["escalations show esc_2", { "/v1/escalations/esc_2": RESOLVED }],
  [
    "escalations answer esc_1 yes",
    { "/v1/escalations/esc_1/answer": { escalation: RESOLVED, turnId: EVIL } },
  ],
  ["audit", { "/v1/audit": page(DEED) }],
  ["rooms resume refused", {}],
  ["plan status refused", {}],
];

/** Answers like a server of dure whose every word is hostile. */
async function startServer(answers: Readonly<Record<string, object>>) {
  const known: Readonly<Record<string, object>> = { "/v1/me": {}, "/healthz": {}, ...answers };
  const refused = EVIL.replace("owned", "denied");
  const refusal = { code: refused, detail: refused, hint: refused };
  const server = createServer((request, response) => {
    const answer = known[request.url!.replace(/\?.*$/, "")];
    const type = answer === undefined ? "application/problem+json" : "application/json";
    response
      .writeHead(answer === undefined ? 409 : 200, { "content-type": type })
      .end(JSON.stringify(toWire(answer ?? refusal)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** What a command writes to a terminal, on both streams together. */
async function shownBy(args: readonly string[]): Promise<string> {
  let shown = "";
  const stream = (): NodeJS.WriteStream => {
    const into = new Writable({
      write: (part: Buffer, _, done) => ((shown += part.toString()), done()),
    });
    return Object.assign(into, { isTTY: true }) as unknown as NodeJS.WriteStream;
  };
  await main([...args], { stdin: process.stdin, stdout: stream(), stderr: stream() });
  return shown;
}

test.each(
  ROWS.flatMap(([command, answers]) => [
    [command, answers] as const,
    [`${command} --json`, answers] as const,
  ]),
)(
  "dure %s prints what others wrote so that a terminal obeys nothing of it",
  async (command, answers) => {
    await using server = await startServer(answers);
    const dir = await mkdtemp(join(tmpdir(), "dure-foreign-"));
    onTestFinished(() => rm(dir, { recursive: true, force: true }));

    const shown = await shownBy([...command.split(" "), "--url", server.url, "--dir", dir]);

    const isRefused = Object.keys(answers).length === 0;
    expect([shown.includes("owned"), shown.includes("denied")]).toEqual([!isRefused, isRefused]);
    expect(shown).not.toMatch(/Error|Cannot read/);
    expect(shown.replace(OWN_STYLES, "")).not.toMatch(COMMAND);
  },
);

test("dure plan list counts all problems of a plan, also those that are not listed", async () => {
  const file = {
    name: "login",
    file: "login.yaml",
    ports: 1,
    problems: [PROBLEM],
    problemCount: 60,
  };
  await using server = await startServer({ "/v1/plans": { items: [file] }, "/v1/runs": page(RUN) });

  const shown = await shownBy(["plan", "list", "--url", server.url]);

  expect(shown).toContain("60 problems: dure plan check login");
});
