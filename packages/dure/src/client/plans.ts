import { DraftsClient } from "./drafts.ts";
import { passed, queryOf, streamHeaders, type CallOptions, type Http } from "./http.ts";
import type { Page } from "./resources.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type {
  PlanChecked,
  PlanDrafted,
  PlanDraftRequest,
  PlanFile,
  PlanView,
} from "../wire/plans.ts";
import type {
  Approvals,
  RunLeaving,
  CleanRequest,
  CommentRequest,
  ContextManifest,
  ListedRun,
  MergeOutcome,
  UndoOutcome,
  PlanRun,
  PortComment,
  PortDetail,
  PortSaid,
  PortWords,
  PublishOutcome,
  RetryRequest,
  RunDetail,
  RunPorts,
  RunOrdered,
  RunRequest,
  RunsCleaned,
  RunsFilter,
  Transcript,
  TranscriptFilter,
  TreeDiff,
} from "../wire/runs.ts";
import { followStream, type FollowOptions, type FollowParts } from "./follow-stream.ts";
import { isRunOver } from "../kernel/plans.ts";

/**
 * What a run's stream brings: how it stands (first, and again after a gap that could not be
 * replayed), then what happens.
 */
export type RunNews =
  | { readonly kind: "run"; readonly run: RunDetail }
  | { readonly kind: "event"; readonly event: PlatformEvent };

/** What one request for a merge answers. */
type MergeStep = Omit<MergeOutcome, "kind"> & { readonly kind: MergeOutcome["kind"] | "trying" };

/**
 * Plans and their runs over HTTP. Looking needs the scope `plans:read`; merging,
 * publishing and approving a result `plans:merge`; everything else `plans:run`.
 */
export class PlansClient {
  /** Plans that are made ready. */
  readonly drafts: DraftsClient;
  readonly #http: Http;
  readonly #parts: Pick<RunStreamParts, "clock" | "maxDelayMs" | "silenceMs">;

  constructor(http: Http, parts: Pick<RunStreamParts, "clock" | "maxDelayMs" | "silenceMs">) {
    this.#http = http;
    this.#parts = parts;
    this.drafts = new DraftsClient(http);
  }

  // --- plans

  /** Those with problems too; by name. */
  async list(options: CallOptions = {}): Promise<readonly PlanFile[]> {
    return (await this.#http.get<{ items: readonly PlanFile[] }>("/v1/plans", options)).items;
  }

  /** Refused with `PLAN_INVALID` when it has problems. */
  show(name: string, options: CallOptions = {}): Promise<PlanView> {
    return this.#http.get(`/v1/plans/${encodeURIComponent(name)}`, options);
  }

  /** Problems of a text that is no file yet. */
  check(
    plan: { readonly file: string; readonly text: string },
    options: CallOptions = {},
  ): Promise<PlanChecked> {
    return this.#http.post("/v1/plans/check", plan, options);
  }

  /** A model's proposal; nothing is stored. */
  draft(request: PlanDraftRequest, options: CallOptions = {}): Promise<PlanDrafted> {
    return this.#http.post("/v1/plans/draft", request, options);
  }

  // --- runs

  /** What `start` would do; nothing is begun. */
  dryRun(request: RunRequest, options: CallOptions = {}): Promise<PlanView> {
    return this.#http.post("/v1/runs", { ...request, dryRun: true }, options);
  }

  /** The same key and request are the same run. */
  start(
    request: RunRequest,
    {
      idempotencyKey,
      ...options
    }: CallOptions & { readonly idempotencyKey?: string | undefined } = {},
  ): Promise<PlanRun> {
    return this.#http.post(
      "/v1/runs",
      request,
      options,
      idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
    );
  }

  /** Newest first. */
  runs(filter: RunsFilter = {}, options: CallOptions = {}): Promise<Page<ListedRun>> {
    return this.#http.get(`/v1/runs${queryOf(filter)}`, options);
  }

  run(id: string, options: CallOptions = {}): Promise<RunDetail> {
    return this.#http.get(pathOf(id), options);
  }

  /**
   * A run as it stands, then what happens to it until it has ended, over any number of connections.
   */
  stream(id: string, options: RunStreamOptions = {}): AsyncGenerator<RunNews, void> {
    const open = (lastEventId: string | undefined): Promise<Response> =>
      this.#http.request(`${pathOf(id)}/events`, {
        headers: streamHeaders(lastEventId),
        ...passed(options),
      });
    return followRun({ ...options, ...this.#parts, open });
  }

  pause(id: string, options: CallOptions = {}): Promise<RunOrdered> {
    return this.#http.post(`${pathOf(id)}/pause`, undefined, options);
  }

  resume(id: string, options: CallOptions = {}): Promise<RunOrdered> {
    return this.#http.post(`${pathOf(id)}/resume`, undefined, options);
  }

  /** Its workers are stopped; what they made is kept. */
  cancel(id: string, options: CallOptions = {}): Promise<RunOrdered> {
    return this.#http.post(`${pathOf(id)}/cancel`, undefined, options);
  }

  /** Merges a run again that has ended, or begins it where nothing had begun. */
  again(id: string, options: CallOptions = {}): Promise<RunOrdered> {
    return this.#http.post(`${pathOf(id)}/again`, undefined, options);
  }

  /** More tokens or calls of models for the run; what had stopped for want of them goes on. */
  extend(
    id: string,
    request: { readonly tokens?: number | undefined; readonly calls?: number | undefined },
    options: CallOptions = {},
  ): Promise<RunOrdered> {
    return this.#http.post(`${pathOf(id)}/extend`, request, options);
  }

  /** What a merge into a branch would bring there, and whose approval it waits for. */
  leaving(
    id: string,
    request: { readonly into?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<RunLeaving> {
    return this.#http.get(`${pathOf(id)}/leaving${queryOf(request)}`, options);
  }

  /**
   * Takes the result over into a branch. Where that has moved, the tests run on the merged tree
   * first: `onTrying` is called while they go on. Throws `RESULT_NEEDS_REVIEW`; its `confirm` is the
   * yes to what {@link reviewNeeded} gives.
   */
  async merge(
    id: string,
    request: { readonly into?: string | undefined; readonly confirm?: string | undefined } = {},
    { onTrying, ...options }: CallOptions & { readonly onTrying?: (() => void) | undefined } = {},
  ): Promise<MergeOutcome> {
    for (;;) {
      const path = `${pathOf(id)}/merge`;
      const { kind, ...answer } = await this.#http.post<MergeStep>(path, request, options);
      if (kind !== "trying") return { ...answer, kind };
      onTrying?.();
    }
  }

  /** Takes the result out of the branch again that has it; what came later there stays. */
  undo(
    id: string,
    request: { readonly from?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<UndoOutcome> {
    return this.#http.post(`${pathOf(id)}/undo`, request, options);
  }

  /**
   * Pushes the result where the plan says, and opens a pull request; done once. Throws
   * `RESULT_NEEDS_REVIEW`, as {@link merge}.
   */
  publish(
    id: string,
    { confirm, ...options }: CallOptions & { readonly confirm?: string | undefined } = {},
  ): Promise<PublishOutcome> {
    const body = confirm === undefined ? undefined : { confirm };
    return this.#http.post(`${pathOf(id)}/publish`, body, options);
  }

  /**
   * Removes files and refs of ended runs; one page at a time, `next` is not null while there may be
   * more.
   */
  clean(request: CleanRequest = {}, options: CallOptions = {}): Promise<RunsCleaned> {
    return this.#http.post("/v1/runs/clean", request, options);
  }

  // --- ports of a run

  /** Some of the ports of a run, as {@link run} has them. */
  ports(id: string, names: readonly string[], options: CallOptions = {}): Promise<RunPorts> {
    return this.#http.get(`${pathOf(id)}/ports${queryOf({ ids: names.join(",") })}`, options);
  }

  port(id: string, port: string, options: CallOptions = {}): Promise<PortDetail> {
    return this.#http.get(pathOf(id, port), options);
  }

  /** What the prompt of a step was made of. */
  manifest(
    id: string,
    port: string,
    step: number,
    options: CallOptions = {},
  ): Promise<ContextManifest> {
    return this.#http.get(`${pathOf(id, port)}/steps/${step}/manifest`, options);
  }

  /** What the workers of a port thought, said and did, oldest first; `orchestrator` has one too. */
  transcript(
    id: string,
    port: string,
    filter: TranscriptFilter = {},
    options: CallOptions = {},
  ): Promise<Transcript> {
    return this.#http.get(`${pathOf(id, port)}/transcript${queryOf(filter)}`, options);
  }

  /** Of a port, or of the whole run's result. */
  diff(id: string, port?: string, options: CallOptions = {}): Promise<TreeDiff> {
    return this.#http.get(`${pathOf(id, port)}/diff`, options);
  }

  /** Another try for a port that failed; an ended run goes on with it. */
  retry(
    id: string,
    port: string,
    request: RetryRequest = {},
    options: CallOptions = {},
  ): Promise<RunOrdered> {
    return this.#http.post(`${pathOf(id, port)}/retry`, request, options);
  }

  /** Goes on without the port; one that works is stopped. */
  skip(id: string, port: string, options: CallOptions = {}): Promise<RunOrdered> {
    return this.#http.post(`${pathOf(id, port)}/skip`, undefined, options);
  }

  /** What people said about the work of a port, oldest first. */
  async comments(
    id: string,
    port: string,
    options: CallOptions = {},
  ): Promise<readonly PortComment[]> {
    return itemsOf(await this.#http.get<PortComments>(`${pathOf(id, port)}/comments`, options));
  }

  /** Comments on a line, or a file; it waits until the review is sent. */
  async comment(
    id: string,
    port: string,
    comment: CommentRequest,
    options: CallOptions = {},
  ): Promise<readonly PortComment[]> {
    const path = `${pathOf(id, port)}/comments`;
    return itemsOf(await this.#http.post<PortComments>(path, comment, options));
  }

  /** Takes back a comment that was not sent yet. */
  async uncomment(
    id: string,
    port: string,
    comment: number,
    options: CallOptions = {},
  ): Promise<readonly PortComment[]> {
    const path = `${pathOf(id, port)}/comments/${comment}`;
    return itemsOf(await this.#http.answer<PortComments>("DELETE", path, undefined, options));
  }

  /** Sends the comments that wait: the port has another try, which is told them. */
  review(
    id: string,
    port: string,
    request: { readonly text?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<RunOrdered> {
    return this.#http.post(`${pathOf(id, port)}/review`, request, options);
  }

  /** Agrees that the result leaves the run, for the very commit that was looked at. */
  approveResult(id: string, commit: string, options: CallOptions = {}): Promise<Approvals> {
    return this.#http.post(`${pathOf(id)}/approve`, { commit }, options);
  }

  /** Approves the work of a port that waits for a person. */
  approve(id: string, port: string, options: CallOptions = {}): Promise<RunOrdered> {
    return this.#http.post(`${pathOf(id, port)}/approve`, undefined, options);
  }

  /** Tells a member of a port something. The port's messages tell when it was read. */
  async say(
    id: string,
    port: string,
    words: PortWords,
    options: CallOptions = {},
  ): Promise<PortSaid> {
    return this.#http.post<PortSaid>(`${pathOf(id, port)}/say`, words, options);
  }
}

function pathOf(id: string, port?: string): string {
  const run = `/v1/runs/${encodeURIComponent(id)}`;
  return port === undefined ? run : `${run}/ports/${encodeURIComponent(port)}`;
}

interface PortComments {
  readonly items: readonly PortComment[];
}

function itemsOf({ items }: PortComments): readonly PortComment[] {
  return items;
}

// --- run stream

type RunStreamOptions = FollowOptions;
type RunStreamParts = FollowParts;

/**
 * A run as it stands, then its events until it has ended. An end that was followed by a retry is
 * none. Throws a refusal, such as `RUN_UNKNOWN`.
 */
function followRun(parts: RunStreamParts): AsyncGenerator<RunNews, void> {
  return followStream<RunNews>(parts, {
    read: (event, data) =>
      event === "run"
        ? { kind: "run", run: data as RunDetail }
        : { kind: "event", event: data as PlatformEvent },
    isEnd: (news) =>
      news.kind === "run" ? isRunOver(news.run.status) : news.event.type === "run.end",
    ends: "by-server",
  });
}
