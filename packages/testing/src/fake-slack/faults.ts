/** How a request of the fake Slack fails. */
export type SlackFault =
  /** `{"ok": false}` with this word, such as `not_in_channel` or `invalid_auth`. */
  | { readonly kind: "error"; readonly error: string; readonly needed?: string }
  | { readonly kind: "429"; readonly retryAfterMs: number }
  | { readonly kind: "5xx"; readonly afterDoing?: boolean }
  /** No answer ever. */
  | { readonly kind: "hang"; readonly afterDoing?: boolean };

/** Which requests a fault meets. */
export interface SlackFaultTarget {
  /** Such as `chat.postMessage`. */
  readonly method: string;
  /** An app's name. */
  readonly app?: string | undefined;
  /** Default 1. */
  readonly times?: number | undefined;
  /** Only requests whose metadata has this event type. */
  readonly eventType?: string | undefined;
}

/** The faults that are armed; the one that was armed first hits first. */
export class SlackFaults {
  readonly #armed: { target: SlackFaultTarget; fault: SlackFault; left: number }[] = [];
  #isOut = false;

  /** Every request fails with 503. */
  setOutage(isOut: boolean): void {
    this.#isOut = isOut;
  }

  arm(target: SlackFaultTarget, fault: SlackFault): void {
    this.#armed.push({ target, fault, left: target.times ?? 1 });
  }

  get isOut(): boolean {
    return this.#isOut;
  }

  take(method: string, app: string | undefined, eventType: string): SlackFault | undefined {
    if (this.#isOut) return { kind: "5xx" };

    const hit = this.#armed.find(
      ({ target, left }) =>
        left > 0 &&
        target.method === method &&
        (target.app === undefined || target.app === app) &&
        (target.eventType === undefined || target.eventType === eventType),
    );

    if (hit) hit.left -= 1;
    return hit?.fault;
  }
}
