/** What a link of `dure login` brought: a secret that logs in once. */
export class LoginLink {
  #once: string | undefined;

  /** Takes it out of the address at once, so that it is neither kept in the history nor shown. */
  constructor() {
    const url = new URL(window.location.href);
    if (url.pathname !== "/login") return;

    this.#once = url.searchParams.get("once") ?? undefined;
    window.history.replaceState(null, "", "/");
  }

  /** Undefined without one, and the second time. */
  take(): string | undefined {
    const once = this.#once;
    this.#once = undefined;
    return once;
  }
}
