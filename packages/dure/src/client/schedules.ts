import { onlyDefined } from "../kernel/json.ts";
import type { Schedule, ScheduleFiring } from "../wire/schedules.ts";
import type { CallOptions, Http } from "./http.ts";

/** Schedules over HTTP. */
export class SchedulesClient {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** By name. Needs scope `jobs`; what changes them needs `admin`. */
  async list(options: CallOptions = {}): Promise<readonly Schedule[]> {
    const path = "/v1/schedules";
    return (await this.#http.get<{ items: readonly Schedule[] }>(path, options)).items;
  }

  /** Does it now. The same key is the same run. */
  run(
    name: string,
    { idempotencyKey: key, ...options }: CallOptions & { readonly idempotencyKey?: string } = {},
  ): Promise<ScheduleFiring> {
    const headers = onlyDefined({ "idempotency-key": key });
    return this.#http.post(pathOf(name, "run"), undefined, options, headers);
  }

  /** Lets its moments pass. */
  pause(name: string, options: CallOptions = {}): Promise<Schedule> {
    return this.#http.post(pathOf(name, "pause"), undefined, options);
  }

  /** Lets its next moment count. */
  resume(name: string, options: CallOptions = {}): Promise<Schedule> {
    return this.#http.post(pathOf(name, "resume"), undefined, options);
  }
}

function pathOf(name: string, what: string): string {
  return `/v1/schedules/${encodeURIComponent(name)}/${what}`;
}
