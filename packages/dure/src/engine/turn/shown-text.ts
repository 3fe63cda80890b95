import type { TurnEvent } from "../../kernel/turn-events.ts";
import type { JournalRow } from "../../durable/turns.ts";

/**
 * What a person has seen of a turn's text, over all its lives. Of an agent that is called again,
 * what it says then.
 */
export class ShownText {
  readonly #parts = new Map<string, string>();
  /** By place, the part that its text belongs to: on another server several agents may speak. */
  readonly #speaking = new Map<string, string>();

  /** @param rows of the turn's journal: what earlier lives have shown. */
  constructor(rows: readonly JournalRow[]) {
    for (const { place, type, data } of rows) {
      this.take(place.slice(0, place.indexOf(" ")), { type, data } as TurnEvent);
    }
  }

  /** @param place path of the step whose event it is. */
  take(place: string, event: TurnEvent): void {
    if (event.type === "AGENT_START") {
      const part = `${place} ${event.data.agent}`;
      this.#speaking.set(place, part);
      if (event.data.restart) this.#parts.delete(part);
    }
    if (event.type === "LLM_TOKEN") {
      const part = this.#speaking.get(place) ?? place;
      this.#parts.set(part, (this.#parts.get(part) ?? "") + event.data);
    }
  }

  get text(): string {
    return [...this.#parts.values()].join("");
  }
}
