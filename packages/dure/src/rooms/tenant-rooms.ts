import type { Queryable } from "../durable/database.ts";
import { channelPlaceId, type Directory, type RoomChannel } from "./directory.ts";

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
