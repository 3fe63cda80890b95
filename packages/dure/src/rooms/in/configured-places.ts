/** The places that the team's allowlist names, also those of each tenant. */

import type { Database, Transaction, Queryable } from "../../durable/database.ts";
import type { Directory, RoomChannel } from "../directory.ts";
import { channelPlaceId } from "../named-place.ts";
import { withdrawRequestsIn } from "../handover/requests.ts";
import type { RoomsSetting } from "../talk.ts";
import { GONE, OTHER_KEY } from "../texts.ts";

/**
 * Makes the places of the allowlist, and of nothing else: a channel that is not configured any more
 * is closed with its threads, until it is again. What was said in a channel before a reload brought
 * it is not answered; a start reads it like any gap.
 */
export async function makeConfiguredPlaces(
  setting: RoomsSetting,
  directory: Directory,
  { isReload }: { isReload: boolean },
): Promise<void> {
  const { database } = setting;
  for (const channel of directory.channels) await makeChannel(database, channel, isReload);
  const ids = directory.channels.map((channel) => channelPlaceId(channel));
  await database.transaction((tx) => closeOthers(tx, setting, ids));
}

async function makeChannel(
  database: Database,
  channel: RoomChannel,
  isReload: boolean,
): Promise<void> {
  const id = channelPlaceId(channel);
  const [renamed] = await database.query(FREE_CHANNEL, [id, channel.adapter, channel.channel]);
  await database.query(CHANNEL, [
    id,
    channel.adapter,
    channel.name,
    channel.guild ?? null,
    channel.channel,
    NOT_CONFIGURED,
    isReload && renamed === undefined,
  ]);
  await database.query(KEEP_THREADS, [id, channel.adapter, channel.channel]);
  await database.query(TENANTS_CHANNEL, [id, channel.name, NOT_CONFIGURED]);
  await database.query(OPEN_THREADS, [id, NOT_CONFIGURED]);
}

async function closeOthers(
  tx: Transaction,
  setting: RoomsSetting,
  configured: readonly string[],
): Promise<void> {
  const closed = await tx.query<{ id: string }>(CLOSE_OTHERS, [configured, NOT_CONFIGURED]);
  if (closed.length === 0) return;
  const ids = closed.map(({ id }) => id);
  await setting.store.emit(
    tx,
    ids.map((id) => ({
      type: "room.closed",
      role: "system",
      room: id,
      data: { because: "not-configured" },
    })),
  );
  await withdrawRequestsIn(tx, setting, ids, { because: "not-configured" });
}

/** Why a place is closed that the configuration does not have any more. */
const NOT_CONFIGURED = GONE["not-configured"].en;
const CHANNEL = {
  name: "rooms.channel",
  text: `
    insert into dure.places (id, adapter, kind, name, guild, channel, away_from, away_until)
    values (
      $1, $2, 'channel', $3, $4, $5, case when $7::boolean then to_timestamp(0) end,
      case when $7 then clock_timestamp() end
    )
    on conflict (id)
    do update set name = $3, guild = coalesce($4, dure.places.guild), channel = $5,
      closed_because = null,
      away_until = case
        when dure.places.state = 'closed'
          and dure.places.closed_because = $6 then clock_timestamp()
        else dure.places.away_until
      end,
      state = case when dure.places.state = 'closed' then 'open' else dure.places.state end`,
};
/** The same channel stood under another key before. */
const FREE_CHANNEL = {
  name: "rooms.free_channel",
  text: `
    update dure.places
    set channel = null, state = 'closed', closed_because = '${OTHER_KEY}'
    where adapter = $2 and kind = 'channel' and channel = $3 and id <> $1
    returning id`,
};
/** What holds for a channel holds for each tenant's room of it. */
const TENANTS_CHANNEL = {
  name: "rooms.tenants_channel",
  text: `
    update dure.places
    set name = $2, closed_because = null,
      away_until = case
        when state = 'closed' and closed_because = $3 then clock_timestamp()
        else away_until
      end,
      state = case when state = 'closed' then 'open' else state end
    where kind = 'channel' and tenant <> '' and split_part(id, '@', 1) = $1`,
};
const OPEN_THREADS = {
  name: "rooms.open_threads",
  text: `
    update dure.places
    set state = 'open', closed_because = null, away_until = clock_timestamp()
    where kind = 'thread'
      and split_part(parent, '@', 1) = $1
      and state = 'closed'
      and closed_because = $2`,
};
const CLOSE_OTHERS = {
  name: "rooms.close_others",
  text: `
    update dure.places
    set state = 'closed', closed_because = $2, away_from = clock_timestamp(),
      away_until = null
    where state <> 'closed'
      and (
        kind = 'channel' and not split_part(id, '@', 1) = any($1::text[])
        -- a direct room and its threads are no one's configuration
        or kind = 'thread'
        and person is null
        and not split_part(parent, '@', 1) = any($1::text[])
      )
    returning id`,
};
/** The threads of a channel stay with it. */
const KEEP_THREADS = {
  name: "rooms.keep_threads",
  text: `
    update dure.places
    set parent = $1
    where adapter = $2 and kind = 'thread' and channel = $3 and parent <> $1`,
};

/**
 * Makes the rooms of a tenant for each configured web channel; what is there stays. Source:
 * docs/spec/collaboration §1.
 */
export async function makeRoomsOf(
  tenant: string,
  directory: Directory,
  database: Queryable,
): Promise<void> {
  const channels = directory.channels.filter(isPerTenant);
  if (tenant === "" || channels.length === 0) return;
  const ids = channels.map((channel) => channelPlaceId(channel, tenant));
  await database.query(MAKE, [ids, channels.map(({ name }) => name), tenant]);
}

/**
 * Channels in which a tenant's people and agents may talk. A channel of another platform is shared
 * by all its users, so it has no tenant.
 */
export function channelsFor(tenant: string, directory: Directory): readonly RoomChannel[] {
  return tenant === "" ? directory.channels : directory.channels.filter(isPerTenant);
}

/** Whose session this is; `""` where nothing says it. */
export async function tenantOfSession(
  session: string | undefined,
  database: Queryable,
): Promise<string> {
  if (session === undefined) return "";
  const [row] = await database.query<{ tenant: string }>(TENANT, [session]);
  return row?.tenant ?? "";
}

function isPerTenant({ adapter }: RoomChannel): boolean {
  return adapter === "web";
}

/**
 * Its channel on the platform is itself: the configured one belongs to the room without a tenant.
 */
const MAKE = {
  name: "rooms.make_rooms_of",
  text: `insert into dure.places (id, adapter, kind, name, tenant, channel)
         select id, 'web', 'channel', name, $3, id
         from unnest($1::text[], $2::text[]) as room(id, name)
         on conflict (id) do nothing`,
};
const TENANT = {
  name: "rooms.tenant_of_session",
  text: "select tenant from dure.sessions where id = $1",
};
