import type { IncomingMessage, ServerResponse } from "node:http";
import type {
  ContextManifest,
  DraftChange,
  Escalation,
  ListedRun,
  PlanDraft,
  PlanFile,
  PlanPort,
  PlanProblem,
  PlanView,
  PortComment,
  PortDetail,
  PortStatus,
  ReviewNeeded,
  RunLeaving,
  RunCleaned,
  RunDetail,
  TranscriptLine,
  TreeDiff,
} from "dure/client";
import { fromWire, toWire } from "../../../dure/src/kernel/wire.ts";
import { editPlan, portsIn } from "../../../dure/src/plans/drafts/edit-plan.ts";

/** An event of a run without what the log adds. */
export interface RunEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Reader {
  readonly run: string;
  readonly response: ServerResponse;
}

type Changeable<Value> = { -readonly [Key in keyof Value]: Value[Key] };

/**
 * Plans and runs of the double: what a test puts there, changed by the orders that a page gives.
 * Answers `/v1/plans`, `/v1/runs` and the escalations of runs.
 */
export class DoublePlans {
  readonly files: PlanFile[] = [];
  readonly views = new Map<string, PlanView>();
  readonly runs: RunDetail[] = [];
  readonly details = new Map<string, Partial<PortDetail>>();
  readonly manifests = new Map<number, ContextManifest>();
  readonly diffs = new Map<string, TreeDiff>();
  readonly comments = new Map<string, readonly PortComment[]>();
  readonly transcripts = new Map<string, TranscriptLine[]>();
  /** Comments are refused for now: the change is another one than the page shows. */
  commentTrouble: { readonly message: string; readonly hint: string } | undefined;
  /** Transcripts are refused for now. */
  transcriptTrouble = false;
  readonly escalations: Escalation[] = [];
  readonly drafts: PlanDraft[] = [];
  /** Why runs are not to be cleaned without force, by run. */
  readonly keeps = new Map<string, NonNullable<RunCleaned["because"]>>();
  /** How many problems a text has beyond those that `findProblems` lists. */
  unlistedProblems = 0;
  /**
   * What a check of a text finds, and what a model proposes; without a proposal there is no model.
   */
  findProblems: (file: string, text: string) => readonly PlanProblem[] = () => [];
  proposal: string | undefined;
  /** What it asks, and says it left open. */
  proposalNotes: { questions: readonly string[]; open: readonly string[] } = {
    questions: [],
    open: [],
  };
  /** What is known of each result before it leaves. */
  leaving: RunLeaving = NOTHING_LEAVES;
  /** The run that the next start gives; without one it is refused. */
  nextRun: (() => RunDetail) | undefined;
  readonly #readers = new Set<Reader>();
  readonly #emit: (event: { readonly type: string; readonly [name: string]: unknown }) => string;
  readonly #keys = new Map<string, string>();

  constructor(
    emit: (event: { readonly type: string; readonly [name: string]: unknown }) => string,
  ) {
    this.#emit = emit;
  }

  /** Pages that follow this run now. */
  readersOf(run: string): number {
    return [...this.#readers].filter((reader) => reader.run === run).length;
  }

  /** Ends the connections of a run's readers, who come again. */
  cutReaders(): void {
    for (const { response } of this.#readers) response.destroy();
  }

  run(id: string): Changeable<RunDetail> {
    const found = this.runs.find((run) => run.id === id);
    if (!found) throw new Error(`The double has no run ${id}.`);
    return found;
  }

  /** Stores, then tells. */
  change(id: string, change: Partial<RunDetail>, event?: RunEvent): void {
    Object.assign(this.run(id), change);
    if (event) this.tell(id, event);
  }

  changePort(id: string, port: string, change: Partial<PlanPort>, event?: RunEvent): void {
    const run = this.run(id);
    run.ports = run.ports.map((one) => (one.id === port ? { ...one, ...change } : one));
    if (event) this.tell(id, { ...event, data: { port, ...event.data } });
  }

  tell(run: string, { type, data }: RunEvent): void {
    const event = { type, role: "orchestration", run, data: { plan: this.run(run).plan, ...data } };
    const id = this.#emit(event);
    for (const reader of [...this.#readers].filter((one) => one.run === run)) {
      reader.response.write(
        `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ id, at: Date.now(), ...event })}\n\n`,
      );
      if (type === "run.end") reader.response.end();
    }
  }

  /** True when the request was one of plans. */
  answer(request: IncomingMessage, url: URL, body: unknown, response: ServerResponse): boolean {
    const { pathname: path } = url;
    const given = (body ?? {}) as Record<string, unknown>;
    if (path === "/v1/plans") return json(response, 200, { items: toWire(this.files) });
    if (path === "/v1/plans/check") {
      const problems = this.findProblems(String(given["file"]), String(given["text"]));
      return json(response, 200, { ok: problems.length === 0, ...this.#found(problems) });
    }
    if (path === "/v1/plans/draft") {
      if (this.proposal === undefined) {
        return refuse(
          response,
          409,
          "MODEL_MISSING",
          "No model is there that could propose a plan.",
          "Set the key of a provider.",
        );
      }
      return json(response, 200, {
        text: this.proposal,
        ...this.proposalNotes,
        ...this.#found(this.findProblems("draft.yaml", this.proposal)),
      });
    }
    if (path.startsWith("/v1/drafts")) return this.#drafts(request, url, given, response);
    if (path === "/v1/runs/clean") return json(response, 200, this.#clean(given));
    if (path === "/v1/runs") {
      return request.method === "POST"
        ? this.#start(request, given, response)
        : json(response, 200, this.#list(url));
    }
    if (path === "/v1/escalations" && url.searchParams.get("status") === "open") {
      const run = url.searchParams.get("run");
      return json(response, 200, {
        items: this.escalations
          .filter((one) => one.status === "open" && (run === null || one.source.run === run))
          .map((one) => toWire(one)),
        next_cursor: null,
      });
    }
    const answered = /^\/v1\/escalations\/([^/]+)\/answer$/.exec(path);
    if (answered) return this.#answered(answered[1]!, given, response);
    const parts =
      /^\/v1\/runs\/([^/]+)(?:\/ports\/([^/]+))?(?:\/steps\/(\d+))?(?:\/([a-z]+))?(?:\/(\d+))?$/.exec(
        path,
      );
    if (!parts) return false;
    const [, id = "", port, step, verb, comment] = parts.map((part) =>
      part === undefined ? undefined : decodeURIComponent(part),
    );
    const run = this.runs.find((one) => one.id === id);
    if (!run) return refuse(response, 404, "RUN_UNKNOWN", `There is no run ${id}.`);
    if (port !== undefined && verb === "transcript") {
      return this.#transcript(`${id}/${port}`, url.searchParams, response);
    }
    if (port !== undefined) return this.#port(run, port, comment ?? step, verb, given, response);
    switch (verb) {
      case undefined:
        return json(response, 200, toWire(run));
      case "ports": {
        const ids = url.searchParams.get("ids")?.split(",") ?? [];
        const ports = run.ports.filter((one) => ids.includes(one.id));
        return json(response, 200, toWire({ ports }));
      }
      case "events":
        return this.#stream(request, run, response);
      case "diff":
        return refuse(response, 404, "RUN_NO_RESULT", "Nothing yet.");
      case "pause":
        this.change(id, { status: "paused" }, { type: "run.pause", data: {} });
        return this.#ordered(run, response);
      case "resume":
        this.change(id, { status: "running" }, { type: "run.resume", data: {} });
        return this.#ordered(run, response);
      case "cancel":
        this.change(
          id,
          { status: "cancelled", phase: "over", finishedAt: Date.now() },
          { type: "run.end", data: { outcome: "cancelled" } },
        );
        return this.#ordered(run, response);
      case "extend":
        this.change(
          id,
          {
            tokensMost: (run.tokensMost ?? 0) + Number(given["tokens"] ?? 0),
            callsMost: (run.callsMost ?? 0) + Number(given["calls"] ?? 0),
            status: "running",
            phase: "building",
            because: null,
          },
          { type: "run.resume", data: {} },
        );
        return this.#ordered(run, response);
      case "leaving":
        return json(response, 200, toWire(this.leaving));
      case "publish":
        return this.#publish(run, response);
      case "merge": {
        const target = typeof given["into"] === "string" ? given["into"] : run.definition.base;
        if (target === "dirty") {
          return refuse(
            response,
            409,
            "TARGET_DIRTY",
            "dirty is checked out in /shop, with changes of its own: a.ts.",
            "Commit or stash them (git stash -u), then try again. Nothing was changed.",
          );
        }
        if (target === "reviewed" && given["confirm"] !== LEAVING.confirm) {
          const said = "Look at what leaves with the run run_middle first: ci in a.yml.";
          return refuse(response, 409, "RESULT_NEEDS_REVIEW", said, undefined, LEAVING);
        }
        const commit = "f".repeat(40);
        const merged = { target, commit, before: run.baseCommit, at: Date.now() };
        this.change(run.id, { report: { ...run.report!, merged }, delivery: "merged" });
        return json(response, 200, {
          kind: "merged",
          target,
          commit,
          updated: "/home/user/shop",
        });
      }
      case "undo": {
        const { target = "main" } = run.report?.merged ?? {};
        const undone = { target, commit: "e".repeat(40), at: Date.now() };
        this.change(run.id, { report: { ...run.report!, undone }, delivery: "undone" });
        return json(response, 200, toWire({ ...undone, updated: null, isNew: true }));
      }
      default:
        return refuse(response, 404, "NOT_FOUND", path);
    }
  }

  /** As the server answers: behind `after`, or the newest before `before`. */
  #transcript(key: string, asked: URLSearchParams, response: ServerResponse): boolean {
    if (this.transcriptTrouble) return refuse(response, 503, "STORE_AWAY", "Not now.");
    const number = (name: string, usual: number): number => Number(asked.get(name) ?? usual);
    const search = (asked.get("search") ?? "").toLowerCase();
    const member = asked.get("member");
    const found = (this.transcripts.get(key) ?? []).filter(
      (line) =>
        line.id > number("after", 0) &&
        line.id < number("before", Infinity) &&
        (member === null || line.member === member) &&
        `${line.title}\n${line.text}`.toLowerCase().includes(search),
    );
    const limit = number("limit", 200);
    const lines = asked.has("before") ? found.slice(-limit) : found.slice(0, limit);
    const next = lines.at(-1)?.id ?? number("after", 0);
    return json(response, 200, toWire({ lines, next, hasMore: found.length > limit }));
  }

  /** As the server: a change names the version that it was made upon. */
  #drafts(
    request: IncomingMessage,
    url: URL,
    given: Record<string, unknown>,
    response: ServerResponse,
  ): boolean {
    const [, , , id, verb] = url.pathname.split("/");
    if (id === undefined) {
      if (request.method === "POST") return this.#makeDraft(String(given["goal"]), response);
      const items = this.drafts.map((draft) => ({ ...draft, unanswered: 0 }));
      return json(response, 200, toWire({ items }));
    }
    const place = this.drafts.findIndex((draft) => draft.id === id);
    const draft = this.drafts[place];
    if (!draft) return refuse(response, 404, "DRAFT_UNKNOWN", `There is no draft ${id}.`);
    if (request.method === "GET") return json(response, 200, toWire(draft));
    if (Number(given["version"] ?? url.searchParams.get("version")) !== draft.version) {
      const hint = "Your change was not saved.";
      return refuse(
        response,
        409,
        "DRAFT_CHANGED",
        `${draft.updatedBy} has changed the draft ${draft.id} meanwhile; it is at version ${draft.version} now.`,
        hint,
      );
    }
    if (request.method === "DELETE") {
      this.drafts.splice(place, 1);
      return json(response, 200, { items: [] });
    }
    const { text, change, answers } = fromWire(given) as {
      readonly text?: string;
      readonly change?: DraftChange;
      readonly answers?: readonly { readonly question: string; readonly answer: string }[];
    };
    const next =
      verb === "answers" ? this.proposal! : change ? editPlan(draft.text, change) : text!;
    const questions = answers ?? draft.questions;
    this.drafts[place] = this.#draftOf({ ...draft, questions }, next);

    return json(response, 200, toWire(this.drafts[place]));
  }

  #makeDraft(goal: string, response: ServerResponse): boolean {
    if (this.proposal === undefined) {
      const hint = "Set the key of a provider.";
      return refuse(response, 409, "MODEL_MISSING", "No model could propose a plan.", hint);
    }
    const { open } = this.proposalNotes;
    const questions = this.proposalNotes.questions.map((question) => ({ question, answer: null }));
    const about = { id: `draft_${this.drafts.length + 1}`, goal, questions, open };
    this.drafts.push(this.#draftOf(about, this.proposal));

    return json(response, 201, toWire(this.drafts.at(-1)));
  }

  #draftOf(
    about: Pick<PlanDraft, "id" | "goal" | "questions" | "open"> & { readonly version?: number },
    text: string,
  ): PlanDraft {
    const problems = this.findProblems("draft.yaml", text);
    return {
      repository: null,
      updatedBy: "민준",
      createdAt: Date.now(),
      updatedAt: Date.now(),
      ...about,
      version: (about.version ?? 0) + 1,
      text,
      ports: portsIn(text).map((port) => ({ ...port })),
      problems: [...problems],
      problemCount: problems.length,
    };
  }

  /** A remote named `gone` is not there. */
  #publish(run: RunDetail, response: ServerResponse): boolean {
    const { publish } = run.definition;
    if (publish === undefined || publish.remote === "gone") {
      return refuse(response, 503, "PUSH_FAILED", "login could not be pushed: no answer.");
    }
    const sent = { remote: publish.remote, branch: "review/login", commit: "e".repeat(40) };
    const published = { ...sent, pullRequest: "https://example.org/pull/7" };
    this.change(run.id, { report: { ...run.report!, published } });
    return json(response, 200, toWire({ ...published, isNew: true }));
  }

  #port(
    run: RunDetail,
    id: string,
    step: string | undefined,
    verb: string | undefined,
    given: Record<string, unknown>,
    response: ServerResponse,
  ): boolean {
    const port = run.ports.find((one) => one.id === id);
    if (!port) {
      return refuse(response, 404, "PLAN_PORT_UNKNOWN", `The run ${run.id} has no port ${id}.`);
    }
    const key = `${run.id}/${id}`;
    switch (verb) {
      case undefined:
        return json(
          response,
          200,
          toWire({ steps: [], messages: [], violations: [], ...this.details.get(key), ...port }),
        );
      case "manifest": {
        const manifest = this.manifests.get(Number(step));
        return manifest
          ? json(response, 200, toWire(manifest))
          : refuse(response, 404, "MANIFEST_MISSING", "No prompt.");
      }
      case "diff": {
        const diff = this.diffs.get(key);
        return diff
          ? json(response, 200, toWire(diff))
          : refuse(response, 404, "RUN_NO_RESULT", "The port has changed nothing yet.");
      }
      case "retry":
        this.change(run.id, {
          status: "running",
          phase: "building",
          report: null,
          because: null,
          finishedAt: null,
        });
        this.changePort(
          run.id,
          id,
          {
            status: "running",
            because: null,
            hint: typeof given["hint"] === "string" ? given["hint"] : null,
            triesPair: port.triesPair + 1,
            triesMade: port.triesMade + 1,
          },
          { type: "port.start", data: { attempt: port.attempt + 1 } },
        );
        return this.#ordered(run, response);
      case "comments":
        return this.#comments(key, step, given, response);
      case "review":
        this.changePort(
          run.id,
          id,
          { status: "running", triesMade: port.triesMade + 1 },
          { type: "port.start", data: { attempt: port.attempt + 1 } },
        );
        this.comments.set(
          key,
          (this.comments.get(key) ?? []).map((one) => ({ ...one, sentTry: port.triesMade })),
        );
        return this.#ordered(run, response);
      case "approve":
        this.changePort(
          run.id,
          id,
          { status: "succeeded" },
          { type: "port.success", data: { commit: "c" } },
        );
        return this.#ordered(run, response);
      case "say": {
        const detail = this.details.get(key) ?? {};
        const messages = detail.messages ?? [];
        this.details.set(key, {
          ...detail,
          messages: [
            ...messages,
            {
              id: 900 + messages.length,
              from: "operator",
              to: given["to"] === "tester" ? "tester" : "implementer",
              type: "feedback",
              payload: { text: given["text"] },
              replyTo: null,
              createdAt: Date.now(),
              deliveredAt: null,
              processedAt: null,
            },
          ],
        });
        return json(response, 202, { id: 900 + messages.length });
      }
      default:
        return refuse(response, 404, "NOT_FOUND", `${key} ${verb}`);
    }
  }

  #comments(
    key: string,
    dropped: string | undefined,
    given: Record<string, unknown>,
    response: ServerResponse,
  ): boolean {
    if (this.commentTrouble && given["text"] !== undefined) {
      const { message, hint } = this.commentTrouble;
      return refuse(response, 409, "COMMENT_OUTSIDE", message, hint);
    }
    const items = this.comments.get(key) ?? [];
    const { path, line, side, quote, text } = given;
    const added = {
      id: items.length + 1,
      path: String(path),
      line: typeof line === "number" ? line : null,
      side: side === "old" ? ("old" as const) : ("new" as const),
      quote: typeof quote === "string" ? quote : "",
      text: String(text),
      by: "127.0.0.1",
      createdAt: Date.now(),
      sentTry: null,
    };
    const rest = items.filter(({ id }) => String(id) !== dropped);
    const now = text === undefined ? rest : [...rest, added];
    this.comments.set(key, now);
    return json(response, 200, toWire({ items: now }));
  }

  #found(problems: readonly PlanProblem[]): object {
    const more = problems.length === 0 ? 0 : this.unlistedProblems;
    return { problems: toWire(problems), problem_count: problems.length + more };
  }

  #start(
    request: IncomingMessage,
    given: Record<string, unknown>,
    response: ServerResponse,
  ): boolean {
    const only = [given["only"], given["from"]].find((ports): ports is string[] =>
      Array.isArray(ports),
    );
    if (given["repository"] === "../nowhere") {
      return refuse(
        response,
        400,
        "NOT_A_REPOSITORY",
        "../nowhere is not in a git repository.",
        "Name a folder of the repository that the plan is for, or run git init there.",
      );
    }
    const broken = this.files.find(
      ({ name, problems }) => name === given["plan"] && problems.length > 0,
    );
    if (broken) {
      return refuse(
        response,
        400,
        "PLAN_INVALID",
        `The plan ${broken.file} has ${broken.problemCount} problems.`,
        `See all of them with: dure plan check ${broken.name}`,
      );
    }
    const text = typeof given["text"] === "string" ? given["text"] : "";
    const wrong = this.findProblems("draft.yaml", text);
    if (wrong.length > 0) {
      return refuse(
        response,
        400,
        "PLAN_INVALID",
        "The plan has problems.",
        undefined,
        this.#found(wrong),
      );
    }
    const name =
      typeof given["plan"] === "string"
        ? given["plan"]
        : /^plan: (\w+)$/m.exec(String(given["text"]))?.[1];
    const view = this.views.get(name ?? "");
    if (!view) {
      return refuse(response, 404, "PLAN_UNKNOWN", `There is no plan ${String(given["plan"])}.`);
    }
    if (given["dry_run"] === true) {
      return json(
        response,
        200,
        toWire(
          only === undefined
            ? view
            : { ...view, ports: view.ports.filter(({ id }) => only.includes(id)), levels: [only] },
        ),
      );
    }
    const key = String(request.headers["idempotency-key"] ?? "");
    const known = this.#keys.get(key);
    if (known !== undefined) return json(response, 202, toWire(this.run(known)));
    const run = this.nextRun?.();
    if (!run) return refuse(response, 409, "NO_GIT", "git was not found.", "Install git.");
    this.#keys.set(key, run.id);
    this.runs.unshift(run);
    this.#emit({
      type: "session.start",
      role: "orchestration",
      run: run.id,
      data: { plan: run.plan },
    });
    return json(response, 202, toWire(run));
  }

  /** A page of two, as the real server has pages. */
  #clean(given: Record<string, unknown>): unknown {
    const after = Number(given["after"] ?? 0);
    const old = this.runs.filter((run) =>
      given["run"] === undefined
        ? run.finishedAt !== null &&
          run.cleanedAt === null &&
          run.finishedAt <= Date.now() - Number(given["older_than_ms"] ?? 604_800_000)
        : run.id === given["run"],
    );
    const page = old.slice(after, after + 2);
    const items = page.map(({ id, plan }): RunCleaned => {
      const because = given["force"] === true ? undefined : this.keeps.get(id);
      return because === undefined
        ? { run: id, plan, outcome: "cleaned" }
        : { run: id, plan, outcome: "kept", because };
    });
    const cleaned =
      given["dry_run"] === true ? [] : items.filter(({ outcome }) => outcome === "cleaned");
    for (const { run } of cleaned) {
      this.change(run, { cleanedAt: Date.now() }, { type: "run.cleaned", data: {} });
    }
    return {
      items: toWire(items),
      next: after + 2 < old.length ? after + 2 - cleaned.length : null,
    };
  }

  #list(url: URL): unknown {
    const status = url.searchParams.get("status");
    const items = this.runs
      .filter((run) => status === null || run.status === status)
      .map(({ definition: _definition, ports, orchestrator: _orchestrator, ...run }): ListedRun => {
        const counts: Partial<Record<PortStatus, number>> = {};
        for (const port of ports) counts[port.status] = (counts[port.status] ?? 0) + 1;
        return { ...run, counts };
      });
    return { items: toWire(items), next_cursor: null };
  }

  #answered(id: string, given: Record<string, unknown>, response: ServerResponse): boolean {
    const index = this.escalations.findIndex((one) => one.id === id);
    if (index < 0) return refuse(response, 404, "ESCALATION_UNKNOWN", "Unknown.");
    const escalation: Escalation = {
      ...this.escalations[index]!,
      status: "resolved",
      resolution: {
        value: String(given["value"]),
        ...(typeof given["note"] === "string" && { note: given["note"] }),
      },
      resolvedBy: "operator",
      resolvedAt: Date.now(),
    };
    this.escalations[index] = escalation;
    if (escalation.source.run !== undefined) {
      this.tell(escalation.source.run, { type: "escalation.resolved", data: { id } });
    }
    return json(response, 200, { escalation: toWire(escalation), turn: null });
  }

  #ordered(run: RunDetail, response: ServerResponse): boolean {
    return json(response, 200, { carried_out: true, run: toWire(run) });
  }

  #stream(request: IncomingMessage, run: RunDetail, response: ServerResponse): boolean {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write(`: run ${run.id}\n\n`);
    if (request.headers["last-event-id"] === undefined) {
      response.write(`id: 1.2.${Date.now()}\nevent: run\ndata: ${JSON.stringify(toWire(run))}\n\n`);
    }
    if (["success", "partial", "failed", "cancelled"].includes(run.status)) {
      response.end();
      return true;
    }
    const reader = { run: run.id, response };
    this.#readers.add(reader);
    response.on("close", () => this.#readers.delete(reader));
    return true;
  }
}

function json(response: ServerResponse, status: number, body: unknown): true {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  return true;
}

const NOTHING_LEAVES: RunLeaving = {
  target: "main",
  review: null,
  allowed: [],
  gate: { commit: "d".repeat(40), needed: 0, counted: 0, approvals: [], not: null, author: null },
  mayConfirm: true,
};

/** What a result brings that a person is to look at. */
export const LEAVING: ReviewNeeded = {
  confirm: "c".repeat(32),
  commit: "d".repeat(40),
  count: 203,
  findings: [
    {
      rule: "github-token",
      path: "src/client.ts",
      line: 3,
      excerpt: "ghp_… (+36)",
      commit: "a".repeat(40),
    },
    {
      rule: "ci",
      path: ".github/workflows/ci.yml",
      line: null,
      excerpt: null,
      commit: "d".repeat(40),
    },
  ],
};

function refuse(
  response: ServerResponse,
  status: number,
  code: string,
  detail: string,
  hint?: string,
  details: object = {},
): true {
  response.writeHead(status, { "content-type": "application/problem+json" }).end(
    JSON.stringify({
      ...details,
      type: `about:blank#${code}`,
      title: code,
      status,
      code,
      detail,
      ...(hint !== undefined && { hint }),
    }),
  );
  return true;
}
