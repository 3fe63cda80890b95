import { onlyDefined } from "../kernel/json.ts";
import type { ToldChoice } from "../kernel/alerts.ts";
import type { Locale } from "../kernel/locales.ts";
import type { NotificationChoices } from "../wire/notifications.ts";
import { passed, queryOf, type CallOptions, type Http } from "./http.ts";

/** A subscription of Web Push as the browser gives it: `PushSubscription.toJSON()`. */
export interface NotifiedBrowser {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
  /** In which language it is told. Default: that of the team. */
  readonly locale?: Locale | undefined;
}

/** What one person is told outside of the page. */
export class NotificationsClient {
  readonly #http: Http;
  readonly #asPerson: string | undefined;

  constructor(http: Http, asPerson: string | undefined) {
    this.#http = http;
    this.#asPerson = asPerson;
  }

  get(options: CallOptions = {}): Promise<NotificationChoices> {
    return this.#http.get(`/v1/notifications${this.#query()}`, options);
  }

  /** Chooses what the person is told. */
  choose(told: ToldChoice, options: CallOptions = {}): Promise<NotificationChoices> {
    const body = { told, asPerson: this.#asPerson };
    return this.#http.answer("PATCH", "/v1/notifications", body, options);
  }

  /** Tells nothing of a room and its threads; with `isMuted: false` of it again. */
  mute(
    room: string,
    { isMuted = true, ...options }: CallOptions & { isMuted?: boolean } = {},
  ): Promise<NotificationChoices> {
    const path = `/v1/notifications/muted/${encodeURIComponent(room)}${this.#query()}`;
    return this.#http.answer(isMuted ? "PUT" : "DELETE", path, undefined, options);
  }

  /** Tells the person in a browser. The same one again is harmless. */
  subscribe(browser: NotifiedBrowser, options: CallOptions = {}): Promise<{ readonly id: string }> {
    const body = { ...onlyDefined({ ...browser }), asPerson: this.#asPerson };
    return this.#http.post("/v1/notifications/subscriptions", body, options);
  }

  async unsubscribe(id: string, options: CallOptions = {}): Promise<void> {
    const path = `/v1/notifications/subscriptions/${encodeURIComponent(id)}${this.#query()}`;
    await this.#http.request(path, { method: "DELETE", ...passed(options) });
  }

  #query(): string {
    return queryOf({ asPerson: this.#asPerson });
  }
}
