/** What people want to be told, and in which browsers. */

import { createECDH, createHash } from "node:crypto";
import type { Database } from "../durable/database.ts";
import { assertPublic, type Receivers } from "../engine/agent/public-post.ts";
import type { ToldChoice } from "../kernel/alerts.ts";
import { DureError } from "../kernel/errors.ts";
import type { Locale } from "../kernel/locales.ts";

/** Browsers of one person; the one that came the longest ago ends. */
const MOST_BROWSERS = 10;
/** Rooms that one person mutes. */
const MOST_MUTED = 500;

/** A person of a tenant. */
export interface AlertOwner {
  readonly tenant: string;
  readonly person: string;
}

/** What a person wants. */
export interface AlertChoices {
  readonly told: ToldChoice;
  /** Ids of rooms and threads. */
  readonly muted: readonly string[];
  /** Browsers that are told. */
  readonly browsers: number;
}

/** A browser as it registers itself, and what its person may decide. */
export interface NewBrowser {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
  readonly locale: Locale;
  /** By which it is registered; "": without one. */
  readonly token: string;
  /** Of a cookie; "": none. */
  readonly login: string;
  readonly isOperator: boolean;
  readonly roles: readonly string[];
}

/** Reads and keeps what people want. */
export class AlertBook {
  readonly #database: Database;
  readonly #receivers: Receivers;

  constructor(database: Database, receivers: Receivers) {
    this.#database = database;
    this.#receivers = receivers;
  }

  async choices({ tenant, person }: AlertOwner): Promise<AlertChoices> {
    const [row] = await this.#database.query<AlertChoices>(CHOICES, [tenant, person]);
    return row!;
  }

  async choose({ tenant, person }: AlertOwner, told: ToldChoice): Promise<void> {
    await this.#database.query(CHOOSE, [tenant, person, told]);
  }

  /** Throws `MUTED_TOO_MANY`. */
  async mute({ tenant, person }: AlertOwner, place: string, isMuted: boolean): Promise<void> {
    const statement = isMuted ? MUTE : UNMUTE;
    const rows = await this.#database.query(statement, [tenant, person, place]);
    if (isMuted && rows.length === 0) throw mutedTooMany();
  }

  /**
   * Gives its id. The same browser again is the same one, also for another person: it is told for that
   * one from now on. Throws `PUSH_ADDRESS`, `PUSH_KEYS_INVALID`.
   */
  async add({ tenant, person }: AlertOwner, browser: NewBrowser): Promise<string> {
    const { endpoint, keys, locale, token, login, isOperator, roles } = browser;
    assertPublic(endpoint, this.#receivers);
    assertKeys(keys);
    const id = createHash("sha256").update(endpoint).digest("base64url");
    const values = [id, tenant, person, endpoint, keys.p256dh, keys.auth, locale, token];
    await this.#database.transaction(async (tx) => {
      await tx.query(ADD, [...values, isOperator, roles, login]);
      await tx.query(END_OLDEST, [tenant, person]);
    });

    return id;
  }

  /** Again it is gone already. */
  async remove({ tenant, person }: AlertOwner, id: string): Promise<void> {
    await this.#database.query(REMOVE, [tenant, person, id]);
  }
}

function assertKeys({ p256dh, auth }: NewBrowser["keys"]): void {
  const isSecret = Buffer.from(auth, "base64url").length === 16;
  if (isSecret && isPoint(Buffer.from(p256dh, "base64url"))) return;
  throw new DureError("PUSH_KEYS_INVALID", "The keys of the push subscription are none.", {
    class: "input",
    hint: "Send the keys of PushSubscription.toJSON() as they are.",
  });
}

/** Whether it lies on the curve: else nothing can be encrypted for it. */
function isPoint(bytes: Buffer): boolean {
  if (bytes.length !== 65 || bytes[0] !== 4) return false;
  const pair = createECDH("prime256v1");
  pair.generateKeys();
  try {
    return pair.computeSecret(bytes).length > 0;
  } catch {
    return false;
  }
}

function mutedTooMany(): DureError {
  return new DureError("MUTED_TOO_MANY", `You have muted ${MOST_MUTED} rooms.`, {
    class: "conflict",
    hint: "Unmute one of them, or choose to be told nothing.",
  });
}

const CHOICES = {
  name: "alerts.choices",
  text: `
    select coalesce(c.told, 'all') as told, coalesce(c.muted, '{}') as muted,
      (
        select count(*)
        from dure.push_subscriptions s
        where s.tenant = $1 and s.person = $2
      )::integer as browsers
    from (select) one
    left join dure.alert_choices c on c.tenant = $1 and c.person = $2`,
};
const CHOOSE = {
  name: "alerts.choose",
  text: `
    insert into dure.alert_choices (tenant, person, told)
    values ($1, $2, $3)
    on conflict (tenant, person) do update
    set told = excluded.told`,
};
const MUTE = {
  name: "alerts.mute",
  text: `
    insert into dure.alert_choices as c (tenant, person, muted)
    values ($1, $2, array[$3::text])
    on conflict (tenant, person) do update
    set muted = array_append(array_remove(c.muted, $3::text), $3::text)
    where cardinality(array_remove(c.muted, $3::text)) < ${MOST_MUTED}
    returning person`,
};
const UNMUTE = {
  name: "alerts.unmute",
  text: `
    update dure.alert_choices
    set muted = array_remove(muted, $3::text)
    where tenant = $1 and person = $2`,
};
const ADD = {
  name: "alerts.add_browser",
  text: `
    insert into dure.push_subscriptions (
      id, tenant, person, endpoint, p256dh, auth, locale, token, is_operator, roles, login
    )
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    on conflict (id) do update
    set tenant = excluded.tenant, person = excluded.person, endpoint = excluded.endpoint,
      p256dh = excluded.p256dh, auth = excluded.auth, locale = excluded.locale,
      token = excluded.token, login = excluded.login,
      is_operator = excluded.is_operator, roles = excluded.roles, renewed_at = clock_timestamp()`,
};
const END_OLDEST = {
  name: "alerts.end_oldest",
  text: `
    delete from dure.push_subscriptions
    where id in (
      select id
      from dure.push_subscriptions
      where tenant = $1 and person = $2
      order by renewed_at desc, id
      offset ${MOST_BROWSERS}
    )`,
};
const REMOVE = {
  name: "alerts.remove_browser",
  text: `
    delete from dure.push_subscriptions
    where tenant = $1 and person = $2 and id = $3`,
};
