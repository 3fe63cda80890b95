import { passed, queryOf, streamHeaders, type CallOptions, type Http } from "./http.ts";
import type { Page } from "./resources.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type {
  AuditedJob,
  Job,
  JobAnswer,
  JobAuditFilter,
  JobDetail,
  JobRequest,
  JobsFilter,
} from "../wire/jobs.ts";
import { followStream, type FollowOptions, type FollowParts } from "./follow-stream.ts";
import { isJobEnd, isJobOver } from "../kernel/jobs.ts";

/**
 * What a job's stream brings: how it stands (first, and again after a gap that could not be
 * replayed), then what happens.
 */
export type JobNews =
  | { readonly kind: "job"; readonly job: JobDetail }
  | { readonly kind: "event"; readonly event: PlatformEvent };

/** Jobs over HTTP. */
export class JobsClient {
  readonly #http: Http;
  readonly #parts: Pick<JobStreamParts, "clock" | "maxDelayMs" | "silenceMs">;

  constructor(http: Http, parts: Pick<JobStreamParts, "clock" | "maxDelayMs" | "silenceMs">) {
    this.#http = http;
    this.#parts = parts;
  }

  /** Newest first. */
  list(filter: JobsFilter = {}, options: CallOptions = {}): Promise<Page<Job>> {
    return this.#http.get(`/v1/jobs${queryOf(filter)}`, options);
  }

  get(jobId: string, options: CallOptions = {}): Promise<JobDetail> {
    return this.#http.get(pathOf(jobId), options);
  }

  /** Lets one agent ask another. The same key and request are the same job. */
  ask(
    request: JobRequest,
    {
      idempotencyKey,
      ...options
    }: CallOptions & { readonly idempotencyKey?: string | undefined } = {},
  ): Promise<JobAnswer> {
    return this.#http.post(
      "/v1/jobs",
      request,
      options,
      idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey },
    );
  }

  /** The bytes of a file of a job (`files`). */
  async downloadFile(jobId: string, fileId: string, options: CallOptions = {}): Promise<Blob> {
    const path = `${pathOf(jobId)}/files/${encodeURIComponent(fileId)}`;
    return (await this.#http.request(path, passed(options))).blob();
  }

  /** Cancels it and all that it asked for. */
  cancel(jobId: string, options: CallOptions = {}): Promise<Job> {
    return this.#http.post(`${pathOf(jobId)}/cancel`, undefined, options);
  }

  /**
   * Goes on with a job that failed or was given up (`lastError.retry`). What it has done is not done
   * again. Asked twice, it is one retry.
   */
  retry(jobId: string, options: CallOptions = {}): Promise<Job> {
    return this.#http.post(`${pathOf(jobId)}/retry`, undefined, options);
  }

  /**
   * Speaks into the exchange. `asPerson`: the name to speak under, where the server asks for no
   * token.
   */
  async speak(
    jobId: string,
    text: string,
    { asPerson, ...options }: CallOptions & { readonly asPerson?: string | undefined } = {},
  ): Promise<void> {
    await this.#http.post(`${pathOf(jobId)}/speak`, { text, asPerson }, options);
  }

  /** Jobs that someone should look at. */
  async audit(
    filter: JobAuditFilter = {},
    options: CallOptions = {},
  ): Promise<readonly AuditedJob[]> {
    return (
      await this.#http.get<{ items: readonly AuditedJob[] }>(
        `/v1/jobs/audit${queryOf(filter)}`,
        options,
      )
    ).items;
  }

  /** Removes finished jobs that are older; gives how many. Needs scope `admin`. */
  async purge(olderThan: string, options: CallOptions = {}): Promise<number> {
    return (await this.#http.post<{ removed: number }>("/v1/jobs/purge", { olderThan }, options))
      .removed;
  }

  /**
   * A job as it stands, then what happens to it until it has ended, over any number of connections.
   */
  stream(jobId: string, options: JobStreamOptions = {}): AsyncGenerator<JobNews, void> {
    const open = (lastEventId: string | undefined): Promise<Response> =>
      this.#http.request(`${pathOf(jobId)}/stream`, {
        headers: streamHeaders(lastEventId),
        ...passed(options),
      });
    return followJob({ ...options, ...this.#parts, open });
  }
}

function pathOf(jobId: string): string {
  return `/v1/jobs/${encodeURIComponent(jobId)}`;
}

// --- job stream

type JobStreamOptions = FollowOptions;
type JobStreamParts = FollowParts;

/**
 * A job as it stands, then its events until it has ended. Throws a refusal, such as `JOB_UNKNOWN`.
 */
function followJob(parts: JobStreamParts): AsyncGenerator<JobNews, void> {
  return followStream<JobNews>(parts, {
    read: (event, data) =>
      event === "job"
        ? { kind: "job", job: data as JobDetail }
        : { kind: "event", event: data as PlatformEvent },
    isEnd: (news) => (news.kind === "job" ? isJobOver(news.job.status) : isJobEnd(news.event)),
    ends: "at-once",
  });
}
