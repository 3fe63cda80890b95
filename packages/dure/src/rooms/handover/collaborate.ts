/** One agent hands work to another: checked, posted and opened as a request at once. */

import type { Transaction } from "../../durable/database.ts";
import { filesNamed, SESSION_FILES } from "../../durable/files/named-files.ts";
import { DureError } from "../../kernel/errors.ts";
import type { FileRef } from "../../kernel/files.ts";
import { Mutex } from "../../kernel/mutex.ts";
import {
  refuse,
  type AcceptedCollaboration,
  type Asking,
  type CollaborateCall,
  type CollaborateCaller,
  type CollaborateResult,
  type RefusedCollaboration,
  pairOf,
} from "./collaborate-call.ts";
import { CollaborationPlaces, type Where } from "./collaborate-place.ts";
import { CollaborationRequests } from "./collaborate-request.ts";
import type { Directory, RoomChannel } from "../directory.ts";
import { channelPlaceId } from "../named-place.ts";
import type { StoredMessage } from "../room-store.ts";
import { HANDLINGS_TOPIC, type RoomsSetting, type Talk } from "../talk.ts";
import { channelsFor, makeRoomsOf, tenantOfSession } from "../in/configured-places.ts";
import { checkText } from "../text.ts";
import { isOffline, leaseName, LOST_AT, stateOf, type AccountRow } from "../in/accounts.ts";
import { isShutOut } from "../in/unreadable-places.ts";
import { roomReports } from "../out/reports.ts";

/** Longest wait for a notification that something was sent, before a look, milliseconds. */
const LOOK_AGAIN_MS = 100;

/**
 * The tool's work: checks in order, finds the thread, posts, opens a request; all in one
 * transaction with what leaves. Source: docs/spec/collaboration §4.
 */
export class Collaboration {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #places: CollaborationPlaces;
  readonly #requests: CollaborationRequests;
  /**
   * Hand-overs of a pair, and new threads of a server, lock the same rows. Those of this process
   * wait here for each other: within a transaction they would use up its time and the connections.
   */
  readonly #line = new Mutex();

  constructor(setting: RoomsSetting, talk: Talk) {
    this.#setting = setting;
    this.#talk = talk;
    this.#places = new CollaborationPlaces(setting);
    this.#requests = new CollaborationRequests(setting, { talk, places: this.#places });
  }

  /** Never waits for the answer; for the platform at most 2.5 s. */
  async collaborate(
    caller: CollaborateCaller,
    call: CollaborateCall,
    options: { signal?: AbortSignal } = {},
  ): Promise<CollaborateResult> {
    const { database } = this.#setting;
    const decide = (tx: Transaction): Promise<CollaborateResult> =>
      this.#decideAndPost(tx, caller, call);
    const result = await this.#line.run(() => database.transaction(decide), options);
    this.#talk.announce();
    if (!result.ok || result.delivery === "sent") return result;
    return this.#whenDelivered(result, keyOf(caller, call), options);
  }

  async #decideAndPost(
    tx: Transaction,
    caller: CollaborateCaller,
    call: CollaborateCall,
  ): Promise<CollaborateResult> {
    const { directory } = this.#setting;
    const key = keyOf(caller, call);
    const known = key === undefined ? undefined : await this.#known(tx, key, caller);
    if (known) return known;
    const checked = checkCall(caller, call, directory);
    if (!checked.ok) return checked;

    const tenant = await tenantOfSession(caller.session, tx);
    await makeRoomsOf(tenant, directory, tx);
    const { from, target, text } = checked;
    const files = await filesOf(tx, caller, call);
    if ("ok" in files) return files;
    const asked = await this.#withThread(tx, call, tenant);
    const asking: Asking = { caller, call: asked, tenant, from, target, text, files };
    const where = await this.#places.find(tx, asking);
    const offline = await refuseOffline(tx, this.#setting, asking, where.ok ? where : undefined);
    if (offline) return offline;
    if (!where.ok) return where;

    const handBack = await this.#requests.handBack(tx, asking);
    const result = handBack ?? (await this.#requests.ask(tx, asking, where));
    if (result.ok) await this.#record(tx, asking, { key, result });
    return result;
  }

  /** The call with dure's id of a thread that is named as its platform does. */
  async #withThread(
    tx: Transaction,
    call: CollaborateCall,
    tenant: string,
  ): Promise<CollaborateCall> {
    const { store, directory } = this.#setting;
    if (call.threadId === undefined) return call;
    const channels = channelsFor(tenant, directory);
    const threadId = await store.threadNamed(call.threadId, channels, tx);
    return threadId === undefined ? call : { ...call, threadId };
  }

  /** The result of an earlier call under the same key. Calls of one key wait for each other. */
  async #known(
    tx: Transaction,
    key: string,
    caller: CollaborateCaller,
  ): Promise<CollaborateResult | undefined> {
    await tx.query(KEY_LOCK, [key]);
    const [known] = await tx.query<{ result: CollaborateResult }>(KNOWN, [
      key,
      caller.callKey === undefined ? this.#setting.limits.callKeyMs : null,
    ]);
    return known?.result;
  }

  async #record(
    tx: Transaction,
    { caller, from, target }: Asking,
    { key, result }: { key: string | undefined; result: AcceptedCollaboration },
  ): Promise<void> {
    if (key !== undefined) await tx.query(REMEMBER, [key, JSON.stringify(result)]);
    await this.#setting.store.emit(tx, [
      {
        type: "collaborate.asked",
        role: "delegation",
        agent: from.id,
        room: result.threadId,
        session: caller.session,
        data: {
          from: from.id,
          to: target.id,
          thread: result.threadId,
          message: result.messageId,
          reused: result.reused,
        },
      },
    ]);
  }

  /** Up to 2.5 s for the platform's word; a permanent refusal is the answer. */
  async #whenDelivered(
    result: AcceptedCollaboration,
    key: string | undefined,
    { signal }: { signal?: AbortSignal },
  ): Promise<CollaborateResult> {
    const { clock, limits, notifications } = this.#setting;
    const until = clock.monotonic() + limits.deliveryWaitMs;
    let notified = new AbortController();
    const unsubscribe = notifications.subscribe(HANDLINGS_TOPIC, () => notified.abort());
    try {
      while (clock.monotonic() < until) {
        notified = new AbortController(); // a notification from here on is a reason to look again
        const delivered = await this.#delivered(result, key);
        if (delivered) return delivered;

        const wait = Math.min(LOOK_AGAIN_MS, until - clock.monotonic());
        const signals = signal ? [notified.signal, signal] : [notified.signal];
        await clock.sleep(Math.max(0, wait), { signal: AbortSignal.any(signals) }).catch(() => {});
        signal?.throwIfAborted();
      }
    } finally {
      unsubscribe();
    }
    return result;
  }

  /** Undefined: it is still on its way. */
  async #delivered(
    result: AcceptedCollaboration,
    key: string | undefined,
  ): Promise<CollaborateResult | undefined> {
    const message = await this.#setting.store.message(result.messageId);
    if (message?.delivery === "sent") {
      const sent = sentResult(result, message);
      if (key !== undefined) {
        await this.#setting.database.query(UPDATE_RESULT, [key, JSON.stringify(sent)]);
      }
      return sent;
    }
    if (message?.delivery !== "failed") return undefined;
    const denied = message.deliveryError?.code === "CHANNEL_PERMISSION";
    const refusal = refuse(
      denied ? "PERMISSION_DENIED" : "DELIVERY_FAILED",
      message.deliveryError?.message ?? "The message could not be delivered.",
      "An operator has been told. Go on without it, or tell the person.",
    );
    return { ...refusal, escalated: true };
  }
}

/**
 * The platform has the message. Where a guard stopped the thread just before, its target has only
 * recorded it, and the reminder tells it the whole request. Pure.
 */
function sentResult(result: AcceptedCollaboration, message: StoredMessage): AcceptedCollaboration {
  const isPaused = message.mentions.some(
    (agent) => message.roles[agent]?.because === "place-suspended",
  );
  if (!isPaused) return { ...result, delivery: "sent" };
  return {
    ...result,
    note:
      `“${result.threadName}” is paused, because agents wrote too fast there. The request is told ` +
      "again, whole, when that is over; go on serving your person and do not wait.",
  };
}

/** The agents and the words of a call. Pure. */
function checkCall(
  caller: CollaborateCaller,
  call: CollaborateCall,
  directory: Directory,
): ({ ok: true } & Pick<Asking, "from" | "target" | "text">) | RefusedCollaboration {
  const from = directory.get(caller.agent);
  const checked = checkText(call.message);
  if (!checked.ok) {
    return refuse(
      "INVALID_ARGUMENT",
      checked.because === "empty" ? "The message is empty." : "The message cannot be posted.",
      "Say what you want done, in at most 100,000 characters.",
    );
  }
  const target = directory.find(call.targetAgent);
  if (target?.id === from.id) {
    const others = directory.agents.filter((agent) => agent !== from).map(({ id }) => id);
    return refuse(
      "INVALID_ARGUMENT",
      `${from.id} cannot hand work to itself.`,
      `Name another agent: ${others.join(", ")}.`,
    );
  }
  if (!target) {
    return refuse(
      "AGENT_UNKNOWN",
      `There is no agent "${call.targetAgent}".`,
      directory.unknownHint(call.targetAgent),
    );
  }
  return { ok: true, from, target, text: checked.text };
}

async function filesOf(
  tx: Transaction,
  { session }: CollaborateCaller,
  { files: names = [] }: CollaborateCall,
): Promise<readonly FileRef[] | RefusedCollaboration> {
  if (names.length === 0) return [];
  const known = session === undefined ? [] : await tx.query<FileRef>(SESSION_FILES, [session]);
  try {
    return filesNamed(names, known);
  } catch (error) {
    if (!(error instanceof DureError)) throw error;
    return refuse("INVALID_ARGUMENT", error.message, error.hint ?? "");
  }
}

function keyOf(caller: CollaborateCaller, call: CollaborateCall): string | undefined {
  if (caller.callKey !== undefined) return `call:${caller.callKey}`;
  return call.idempotencyKey === undefined
    ? undefined
    : `key:${caller.agent}:${call.idempotencyKey}`;
}

const KEY_LOCK = {
  name: "collaborate.lock",
  text: "select pg_advisory_xact_lock(hashtextextended('collaborate:' || $1, 0))",
};
const KNOWN = {
  name: "collaborate.known",
  text: `
    select result
    from dure.collaborations
    where key = $1
      and (
        $2::double precision is null
        or at > clock_timestamp() - $2 * interval '1 millisecond'
      )`,
};
const REMEMBER = {
  name: "collaborate.remember",
  text: `
    insert into dure.collaborations (key, result)
    values ($1, $2)
    on conflict (key)
    do update set result = $2, at = clock_timestamp()`,
};
const UPDATE_RESULT = {
  name: "collaborate.update_result",
  text: "update dure.collaborations set result = $2 where key = $1",
};

/**
 * The refusal where the target cannot be reached: on the platform of the channel, which the target
 * has to see; where that is not known, on all platforms.
 */
async function refuseOffline(
  tx: Transaction,
  setting: RoomsSetting,
  asking: Asking,
  where: Where | undefined,
): Promise<RefusedCollaboration | undefined> {
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
): Promise<RefusedCollaboration> {
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
