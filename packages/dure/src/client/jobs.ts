import type { JsonObject } from "../kernel/json.ts";
import { fromWire, toWire } from "../kernel/wire.ts";
import { readJson, streamHeaders, type Http } from "./http.ts";
import { followJob, type JobStreamOptions, type JobStreamParts } from "./job-stream.ts";
import type { Page } from "./resources.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type { JobStatus, JobOutcome } from "../kernel/jobs.ts";

/** What `/v1/jobs` gives. Source: docs/spec/jobs §2. Times are milliseconds since the epoch. */
export interface Job {
  readonly jobId: string;
  readonly status: JobStatus;
  readonly outcome: JobOutcome | null;
  /** The agent that asked, and the one that was asked. */
  readonly requester: string;
  readonly requesterName: string;
  readonly target: string;
  readonly targetName: string;
  readonly message: string;
  readonly payload: (JsonObject & { readonly kind: string }) | null;
  readonly topic: string | null;
  readonly intent:
    | "notification"
    | "urgent_escalation"
    | "result_report"
    | "question"
    | "request"
    | "collaboration";
  readonly conversationId: string;
  readonly parentJobId: string | null;
  readonly rootId: string;
  /** 0 for a job that no job asked for. */
  readonly depth: number;
  /** The job that this one takes up. */
  readonly retryOf: string | null;
  /** 0: the target reads the message, the caller waits for no answer. */
  readonly maxTurns: number;
  readonly turnsDone: number;
  /** Since the last finished turn, and in all. */
  readonly resumeCount: number;
  readonly resumes: number;
  readonly lastError: { readonly code: string; readonly message: string } | null;
  /** A RUNNING job that waits for a person's answer. */
  readonly waiting: "person" | null;
  /** Where it was asked, if in a conversation. */
  readonly origin: { readonly session: string; readonly turn: string | null } | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /**
   * Since when the exchange turn under way is led; null between two turns, in line, and behind the
   * end.
   */
  readonly turnStartedAt: number | null;
}

/** One agent's answer in an exchange. */
export interface JobTurn {
  /** From 1; the target speaks in odd turns. */
  readonly number: number;
  readonly speaker: string;
  readonly text: string;
  /** Of every attempt. */
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** Null where the model's price is not known. */
  readonly costMicroUsd: number | null;
  readonly turnId: string | null;
  /** 0 for a turn that a retried job has taken over. */
  readonly attempts: number;
  readonly startedAt: number;
  readonly finishedAt: number;
}

/** What a person said into an exchange. */
export interface JobWords {
  readonly id: number;
  readonly author: string;
  readonly text: string;
  readonly at: number;
  /** The exchange turn that it reached; null while it waits for the next one. */
  readonly turn: number | null;
}

export interface JobDetail extends Job {
  readonly turns: readonly JobTurn[];
  readonly words: readonly JobWords[];
}

export interface AuditedJob extends Job {
  readonly why: "stuck" | "orphaned" | "resumed-often";
}

export interface JobsFilter {
  readonly status?: JobStatus | undefined;
  /** As asking or as asked one. */
  readonly agent?: string | undefined;
  /** The job that asked for it. */
  readonly parent?: string | undefined;
  /** The job with which its whole work began; it is among them. */
  readonly root?: string | undefined;
  /** Made within this time: `1h`, `7d`. */
  readonly since?: string | undefined;
  /** 1–200; default 50. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface JobRequest {
  /** In whose name. */
  readonly agent: string;
  /** Who is asked; or `session`, for the agent that answers there. */
  readonly target?: string | undefined;
  readonly session?: string | undefined;
  readonly message: string;
  /** Seconds to wait for the answer, 0 to 300. Default 30. */
  readonly waitSec?: number | undefined;
  readonly maxTurns?: number | undefined;
  readonly topic?: string | undefined;
  readonly conversationId?: string | undefined;
  readonly payload?: (JsonObject & { readonly kind: string }) | undefined;
}

/** `accepted` and `timeout`: the exchange goes on. */
export type JobAnswer =
  | { readonly status: "ok"; readonly reply: string; readonly jobId: string }
  | { readonly status: "accepted" | "timeout"; readonly jobId: string }
  | {
      readonly status: "error";
      readonly code: string;
      readonly hint: string;
      readonly jobId: string;
    };

/**
 * What a job's stream brings: how it stands (first, and again after a gap that could not be
 * replayed), then what happens.
 */
export type JobNews =
  | { readonly kind: "job"; readonly job: JobDetail }
  | { readonly kind: "event"; readonly event: PlatformEvent };

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** Jobs over HTTP. */
export class JobsClient {
  readonly #http: Http;
  readonly #parts: Pick<JobStreamParts, "clock" | "maxDelayMs" | "silenceMs">;

  constructor(http: Http, parts: Pick<JobStreamParts, "clock" | "maxDelayMs" | "silenceMs">) {
    this.#http = http;
    this.#parts = parts;
  }

  /** Newest first. */
  list(filter: JobsFilter = {}, options: Options = {}): Promise<Page<Job>> {
    return this.#get(`/v1/jobs${query({ ...filter })}`, options);
  }

  get(jobId: string, options: Options = {}): Promise<JobDetail> {
    return this.#get(pathOf(jobId), options);
  }

  /** Lets one agent ask another. The same key and request are the same job. */
  ask(
    request: JobRequest,
    { idempotencyKey, ...options }: Options & { readonly idempotencyKey?: string | undefined } = {},
  ): Promise<JobAnswer> {
    return this.#post(
      "/v1/jobs",
      request,
      options,
      idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
    );
  }

  /** Cancels it and all that it asked for. */
  cancel(jobId: string, options: Options = {}): Promise<Job> {
    return this.#post(`${pathOf(jobId)}/cancel`, undefined, options);
  }

  /** Gives the job that takes it up. */
  retry(jobId: string, options: Options = {}): Promise<Job> {
    return this.#post(`${pathOf(jobId)}/retry`, undefined, options);
  }

  /**
   * Speaks into the exchange. `asPerson`: the name to speak under, where the server asks for no
   * token.
   */
  async speak(
    jobId: string,
    text: string,
    { asPerson, ...options }: Options & { readonly asPerson?: string | undefined } = {},
  ): Promise<void> {
    await this.#post(`${pathOf(jobId)}/speak`, { text, asPerson }, options);
  }

  /** Jobs that someone should look at. */
  async audit(
    filter: { readonly stuck?: string | undefined; readonly resumes?: number | undefined } = {},
    options: Options = {},
  ): Promise<readonly AuditedJob[]> {
    return (
      await this.#get<{ items: readonly AuditedJob[] }>(
        `/v1/jobs/audit${query({ ...filter })}`,
        options,
      )
    ).items;
  }

  /** Removes finished jobs that are older; gives how many. Needs scope `admin`. */
  async purge(olderThan: string, options: Options = {}): Promise<number> {
    return (await this.#post<{ removed: number }>("/v1/jobs/purge", { olderThan }, options))
      .removed;
  }

  /**
   * A job as it stands, then what happens to it until it has ended, over any number of connections.
   */
  stream(jobId: string, options: JobStreamOptions = {}): AsyncGenerator<JobNews, void> {
    const open = (lastEventId: string | undefined): Promise<Response> =>
      this.#http.request(`${pathOf(jobId)}/stream`, {
        headers: streamHeaders(lastEventId),
        ...pass(options),
      });
    return followJob({ ...options, ...this.#parts, open });
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

function pathOf(jobId: string): string {
  return `/v1/jobs/${encodeURIComponent(jobId)}`;
}

function pass({ signal }: Options): RequestInit {
  return signal === undefined ? {} : { signal };
}

function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const set = Object.entries(values).filter(
    (entry): entry is [string, string | number] => entry[1] !== undefined && entry[1] !== "",
  );
  return set.length === 0
    ? ""
    : `?${new URLSearchParams(set.map(([key, value]) => [key, String(value)])).toString()}`;
}
