import { DureError, messageOf } from "../../kernel/errors.ts";
import type { MemberPlace } from "../agents/member-home.ts";
import type { WorkerSpec } from "../plan.ts";
import type { Confinement } from "../sandbox/sandbox.ts";
import { makeScope, type ScopeInput } from "../scope.ts";
import type { Assignment } from "../workers/worker.ts";
import { aloneWith, assignmentOf, noMorePaths } from "../assign/assignment.ts";
import { wordsIn, type ChannelMember } from "../rows/channel.ts";
import type { PortWork, Try } from "./pair-parts.ts";
import type { PlanStep } from "../rows/run.ts";
import type { Member } from "../../kernel/plans.ts";

/** Questions that a member may ask in one step. */
const MAX_QUERIES = 5;
/** Longest time for one answer, in milliseconds. */
const ANSWER_MS = 120_000;

/** A member that works, with what its partner answers its questions with. */
export interface AskingMember {
  readonly member: ChannelMember;
  readonly try: Try;
  readonly step: PlanStep;
  readonly spec: WorkerSpec;
  readonly place: MemberPlace;
  /** Of the tree, as the working member sees it. */
  readonly confinement: Confinement;
  /** The scope of the other member, with the paths that it was given meanwhile. */
  readonly partnerScope: () => Promise<ScopeInput>;
}

/** Ends with the work of the member that asks. */
interface Listening {
  readonly signal: AbortSignal;
  /** Aborted when no more questions are answered. */
  readonly mute: AbortController;
}

/** What a member asks while it works, and what the worker in its partner's place answers. */
export class PairTalk {
  readonly #work: PortWork;
  readonly #asking: AskingMember;
  readonly #listening: Listening;
  readonly #answering: Promise<void>;
  #asked = 0;

  /** Answers until `signal` is aborted; takes no slot. */
  constructor(work: PortWork, asking: AskingMember, signal: AbortSignal) {
    this.#work = work;
    this.#asking = asking;
    this.#listening = { signal, mute: new AbortController() };
    this.#answering = this.#answerAll();
  }

  /** Resolves when the last answer was given. Never rejects. */
  get finished(): Promise<void> {
    return this.#answering;
  }

  /** Asks the partner. Rejects with the abort of `signal` alone. */
  async ask(text: string, signal: AbortSignal): Promise<string> {
    const { member, step } = this.#asking;
    const number = ++this.#asked;
    if (number > MAX_QUERIES) {
      return `No more than ${MAX_QUERIES} questions are answered in one step.`;
    }
    const to = partnerOf(member);
    const key = `${step.id}.${step.starts}:query:${member}:${number}`;
    try {
      const { answer } = await this.#work.channel.query(
        { key, from: member, to, text },
        { signal: AbortSignal.any([signal, this.#listening.mute.signal]) },
      );
      return wordsIn(answer);
    } catch (error) {
      if (signal.aborted) throw error;
      return cannotAnswer(to, error);
    }
  }

  /** Ends with `signal`; aborts `mute` when questions cannot be read any more. */
  async #answerAll(): Promise<void> {
    const { channel } = this.#work;
    const { signal, mute } = this.#listening;
    const from = this.#asking.member;
    const to = partnerOf(from);
    try {
      let number = 0;
      for await (const question of channel.inbox(to, "query", { signal })) {
        const text = await this.#answer(++number, wordsIn(question.payload));
        await channel.send({
          key: `ack:${question.id}`,
          from: to,
          to: from,
          type: "ack",
          payload: { text },
          replyTo: question.id,
        });
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#warn(error);
      mute.abort(error);
    }
  }

  /** The answer, or why there is none. */
  async #answer(number: number, question: string): Promise<string> {
    try {
      return await this.#letAnswer(number, question);
    } catch (error) {
      this.#listening.signal.throwIfAborted();
      this.#warn(error);
      return cannotAnswer(partnerOf(this.#asking.member), error);
    }
  }

  async #letAnswer(number: number, question: string): Promise<string> {
    const worker = this.#work.parts.worker(this.#asking.spec);
    const scope = await this.#asking.partnerScope();
    const { files } = this.#work;
    const place = await files.place("answers", this.#asking.spec);
    const assignment = this.#assignment(number, question, { scope, place });
    const { signal } = this.#listening;
    for await (const event of worker.run(assignment, { signal })) {
      if (event.type !== "result") continue;
      const { status, error, summary } = event.result;
      if (status === "failed") {
        throw new DureError(error?.code ?? "WORKER_FAILED", error?.message ?? summary);
      }
      return summary || "(no answer)";
    }
    return "(no answer)";
  }

  #assignment(
    number: number,
    question: string,
    { scope, place }: { readonly scope: ScopeInput; readonly place: MemberPlace },
  ): Assignment {
    const { run, port, parts, account, files } = this.#work;
    const { member, step, spec, confinement, place: asking } = this.#asking;
    const reads = [...scope.reads, ...scope.writes];
    const partner = partnerOf(member);
    const prompt = [
      `You are the ${partner} of the port "${port.title}". Your partner asks:\n\n`,
      `${question}\n\n`,
      "Answer in a few sentences. Change no file. ",
      `The task of the port is:\n${port.goal}`,
    ];
    return assignmentOf(
      {
        id: `${step.node.id}/answer/${number}`,
        run,
        port: port.id,
        member: partner,
        spec,
        try: this.#asking.try.number,
        prompt: prompt.join(""),
        scope: makeScope({ ...scope, writes: [], reads }),
        tree: files.tree,
        scratch: place.folder,
        sandbox: parts.sandbox,
        confinement: readOnlyOf(confinement, asking, [place.folder, ...parts.surroundings(spec)]),
        env: parts.environment(port, spec, place, step),
        timeMs: Math.min(ANSWER_MS, account.timeLeft),
      },
      {
        onStart: async () => {},
        channel: aloneWith("Answer by yourself."),
        requestAccess: noMorePaths("An answer needs no other files."),
      },
    );
  }

  #warn(error: unknown): void {
    const { run, port, parts } = this.#work;
    parts.logger.warn(
      { run: run.id, port: port.id, error: messageOf(error) },
      `the ${partnerOf(this.#asking.member)} of ${port.id} could not answer`,
    );
  }
}

/** What the operator says to a member while it works. Ends with the abort of `signal`. */
export async function* operatorWords(
  { channel }: Pick<PortWork, "channel">,
  member: Member,
  signal: AbortSignal,
): AsyncGenerator<{ from: string; text: string }> {
  if (member === "orchestrator") return;
  for await (const message of channel.inbox(member, "feedback", { signal })) {
    if (message.from === "operator") yield { from: "operator", text: wordsIn(message.payload) };
  }
}

export function partnerOf(member: ChannelMember): ChannelMember {
  return member === "implementer" ? "tester" : "implementer";
}

function cannotAnswer(member: ChannelMember, error: unknown): string {
  return `The ${member} cannot answer: ${messageOf(error)}. Decide by yourself.`;
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
