/** The accounts of agents on a platform: which process is connected as which. */

import type { Database, Transaction } from "../../durable/database.ts";
import type { Leases } from "../../durable/leases.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import { codedOf, sentenceOf } from "../../kernel/coded-message.ts";
import type { AccountDetail, ChannelAccount, ChannelAdapter } from "../channel-adapter.ts";
import type { Delivery } from "../out/delivery.ts";
import type { Directory } from "../directory.ts";
import { roomReports } from "../out/reports.ts";
import { readKnownNames } from "../out/former-name-notice.ts";
import { topicOf } from "../out/notices.ts";
import type { RoomsSetting } from "../talk.ts";
import type { AccountState } from "../../kernel/rooms.ts";

/**
 * How often a process looks whether an account is free, milliseconds. With leases of 6 s a dead
 * holder is replaced within 10 s.
 */
const TRY_EVERY_MS = 1_000;

/**
 * Who is connected. One process holds the connection of one account (a lease) and only it sends for
 * that account; when it dies, another takes it. States are rows, so that every process knows who is
 * online.
 */
export class Accounts {
  readonly #setting: RoomsSetting;
  readonly #leases: Leases;
  readonly #delivery: Delivery;
  readonly #processId: string;
  readonly #over = new AbortController();
  readonly #kept: Poller[] = [];

  constructor(
    setting: RoomsSetting,
    parts: { leases: Leases; delivery: Delivery; processId: string },
  ) {
    this.#setting = setting;
    this.#leases = parts.leases;
    this.#delivery = parts.delivery;
    this.#processId = parts.processId;
  }

  /** Who is who on the platforms, as the holders of the other accounts have told. */
  async learn(): Promise<void> {
    const { database, directory } = this.#setting;
    const rows = await database.query<{ adapter: string; id: string; platform_id: string }>(
      PLATFORM_IDS,
    );
    for (const row of rows) directory.learnPlatformId(row.adapter, row.id, row.platform_id);
  }

  async start(): Promise<void> {
    await this.learn();
    const { adapters, directory, outbox } = this.#setting;
    await this.enrol(directory);
    directory.learnNames(await readKnownNames(this.#setting.database));
    for (const adapter of adapters.values()) {
      if (!adapter.isLocal) {
        for (const account of directory.accountsOf(adapter.name)) {
          this.#kept.push(this.#keep(adapter, account));
        }
      }
      if (!adapter.isLocal) await this.#tellWaiting(adapter.name);
      if (adapter.isLocal) {
        outbox.handle(topicOf(adapter.name, "", true), this.#delivery.handler(adapter));
      }
    }
  }

  /**
   * A row for each account. One of a platform is connected at the next start; one of our own is
   * there at once.
   */
  async enrol(directory: Directory): Promise<void> {
    const { adapters, database } = this.#setting;
    for (const adapter of adapters.values()) {
      for (const account of directory.accountsOf(adapter.name)) {
        await database.query(ENROL, [
          adapter.name,
          account.id,
          account.agent,
          account.displayName,
          adapter.isLocal ? "ready" : "starting",
        ]);
      }
    }
  }

  /**
   * Words of agents whose account this team does not have any more leave nowhere: the operators
   * are told here.
   */
  async #tellWaiting(adapter: string): Promise<void> {
    const { database, store, directory, logger, locale } = this.#setting;
    for (const { account, agent, count } of await waitingWithoutAccount(
      database,
      adapter,
      directory,
    )) {
      const who = directory.find(agent)?.displayName ?? agent;
      logger.error(
        { adapter, account, messages: count },
        `${count} messages of ${who} wait: there is no token for the account ${adapter}:${account}`,
      );
      await database.transaction((tx) =>
        store.escalate(tx, {
          subject: `room:account:${adapter}:${agent}`,
          type: "account",
          severity: "high",
          ...roomReports(locale).noToken(who, adapter, count),
          context: { adapter, account, agent, waiting: count },
        }),
      );
    }
  }

  async stop(): Promise<void> {
    this.#over.abort(new DOMException("Rooms were stopped.", "AbortError"));
    await Promise.all(this.#kept.map((poller) => poller.stop()));
  }

  /** What the connection of an account says of itself. */
  async changed(
    adapter: string,
    account: ChannelAccount,
    state: AccountState,
    detail?: AccountDetail,
  ): Promise<void> {
    const isLocal = this.#setting.adapters.get(adapter)?.isLocal === true;
    await this.#change(adapter, account, (before) => {
      // A holder that was thought dead and comes back has nothing to say about the connection of
      // its successor.
      return before.is_ours || isLocal ? { state, detail } : undefined;
    });
  }

  async #change(
    adapter: string,
    account: ChannelAccount,
    decide: (before: AccountBefore) => AccountChange | undefined,
  ): Promise<void> {
    const { database, logger } = this.#setting;
    const changed = await database.transaction(async (tx) => {
      const [before] = await tx.query<AccountBefore>(LOCK, [
        adapter,
        account.id,
        leaseName(adapter, account.id),
        this.#processId,
      ]);
      const change = before && decide(before);
      if (account.platformId !== undefined) {
        await tx.query(KNOWN_AS, [adapter, account.id, account.platformId]);
      }
      return change && this.#write(tx, { adapter, account, before }, change);
    });
    if (!changed) return;
    const { state, detail } = changed;
    const told = detail === null ? "" : `: ${detail}`;
    logger[state === "refused" ? "error" : "info"](
      { adapter, account: account.id, state },
      `account ${adapter}:${account.id} is ${state}${told}`,
    );
    this.#setting.notifications.publish("events");
  }

  /** Gives what is new; undefined when nothing is. */
  async #write(
    tx: Transaction,
    of: { adapter: string; account: ChannelAccount; before: AccountBefore },
    { state, detail: told }: AccountChange,
  ): Promise<{ state: AccountState; detail: string | null } | undefined> {
    const { adapter, account, before } = of;
    const detail = told === undefined ? null : sentenceOf(told);
    const reason = told === undefined ? null : codedOf(told);
    // Of one that is not ready only what has a code is news: other reasons come with each attempt.
    const isNews = before.detail !== detail && (state === "ready" || reason !== null);
    if (before.state === state && !isNews) return undefined;

    await tx.query(CHANGE, [
      adapter,
      account.id,
      state,
      detail,
      reason === null ? null : JSON.stringify(reason),
    ]);
    await this.#setting.store.emit(tx, [
      {
        type: "account.changed",
        role: "system",
        agent: account.agent,
        data: { adapter, account: account.id, from: before.state, state, detail },
      },
    ]);
    await this.#raiseOrSettle(tx, { adapter, account }, { state, detail: told });
    return { state, detail };
  }

  /** One escalation while an account is refused, or does not mend itself. */
  async #raiseOrSettle(
    tx: Transaction,
    { adapter, account }: { adapter: string; account: ChannelAccount },
    { state, detail }: AccountChange,
  ): Promise<void> {
    const { store, locale } = this.#setting;
    const subject = `room:account:${adapter}:${account.agent}`;
    if (state === "ready") await store.settleEscalation(tx, subject, account.id);
    const needsPeople = typeof detail === "object" && detail.needsPeople === true;
    if (state !== "refused" && !needsPeople) return;
    const why = detail === undefined ? "The token is not accepted." : sentenceOf(detail);
    const { refused, resting } = roomReports(locale);
    await store.escalate(tx, {
      subject,
      type: "account",
      severity: state === "refused" ? "critical" : "high",
      ...(state === "refused" ? refused : resting)(account.displayName, adapter, why),
      context: { adapter, account: account.id, agent: account.agent },
    });
  }

  /** Holds, connects, and begins again, until we are stopped or the token is refused. */
  #keep(adapter: ChannelAdapter, account: ChannelAccount): Poller {
    const { clock, logger } = this.#setting;
    const poller = new Poller({
      what: `the connection of ${account.id} to ${adapter.name}`,
      poll: (signal) => this.#hold(adapter, account, signal),
      everyMs: TRY_EVERY_MS,
      clock,
      logger,
      signal: this.#over.signal,
    });
    poller.start();
    return poller;
  }

  async #hold(
    adapter: ChannelAdapter,
    account: ChannelAccount,
    signal: AbortSignal,
  ): Promise<PollResult> {
    const lease = leaseName(adapter.name, account.id);
    const held = await this.#leases.hold(
      lease,
      (_lease, whileHeld) => this.#connect(adapter, account, whileHeld.signal),
      { signal },
    );
    if (held.ok) {
      this.#setting.logger.debug(
        { adapter: adapter.name, account: account.id },
        `the connection of ${account.id} has ended`,
      );
    }
    return "idle";
  }

  async #connect(
    adapter: ChannelAdapter,
    account: ChannelAccount,
    signal: AbortSignal,
  ): Promise<void> {
    const { outbox } = this.#setting;
    const topic = topicOf(adapter.name, account.id, false);
    outbox.handle(topic, this.#delivery.handler(adapter));
    try {
      await adapter.connect(account, { signal });
      await this.#idleWhenRefused(adapter, account, signal, () => outbox.unhandle(topic));
    } finally {
      outbox.unhandle(topic);
    }
  }

  /**
   * A refused token is not tried again before the next start; the lease stays, so that no other
   * process tries it either.
   */
  async #idleWhenRefused(
    adapter: ChannelAdapter,
    account: ChannelAccount,
    signal: AbortSignal,
    stopSending: () => void,
  ): Promise<void> {
    const [row] = await this.#setting.database.query<{ state: AccountState }>(STATE, [
      adapter.name,
      account.id,
    ]);
    if (row?.state !== "refused" || signal.aborted) return;
    stopSending();
    await new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
  }
}

/**
 * Accounts for which something waits to leave, that are not in this team and that no living process
 * has.
 */
export async function waitingWithoutAccount(
  database: Pick<Database, "query">,
  adapter: string,
  directory: Directory,
): Promise<
  readonly { readonly account: string; readonly agent: string; readonly count: number }[]
> {
  return database.query(WAITING, [
    adapter,
    topicOf(adapter, "", false),
    directory.accountsOf(adapter).map(({ id }) => id),
  ]);
}

interface AccountBefore {
  readonly state: AccountState;
  readonly detail: string | null;
  /** This process holds its connection; any process does. */
  readonly is_ours: boolean;
  readonly is_held: boolean;
}

interface AccountChange {
  readonly state: AccountState;
  readonly detail: AccountDetail | undefined;
}

export function leaseName(adapter: string, account: string): string {
  return `account:${adapter}:${account}`;
}

/** A row of dure.accounts beside the lease of its connection. */
export interface AccountRow {
  readonly state: AccountState;
  readonly detail: string | null;
  readonly changed_at: Date;
  /**
   * Since when no living process holds the connection; null: one does, or there is nothing to
   * hold.
   */
  readonly lost_at: Date | null;
  readonly now: Date;
}

/**
 * Of `dure.leases l` and its holder `dure.processes p`: a process that was killed leaves `ready`
 * behind and says nothing more.
 */
export const LOST_AT =
  "case when l.name is not null and (p.id is null or p.ended_at is not null) then " +
  "greatest(l.renewed_at, p.renewed_at) end as lost_at";

/** What an account's row says, unless the process that wrote it is dead. Pure. */
export function stateOf({
  state,
  changed_at,
  lost_at,
}: Pick<AccountRow, "state" | "changed_at" | "lost_at">): {
  state: AccountState;
  changedAt: number;
} {
  if (state !== "ready" || lost_at === null) return { state, changedAt: changed_at.getTime() };
  return { state: "reconnecting", changedAt: lost_at.getTime() };
}

/** Whether an account can be reached now, by its row. Pure. Source: docs/spec/collaboration §4. */
export function isOffline(
  account: { state: AccountState; changedAt: number } | undefined,
  now: number,
  offlineAfterMs: number,
): boolean {
  if (!account) return true;
  if (account.state === "ready") return false;
  return account.state === "refused" || now - account.changedAt >= offlineAfterMs;
}

const WAITING = {
  name: "account.waiting",
  text: `
    with waiting as (
      select substr(topic, length($2) + 1) as account, count(*)::integer as count
      from dure.outbox
      where state in ('pending', 'sending') and starts_with(topic, $2)
      group by 1
    )
    select w.account, coalesce(a.agent, w.account) as agent, w.count
    from waiting w
    left join dure.accounts a on a.adapter = $1 and a.id = w.account
    where not w.account = any($3::text[])
      and not exists (
        select
        from dure.leases l
        join dure.processes p on p.id = l.holder
        where l.name = 'account:' || $1 || ':' || w.account and p.ended_at is null
      )
    order by w.account`,
};
const ENROL = {
  name: "account.enrol",
  text: `
    insert into dure.accounts as a (adapter, id, agent, display_name, state)
    values ($1, $2, $3, $4, $5)
    on conflict (adapter, id)
    do update set agent = $3, display_name = $4,
      state = case
        when a.state in ('ready', 'reconnecting') then a.state
        else $5
      end,
      changed_at = case
        when a.state in ('ready', 'reconnecting') then a.changed_at
        else clock_timestamp()
      end`,
};
const PLATFORM_IDS = {
  name: "account.platform_ids",
  text: `
    select adapter, id, platform_id
    from dure.accounts
    where platform_id is not null`,
};
const LOCK = {
  name: "account.lock",
  text: `
    select state, detail,
      exists (select from dure.leases where name = $3 and holder = $4) as is_ours,
      exists (
        select
        from dure.leases l
        join dure.processes p on p.id = l.holder
        where l.name = $3 and p.ended_at is null
      ) as is_held
    from dure.accounts
    where adapter = $1 and id = $2
    for update`,
};
const KNOWN_AS = {
  name: "account.known_as",
  text: `
    update dure.accounts
    set platform_id = $3
    where adapter = $1 and id = $2 and platform_id is distinct from $3`,
};
const STATE = {
  name: "account.state",
  text: `
    select state
    from dure.accounts
    where adapter = $1 and id = $2`,
};
const CHANGE = {
  name: "account.change",
  text: `
    update dure.accounts
    set state = $3, detail = $4, reason = $5,
      -- since when it cannot be reached counts, not since when for this reason
      changed_at = case
        when state = $3 and $3 <> 'ready' then changed_at
        else clock_timestamp()
      end
    where adapter = $1 and id = $2`,
};
