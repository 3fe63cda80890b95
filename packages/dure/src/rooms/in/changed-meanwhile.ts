/** What people changed of their words while no account was connected. */

import type {
  ChannelAccount,
  ChannelAdapter,
  ChannelPort,
  InboundMessage,
} from "../channel-adapter.ts";
import { addressOf, type Place } from "../place.ts";
import type { RoomsSetting } from "../talk.ts";

/** Messages of a place that are compared with what its platform shows: the newest. */
const COMPARED = 50;
/** What was said before is not looked at again, milliseconds. */
const COMPARED_MS = 24 * 60 * 60 * 1_000;
/** How long one look holds, for the other accounts of the place, milliseconds. */
const LOOK_HOLDS_MS = 5_000;
const MAX_LOOKED = 10_000;

interface ChangedParts {
  readonly adapter: ChannelAdapter;
  readonly port: Pick<ChannelPort, "edited" | "deleted">;
  /** A text as it would be stored. Undefined: it cannot be. */
  readonly wordsOf: (message: InboundMessage) => string | undefined;
  readonly signal: AbortSignal;
}

/**
 * After a gap: the newest words of people are compared with what their platform shows now. Other words
 * are an edit. Words that are not shown are asked for one by one, where the adapter can; what is gone
 * was deleted. What was changed while its channel was not in the configuration is not heard.
 */
export class ChangedMeanwhile {
  readonly #setting: RoomsSetting;
  readonly #parts: ChangedParts;
  /** By place: when it was last compared, milliseconds since the process began. Oldest out. */
  readonly #looked = new Map<string, number>();

  constructor(setting: RoomsSetting, parts: ChangedParts) {
    this.#setting = setting;
    this.#parts = parts;
  }

  async hear(account: ChannelAccount, place: Place): Promise<void> {
    const { database, clock } = this.#setting;
    const { adapter, signal } = this.#parts;
    const before = this.#looked.get(place.id);
    if (before !== undefined && clock.monotonic() - before < LOOK_HOLDS_MS) return;
    const known = await database.query<KnownWords>(KNOWN, [
      adapter.name,
      place.id,
      COMPARED_MS,
      COMPARED,
      place.awayUntil ?? 0,
    ]);
    if (known.length === 0) return;
    const shown = await adapter.readSince(account, addressOf(place), { limit: COMPARED, signal });
    for (const words of known) await this.#compare(account, place, { words, shown });
    this.#looked.delete(place.id);
    this.#looked.set(place.id, clock.monotonic());
    if (this.#looked.size > MAX_LOOKED) this.#looked.delete(this.#looked.keys().next().value!);
  }

  async #compare(
    account: ChannelAccount,
    place: Place,
    { words, shown }: { words: KnownWords; shown: readonly InboundMessage[] },
  ): Promise<void> {
    const { adapter, port, wordsOf, signal } = this.#parts;
    const { platform_id: platformId, text } = words;
    const address = addressOf(place);
    const message = shown.find((one) => one.platformId === platformId);
    if (message !== undefined) {
      const now = wordsOf(message);
      if (now === undefined || now === text) return;
      return port.edited(account, { platformId, place: address, text: message.text });
    }
    if (await adapter.isGone?.(account, address, platformId, { signal })) {
      await port.deleted(account, { platformId, place: address });
    }
  }
}

interface KnownWords {
  readonly platform_id: string;
  readonly text: string;
}

const KNOWN = {
  name: "changes.known",
  text: `
    select newest.text, p.platform_id
    from (
      select id, text
      from dure.room_messages
      where place = $2
        and author_kind <> 'agent'
        and deleted_at is null
        and at > clock_timestamp() - $3::double precision * interval '1 millisecond'
        and at >= to_timestamp($5::double precision / 1000)
      order by seq desc
      limit $4
    ) newest
    join dure.room_parts p on p.message = newest.id and p.adapter = $1`,
};
