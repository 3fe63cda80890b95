import type { Transaction } from "../durable/database.ts";
import type { RoomLimits } from "./limits.ts";
import type { Place } from "./place.ts";

/**
 * Milliseconds until agents may make one more thread in the guild of this channel. Takes the slot.
 * Source: docs/spec/collaboration §5.
 */
export async function threadSlot(
  tx: Transaction,
  channel: Pick<Place, "adapter" | "guild">,
  limits: Pick<RoomLimits, "threadsPerMinute">,
): Promise<number> {
  const [made] = await tx.query<{ wait: number }>(THREAD_SLOT, [
    `${channel.adapter}:${channel.guild ?? ""}`,
    limits.threadsPerMinute,
  ]);
  return made!.wait;
}

const THREAD_SLOT = {
  name: "room.thread_slot",
  text: `
    insert into dure.guild_threads as g (guild, created)
    values ($1, array[clock_timestamp()])
    on conflict (guild)
    do update set created = (
      select array_agg(at order by at)
      from (
        select at
        from unnest(g.created) at
        where at > clock_timestamp() - interval '60 seconds'
        union all
        select greatest(
          clock_timestamp(),
          coalesce(
            (
              select at + interval '60 seconds'
              from unnest(g.created) at
              where at > clock_timestamp() - interval '60 seconds'
              order by at desc offset $2::integer - 1
              limit 1
            ),
            clock_timestamp()
          )
        )
      ) slots
    )
    returning greatest(
      0, extract(epoch from created[cardinality(created)] - clock_timestamp()) * 1000
    )::double precision as wait`,
};
