import { createHash } from "node:crypto";
import type { Database } from "../../durable/database.ts";
import { DureError } from "../../kernel/errors.ts";
import type { Inbox } from "../../escalations/inbox.ts";
import type { Escalation } from "../../wire/escalations.ts";
import { aboutRun, escalationFor, type TriggerName } from "../ask/triggers.ts";
import { hashNumber, type Tried } from "../merge/integration.ts";
import { hunksOf, type MovedConflict, type MovedSolution } from "../merge/moved-conflict.ts";
import { workerOf } from "../plan.ts";
import { ORCHESTRATOR, type PlanRun } from "../rows/run.ts";
import { namesOf } from "../rows/words.ts";
import type { MergeConflict, SolvedConflict } from "../workspace/merge-into-branch.ts";
import type { Repository } from "../workspace/repository.ts";
import { trailersOf } from "../workspace/undo-merge.ts";

interface ConflictParts {
  readonly database: Database;
  readonly inbox: Pick<Inbox, "announce" | "list" | "raise" | "settle">;
}

/** A merge that a person asked for. */
export interface ConflictingMerge {
  readonly run: PlanRun;
  readonly repository: Repository;
  readonly target: string;
  /** People approve the very commit: no other files may leave. */
  readonly isApproved: boolean;
  /** Undefined: another process works on the run. */
  readonly solve: (conflict: MovedConflict) => Promise<MovedSolution | undefined>;
  readonly signal: AbortSignal;
}

/** Questions of one run that are looked through, the newest first. */
const MAX_QUESTIONS = 200;
/** Files and conflicting places that a question shows, and characters of one place. */
const MAX_FILES = 20;
const MAX_PLACES = 5;
const MAX_PLACE = 1_500;
/** Bytes of a file in which places are looked for. */
const FILE_BYTES = 2_000_000;
/** Characters of what a failed command said last. */
const MAX_SAID = 2_000;

const TAKES: Readonly<Record<string, "ours" | "theirs">> = {
  take_branch: "ours",
  take_result: "theirs",
};

/**
 * Conflicts of results and branches that have moved: solved by the orchestrator, else asked. A
 * question is about one branch at one commit; its answer says how the next merge of the same goes.
 */
export class RunConflicts {
  readonly #parts: ConflictParts;

  constructor(parts: ConflictParts) {
    this.#parts = parts;
  }

  /** Undefined: another process works on the run. Throws `MERGE_CONFLICT`, which names the question. */
  async solve(
    conflict: MergeConflict,
    merge: ConflictingMerge,
  ): Promise<SolvedConflict | undefined> {
    const { commit, files } = conflict;
    const [asked] = await this.#questions(merge.run, (about) => about["key"] === commit);
    if (asked?.status === "open") throw conflictAsked(merge, files, asked.id);
    const how = asked === undefined ? FIRST : wayOf(asked);
    if (how === undefined) throw conflictByHand(merge, files);
    if (merge.isApproved) return this.#ask(conflict, merge, APPROVED);

    const { takes, hint, by, again } = how;
    const number = numberOf(commit, again);
    const { target } = merge;
    const solution = await merge.solve({ ...conflict, target, number, takes, hint });
    if (solution === undefined) return undefined;
    if (solution.open.length > 0) return this.#ask(conflict, merge, wordsOf(solution));

    return { commit: solution.commit, trailers: trailersOf({ by, files }) };
  }

  /** What was solved fails its tests: asks how it goes on. Gives the question. */
  async failed(conflict: MergeConflict, merge: ConflictingMerge, tried: Tried): Promise<string> {
    const said = tried.output.slice(-MAX_SAID);
    const description = `What was solved fails this command: ${tried.command}`;
    return this.#raise(conflict, merge, { description, said });
  }

  /** Closes what is asked about merges into a branch that has the result now. */
  async settle(run: PlanRun, target: string): Promise<void> {
    const open = await this.#openAbout(run, target);
    if (open.length === 0) return;
    const { database, inbox } = this.#parts;
    await database.transaction(async (tx) => {
      for (const subject of open) await inbox.settle(tx, subject, { by: "dure" });
    });
    inbox.announce();
  }

  async #ask(
    conflict: MergeConflict,
    merge: ConflictingMerge,
    description: string,
  ): Promise<never> {
    const id = await this.#raise(conflict, merge, { description });
    throw conflictAsked(merge, conflict.files, id);
  }

  /** One question is open per branch: what was asked of where it stood before is closed. */
  async #raise(
    conflict: MergeConflict,
    merge: ConflictingMerge,
    { description, said }: { readonly description: string; readonly said?: string | undefined },
  ): Promise<string> {
    const { run, target, isApproved } = merge;
    const { commit, ours, theirs, files } = conflict;
    const earlier = await this.#openAbout(run, target);
    const places = await placesOf(conflict, merge);
    const { database, inbox } = this.#parts;
    const question = escalationFor(isApproved ? "approved-conflict" : "merge-conflict", {
      ...aboutRun(run),
      hasOrchestrator: workerOf(run.plan.workers, ORCHESTRATOR) !== undefined,
      key: keyOf(target, commit),
      title: `${run.plan.name}: ${sameLines(target, files)}`.slice(0, 300),
      description: `${description} Answer, then merge it again: ${commandOf(run, target)}`,
      context: {
        into: target,
        files: files.slice(0, MAX_FILES),
        branchAt: ours.slice(0, 12),
        resultAt: theirs.slice(0, 12),
        key: commit,
        ...places,
        output: said,
      },
    });
    const [raised] = await database.transaction(async (tx) => {
      for (const subject of earlier) {
        if (subject !== question.subject) await inbox.settle(tx, subject, { by: "dure" });
      }
      return inbox.raise(tx, [question]);
    });
    inbox.announce();

    return raised!.id;
  }

  async #openAbout(run: PlanRun, target: string): Promise<readonly string[]> {
    const questions = await this.#questions(run, (about) => about["into"] === target);
    return questions
      .filter(({ status }) => status === "open")
      .map(({ context }) => subjectFor(run, target, String(context["key"])));
  }

  /** The newest first. */
  async #questions(
    { id, tenant }: PlanRun,
    fits: (about: Escalation["context"]) => boolean,
  ): Promise<readonly Escalation[]> {
    const asked = { tenant, run: id, type: "conflict", limit: MAX_QUESTIONS } as const;
    const { items } = await this.#parts.inbox.list(asked);
    return items.filter(
      ({ context }) => CONFLICTS.has(context["trigger"] as TriggerName) && fits(context),
    );
  }
}

/** How a conflict is solved. */
interface SolvingWay extends Pick<MovedConflict, "hint" | "takes"> {
  readonly by: string;
  /** The answer that lets the orchestrator try again. */
  readonly again?: string | undefined;
}

const FIRST: SolvingWay = { by: ORCHESTRATOR };

/** As a question was answered; undefined: a person does it by hand. Pure. */
function wayOf({ id, status, resolution, ...answered }: Escalation): SolvingWay | undefined {
  if (status !== "resolved" || resolution === null) return undefined;
  const { value, note } = resolution;
  if (value === "solve") return { by: ORCHESTRATOR, again: id, hint: note || undefined };
  const takes = TAKES[value];
  const by = answered.resolvedByPerson ?? answered.resolvedBy ?? "operator";

  return takes && { by, takes };
}

const CONFLICTS: ReadonlySet<TriggerName> = new Set(["merge-conflict", "approved-conflict"]);

const APPROVED = "People approve the very commit here, so no other files are merged for them.";
const NO_AGENT = "The plan has no agent to write it once: no orchestrator, no default worker.";

/** What the orchestrator was asked to do before, it is not asked again; but by an answer. Pure. */
function numberOf(commit: string, answer: string | undefined): number {
  if (answer === undefined) return hashNumber(commit);
  return hashNumber(createHash("sha256").update(`${commit} ${answer}`).digest("hex"));
}

function keyOf(target: string, commit: string): string {
  return `${target} ${commit}`;
}

function subjectFor(run: PlanRun, target: string, commit: string): string {
  const key = keyOf(target, commit);
  return escalationFor("merge-conflict", { ...aboutRun(run), key, title: "" }).subject;
}

function wordsOf({ open, words }: MovedSolution): string {
  if (words === undefined) return NO_AGENT;
  return `The agent at the merge did not write ${namesOf(open)} once. It said: ${words}`;
}

/** What both sides have where they conflict, by file; the first few. */
async function placesOf(
  conflict: MergeConflict,
  { repository, target, signal }: ConflictingMerge,
): Promise<{ readonly places: Readonly<Record<string, string>> }> {
  const { git, at } = repository;
  const names: readonly (readonly [string, string])[] = [
    [conflict.ours, target],
    [conflict.theirs, "the result"],
  ];
  const places: Record<string, string> = {};
  for (const path of conflict.files.slice(0, MAX_PLACES)) {
    const { exitCode, stdout } = await git.run(["cat-file", "blob", `${conflict.commit}:${path}`], {
      at,
      accept: [0, 128],
      outputBytes: FILE_BYTES,
      cut: true,
      signal,
    });
    const [hunk] = exitCode === 0 ? hunksOf(stdout.toString(), conflict) : [];
    if (hunk === undefined) continue;
    const named = names.reduce((text, [id, name]) => text.replaceAll(id, name), hunk);
    places[path] = named.slice(0, MAX_PLACE);
  }

  return { places };
}

function sameLines(target: string, files: readonly string[]): string {
  return `The result and ${target} changed the same lines: ${namesOf(files)}.`;
}

function commandOf({ id }: PlanRun, target: string): string {
  return `dure plan merge ${id} --into ${target}`;
}

function conflictAsked(
  { run, target }: ConflictingMerge,
  files: readonly string[],
  question: string,
): DureError {
  const again = commandOf(run, target);
  const some = namesOf(files);
  return new DureError(
    "MERGE_CONFLICT",
    `The result and ${target} changed the same lines: ${some}.`,
    {
      class: "conflict",
      hint: `Answer ${question} (dure escalations show ${question}). Then: ${again}`,
      details: { files, escalation: question },
    },
  );
}

function conflictByHand({ target }: ConflictingMerge, files: readonly string[]): DureError {
  const some = namesOf(files);
  return new DureError(
    "MERGE_CONFLICT",
    `The result and ${target} changed the same lines: ${some}.`,
    {
      class: "conflict",
      hint: `As you said, merge the result branch by hand (git merge) on ${target}.`,
      details: { files },
    },
  );
}
