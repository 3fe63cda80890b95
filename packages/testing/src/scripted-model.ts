import type { ModelRequest, OfflineContext, OfflineModel, OfflineReply } from "dure";
import { DureError } from "dure/client";

/** One expected call: what is answered, and optionally what must have been asked. */
export interface ScriptStep {
  readonly reply:
    | OfflineReply
    | ((request: ModelRequest, context: OfflineContext) => OfflineReply | Promise<OfflineReply>);
  /**
   * Text or pattern that the last user or tool message must contain, or a function that throws (or
   * returns false) when the request is not the expected one.
   */
  readonly expect?: string | RegExp | ((request: ModelRequest) => unknown);
}

/**
 * A model that knows in advance what it will be asked, call by call. Strict: a call beyond the
 * script or one that does not match fails, is never retried, and makes `assertComplete` fail too,
 * even if a caller swallowed the error.
 *
 * ```ts
 * const asksForRate = { expect: "환율", reply: { toolCalls: [{ name: "rate" }] } };
 * const model = new ScriptedModel(["안녕하세요", asksForRate, "1,380원입니다"]);
 * const models = new Models({ clock, logger, offline: [model] }); // "offline:scripted"
 * // …
 * model.assertComplete();
 * ```
 */
export class ScriptedModel implements OfflineModel {
  readonly name: string;
  /** What was asked so far, in order. */
  readonly requests: ModelRequest[] = [];
  readonly #steps: readonly ScriptStep[];
  readonly #problems: string[] = [];

  /** @param steps a bare reply is a step without expectation. */
  constructor(steps: readonly (OfflineReply | ScriptStep)[], options: { name?: string } = {}) {
    this.name = options.name ?? "scripted";
    this.#steps = steps.map((step) =>
      typeof step === "object" && "reply" in step ? step : { reply: step },
    );
  }

  /** Called by the offline provider. */
  readonly respond = async (
    request: ModelRequest,
    context: OfflineContext,
  ): Promise<OfflineReply> => {
    this.requests.push(request);
    const number = this.requests.length;
    const step = this.#steps[number - 1];
    if (step === undefined) {
      throw this.#problem(`call ${number} was not expected; the script has ${this.#steps.length}`);
    }

    const mismatch = mismatchOf(step, request);
    if (mismatch !== undefined) throw this.#problem(`call ${number} ${mismatch}`);

    return typeof step.reply === "function" ? step.reply(request, context) : step.reply;
  };

  /** Throws unless exactly the expected calls were made. */
  assertComplete(): void {
    const missing = this.#steps.length - this.requests.length;
    const problems = [
      ...this.#problems,
      ...(missing > 0 ? [`${missing} of ${this.#steps.length} expected calls were not made`] : []),
    ];

    if (problems.length > 0) {
      throw new DureError(
        "SCRIPT_BROKEN",
        `The script of "${this.name}" was not followed: ${problems.join("; ")}.`,
      );
    }
  }

  #problem(what: string): DureError {
    this.#problems.push(what);
    return new DureError(
      "SCRIPT_BROKEN",
      `The script of "${this.name}" was not followed: ${what}.`,
    );
  }
}

function mismatchOf({ expect }: ScriptStep, request: ModelRequest): string | undefined {
  if (expect === undefined) return undefined;

  if (typeof expect === "function") {
    try {
      return expect(request) === false ? "does not match" : undefined;
    } catch (error) {
      return `does not match: ${error instanceof Error ? error.message : String(error)}`;
    }
  }

  const asked = lastText(request);
  const matches = typeof expect === "string" ? asked.includes(expect) : expect.test(asked);

  return matches ? undefined : `asked "${asked.slice(0, 120)}" instead of ${String(expect)}`;
}

function lastText(request: ModelRequest): string {
  const last = request.messages.at(-1);
  if (last === undefined) return "";
  if (last.role !== "tool") return last.text;

  return typeof last.result === "string" ? last.result : JSON.stringify(last.result);
}
