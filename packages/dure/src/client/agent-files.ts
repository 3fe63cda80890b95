import { fromWire, toWire } from "../kernel/wire.ts";
import type {
  AgentEditDetail,
  AgentEditEntry,
  AgentFiles,
  AgentFileSaved,
} from "../wire/agent-files.ts";
import { readJson, type Http } from "./http.ts";
import type { Page } from "./resources.ts";

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/**
 * The files that make an agent. A change is made upon a version; where the file was changed
 * meanwhile it is refused with `AGENT_FILE_CHANGED`.
 */
export class AgentFilesClient {
  readonly #http: Http;
  readonly #path: string;

  constructor(http: Http, agent: string) {
    this.#http = http;
    this.#path = `/v1/agents/${encodeURIComponent(agent)}`;
  }

  read(options: Options = {}): Promise<AgentFiles> {
    return this.#send("GET", "/files", options);
  }

  save(
    file: AgentFiles["files"][number]["file"],
    change: { readonly text: string; readonly version: string | null },
    options: Options = {},
  ): Promise<AgentFileSaved> {
    return this.#send("PUT", `/files/${file}`, options, change);
  }

  /** Changes, the newest first. */
  edits(cursor?: string, options: Options = {}): Promise<Page<AgentEditEntry>> {
    const query = cursor === undefined ? "" : `?cursor=${encodeURIComponent(cursor)}`;
    return this.#send("GET", `/edits${query}`, options);
  }

  edit(id: number, options: Options = {}): Promise<AgentEditDetail> {
    return this.#send("GET", `/edits/${id}`, options);
  }

  restore(
    id: number,
    order: { readonly side: "before" | "after"; readonly version: string | null },
    options: Options = {},
  ): Promise<AgentFileSaved> {
    return this.#send("POST", `/edits/${id}/restore`, options, order);
  }

  async #send<Answer>(
    method: string,
    path: string,
    options: Options,
    body?: unknown,
  ): Promise<Answer> {
    const headers: Record<string, string> =
      body === undefined ? {} : { "content-type": "application/json" };
    const sent = body === undefined ? {} : { body: JSON.stringify(toWire(body)) };
    const { signal } = options;
    const asked = { method, headers, ...sent };
    const answer = await this.#http.request(
      `${this.#path}${path}`,
      signal === undefined ? asked : { ...asked, signal },
    );

    return fromWire(await readJson(answer)) as Answer;
  }
}
