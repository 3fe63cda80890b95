import type { DonePayload, Service } from "../../src/engine/service/service.ts";
import { answeringOf, questionAsked, type Question } from "../../src/engine/turn/question.ts";
import { StateManager } from "../../src/engine/turn/state.ts";
import type { Tool } from "../../src/engine/agent/tool.ts";
import type { EffectOutcome, TurnContext } from "../../src/engine/turn/turn-context.ts";
import { builtInPrompt, promptLanguage } from "../../src/models/prompt-files.ts";
import type { FormState } from "../../src/slots/form-state.ts";

/** What a model answers: the reading of the slot agent, the words of the other, or the scenario. */
export type DeskModel = (asked: {
  readonly agent: string;
  readonly system: string;
  readonly message: string;
}) => unknown;

/** A deed that was done, once for its key. */
export interface Done {
  readonly call: string;
  readonly key: string;
  readonly input: unknown;
}

/** What a person sees of a turn. */
export interface Answered {
  readonly message: string;
  readonly nextAction: DonePayload["nextAction"];
  readonly buttons: readonly string[];
  readonly confirmId: string | undefined;
  readonly state: FormState;
}

/** How a turn is disturbed: it dies before this recorded step, and is run again from the top. */
export interface Disturbed {
  readonly diesBefore?: number | undefined;
}

class Died extends Error {}

/**
 * A session with one service of slots, without a database: the turns of its flows against a journal
 * that is kept in memory, questions and yeses by the engine's own rules, and deeds that are done once
 * for each key. So thousands of people can talk to it in seconds.
 */
export class FormDesk {
  readonly done: Done[] = [];
  readonly finished: { readonly flow: string; readonly stage: string; readonly data: unknown }[] =
    [];
  readonly #service: Service;
  readonly #model: DeskModel;
  readonly #locale: string;
  #stored: unknown = undefined;
  #scenario: string | undefined;
  #question: Question | undefined;
  #turns = 0;
  #at: number;

  constructor(
    service: Service,
    model: DeskModel,
    { locale = "ko", at = Date.UTC(2026, 10, 18, 1) }: { locale?: string; at?: number } = {},
  ) {
    this.#service = service;
    this.#model = model;
    this.#locale = locale;
    this.#at = at;
  }

  /** What the session has been asked last. */
  get question(): Question | undefined {
    return this.#question;
  }

  /** Stands where a form is, and asks what is asked there. */
  async stand(state: FormState, flow: string): Promise<Answered> {
    this.#stored = JSON.parse(JSON.stringify(state));
    this.#scenario = flow;
    return this.say("…");
  }

  async say(
    message: string,
    { confirmId, diesBefore }: Disturbed & { readonly confirmId?: string | undefined } = {},
  ): Promise<Answered> {
    this.#at += 5_000;
    const journal: unknown[] = [];
    try {
      return await this.#live(message, confirmId, journal, diesBefore);
    } catch (error) {
      if (!(error instanceof Died)) throw error;
      return this.#live(message, confirmId, journal, undefined);
    }
  }

  async #live(
    message: string,
    confirmId: string | undefined,
    journal: unknown[],
    diesBefore: number | undefined,
  ): Promise<Answered> {
    const life = new Life(journal, diesBefore);
    const id = `turn-${this.#turns + 1}`;
    const completed: typeof this.finished = [];
    const definition = this.#service.state as never;
    const state = new StateManager<FormState>(definition, this.#stored);
    const answer = { service: "desk", confirmId, lastQuestion: undefined, sawPrevious: true };
    const answering = answeringOf(this.#question, { ...answer, acceptedAt: this.#at, message });
    const turn = this.#contextOf({ id, message, confirmId, state, answering, life, completed });
    const scenario = await this.#scenarioOf(message, state, life);
    const flow = this.#service.router?.(scenario, { message }) ?? "DEFAULT";
    const payload = await finalOf(this.#service.flows[flow]!(turn as unknown as TurnContext));
    return this.#finish(payload, { id, message, state, scenario, completed });
  }

  async #scenarioOf(message: string, state: StateManager<FormState>, life: Life): Promise<string> {
    if (!state.isInitial && this.#scenario !== undefined) return this.#scenario;
    const read = (await life.step(() => this.#model({ agent: "intent", system: "", message }))) as {
      scenario?: string;
    };
    return read.scenario ?? "GENERAL";
  }

  #contextOf(parts: {
    id: string;
    message: string;
    confirmId: string | undefined;
    state: StateManager<FormState>;
    answering: ReturnType<typeof answeringOf>;
    life: Life;
    completed: { flow: string; stage: string; data: unknown }[];
  }) {
    const { life, id, completed } = parts;
    const flow = Object.keys(this.#service.flows).find((name) => name !== "DEFAULT") ?? "DEFAULT";
    let ids = 0;
    return {
      ...{ turnId: id, session: "desk", message: parts.message, files: [], slots: undefined },
      ...{ confirmId: parts.confirmId, locale: this.#locale, timeZone: "Asia/Seoul" },
      ...{ author: "person", sawPrevious: true, acceptedAt: this.#at, state: parts.state },
      ...{ answering: parts.answering, limits: { maxFillTurns: 5 }, escalation: undefined },
      now: () => this.#at,
      id: (kind: string) => `${id}-${kind}-${++ids}`,
      prompt: (name: "slots") => builtInPrompt(name, promptLanguage(this.#locale)),
      step: (_name: string, work: () => unknown) => life.step(work),
      finishedFlows: async () => [...this.finished].toReversed(),
      taskProgress: () => {},
      complete: (entry: { stage: string; data: unknown }) => completed.push({ flow, ...entry }),
      read: (_call: string, look: Tool, input: unknown) => life.step(() => lookWith(look, input)),
      agent: async (
        agent: string,
        _label: string,
        options: { prompt?: string; context?: string },
      ) => {
        const system = `${options.prompt ?? ""}\n<context>\n${options.context ?? ""}\n</context>`;
        const data = await life.step(() => this.#model({ agent, system, message: parts.message }));
        const text = (data as { message?: string }).message ?? "";
        return { text, data };
      },
      call: async (
        call: string,
        _tool: unknown,
        input: unknown,
        {
          key,
          onSettled,
        }: { key: readonly string[]; onSettled: (outcome: EffectOutcome<unknown>) => void },
      ) => {
        const result = await life.step(() => this.#doOnce(call, key.join("/"), input));
        const outcome = { status: "done", result } as unknown as EffectOutcome<unknown>;
        onSettled(outcome);
        return outcome;
      },
    };
  }

  #doOnce(call: string, key: string, input: unknown): { readonly number: number } {
    const known = this.done.findIndex((one) => one.key === `${call}/${key}`);
    if (known < 0) this.done.push({ call, key: `${call}/${key}`, input });
    return { number: known < 0 ? this.done.length : known + 1 };
  }

  #finish(
    payload: DonePayload,
    turn: {
      id: string;
      message: string;
      state: StateManager<FormState>;
      scenario: string;
      completed: readonly { flow: string; stage: string; data: unknown }[];
    },
  ): Answered {
    const { state, id } = turn;
    const shown = state.value;
    this.#turns += 1;
    this.finished.push(...turn.completed);
    const after = { text: turn.message, at: this.#at };
    const asked = questionAsked(payload, {
      ...{ id, service: "desk", effects: "desk", state: state.snapshot(), holdsMs: 600_000 },
      ...{ after, approvals: [] },
    });
    this.#question = asked && { ...asked, shownAt: this.#at };
    if (state.isTerminal) state.reset();
    this.#scenario = state.isInitial ? undefined : turn.scenario;
    this.#stored = JSON.parse(JSON.stringify(state.value));
    return {
      message: payload.message,
      nextAction: payload.nextAction,
      buttons: payload.uiHint?.buttons ?? [],
      confirmId: this.#question?.id ?? payload.uiHint?.confirmId,
      state: shown,
    };
  }
}

async function finalOf(turn: AsyncGenerator<unknown, DonePayload | void>): Promise<DonePayload> {
  for (;;) {
    const next = await turn.next();
    if (next.done) return next.value as DonePayload;
  }
}

/** One life of a turn: what is recorded is not done again. */
class Life {
  readonly #journal: unknown[];
  readonly #diesBefore: number | undefined;
  #place = 0;

  constructor(journal: unknown[], diesBefore: number | undefined) {
    this.#journal = journal;
    this.#diesBefore = diesBefore;
  }

  async step(work: () => unknown): Promise<unknown> {
    const place = this.#place++;
    if (place < this.#journal.length) return this.#journal[place];
    if (place === this.#diesBefore) throw new Died();
    const result: unknown = JSON.parse(JSON.stringify((await work()) ?? null));
    // Done, and not yet written down: the place at which a deed must not be done again.
    if (this.#diesBefore !== undefined && place === this.#diesBefore - 0.5) throw new Died();
    this.#journal.push(result);
    return result;
  }
}

/** What the outside says beforehand; nothing stands behind a look over the network here. */
async function lookWith({ execute }: Tool, input: unknown): Promise<unknown> {
  const { signal } = new AbortController();
  try {
    return { status: "done", result: await execute(input, {} as never, { signal }) };
  } catch {
    return { status: "failed", error: { code: "NO_LOOK", message: "" } };
  }
}
