import type { EscalationStep, JobOutcome, JobStatus } from "../../client/index.ts";

/** What the commands of jobs, rooms, escalations, schedules and documents say. */
export const WORK_EN = {
  job: {
    status: (status: JobStatus): string => status,
    outcomes: {
      max_turns: "all turns were used",
      explicit_skip: "an agent ended it",
      conclusion: "both had said what there was to say",
      repetition: "an agent began to repeat itself",
      empty_reply: "an agent had nothing more to say",
      minimal_content: "a reply was too short to go on from",
      no_reply: "the asked agent did not answer in time",
      blocked: "the asked agent was busy for too long",
      turn_timeout: "a turn took too long",
      agent_error: "an agent failed",
      agent_removed: "an agent is no longer in the team",
      budget: "the budget was used up",
      cancelled: "it was cancelled",
      stale: "it made no progress for too long",
      resume_limit: "it was resumed too often without progress",
    } satisfies Record<JobOutcome, string>,
    none:
      "There is no such job. Agents make them with ask_agent, you with: dure jobs ask AGENT " +
      "TARGET MESSAGE",
    head: ["id", "made", "status", "outcome", "who", "turns", "message"],
    outcome: (outcome: JobOutcome): string => outcome,
    waitsFor: (what: string) => `waits for a ${what}`,
    goesOn: (id: string) => `It goes on in the background: dure jobs watch ${id}`,
    noAnswer: (id: string) => `There is no answer yet; it goes on: dure jobs watch ${id}`,
    cancelled: (id: string) => `${id} is cancelled, with all that it asked for`,
    retried: (turn: number, id: string) =>
      `It goes on in turn ${turn}, behind its finished turns: dure jobs watch ${id}`,
    heard: (id: string) => `${id}: the next turn hears it`,
    purged: (count: number, age: string) =>
      `${count} finished ${count === 1 ? "job" : "jobs"} older than ${age} removed`,
    audited: (turn: number, resumes: number) => `turn ${turn}, resumed ${resumes} times`,
    why: {
      stuck: "stuck: no progress for a while. dure jobs show tells where; cancel ends it.",
      orphaned:
        "orphaned: no process leads it at this moment. Another process takes it within 10 s.",
      "resumed-often": "resumed often: something ends its process, or it does not get ahead.",
    },
    inOrder: "all jobs are in order",
    resumed: (turn: number, most: number) => `resumed at turn ${turn} of ${most} after a restart`,
    waits: "waits for a person's answer: dure escalations",
    turns: (count: number) => `${count} ${count === 1 ? "turn" : "turns"}`,
    tokens: (count: number) => `${count} tokens`,
    seconds: (value: string) => `${value} s`,
    noWords: "(no words)",
    speaks: (author: string, text: string) => `${author} speaks into it: ${text}`,
    busy: (agent: string) => `${agent} has other exchanges first`,
    waited: "a person's answer is waited for: dure escalations",
    isAt: (agent: string, turn: number, most: number) => `${agent} is at turn ${turn} of ${most}`,
  },

  room: {
    posted: (place: string, id: string) => `posted in ${place}: ${id}`,
    open: (place: string) => `${place} is open again`,
    states: { closed: "closed", suspended: "suspended", archived: "archived" } as Readonly<
      Record<string, string>
    >,
    paused: (agent: string) =>
      `${agent} is paused: no new model call of it begins; what is asked of it waits`,
    goesOn: (agent: string) => `${agent} goes on with what waits for it`,
    nothingRan: (place: string) => `nothing ran in ${place}`,
    stopped: (place: string, { answers, requests, jobs }: StoppedWords) =>
      `stopped in ${place}: ${answers} answers, ${requests} requests, ${jobs} jobs`,
  },

  escalation: {
    status: (status: string): string => status,
    severity: (severity: string): string => severity,
    noneOpen: "nothing waits for a decision",
    none: (status: string) => `there is none that is ${status}`,
    more: (count: number, cursor: string) =>
      `These are the newest ${count}. There are more: --cursor ${cursor}`,
    gravest: "; the gravest of all: --severity critical",
    raised: (severity: string, type: string, standing: { status: string; at: string }) =>
      `${severity} ${type}, ${standing.status}, raised ${standing.at}`,
    facts: { with: "with", until: "until", approves: "approves" },
    approves: (role: string | null, two: boolean) =>
      `${two ? "two people" : "a person"}${role === null ? "" : ` with the role ${role}`}`,
    oneOfTwo: (by: string, at: string) => `1 of 2, by ${by} at ${at}`,
    keptYes: (id: string) => `${id}: your yes is kept (1 of 2); another person's is needed`,
    refused: {
      role: "you do not have this role",
      given: "your yes is the first; another person's is needed",
    },
    firstYes: (by: string) => `1 of 2 approved, by ${by}`,
    with: {
      worker: "no person has been told yet",
      operator: "the operator agent",
      person: "people",
    } satisfies Record<EscalationStep, string>,
    goesOn: (turn: string) => `; turn ${turn} goes on`,
    dismissed: (id: string) => `${id}: dismissed`,
    watching: "Watching.",
    watchingNone: "Nothing waits for a decision; watching.",
    answers: (answers: string) => `answers: ${answers}`,
    ended: ({ status, value, by, note }: EndedJob) => {
      const who = by === null ? "" : ` by ${by}`;
      return `${status}: ${value}${who}${note === undefined ? "" : `: "${note}"`}`;
    },
    isWith: (step: EscalationStep): string => `is with the ${step}`,
    decided: (value: string, by: string | undefined) =>
      by === undefined ? value : `${value} by ${by}`,
    closed: (value: string, by: string | undefined) =>
      `dismissed (${value})${by === undefined ? "" : ` by ${by}`}`,
  },

  schedule: {
    none: "no schedules; `schedules` of the configuration names them",
    head: ["name", "rule", "does", "next", "last"],
    runs: (name: string) => `${name} is being run: dure schedules list`,
    paused: (name: string) =>
      `${name} is paused: its moments pass until dure schedules resume ${name}`,
    goesOn: (name: string, next: string) => `${name} goes on; next: ${next}`,
    pausedBy: (by: string) => `paused by ${by}`,
    never: "never",
  },

  document: {
    marks: { added: "added    ", refused: "refused  ", removed: "removed  " },
    counts: (base: string, { added, same, removed, failed }: JobCounts) =>
      `${base}: ${added} added, ${same} as they were, ${removed} removed, ${failed} refused`,
    noBase: "The team has no base: knowledge: { handbook: {} }",
    base: (name: string, documents: number, parts: number) =>
      `${name}  ${documents} documents in ${parts} parts`,
    head: ["source", "title", "parts"],
    vectors: (model: string, way: string, missing: number) =>
      `by meaning with ${model}: ${way}${missing === 0 ? "" : `; ${missing} parts have no vector yet`}`,
    exactly: (because: string) => `exactly, ${because}`,
    nothing: (base: string) => `${base} has nothing about it.`,
  },
};

export type WorkWords = typeof WORK_EN;

interface StoppedWords {
  readonly answers: number;
  readonly requests: number;
  readonly jobs: number;
}

interface EndedJob {
  readonly status: string;
  readonly value: string;
  readonly by: string | null;
  readonly note: string | undefined;
}

interface JobCounts {
  readonly added: number;
  readonly same: number;
  readonly removed: number;
  readonly failed: number;
}
