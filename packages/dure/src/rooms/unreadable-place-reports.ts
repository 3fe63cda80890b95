import type { Transaction } from "../durable/database.ts";
import type { ChannelAccount } from "./channel-adapter.ts";
import { deafSubject, openReportsOf, SHUT_OUT } from "./account-cannot-read.ts";
import type { Place } from "./place.ts";
import { roomReports, type Report } from "./reports.ts";
import type { RoomsSetting, Talk } from "./talk.ts";

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
