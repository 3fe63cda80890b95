import {
  methods,
  RequestError,
  type AgentContext,
  type RequestPermissionRequest,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import { isRunOver } from "../kernel/plans.ts";
import type { Escalation, RunDetail } from "../client/index.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { decisionOf, type Choice } from "./question.ts";
import type { NewTask, TaskLook, TaskRuns } from "./task-runs.ts";
import {
  changesOf,
  endOfTask,
  lineUpdateOf,
  mergeChoices,
  mergedWords,
  planEntriesOf,
} from "./task-update.ts";
import { refusalIn, sentenceIn, type AcpWords } from "./words.ts";

/** Between two looks at a run, milliseconds. */
const LOOK_MS = 1_000;
/** After an answer to a run that was over: its leader may take it up again. */
const LOOKS_AFTER_ANSWER = 10;
/** What `$/cancel_request` aborts with. A connection that is gone aborts with something else. */
const REQUEST_CANCELLED = -32_800;

export interface EditorTaskOptions {
  readonly session: string;
  readonly editor: AgentContext;
  readonly runs: TaskRuns;
  readonly words: AcpWords;
  readonly clock: Clock;
}

/** What ends the following of a task. */
export interface TaskStops {
  /** The person stops the task. */
  readonly cancelled: AbortSignal;
  /** The prompt's own; undefined for one of an earlier process. */
  readonly asking: AbortSignal | undefined;
}

/** One task that an editor follows. An editor that leaves stops nothing. */
export class EditorTask {
  readonly #options: EditorTaskOptions;
  /** The last line of the transcript that was told. */
  #told = 0;
  #plan = "";
  /** What the person is asked, by the escalation. */
  readonly #asked = new Map<string, AbortController>();

  constructor(options: EditorTaskOptions) {
    this.#options = options;
  }

  async prompt(task: Omit<NewTask, "session">, stops: TaskStops): Promise<StopReason> {
    const { runs, session } = this.#options;
    const run = await runs.begin({ ...task, session });
    return this.follow(run.id, stops);
  }

  /** Leaves out what was told to an earlier connection. */
  async skipTold(run: string): Promise<void> {
    this.#told = await this.#options.runs.newestLine(run);
  }

  /** Tells a run to its end, and asks what it asks. */
  async follow(id: string, stops: TaskStops): Promise<StopReason> {
    const { runs } = this.#options;
    let isOrdered = false;
    let patience = 0;
    try {
      for (;;) {
        if (isStopped(stops) && !isOrdered) {
          await runs.cancel(id);
          isOrdered = true;
        }
        const look = await runs.look(id, this.#told);
        await this.#tell(look);
        if (!isRunOver(look.run.status)) this.#ask(look.questions);
        else if (await this.#askLast(look, stops)) patience = LOOKS_AFTER_ANSWER;
        else if (patience === 0) return await this.#end(look.run, stops);
        else patience -= 1;
        await this.#pause(stops);
      }
    } finally {
      this.#settle([]);
    }
  }

  async #tell({ run, port, lines }: TaskLook): Promise<void> {
    for (const line of lines) {
      const update = lineUpdateOf(run.id, line);
      if (update) await this.#update(update);
      this.#told = line.id;
    }
    const entries = planEntriesOf(run, port, this.#options.words);
    const plan = JSON.stringify(entries);
    if (plan === this.#plan) return;
    this.#plan = plan;
    await this.#update({ sessionUpdate: "plan", entries });
  }

  async #pause({ cancelled, asking }: TaskStops): Promise<void> {
    const signals = [asking, cancelled].filter((one) => one !== undefined);
    const signal = AbortSignal.any(signals.filter(({ aborted }) => !aborted));
    await this.#options.clock.sleep(LOOK_MS, { signal }).catch(() => undefined);
  }

  /** Asks what is new, beside the following; takes back what was answered elsewhere. */
  #ask(questions: readonly Escalation[]): void {
    this.#settle(questions.map(({ id }) => id));
    for (const question of questions) {
      if (this.#asked.has(question.id)) continue;
      const over = new AbortController();
      this.#asked.set(question.id, over);
      this.#decide(question, over.signal).catch(() => undefined); // it stays open for others
    }
  }

  /** Whether the person has decided something that a run waits for at its end: it may go on. */
  async #askLast({ questions }: TaskLook, stops: TaskStops): Promise<boolean> {
    this.#settle([]);
    const [question] = questions;
    if (question === undefined || isStopped(stops)) return false;

    return this.#decide(question, stops.cancelled);
  }

  #settle(open: readonly string[]): void {
    for (const [id, over] of this.#asked) {
      if (open.includes(id)) continue;
      over.abort();
      this.#asked.delete(id);
    }
  }

  async #decide(escalation: Escalation, over: AbortSignal): Promise<boolean> {
    const { words } = this.#options;
    const { id, title, choices, replies } = decisionOf(escalation, words);
    const asked = { toolCallId: id, title, text: sentenceIn(words, escalation.description) };
    const chosen = await this.#choose(asked, choices, over);
    const reply = chosen === undefined ? undefined : replies.get(chosen);
    if (reply?.is !== "decision") return false;
    await this.#options.runs.answer(id, reply.value);

    return true;
  }

  async #end(run: RunDetail, stops: TaskStops): Promise<StopReason> {
    await this.say(endOfTask(run, this.#options.words), run.id);
    if (run.status === "cancelled") return "cancelled";
    if (run.report?.commit !== undefined && !isStopped(stops)) await this.#offerMerge(run, stops);

    return isStopped(stops) ? "cancelled" : "end_turn";
  }

  /** Only a choice in the editor merges. */
  async #offerMerge({ id, report }: RunDetail, { cancelled }: TaskStops): Promise<void> {
    const { runs, words } = this.#options;
    const text = changesOf(await runs.diff(id), words);
    const title = words.mergeTitle(report?.branch);
    const asked = { toolCallId: `${id}-merge`, title, text };
    if ((await this.#choose(asked, mergeChoices(words), cancelled)) !== "merge") return;

    const outcome = await runs.merge(id).then(
      (merged) => mergedWords(merged, words),
      (error: unknown) => {
        if (!(error instanceof DureError)) throw error;
        return refusalIn(words, error);
      },
    );
    await this.say(outcome, `${id}-merged`);
  }

  async #choose(
    { toolCallId, title, text }: { toolCallId: string; title: string; text: string },
    choices: readonly Choice[],
    over: AbortSignal,
  ): Promise<string | undefined> {
    const { editor, session: sessionId } = this.#options;
    const content = [{ type: "content" as const, content: { type: "text" as const, text } }];
    const asked: RequestPermissionRequest = {
      sessionId,
      toolCall: { toolCallId, title, kind: "other", status: "pending", content },
      options: [...choices],
    };
    const permission = methods.client.session.requestPermission;
    const waiting = { cancellationSignal: over, stopWaitingOnCancel: true };
    const { outcome } = await editor.request(permission, asked, waiting).catch((error: unknown) => {
      if (over.aborted) return { outcome: { outcome: "cancelled" as const } };
      throw error;
    });

    return outcome.outcome === "selected" ? outcome.optionId : undefined;
  }

  async say(text: string, of: string): Promise<void> {
    const content = { type: "text" as const, text };
    await this.#update({ sessionUpdate: "agent_message_chunk", content, messageId: `${of}-end` });
  }

  async #update(update: SessionUpdate): Promise<void> {
    const { editor, session: sessionId } = this.#options;
    await editor.notify(methods.client.session.update, { sessionId, update });
  }
}

/** Whether the person has stopped it. Throws where the editor has gone: the run goes on. */
function isStopped({ cancelled, asking }: TaskStops): boolean {
  if (cancelled.aborted) return true;
  if (!asking?.aborted) return false;
  const { reason } = asking as { readonly reason: unknown };
  if (reason instanceof RequestError && reason.code === REQUEST_CANCELLED) return true;
  throw reason;
}
