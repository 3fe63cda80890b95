import { DureError } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/json.ts";
import type { ModelMessage, ToolCall } from "../../models/model.ts";

/** The same call with the same result, so often, is told to the model; once more ends its turn. */
const SAME_CALLS = 3;

/** Watches whether the tool calls of one agent in one turn come to an end. */
export class ToolRounds {
  readonly #agent: string;
  readonly #most: number;
  readonly #seen = new Map<string, number>();
  #round = 0;

  /** @param most rounds with calls; then the model has to answer in words. */
  constructor(agent: string, most: number) {
    this.#agent = agent;
    this.#most = most;
  }

  /** Whether no call is made any more. */
  get areSpent(): boolean {
    return this.#round >= this.#most;
  }

  /**
   * The calls of one round, with their results. Gives what the model is told about calls that it
   * repeats. Throws `AGENT_LOOPS` where it was told and goes on.
   */
  ended(calls: readonly ToolCall[], messages: readonly ModelMessage[]): readonly ModelMessage[] {
    this.#round += 1;
    // Said twice in one round, it is one call of that round.
    const different = new Map(calls.map((call) => [keyOf(call, messages), call] as const));
    const repeated = [...different].flatMap(([key, call]) => {
      const count = (this.#seen.get(key) ?? 0) + 1;
      this.#seen.set(key, count);
      if (count > SAME_CALLS) throw this.#repeats(call, count);
      return count === SAME_CALLS ? [call] : [];
    });
    if (repeated.length === 0) return [];
    const names = [...new Set(repeated.map(({ name }) => name))].join(", ");
    const text = `<notice>You have made the same call of ${names} ${SAME_CALLS} times, with the same result. It will not change: do something else, or answer.</notice>`;
    return [{ role: "user", text }];
  }

  /** For a model that has to answer in words. */
  get wrapUp(): readonly ModelMessage[] {
    const text = "<notice>No tool can be called any more. Answer with what you know.</notice>";
    return [{ role: "user", text }];
  }

  /** For a model that has not. */
  withoutWords(): DureError {
    return new DureError(
      "AGENT_LOOPS",
      `${this.#agent} called tools and never answered, ${this.#round} times.`,
      { class: "internal", hint: HINT },
    );
  }

  #repeats({ name }: ToolCall, times: number): DureError {
    return new DureError(
      "AGENT_LOOPS",
      `${this.#agent} called ${name} with the same result, ${times} times.`,
      { class: "internal", hint: HINT },
    );
  }
}

/** The same for the same call with the same result. */
function keyOf({ id, name, args }: ToolCall, messages: readonly ModelMessage[]): string {
  const told = messages.findLast((one) => one.role === "tool" && one.callId === id);
  return canonicalJson([name, args, told?.role === "tool" ? told.result : null]);
}

const HINT =
  "Look at the turn's calls; say in the prompt when to stop, or raise policy.max_tool_rounds.";
