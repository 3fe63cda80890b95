/** Places that an account does not hear, told to the operators once each. */

import type { Transaction, Queryable } from "../../durable/database.ts";
import type { ChannelAccount } from "../channel-adapter.ts";
import type { Place } from "../place.ts";
import { roomReports, type Report } from "../out/reports.ts";
import type { RoomsSetting, Talk } from "../talk.ts";

/** Reports the places that an account of one platform does not hear, until it hears them again. */
export class UnreadablePlaceReports {
  readonly #setting: RoomsSetting;
  readonly #adapter: string;
  readonly #talk: Talk;
  /**
   * Subjects of an account and a place where it was last known to hear or read nothing; the holder
   * of an account fills it when it begins.
   */
  readonly #open = new Set<string>();

  constructor(setting: RoomsSetting, parts: { adapter: string; talk: Talk }) {
    this.#setting = setting;
    this.#adapter = parts.adapter;
    this.#talk = parts.talk;
  }

  /** What is reported of this account already. */
  async load(account: ChannelAccount): Promise<void> {
    const open = await openReportsOf(account.agent, this.#setting.database);
    for (const subject of open) this.#open.add(subject);
  }

  /** What was missed in a place could not be read. */
  async unread(account: ChannelAccount, place: Place, why: string): Promise<void> {
    const { database, locale } = this.#setting;
    const report = roomReports(locale).unread(account.displayName, place.name, why);
    await database.transaction((tx) => this.#report(tx, account, place, { report }));
  }

  /** The account may not see a place any more. */
  async accessLost(tx: Transaction, account: ChannelAccount, place: Place): Promise<void> {
    const { locale } = this.#setting;
    const report = roomReports(locale).accessLost(account.displayName, place.name);
    const subject = deafSubject(account.agent, place.id);
    // That it could not read there says less.
    await this.#setting.store.settleEscalation(tx, subject, account.id);
    await this.#report(tx, account, place, { report, because: SHUT_OUT });
  }

  /** Closes the report of this place and account, if there is one. */
  async hearsAgain(account: ChannelAccount, place: Place): Promise<void> {
    const subject = deafSubject(account.agent, place.id);
    if (!this.#open.has(subject)) return;
    const { database, store } = this.#setting;
    await database.transaction((tx) => store.settleEscalation(tx, subject, account.id));
    this.#open.delete(subject);
    this.#talk.announce();
  }

  async #report(
    tx: Transaction,
    account: ChannelAccount,
    place: Place,
    { report, because }: { report: Report; because?: string },
  ): Promise<void> {
    const subject = deafSubject(account.agent, place.id);
    await this.#setting.store.escalate(tx, {
      subject,
      type: "account",
      severity: "medium",
      tenant: place.tenant,
      source: { room: place.id },
      ...report,
      context: {
        because,
        place: place.id,
        agent: account.agent,
        account: account.id,
        adapter: this.#adapter,
      },
    });
    this.#open.add(subject);
  }
}

/**
 * The subject of the one report of an agent and a place it does not hear, whether it may not see it
 * any more or could not read it: to an operator it is one thing.
 */
function deafSubject(agent: string, place: string): string {
  return `room:deaf:${agent}:${place}`;
}

/** Stands in the report's context where nothing that is said there reaches the agent. */
export const SHUT_OUT = "access-lost";

/** What was reported of an agent and is not over, by subject. */
async function openReportsOf(agent: string, database: Queryable): Promise<readonly string[]> {
  return (await database.query<{ subject: string }>(OF_AGENT, [agent])).map(
    ({ subject }) => subject,
  );
}

/** Who does not hear in these places. */
export async function deafIn(
  places: readonly string[],
  database: Queryable,
): Promise<readonly { readonly place: string; readonly agent: string }[]> {
  return database.query(IN_PLACES, [places]);
}

/**
 * Whether an agent cannot see the place: it was removed from its server, and operators have not
 * said that they know.
 */
export async function isShutOut(
  agent: string,
  place: string,
  database: Queryable,
): Promise<boolean> {
  return (await database.query(IS_SHUT_OUT, [deafSubject(agent, place), SHUT_OUT])).length > 0;
}

const OF_AGENT = {
  name: "deaf.of_agent",
  text: `
    select subject
    from dure.escalations
    where status = 'open' and starts_with(subject, 'room:deaf:' || $1 || ':')`,
};
const IN_PLACES = {
  name: "deaf.in_places",
  text: `
    select context->>'place' as place, context->>'agent' as agent
    from dure.escalations
    where status = 'open'
      and starts_with(subject, 'room:deaf:')
      and context->>'place' = any($1::text[])`,
};
const IS_SHUT_OUT = {
  name: "deaf.is_shut_out",
  text: `
    select
    from dure.escalations
    where subject = $1 and status = 'open' and context->>'because' = $2`,
};
