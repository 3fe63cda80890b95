import type { z } from "zod";
import { DureError } from "../../kernel/errors.ts";
import type { JsonObject } from "../../kernel/json.ts";

/** Which stage may follow which; a stage that is not listed as a target is refused. */
export interface StageMachine {
  readonly initial: string;
  readonly terminal: readonly string[];
  readonly transitions: Readonly<Record<string, readonly string[]>>;
}

/** A state of sessions: its shape, its beginning, its stages. */
export interface StateDefinition<State extends object = Record<string, unknown>> {
  readonly schema: z.ZodType<State>;
  readonly initial: () => State;
  /** With stages the state has a member `stage`. */
  /**
   * Makes of a stored state that the schema does not take any longer one that it takes. Called only
   * then; a function of what is stored. Without it such a session's turns end with `STATE_INVALID`
   * until its state fits again or it is forgotten.
   */
  readonly migrate?: (stored: unknown) => unknown;
  readonly stages?: StageMachine;
  readonly slots?: readonly SlotDescription[];
}

/** A field of a state that pages show as a form. */
export interface SlotDescription {
  readonly name: string;
  readonly label: string;
  /** The label by language, such as `en`; where one is missing, `label` stands. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly required: boolean;
  readonly type:
    | "text"
    | "integer"
    | "number"
    | "money"
    | "date"
    | "date_range"
    | "time"
    | "choice"
    | "boolean"
    | "person"
    | "phone"
    | "address"
    | "file"
    | "recurrence";
  /** Of a slot that takes one of a few values: what each is called, as the slot is. */
  readonly options?:
    | readonly {
        /** As it is stored, in words: `true` for a yes. */
        readonly value: string;
        readonly label: string;
        readonly labels?: Readonly<Record<string, string>> | undefined;
      }[]
    | undefined;
}

/** Declares a service's typed state. */
export function defineState<State extends object>(
  definition: StateDefinition<State>,
): StateDefinition<State> {
  return definition;
}

/**
 * The only way to change a service's state. Every change is checked by the schema and, when it
 * changes the stage, by the stage machine; a refused change leaves the state as it was.
 */
export class StateManager<State extends object = Record<string, unknown>> {
  readonly #definition: StateDefinition<State>;
  #value: State;

  constructor(definition: StateDefinition<State>, stored?: unknown) {
    this.#definition = definition;
    this.#value = stored === undefined ? definition.initial() : this.#opened(stored);
  }

  /** The state as it is; never changed in place. */
  get value(): Readonly<State> {
    return this.#value;
  }

  get stage(): string | undefined {
    const stage = (this.#value as { stage?: unknown }).stage;
    return typeof stage === "string" ? stage : undefined;
  }

  get isInitial(): boolean {
    return this.#definition.stages === undefined || this.stage === this.#definition.stages.initial;
  }

  get isTerminal(): boolean {
    return (
      this.stage !== undefined && (this.#definition.stages?.terminal.includes(this.stage) ?? false)
    );
  }

  /** Replaces members of the state. Throws `STATE_INVALID` or `STAGE_REFUSED`. */
  update(change: Partial<State> | ((state: Readonly<State>) => State)): void {
    const next = typeof change === "function" ? change(this.#value) : { ...this.#value, ...change };
    this.#value = this.#checked(next);
  }

  /** Goes to another stage. Throws `STAGE_REFUSED` when the machine has no such transition. */
  transition(stage: string): void {
    this.update((state) => ({ ...state, stage }));
  }

  /** Back to the beginning. Memory is not touched: the state does not hold it. */
  reset(): void {
    this.#value = this.#definition.initial();
  }

  snapshot(): JsonObject {
    const value = this.#value as JsonObject;
    // A deep copy costs much more than a shallow one, and most states are flat or empty.
    return Object.values(value).every(isPlain) ? { ...value } : structuredClone(value);
  }

  #opened(stored: unknown): State {
    const { schema, migrate } = this.#definition;
    if (!migrate || schema.safeParse(stored).success) {
      return this.#parse(stored, "The stored state", OLD_STATE_HINT);
    }
    return this.#parse(migrate(stored), "The migrated state", OLD_STATE_HINT);
  }

  #checked(next: State): State {
    const parsed = this.#parse(next, "The new state");
    const { stages } = this.#definition;
    const from = this.stage;
    const to = (parsed as { stage?: unknown }).stage;
    if (
      stages &&
      from !== undefined &&
      typeof to === "string" &&
      from !== to &&
      !stages.transitions[from]?.includes(to)
    ) {
      throw new DureError("STAGE_REFUSED", `The stage ${from} cannot be followed by ${to}.`, {
        class: "conflict",
        hint: `From ${from} the machine allows: ${stages.transitions[from]?.join(", ") || "nothing"}.`,
      });
    }
    return parsed;
  }

  #parse(
    value: unknown,
    what: string,
    hint = "Change the state through its manager, with values that the schema allows.",
  ): State {
    const parsed = this.#definition.schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const issue = parsed.error.issues[0];
    throw new DureError(
      "STATE_INVALID",
      `${what} does not fit: ${issue?.path.join(".") || "state"}: ${issue?.message ?? "unknown"}.`,
      {
        hint,
        cause: parsed.error,
      },
    );
  }
}

function isPlain(member: unknown): boolean {
  return typeof member !== "object" && typeof member !== "function";
}

const OLD_STATE_HINT =
  "Give defineState a migrate for states of earlier releases, or forget the session (DELETE /v1/agent/sessions/{id}).";
