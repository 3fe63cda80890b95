import type { TracesFilter, WorkTraceLine, WorkTraceTexts } from "../wire/traces.ts";
import { queryOf, type CallOptions, type Http } from "./http.ts";
import type { Page } from "./resources.ts";

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

  /** What went into one thing of a trace, or one step of a turn (scope `admin`), and what came out. */
  texts(
    id: string,
    {
      at,
      asPerson,
      ...options
    }: CallOptions & {
      readonly at?: string | undefined;
      readonly asPerson?: string | undefined;
    } = {},
  ): Promise<WorkTraceTexts> {
    const query = queryOf({ at, asPerson });
    return this.#http.get(`/v1/traces/${encodeURIComponent(id)}/texts${query}`, options);
  }
}
