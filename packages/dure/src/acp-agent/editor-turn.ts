import type { TurnFrame } from "../client/index.ts";
import { AppendOnlyText } from "../kernel/append-only-text.ts";
import type { Done } from "../kernel/turn-events.ts";
import { refusalIn, type AcpWords } from "./words.ts";

/**
 * The words of one turn for an editor, which can take nothing back: what is said again after a
 * restart is sent only behind them.
 */
export class EditorTurn {
  readonly #said = new AppendOnlyText();
  readonly #words: AcpWords;

  constructor(words: AcpWords) {
    this.#words = words;
  }

  /** What to send of a frame. */
  hear(frame: TurnFrame): string {
    if (frame.type === "LLM_TOKEN") return this.#said.add(frame.data);
    if (frame.type === "AGENT_START") this.#said.begin();
    return "";
  }

  /** What to send so that the answer stands there whole. */
  end({ message, error }: Done): string {
    if (error?.code === "TURN_STOPPED") return "";
    return this.#said.rest(error && message === "" ? refusalIn(this.#words, error) : message);
  }
}
