import type {
  AgentEditDetail,
  AgentEditEntry,
  AgentFiles,
  AgentFileSaved,
} from "../wire/agent-files.ts";
import { queryOf, type CallOptions, type Http } from "./http.ts";
import type { Page } from "./resources.ts";

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

  read(options: CallOptions = {}): Promise<AgentFiles> {
    return this.#http.get(`${this.#path}/files`, options);
  }

  save(
    file: AgentFiles["files"][number]["file"],
    change: { readonly text: string; readonly version: string | null },
    options: CallOptions = {},
  ): Promise<AgentFileSaved> {
    return this.#http.answer("PUT", `${this.#path}/files/${file}`, change, options);
  }

  /** Changes, the newest first. */
  edits(cursor?: string, options: CallOptions = {}): Promise<Page<AgentEditEntry>> {
    return this.#http.get(`${this.#path}/edits${queryOf({ cursor })}`, options);
  }

  edit(id: number, options: CallOptions = {}): Promise<AgentEditDetail> {
    return this.#http.get(`${this.#path}/edits/${id}`, options);
  }

  restore(
    id: number,
    order: { readonly side: "before" | "after"; readonly version: string | null },
    options: CallOptions = {},
  ): Promise<AgentFileSaved> {
    return this.#http.post(`${this.#path}/edits/${id}/restore`, order, options);
  }
}
