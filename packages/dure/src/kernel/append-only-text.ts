/**
 * What of a turn's words a reader has that can take nothing back. Words that are void after a
 * restart are already there: what is said again is sent only behind them.
 */
export class AppendOnlyText {
  #sent = "";
  /** By the agent that speaks now. */
  #said = "";
  #isApart = false;

  /** Gives what to send of one more piece. */
  add(piece: string): string {
    const isAhead = !this.#isApart && this.#said.length === this.#sent.length;
    this.#said += piece;
    if (isAhead) {
      this.#sent = this.#said;
      return piece;
    }

    return this.#isApart ? "" : this.#caughtUp();
  }

  /** An agent begins, or begins again. */
  begin(): void {
    this.#said = "";
  }

  /** Gives what to send so that the answer stands there whole. */
  rest(answer: string): string {
    if (answer.startsWith(this.#sent)) return answer.slice(this.#sent.length);
    return `\n\n${answer}`;
  }

  #caughtUp(): string {
    if (this.#said.length < this.#sent.length) return "";

    this.#isApart = !this.#said.startsWith(this.#sent);
    if (this.#isApart) return "";

    const more = this.#said.slice(this.#sent.length);
    this.#sent = this.#said;

    return more;
  }
}
