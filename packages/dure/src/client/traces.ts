import type { TracesFilter, WorkTrace, WorkTraceLine, WorkTraceTexts } from "../wire/traces.ts";
import { queryOf, type CallOptions, type Http } from "./http.ts";
import type { Page } from "./resources.ts";

/** As which person the rooms of a trace are read. */
export type TraceOptions = CallOptions & { readonly asPerson?: string | undefined };

/** What was set off, and the texts that went in and out. */
export class TracesClient {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Turns, jobs and runs, newest first; a page may be short, and go on behind what it looked through. */
  list(filter: TracesFilter = {}, options: CallOptions = {}): Promise<Page<WorkTraceLine>> {
    return this.#http.get(`/v1/traces${queryOf({ ...filter })}`, options);
  }

  /** What began a thing, and all that it began. */
  of(id: string, { asPerson, ...options }: TraceOptions = {}): Promise<WorkTrace> {
    return this.#http.get(`/v1/traces/${encodeURIComponent(id)}${queryOf({ asPerson })}`, options);
  }

  /** What went into one thing of a trace, or one step of a turn (scope `admin`), and what came out. */
  texts(
    id: string,
    { at, asPerson, ...options }: TraceOptions & { readonly at?: string | undefined } = {},
  ): Promise<WorkTraceTexts> {
    const query = queryOf({ at, asPerson });
    return this.#http.get(`/v1/traces/${encodeURIComponent(id)}/texts${query}`, options);
  }
}
