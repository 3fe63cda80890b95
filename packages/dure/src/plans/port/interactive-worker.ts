import { DureError, messageOf } from "../../kernel/errors.ts";
import type { MemberPlace } from "../agents/member-home.ts";
import { aloneWith, assignmentOf, noMorePaths } from "../assign/assignment.ts";
import { entriesOf } from "../assign/follow-worker.ts";
import { TranscriptBuffer } from "../assign/transcript.ts";
import { policyOfWorker } from "../network-needs.ts";
import { workerOf, type WorkerSpec } from "../plan.ts";
import type { ChannelMember } from "../rows/channel.ts";
import type { PlanStep } from "../rows/run.ts";
import { countedOf } from "../rows/step-log.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import { makeScope, type ScopeInput } from "../scope.ts";
import type { Assignment, WorkerResult } from "../workers/worker.ts";
import { pastOf, type MemberPast } from "./member-past.ts";
import { scopeOfMember } from "./member-scope.ts";
import type { PortWork } from "./pair-parts.ts";

/** Longest time for one answer, in milliseconds. */
const ANSWER_MS = 120_000;

/** The member that works, and where it does. */
interface Asker {
  readonly step: PlanStep;
  readonly place: MemberPlace;
  /** Of the tree, as the asking member sees it. */
  readonly confinement: Confinement;
}

/** A question for a member that is not at work itself. */
export interface WorkerQuestion {
  /** 1-based, of one step. */
  readonly number: number;
  readonly text: string;
  readonly asker: Asker;
}

/** What a member answered. */
export interface MemberAnswer {
  readonly text: string;
  /** Its kind. */
  readonly worker: string;
  /** The conversation in which it answered: its next try goes on with it. */
  readonly session?: string | undefined;
}

/**
 * A member of a pair between its turns. What it is asked it answers in the conversation of its
 * tries, in its own home, by its own worker: its agent takes the conversation up, or begins it here.
 * Where the agent cannot, it is told its last words. It writes nothing in the tree.
 */
export class InteractiveWorker {
  readonly #work: PortWork;
  readonly #member: ChannelMember;

  constructor(work: PortWork, member: ChannelMember) {
    this.#work = work;
    this.#member = member;
  }

  /** Throws why there is no answer. Rejects with the abort of `signal`. */
  async answer(question: WorkerQuestion, signal: AbortSignal): Promise<MemberAnswer> {
    const { files, parts } = this.#work;
    const spec = this.#spec();
    const past = await pastOf(this.#work, this.#member, { worker: spec.kind });
    const place = await files.place(this.#member, spec);
    const scope = await scopeOfMember(this.#work, this.#member);
    const assignment = this.#assignment(question, { spec, past, place, scope });
    const notes = new TranscriptBuffer();
    notes.add({ kind: "prompt", title: this.#member, text: question.text });
    let session: string | undefined;
    let result: WorkerResult | undefined;
    try {
      for await (const event of parts.worker(spec).run(assignment, { signal })) {
        for (const entry of entriesOf(event)) notes.add(entry);
        if (event.type === "session") session = event.id;
        if (event.type === "result") result = event.result;
      }
    } finally {
      await this.#keep(past.step, notes, result);
    }

    if (result?.status === "failed") {
      const { error, summary } = result;

      throw new DureError(error?.code ?? "WORKER_FAILED", error?.message ?? summary);
    }

    return { text: result?.summary || "(no answer)", worker: spec.kind, session };
  }

  #spec(): WorkerSpec {
    const { run, port } = this.#work;
    const spec = workerOf(run.plan.workers, port.role, this.#member);
    if (spec) return spec;
    throw new DureError("WORKER_UNKNOWN", `No worker for the role ${port.role}.`);
  }

  #assignment(
    { number, text, asker }: WorkerQuestion,
    given: {
      readonly spec: WorkerSpec;
      readonly past: MemberPast;
      readonly place: MemberPlace;
      readonly scope: ScopeInput;
    },
  ): Assignment {
    const { run, port, parts, account, files } = this.#work;
    const { spec, past, place, scope } = given;
    const { step, confinement } = asker;
    const { writable, shown } = parts.surroundings(spec);
    const places = [place.folder, ...writable];
    const network = policyOfWorker(spec, { plan: run.plan, port }, parts.network);

    return assignmentOf(
      {
        id: `${step.node.id}/answer/${number}`,
        run,
        port: port.id,
        member: this.#member,
        spec,
        try: step.try,
        prompt: questionWords(this.#member, { text, goal: port.goal, title: port.title, past }),
        promptResumed: `Your partner asks:\n\n${text}\n\n${HOW_TO_ANSWER}`,
        session: past.session,
        scope: makeScope({ ...scope, writes: [], reads: [...scope.reads, ...scope.writes] }),
        tree: files.tree,
        scratch: place.folder,
        sandbox: parts.sandbox,
        confinement: { ...readOnlyOf(confinement, asker.place, places), shown, network },
        // The secret of the step is its own worker's.
        env: parts.environment(port, spec, place, { ...step, hookToken: undefined }),
        timeMs: Math.min(ANSWER_MS, account.timeLeft),
        meter: account.meter,
      },
      {
        onStart: async () => {},
        channel: aloneWith("Answer by yourself."),
        requestAccess: noMorePaths("An answer needs no other files."),
      },
    );
  }

  /** Stores what the answer took, and what was said in the member's own transcript. */
  async #keep(
    step: MemberPast["step"],
    notes: TranscriptBuffer,
    result: WorkerResult | undefined,
  ): Promise<void> {
    const { run, port, parts, account, steps } = this.#work;
    const used = countedOf(result?.tokens, result?.calls ?? 0);
    try {
      if (used.input + used.output > 0 || used.calls > 0) {
        await parts.records.putAll(parts.lease, account.countSign(used));
      }

      if (step) await steps.log.note(step, notes.take());
    } catch (error) {
      parts.logger.warn(
        { run: run.id, port: port.id, error: messageOf(error) },
        `what an answer of the ${this.#member} of ${port.id} took could not be stored`,
      );
    }
  }
}

const HOW_TO_ANSWER = "Answer in a few sentences. Change no file.";

/** What a member is asked that may know nothing of its port. Pure. */
function questionWords(
  member: ChannelMember,
  about: {
    readonly text: string;
    readonly title: string;
    readonly goal: string;
    readonly past: MemberPast;
  },
): string {
  const { summary } = about.past;
  const said = summary === undefined ? "" : `\n\nWhat you said after your last try:\n${summary}`;

  return [
    `You are the ${member} of the port "${about.title}". Your partner asks:\n\n`,
    `${about.text}\n\n${HOW_TO_ANSWER} `,
    `The task of the port is:\n${about.goal}${said}`,
  ].join("");
}

/**
 * The asking worker's mounts, of which nothing but these places may be written. Its own folder is
 * not seen. Pure.
 */
function readOnlyOf(
  { writable, readOnly, ...same }: Confinement,
  asking: MemberPlace,
  places: readonly string[],
): Confinement {
  const seen = writable.filter((at) => at !== asking.folder && !places.includes(at));

  return { ...same, writable: places, readOnly: [...readOnly, ...seen] };
}
