import type { CodedMessage } from "../kernel/coded-message.ts";
import type { JsonObject } from "../kernel/json.ts";
import { fromWire, toWire } from "../kernel/wire.ts";
import { readJson, streamHeaders, type Http } from "./http.ts";
import type { Page } from "./resources.ts";
import { followRun, type RunStreamOptions, type RunStreamParts } from "./run-stream.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type { PlanRunStatus, PortStatus, Member } from "../kernel/plans.ts";

/** Why something stands as it does. */
export interface Because {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
}

/** Something in a plan's file that a person has to change. */
export interface PlanProblem {
  readonly file: string;
  /** 1-based; absent where only the file is known. */
  readonly line?: number;
  readonly column?: number;
  /** The key's path, `ports.0.owns`; empty for the file as a whole. */
  readonly key: string;
  readonly message: string;
  readonly found?: string;
  readonly allowed?: string;
  readonly hint?: string;
}

/** A file of the team's folder `plans`. */
export interface PlanFile {
  readonly name: string;
  readonly file: string;
  readonly ports: number;
  /** Empty: it can run. */
  /** At most 50; `problemCount` counts all. */
  readonly problems: readonly PlanProblem[];
  readonly problemCount: number;
}

/** How the ports are worked on, with the value of each condition. Source: docs/spec/plans §5. */
export interface RunMode {
  readonly mode: "in-order" | "parallel";
  /**
   * Ports share one context: each goes on from what those before it made, and reads what all own.
   */
  readonly oneContext?: boolean;
  readonly because: string;
  readonly conditions: readonly {
    /** Absent in runs of earlier versions, like `facts`. */
    readonly code?: string;
    readonly facts?: JsonObject;
    readonly name: string;
    readonly value: string;
    readonly holds: boolean;
  }[];
}

/** A plan without its ports. */
export interface PlanDefinition {
  readonly plan: string;
  readonly base: string;
  readonly setup?: string;
  readonly integration?: string;
  readonly roles: string;
  readonly limits: {
    readonly maxConcurrency: number;
    readonly parallelEnabled: boolean;
    readonly timeoutPerPortMs: number;
    readonly tries: number;
    readonly merge: "at_end" | "as_ready";
    readonly budget?: { readonly tokens?: number; readonly microUsd?: number };
  };
  readonly isolationWanted: "enforced" | "audit";
  /**
   * How far its processes get: `setup`, `check`, `acceptance`, `integration`, `workers.ROLE`, and
   * what a port says otherwise.
   */
  readonly network?: readonly {
    readonly of: string;
    readonly policy: "none" | "provider" | "open";
    readonly hosts: readonly string[];
  }[];
  /**
   * What follows from a request outside of the scope: the second one ends the worker (`stop`), or
   * each is refused and it goes on. `report`: what it changed outside is left out and recorded, and
   * its try goes on.
   */
  readonly violations: "stop" | "refuse" | "report";
  /** Who works for whom; `default` for roles without one of their own. */
  readonly workers: readonly {
    readonly role: string;
    readonly kind: "acp" | "model" | "command" | "offline" | "own";
    readonly command?: readonly string[];
    readonly model?: string;
  }[];
  readonly contracts: readonly { readonly path: string; readonly by: string }[];
}

/** A unit of work as the plan says it. */
export interface PortDefinition {
  readonly id: string;
  readonly title: string;
  readonly goal: string;
  readonly role: string;
  readonly owns: readonly string[];
  readonly tests: readonly string[];
  readonly reads?: readonly string[];
  /** Ports that must have succeeded before. */
  readonly dependsOn: readonly string[];
  readonly acceptance: string;
  readonly check?: string;
  readonly budget?: { readonly tokens?: number; readonly microUsd?: number };
}

/**
 * What holds for processes of workers, as a trial process showed. `by-modes`: beside their copies
 * as the modes of the machine say.
 */
interface RunPromises {
  readonly network: "enforced" | "not";
  readonly user: number;
  readonly isOtherUser: boolean;
  readonly files: "enforced" | "by-modes" | "not";
}

/** A plan against its repository, as it would run. */
export interface PlanView extends PlanDefinition {
  readonly file: string;
  readonly ports: readonly (PortDefinition & { readonly timeoutMs: number })[];
  /** Ports by the number of steps that must have been taken before them. */
  readonly levels: readonly (readonly string[])[];
  readonly criticalPath: readonly string[];
  /**
   * Ports that can work at the same time: as many as do not wait for each other, within
   * `max_concurrency`; 1 in order.
   */
  readonly maxParallel: number;
  readonly mode: RunMode;
  readonly baseCommit: string;
  /** Files of the base without an owner, at most 200; `unownedCount` counts all. */
  readonly unowned: readonly string[];
  readonly unownedCount: number;
  readonly warnings: readonly CodedMessage[];
}

/** What came of a run. */
export interface RunReport {
  /** Absent when nothing was kept. */
  readonly commit?: string;
  /** In the user's repository. */
  readonly branch?: string;
  readonly kept: readonly string[];
  readonly missing: readonly { readonly port: string; readonly because: Because }[];
  /** The integration command on the merged tree. */
  readonly integration?: {
    readonly passed: boolean;
    readonly exitCode: number | null;
    readonly output: string;
    readonly blamed?: readonly string[];
  };
  readonly conflicts: readonly {
    readonly path: string;
    readonly ports: readonly string[];
    readonly solvedBy?: string;
  }[];
  /**
   * Changes of shared files that ports asked the orchestrator for; `applied`: they are in the
   * result.
   */
  readonly shared?: readonly {
    readonly path: string;
    readonly ports: readonly string[];
    readonly applied: boolean;
  }[];
}

/** One execution of a plan. Times are milliseconds since the epoch. */
export interface PlanRun {
  readonly id: string;
  readonly plan: string;
  readonly status: PlanRunStatus;
  readonly phase: "preparing" | "building" | "merging" | "over";
  readonly because: Because | null;
  readonly repository: string;
  readonly baseCommit: string;
  /** What ports start from: the base with the contracts. */
  readonly startCommit: string | null;
  /** How workers are kept apart; `audit` keeps no worker from anything. */
  readonly isolation: string | null;
  /** What holds for processes of workers there; null until it is known. */
  readonly promises: RunPromises | null;
  readonly mode: RunMode | null;
  readonly report: RunReport | null;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly tokensMost: number | null;
  readonly startedBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly finishedAt: number | null;
  /** Its files and refs were removed: only its history is left. */
  readonly cleanedAt: number | null;
}

export interface ListedRun extends PlanRun {
  /** Ports by status; a status without one is absent. */
  readonly counts: Readonly<Partial<Record<PortStatus, number>>>;
}

/** A port of a run: what it is to do, and how it stands. */
export interface PlanPort extends PortDefinition {
  readonly status: PortStatus;
  readonly because: Because | null;
  /** Starts by the scheduler, those after a crash included. */
  readonly attempt: number;
  /** Tries that were begun. */
  readonly triesMade: number;
  /** Tries that may be made: by its pair, then by the orchestrator. */
  readonly triesPair: number;
  readonly triesOrchestrator: number;
  /** Milliseconds that its tries have taken, and that they may take together. */
  readonly spentMs: number;
  readonly timeMs: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly tokensMost: number | null;
  /** What a person said for the next try. */
  readonly hint: string | null;
  readonly grants: readonly {
    readonly path: string;
    readonly wants: "read" | "own";
    readonly by: string;
  }[];
  readonly startCommit: string | null;
  readonly resultCommit: string | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

export interface RunDetail extends PlanRun {
  /** The plan as it was read when the run began. */
  readonly definition: PlanDefinition;
  /** In the order of the plan. */
  readonly ports: readonly PlanPort[];
  /** Steps of no port: contracts and merge. */
  readonly orchestrator: readonly PlanStep[];
}

/** What tests said. Source: docs/spec/plans §4. */
export interface TestFeedback {
  readonly success: boolean;
  readonly failedTests: readonly {
    readonly name: string;
    readonly expected?: string;
    readonly actual?: string;
    readonly stackTrace?: string;
    readonly suggestedFix?: string;
    readonly file?: string;
    readonly line?: number;
  }[];
  readonly suggestions: readonly string[];
  readonly metrics: {
    readonly total: number;
    readonly passed: number;
    readonly failed: number;
    readonly durationMs: number;
    readonly coverage?: number;
  };
}

/** Of a step that has ended; which members are there depends on its kind. */
export interface StepOutput {
  /** A worker's. */
  readonly status?: "ready" | "partial" | "failed";
  readonly summary?: string;
  /** What it says it changed; `changes` is what git found. */
  readonly claimedFiles?: readonly string[];
  /**
   * Claimed and not changed, and changed and not claimed. A program claims nothing: neither is
   * there.
   */
  readonly failedFiles?: readonly string[];
  readonly unclaimedFiles?: readonly string[];
  readonly error?: Because;
  readonly commit?: string;
  readonly changes?: readonly {
    readonly path: string;
    readonly kind: "new" | "modified" | "deleted";
  }[];
  readonly violations?: readonly { readonly path: string; readonly because: string }[];
  /** The acceptance's, and a tester's own. */
  readonly feedback?: TestFeedback;
  readonly framework?: string;
  readonly exitCode?: number | null;
  readonly because?: string;
  readonly output?: string;
}

/**
 * A place in the run tree: the build (depth 0), its operator (1), the workers under it (2). `path`:
 * ids from the build down.
 */
export interface RunNode {
  readonly id: string;
  readonly parent: string | null;
  readonly root: string;
  readonly path: readonly string[];
  readonly depth: 0 | 1 | 2;
}

/** One step of a try. */
export interface PlanStep {
  readonly id: number;
  readonly node: RunNode;
  readonly port: string;
  /** 1-based over all tries of the port; 0 before the first. */
  readonly try: number;
  readonly kind:
    | "contracts"
    | "setup"
    | "implement"
    | "test"
    | "accept"
    | "check"
    | "module"
    | "merge"
    | "shared"
    | "integrate";
  readonly member: Member | null;
  readonly worker: string | null;
  /** `running` or `done`. */
  readonly status: string;
  /** More than 1 after a crash. */
  readonly starts: number;
  /** 0 to 1. */
  readonly progress: number;
  readonly task: string;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly output: StepOutput | null;
  /** The end of what was printed and said. */
  readonly log: string;
  readonly startedAt: number;
  /** When it last gave a sign. */
  readonly seenAt: number;
  /** A worker that works gave no sign for {@link STALLED_AFTER_MS}. */
  readonly stalled: boolean;
  readonly finishedAt: number | null;
}

/** A word between the members of a pair, or of the operator. */
export interface ChannelMessage {
  readonly id: number;
  readonly from: "implementer" | "tester" | "operator";
  readonly to: "implementer" | "tester" | "operator";
  readonly type: "result" | "feedback" | "query" | "ack";
  readonly payload: unknown;
  readonly replyTo: number | null;
  readonly createdAt: number;
  readonly deliveredAt: number | null;
  readonly processedAt: number | null;
}

/**
 * What a worker wanted and may not. `request`: refused before it happened; `commit`: found when its
 * work was taken.
 */
export interface PlanViolation {
  readonly port: string;
  readonly try: number;
  readonly member: Member;
  readonly path: string;
  readonly wanted: "read" | "write";
  readonly because: string;
  readonly detail: string | null;
  readonly found: "request" | "commit";
  readonly at: number;
}

/** The way between the two members of a port's pair; it closes with the port. */
export interface DirectChannel {
  readonly id: string;
  readonly a: Member;
  readonly b: Member;
  readonly status: "active" | "closed";
}

/** The tries of a port as one record. */
export interface FeedbackLoop {
  readonly id: string;
  readonly tries: number;
  /** Of the pair and the orchestrator together. */
  readonly maxTries: number;
  readonly status: "running" | "success" | "failed" | "escalated";
  /**
   * `status`: what the worker reported; `feedback`: what the newest test, check or merge of the try
   * said.
   */
  readonly rounds: readonly {
    readonly try: number;
    readonly by: Member | null;
    readonly status: string | null;
    readonly feedback: TestFeedback | null;
  }[];
}

export interface PortDetail extends PlanPort {
  readonly channel: DirectChannel;
  readonly loop: FeedbackLoop;
  readonly steps: readonly PlanStep[];
  readonly messages: readonly ChannelMessage[];
  readonly violations: readonly PlanViolation[];
}

/** What the prompt of a step was made of. */
export interface ContextManifest {
  readonly blocks: readonly {
    /** Absent in runs of earlier versions. */
    readonly code?: string;
    readonly name: string;
    readonly path?: string;
    readonly form?: string;
    readonly tokens: number;
  }[];
  readonly total: number;
  /** Tokens of what an agent without a scope would have got. */
  readonly fullContext: number;
  /** Share that was saved, 0 to 1. */
  readonly saved: number;
}

export interface TreeDiff {
  readonly changes: readonly {
    readonly path: string;
    readonly kind: "new" | "modified" | "deleted";
  }[];
  readonly patch: string;
  /** The patch was longer than is shown. */
  readonly isCut: boolean;
}

export interface MergeOutcome {
  readonly kind: "merged" | "fast-forward" | "already";
  /** The branch, and where it stands now. */
  readonly target: string;
  readonly commit: string;
  /** The working tree whose files were updated. */
  readonly updated: string | null;
}

/**
 * A plan of the team by its name or file, or the text of one that is no file there; the ending of
 * `file` chooses the reader.
 */
export type PlanSource =
  | { readonly plan: string }
  | { readonly file: string; readonly text: string };

export type RunRequest = PlanSource & RunChoice;

/** What of a plan runs, where, and from what. */
export interface RunChoice {
  /** A branch, a tag or a commit. Default: as the plan says. */
  readonly base?: string | undefined;
  /** Default: as the plan says, else the team's folder. */
  readonly repository?: string | undefined;
  /** Only these ports and what they need. */
  readonly only?: readonly string[] | undefined;
  /** These ports and what needs them. */
  readonly from?: readonly string[] | undefined;
}

export interface RunsFilter {
  readonly plan?: string | undefined;
  readonly status?: PlanRunStatus | undefined;
  /** 1–200; default 50. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface CleanRequest {
  /** This run alone, however old. */
  readonly run?: string | undefined;
  /** Ended longer ago, milliseconds; default 7 days. */
  readonly olderThanMs?: number | undefined;
  /** What is on no branch, or in no commit, goes too. */
  readonly force?: boolean | undefined;
  /** Removes nothing; says what would be done. */
  readonly dryRun?: boolean | undefined;
  /** `next` of the page before. */
  readonly after?: number | undefined;
}

export interface RunCleaned {
  readonly run: string;
  readonly plan: string;
  readonly outcome: "cleaned" | "kept";
  /** Why it was kept. */
  readonly because?: Because;
}

export interface RetryRequest {
  /** Told to the next try. */
  readonly hint?: string | undefined;
  /** Tries more; default 1. */
  readonly tries?: number | undefined;
  /** Who makes them; default the pair. The orchestrator has the port from then on. */
  readonly by?: "pair" | "orchestrator" | undefined;
  /** On top of its bounds. */
  readonly tokens?: number | undefined;
  readonly timeMs?: number | undefined;
  readonly grant?: { readonly path: string; readonly wants: "read" | "own" } | undefined;
}

/** `carriedOut: false`: it is stored, and the run's leader does it as soon as it can. */
export interface RunOrdered {
  readonly carriedOut: boolean;
  readonly run: PlanRun;
}

/**
 * What a run's stream brings: how it stands (first, and again after a gap that could not be
 * replayed), then what happens.
 */
export type RunNews =
  | { readonly kind: "run"; readonly run: RunDetail }
  | { readonly kind: "event"; readonly event: PlatformEvent };

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Plans and their runs over HTTP. Looking needs the scope `plans:read`, everything else
 * `plans:run`.
 */
export class PlansClient {
  readonly #http: Http;
  readonly #parts: Pick<RunStreamParts, "clock" | "maxDelayMs" | "silenceMs">;

  constructor(http: Http, parts: Pick<RunStreamParts, "clock" | "maxDelayMs" | "silenceMs">) {
    this.#http = http;
    this.#parts = parts;
  }

  // --- plans

  /** Those with problems too; by name. */
  async list(options: Options = {}): Promise<readonly PlanFile[]> {
    return (await this.#get<{ items: readonly PlanFile[] }>("/v1/plans", options)).items;
  }

  /** Refused with `PLAN_INVALID` when it has problems. */
  show(name: string, options: Options = {}): Promise<PlanView> {
    return this.#get(`/v1/plans/${encodeURIComponent(name)}`, options);
  }

  /** Problems of a text that is no file yet. */
  check(
    plan: { readonly file: string; readonly text: string },
    options: Options = {},
  ): Promise<{
    readonly ok: boolean;
    readonly problems: readonly PlanProblem[];
    readonly problemCount: number;
  }> {
    return this.#post("/v1/plans/check", plan, options);
  }

  /** A model's proposal; nothing is stored. */
  draft(
    request: { readonly goal: string; readonly repository?: string | undefined },
    options: Options = {},
  ): Promise<{
    readonly text: string;
    readonly problems: readonly PlanProblem[];
    readonly problemCount: number;
  }> {
    return this.#post("/v1/plans/draft", request, options);
  }

  // --- runs

  /** What `start` would do; nothing is begun. */
  dryRun(request: RunRequest, options: Options = {}): Promise<PlanView> {
    return this.#post("/v1/runs", { ...request, dryRun: true }, options);
  }

  /** The same key and request are the same run. */
  start(
    request: RunRequest,
    { idempotencyKey, ...options }: Options & { readonly idempotencyKey?: string | undefined } = {},
  ): Promise<PlanRun> {
    return this.#post(
      "/v1/runs",
      request,
      options,
      idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
    );
  }

  /** Newest first. */
  runs(filter: RunsFilter = {}, options: Options = {}): Promise<Page<ListedRun>> {
    const set = Object.entries(filter).filter(
      (entry): entry is [string, string | number] => entry[1] !== undefined && entry[1] !== "",
    );
    return this.#get(
      set.length === 0
        ? "/v1/runs"
        : `/v1/runs?${new URLSearchParams(set.map(([key, value]) => [key, String(value)])).toString()}`,
      options,
    );
  }

  run(id: string, options: Options = {}): Promise<RunDetail> {
    return this.#get(pathOf(id), options);
  }

  /**
   * A run as it stands, then what happens to it until it has ended, over any number of connections.
   */
  stream(id: string, options: RunStreamOptions = {}): AsyncGenerator<RunNews, void> {
    const open = (lastEventId: string | undefined): Promise<Response> =>
      this.#http.request(`${pathOf(id)}/events`, {
        headers: streamHeaders(lastEventId),
        ...pass(options),
      });
    return followRun({ ...options, ...this.#parts, open });
  }

  pause(id: string, options: Options = {}): Promise<RunOrdered> {
    return this.#post(`${pathOf(id)}/pause`, undefined, options);
  }

  resume(id: string, options: Options = {}): Promise<RunOrdered> {
    return this.#post(`${pathOf(id)}/resume`, undefined, options);
  }

  /** Its workers are stopped; what they made is kept. */
  cancel(id: string, options: Options = {}): Promise<RunOrdered> {
    return this.#post(`${pathOf(id)}/cancel`, undefined, options);
  }

  /** Merges a run again that has ended, or begins it where nothing had begun. */
  again(id: string, options: Options = {}): Promise<RunOrdered> {
    return this.#post(`${pathOf(id)}/again`, undefined, options);
  }

  /** More tokens for the run; what had stopped for want of them goes on. */
  extend(
    id: string,
    request: { readonly tokens: number },
    options: Options = {},
  ): Promise<RunOrdered> {
    return this.#post(`${pathOf(id)}/extend`, request, options);
  }

  /** Takes the result over into a branch. */
  merge(
    id: string,
    request: { readonly into?: string | undefined } = {},
    options: Options = {},
  ): Promise<MergeOutcome> {
    return this.#post(`${pathOf(id)}/merge`, request, options);
  }

  /**
   * Removes files and refs of ended runs; one page at a time, `next` is not null while there may be
   * more.
   */
  clean(
    request: CleanRequest = {},
    options: Options = {},
  ): Promise<{ readonly items: readonly RunCleaned[]; readonly next: number | null }> {
    return this.#post("/v1/runs/clean", request, options);
  }

  // --- ports of a run

  port(id: string, port: string, options: Options = {}): Promise<PortDetail> {
    return this.#get(pathOf(id, port), options);
  }

  /** What the prompt of a step was made of. */
  manifest(
    id: string,
    port: string,
    step: number,
    options: Options = {},
  ): Promise<ContextManifest> {
    return this.#get(`${pathOf(id, port)}/steps/${step}/manifest`, options);
  }

  /** Of a port, or of the whole run's result. */
  diff(id: string, port?: string, options: Options = {}): Promise<TreeDiff> {
    return this.#get(`${pathOf(id, port)}/diff`, options);
  }

  /** Another try for a port that failed; an ended run goes on with it. */
  retry(
    id: string,
    port: string,
    request: RetryRequest = {},
    options: Options = {},
  ): Promise<RunOrdered> {
    return this.#post(`${pathOf(id, port)}/retry`, request, options);
  }

  /** Goes on without the port; one that works is stopped. */
  skip(id: string, port: string, options: Options = {}): Promise<RunOrdered> {
    return this.#post(`${pathOf(id, port)}/skip`, undefined, options);
  }

  /** Tells a member of a port's pair something. */
  async say(
    id: string,
    port: string,
    words: { readonly to: "implementer" | "tester"; readonly text: string },
    options: Options = {},
  ): Promise<void> {
    await this.#post(`${pathOf(id, port)}/say`, words, options);
  }

  async #get<Answer>(path: string, options: Options): Promise<Answer> {
    return fromWire(await readJson(await this.#http.request(path, pass(options)))) as Answer;
  }

  async #post<Answer>(
    path: string,
    body: object | undefined,
    options: Options,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const sent =
      body === undefined
        ? { headers }
        : {
            headers: { "content-type": "application/json", ...headers },
            body: JSON.stringify(toWire(body)),
          };
    return fromWire(
      await readJson(await this.#http.request(path, { method: "POST", ...sent, ...pass(options) })),
    ) as Answer;
  }
}

function pathOf(id: string, port?: string): string {
  const run = `/v1/runs/${encodeURIComponent(id)}`;
  return port === undefined ? run : `${run}/ports/${encodeURIComponent(port)}`;
}

function pass({ signal }: Options): RequestInit {
  return signal === undefined ? {} : { signal };
}
