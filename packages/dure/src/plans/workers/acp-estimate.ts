import { estimateTokens } from "../../models/prices.ts";

interface Tokens {
  readonly input: number;
  readonly output: number;
}

/**
 * Reckons the calls of a model whose agent tells no tokens: each call reads all that was said in the
 * conversation before it. What earlier processes of the conversation said is not known here.
 */
export class CallEstimate {
  /** Tokens of all that was said. */
  #window = 0;
  /** Of the call under way; undefined: none is. */
  #call: { readonly input: number; output: number } | undefined;
  #isTold = false;
  #turn: Tokens = { input: 0, output: 0 };

  /** A prompt, or what a tool gave. */
  read(text: string): void {
    this.#window += estimateTokens(text);
  }

  /** Words of its model. */
  heard(text: string): void {
    const tokens = estimateTokens(text);
    this.#window += tokens;
    if (this.#call) this.#call.output += tokens;
  }

  /** The agent tells by itself what its calls use. */
  told(): void {
    this.#isTold = true;
    this.#call = undefined;
  }

  /** A call begins. Gives the one before, where that was not told. */
  begin(): Tokens | undefined {
    const before = this.end();
    if (!this.#isTold) this.#call = { input: this.#window, output: 0 };

    return before;
  }

  /** The call under way has ended. */
  end(): Tokens | undefined {
    const call = this.#call;
    this.#call = undefined;
    if (call === undefined) return undefined;
    const { input, output } = this.#turn;
    this.#turn = { input: input + call.input, output: output + call.output };

    return call;
  }

  /** Of the calls since this was asked last. Undefined: there were none that were not told. */
  takeTurn(): (Tokens & { readonly isEstimate: true }) | undefined {
    const { input, output } = this.#turn;
    this.#turn = { input: 0, output: 0 };

    return input + output > 0 ? { input, output, isEstimate: true } : undefined;
  }
}
