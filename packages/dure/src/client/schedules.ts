import { fromWire } from "../kernel/wire.ts";
import type { Schedule, ScheduleFiring } from "../wire/schedules.ts";
import { readJson, type Http } from "./http.ts";

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** Schedules over HTTP. */
export class SchedulesClient {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** By name. Needs scope `jobs`; what changes them needs `admin`. */
  async list(options: Options = {}): Promise<readonly Schedule[]> {
    const answer = await readJson(await this.#http.request("/v1/schedules", signalOf(options)));
    return (fromWire(answer) as { items: readonly Schedule[] }).items;
  }

  /** Does it now. The same key is the same run. */
  run(
    name: string,
    { idempotencyKey: key, ...options }: Options & { readonly idempotencyKey?: string } = {},
  ): Promise<ScheduleFiring> {
    const headers: HeadersInit = key === undefined ? {} : { "idempotency-key": key };
    return this.#post(name, "run", { ...signalOf(options), headers });
  }

  /** Lets its moments pass. */
  pause(name: string, options: Options = {}): Promise<Schedule> {
    return this.#post(name, "pause", signalOf(options));
  }

  /** Lets its next moment count. */
  resume(name: string, options: Options = {}): Promise<Schedule> {
    return this.#post(name, "resume", signalOf(options));
  }

  async #post<Resource>(name: string, what: string, init: RequestInit): Promise<Resource> {
    const path = `/v1/schedules/${encodeURIComponent(name)}/${what}`;
    const answer = await this.#http.request(path, { method: "POST", ...init });

    return fromWire(await readJson(answer)) as Resource;
  }
}

function signalOf({ signal }: Options): RequestInit {
  return { signal: signal ?? null };
}
