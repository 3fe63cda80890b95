import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import { ulid } from "../../kernel/ids.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import type { DraftChange, ListedDraft, PlanDraft } from "../../wire/drafts.ts";
import type { DraftNews, DraftQuestion, DraftRows, StoredDraft } from "../rows/draft-rows.ts";
import type { Draft } from "./draft.ts";
import type { DraftWish } from "./draft-prompt.ts";
import { notesIn, withoutNotes } from "./notes.ts";
import type { PlanThreads } from "../threads/plan-threads.ts";

/** Who asks, and how long. */
interface DraftRequest {
  readonly tenant: TenantView;
  readonly by: string;
  readonly share?: string | undefined;
  readonly signal: AbortSignal;
}

type DraftReach = Pick<DraftRequest, "tenant" | "share" | "signal"> & {
  readonly repository?: string | undefined;
};

interface PlanDraftsParts {
  readonly draftRows: DraftRows;
  readonly clock: Clock;
  readonly threads: Pick<PlanThreads, "edit" | "ports">;
  readonly proposals: {
    assertAllowed(options: DraftReach): Promise<void>;
    propose(wish: DraftWish, options: DraftReach): Promise<Draft>;
    review(text: string, options: DraftReach): Promise<Pick<Draft, "problems" | "problemCount">>;
  };
}

/** What a draft is made from: words for a model, or a text as it stands. */
interface WantedDraft {
  readonly goal: string;
  readonly repository?: string | undefined;
  readonly text?: string | undefined;
}

/** The version that a change is made upon. */
type UponStored = Pick<StoredDraft, "id" | "version">;

/** Answers of all rounds that are kept. */
const MAX_ANSWERED = 9;

/**
 * Plans that are made ready by a model and by people, who may be several: a change names the version
 * that it was made upon, and one upon an older version is refused.
 */
export class PlanDrafts {
  readonly #parts: PlanDraftsParts;

  constructor(parts: PlanDraftsParts) {
    this.#parts = parts;
  }

  /** Throws as `DraftProposals.propose`. */
  async create({ goal, repository, text }: WantedDraft, asked: DraftRequest): Promise<PlanDraft> {
    const { proposals, draftRows, clock } = this.#parts;
    await proposals.assertAllowed({ ...asked, repository });
    const made = text ?? (await proposals.propose({ goal }, { ...asked, repository })).text;
    const { questions, open } = notesIn(made);
    const id = `draft_${ulid(clock.now())}`;
    const rows = questions.map((question) => ({ question, answer: null }));
    const place = { goal, repository: repository ?? null, updatedBy: asked.by };
    const draft = { id, ...place, text: withoutNotes(made), questions: rows, open };
    await draftRows.add(draft, asked.tenant ?? "");

    return this.get(id, asked);
  }

  /** The newest first. */
  async list(tenant: TenantView): Promise<readonly ListedDraft[]> {
    const drafts = await this.#parts.draftRows.list(tenant);
    return drafts.map(({ text: _text, questions, open: _open, ...draft }) => ({
      ...draft,
      unanswered: questions.filter(({ answer }) => answer === null).length,
    }));
  }

  /** Throws `DRAFT_UNKNOWN`, and as `DraftProposals.review`. */
  async get(id: string, asked: DraftRequest): Promise<PlanDraft> {
    return this.#shown(await this.#stored(id, asked.tenant), asked);
  }

  /** Throws `DRAFT_UNKNOWN`, `DRAFT_CHANGED`, and as `editPlan`. */
  async save(
    upon: UponStored,
    wanted: { readonly text?: string | undefined; readonly change?: DraftChange | undefined },
    asked: DraftRequest,
  ): Promise<PlanDraft> {
    const before = await this.#upon(upon, asked.tenant);
    const { change } = wanted;
    const text =
      change === undefined
        ? wanted.text
        : await this.#parts.threads.edit(before.text, change, asked);

    return this.#shown(await this.#change(before, { text }, asked), asked);
  }

  /**
   * Stores answers, then lets the model make the draft anew with all of them. Where that fails, or
   * the process dies, the answers are there to be told again. Throws as `save`.
   */
  async answer(
    upon: UponStored,
    answers: readonly { readonly question: string; readonly answer: string }[],
    asked: DraftRequest,
  ): Promise<PlanDraft> {
    const before = await this.#upon(upon, asked.tenant);
    const questions = withAnswers(before.questions, answers);
    const answered =
      answers.length === 0 ? before : await this.#change(before, { questions }, asked);

    const told = questions.flatMap(({ question, answer }) =>
      answer === null ? [] : [{ question, answer }],
    );
    const { goal, text, repository } = answered;
    const reach = { ...asked, repository: repository ?? undefined };
    const wish = { goal, answers: told, before: text };
    const made = (await this.#parts.proposals.propose(wish, reach)).text;
    const notes = notesIn(made);
    const news = {
      text: withoutNotes(made),
      questions: nextQuestions(questions, notes.questions),
      open: notes.open,
    };

    return this.#shown(await this.#change(answered, news, asked), asked);
  }

  /** Throws `DRAFT_UNKNOWN`, `DRAFT_CHANGED`. */
  async drop(upon: UponStored, tenant: TenantView): Promise<void> {
    const { id } = await this.#upon(upon, tenant);
    if (!(await this.#parts.draftRows.drop(upon))) throw changed(await this.#stored(id, tenant));
  }

  async #stored(id: string, tenant: TenantView): Promise<StoredDraft> {
    const draft = await this.#parts.draftRows.get(id, tenant);
    if (draft === undefined) throw unknown(id);
    return draft;
  }

  async #upon({ id, version }: UponStored, tenant: TenantView): Promise<StoredDraft> {
    const draft = await this.#stored(id, tenant);
    if (draft.version !== version) throw changed(draft);
    return draft;
  }

  async #change(before: StoredDraft, news: DraftNews, asked: DraftRequest): Promise<StoredDraft> {
    const after = await this.#parts.draftRows.change(before, news, asked.by);
    if (after !== undefined) return after;
    throw changed(await this.#stored(before.id, asked.tenant));
  }

  async #shown(draft: StoredDraft, asked: DraftRequest): Promise<PlanDraft> {
    const { text, repository } = draft;
    const reach = { ...asked, repository: repository ?? undefined };
    const { proposals, threads } = this.#parts;
    const found = await proposals.review(text, reach);

    return { ...draft, ...found, ports: await threads.ports(text, asked) };
  }
}

/** Pure. */
function withAnswers(
  questions: readonly DraftQuestion[],
  answers: readonly { readonly question: string; readonly answer: string }[],
): readonly DraftQuestion[] {
  const said = new Map(answers.map(({ question, answer }) => [question, answer]));
  return questions.map(({ question, answer }) => ({
    question,
    answer: said.get(question) ?? answer,
  }));
}

/** What was answered stays, the newest; what the new draft asks comes after it. Pure. */
function nextQuestions(
  before: readonly DraftQuestion[],
  asked: readonly string[],
): readonly DraftQuestion[] {
  const answered = before.filter(({ answer }) => answer !== null).slice(-MAX_ANSWERED);
  const known = new Set(answered.map(({ question }) => question));
  const fresh = asked.filter((question) => !known.has(question));

  return [...answered, ...fresh.map((question) => ({ question, answer: null }))];
}

function unknown(id: string): DureError {
  return new DureError("DRAFT_UNKNOWN", `There is no draft ${id}.`, {
    class: "not-found",
    hint: "It may have been removed.",
  });
}

function changed({ id, version, updatedBy }: StoredDraft): DureError {
  return new DureError(
    "DRAFT_CHANGED",
    `${updatedBy} has changed the draft ${id} meanwhile; it is at version ${version} now.`,
    {
      class: "conflict",
      hint: "Your change was not saved. Load the draft again and change that.",
      details: { version, updatedBy },
    },
  );
}
