import type { DraftChange, ListedDraft, NewDraft, PlanDraft } from "../wire/drafts.ts";
import type { CallOptions, Http } from "./http.ts";

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
  make(draft: NewDraft, options: CallOptions = {}): Promise<PlanDraft> {
    return this.#http.answer("POST", "/v1/drafts", draft, options);
  }

  /** The newest first. */
  async list(options: CallOptions = {}): Promise<readonly ListedDraft[]> {
    return (await this.#http.answer<ListedDrafts>("GET", "/v1/drafts", undefined, options)).items;
  }

  get(id: string, options: CallOptions = {}): Promise<PlanDraft> {
    return this.#http.answer("GET", pathOf(id), undefined, options);
  }

  save(
    { id, version }: Upon,
    wanted: { readonly text: string } | { readonly change: DraftChange },
    options: CallOptions = {},
  ): Promise<PlanDraft> {
    return this.#http.answer("PUT", pathOf(id), { version, ...wanted }, options);
  }

  /** The model makes the draft anew. Without answers those that are stored are told again. */
  answer(
    { id, version }: Upon,
    answers: readonly { readonly question: string; readonly answer: string }[],
    options: CallOptions = {},
  ): Promise<PlanDraft> {
    return this.#http.answer("POST", `${pathOf(id)}/answers`, { version, answers }, options);
  }

  /** Those that are left. */
  async remove({ id, version }: Upon, options: CallOptions = {}): Promise<readonly ListedDraft[]> {
    const path = `${pathOf(id)}?version=${version}`;
    return (await this.#http.answer<ListedDrafts>("DELETE", path, undefined, options)).items;
  }
}

interface ListedDrafts {
  readonly items: readonly ListedDraft[];
}

function pathOf(id: string): string {
  return `/v1/drafts/${encodeURIComponent(id)}`;
}
