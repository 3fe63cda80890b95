import type { Clock } from "../../kernel/clock.ts";
import { ChannelError } from "../../rooms/channel-adapter.ts";
import type { AccountApi } from "./account-api.ts";
import { patiently } from "../patience.ts";
import type { KnownPlace, PlaceDirectory } from "./places.ts";

/** Where an event happened, as the platform names it. */
export interface PlaceOfEvent {
  readonly channel_id: string;
  readonly guild_id?: string | undefined;
}

/** Places of events: known from the gateway, or looked up. */
export class PlaceFinder {
  readonly #places: PlaceDirectory;
  readonly #api: AccountApi;
  readonly #clock: Clock;

  constructor(parts: { places: PlaceDirectory; api: AccountApi; clock: Clock }) {
    this.#places = parts.places;
    this.#api = parts.api;
    this.#clock = parts.clock;
  }

  /** Undefined when the bot may not see it. */
  async find(event: PlaceOfEvent, signal: AbortSignal): Promise<KnownPlace | undefined> {
    const known = this.#places.get(event.channel_id);
    if (known !== undefined) return known;
    try {
      const place = await patiently(this.#clock, signal, () =>
        this.#api.place(event.channel_id, signal),
      );
      this.#places.learn(place, event.guild_id);
      return this.#places.get(event.channel_id);
    } catch (error) {
      if (isHidden(error)) return undefined;
      throw error;
    }
  }
}

function isHidden(error: unknown): boolean {
  return (
    error instanceof ChannelError &&
    (error.failure === "permission" || error.failure === "not-found")
  );
}
