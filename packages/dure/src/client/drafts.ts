import { fromWire, toWire } from "../kernel/wire.ts";
import type { DraftChange, ListedDraft, NewDraft, PlanDraft } from "../wire/drafts.ts";
import { readJson, type Http } from "./http.ts";

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** The draft that a change is made upon. */
type Upon = Pick<PlanDraft, "id" | "version">;

/**
 * Plans that are made ready. A change is made upon a version; where the draft was changed meanwhile
 * it is refused with `DRAFT_CHANGED`.
 */
export class DraftsClient {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** A model's proposal for a goal; with a `text` that as it stands. */
  make(draft: NewDraft, options: Options = {}): Promise<PlanDraft> {
    return this.#send("POST", "/v1/drafts", draft, options);
  }

  /** The newest first. */
  async list(options: Options = {}): Promise<readonly ListedDraft[]> {
    return (await this.#send<ListedDrafts>("GET", "/v1/drafts", undefined, options)).items;
  }

  get(id: string, options: Options = {}): Promise<PlanDraft> {
    return this.#send("GET", pathOf(id), undefined, options);
  }

  save(
    { id, version }: Upon,
    wanted: { readonly text: string } | { readonly change: DraftChange },
    options: Options = {},
  ): Promise<PlanDraft> {
    return this.#send("PUT", pathOf(id), { version, ...wanted }, options);
  }

  /** The model makes the draft anew. Without answers those that are stored are told again. */
  answer(
    { id, version }: Upon,
    answers: readonly { readonly question: string; readonly answer: string }[],
    options: Options = {},
  ): Promise<PlanDraft> {
    return this.#send("POST", `${pathOf(id)}/answers`, { version, answers }, options);
  }

  /** Those that are left. */
  async remove({ id, version }: Upon, options: Options = {}): Promise<readonly ListedDraft[]> {
    const path = `${pathOf(id)}?version=${version}`;
    return (await this.#send<ListedDrafts>("DELETE", path, undefined, options)).items;
  }

  async #send<Answer>(
    method: string,
    path: string,
    body: unknown,
    { signal }: Options,
  ): Promise<Answer> {
    const sent =
      body === undefined
        ? {}
        : {
            headers: { "content-type": "application/json" },
            body: JSON.stringify(toWire(body)),
          };
    const asked = signal === undefined ? { method, ...sent } : { method, ...sent, signal };

    return fromWire(await readJson(await this.#http.request(path, asked))) as Answer;
  }
}

interface ListedDrafts {
  readonly items: readonly ListedDraft[];
}

function pathOf(id: string): string {
  return `/v1/drafts/${encodeURIComponent(id)}`;
}
