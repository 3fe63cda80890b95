import type { Transaction } from "../durable/database.ts";
import { isOffline, leaseName, LOST_AT, stateOf, type AccountRow } from "./accounts.ts";
import { pairOf, refuse, type Asking, type Refusal } from "./collaborate-call.ts";
import type { Where } from "./collaborate-place.ts";
import { isShutOut } from "./account-cannot-read.ts";
import { channelPlaceId, type RoomChannel } from "./directory.ts";
import { roomReports } from "./reports.ts";
import type { RoomsSetting } from "./talk.ts";

/**
 * The refusal where the target cannot be reached: on the platform of the channel, which the target
 * has to see; where that is not known, on all platforms.
 */
export async function refuseOffline(
  tx: Transaction,
  setting: RoomsSetting,
  asking: Asking,
  where: Where | undefined,
): Promise<Refusal | undefined> {
  const { directory } = setting;
  const { from } = asking;
  const adapters = where ? [where.room.adapter] : [...setting.adapters.keys()];
  const shared = adapters.filter((adapter) => directory.account(adapter, from.id));
  if (shared.length === 0 && adapters.length === 1) {
    return refuse(
      "AGENT_OFFLINE",
      `${from.id} has no account on ${adapters[0]}.`,
      directory.unknownHint(from.id),
    );
  }

  const [paused] = await tx.query(PAUSED, [asking.target.id]);
  if (paused) return escalated(tx, setting, asking, { why: "is paused", adapters });

  const whys: string[] = [];
  for (const adapter of shared) {
    const why = await whyOffline(tx, setting, asking, { adapter, channel: where?.channel });
    if (why === undefined) return undefined;
    whys.push(why);
  }
  return escalated(tx, setting, asking, {
    why: whys[0] ?? "shares no platform with it",
    adapters,
  });
}

/** Undefined: the target can be reached there. */
async function whyOffline(
  tx: Transaction,
  { directory, limits }: RoomsSetting,
  { target, tenant }: Asking,
  { adapter, channel }: { adapter: string; channel: RoomChannel | undefined },
): Promise<string | undefined> {
  const account = directory.account(adapter, target.id);
  if (!account) return `has no account on ${adapter}`;

  const lease = leaseName(adapter, account.id);
  const [row] = await tx.query<AccountRow>(ACCOUNT, [adapter, account.id, lease]);
  const state = row && stateOf(row);
  if (state && !isOffline(state, row.now.getTime(), limits.offlineAfterMs)) {
    const isShut = channel && (await isShutOut(target.id, channelPlaceId(channel, tenant), tx));
    return isShut ? `does not see ${channel.name} any more` : undefined;
  }
  const detail = row?.detail ? ` (${row.detail})` : "";
  return `is ${state?.state ?? "not connected"}${detail}`;
}

async function escalated(
  tx: Transaction,
  { store, locale }: RoomsSetting,
  { from, target }: Asking,
  { why, adapters }: { why: string; adapters: readonly string[] },
): Promise<Refusal> {
  await store.escalate(tx, {
    subject: `room:offline:${pairOf(from.id, target.id).join(":")}:AGENT_OFFLINE`,
    type: "agent_offline",
    severity: "medium",
    ...roomReports(locale).offline(from.displayName, target.displayName, why),
    context: { from: from.id, to: target.id, adapter: adapters.join(", ") },
  });
  const refusal = refuse(
    "AGENT_OFFLINE",
    `${target.displayName} (${target.id}) ${why}.`,
    "Do it yourself, ask another agent, or tell the person; an operator has been told.",
  );
  return { ...refusal, escalated: true };
}

const PAUSED = {
  name: "collaborate.paused",
  text: "select agent from dure.pauses where agent = $1",
};
const ACCOUNT = {
  name: "collaborate.account",
  text: `
    select a.state, a.detail, a.changed_at, clock_timestamp() as now, ${LOST_AT}
    from dure.accounts a
    left join dure.leases l on l.name = $3
    left join dure.processes p on p.id = l.holder
    where a.adapter = $1 and a.id = $2`,
};
