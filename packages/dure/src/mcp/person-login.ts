import {
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
  type AuthProvider,
  type FetchLike,
} from "@modelcontextprotocol/client";
import { withTimeout, type Clock } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { onlyDefined } from "../kernel/json.ts";
import type { LoginStore, StoredLogin } from "./login-store.ts";
import type { PersonLoginSpec } from "./server-spec.ts";

/** A token is renewed so long before its end, milliseconds: a call takes its time. */
const EARLY_MS = 30_000;
/** Longest wait for an authorization server, milliseconds. */
const ANSWER_MS = 30_000;

export interface PersonLoginOptions {
  /** As `dure mcp login` is told it. */
  readonly name: string;
  readonly url: string;
  readonly spec: PersonLoginSpec;
  /** `clientSecret` of the settings with its value. */
  readonly clientSecret: string | undefined;
  readonly store: LoginStore;
  readonly clock: Clock;
}

/**
 * The tokens that a person's login has given. Of several processes one renews them, and the others
 * take what it got. Throws `MCP_NOT_LOGGED_IN` where a person has to log in: nothing was done then.
 */
export class PersonLogin implements AuthProvider {
  readonly #options: PersonLoginOptions;
  #used = "";

  constructor(options: PersonLoginOptions) {
    this.#options = options;
  }

  /** The server asks for it before each request. */
  async token(): Promise<string> {
    const login = await this.#login();
    const { accessToken, expiresAt } = login;
    const isOld = expiresAt !== null && expiresAt - EARLY_MS < this.#options.clock.now();
    this.#used = isOld ? await this.#renewed(accessToken) : accessToken;

    return this.#used;
  }

  /** The server has refused the token. */
  async onUnauthorized(): Promise<void> {
    await this.#renewed(this.#used);
  }

  async #login(): Promise<StoredLogin> {
    const { store, name } = this.#options;
    const login = await store.read(name);
    if (login && this.#fits(login)) return login;
    throw notLoggedIn(name);
  }

  /** A login for another address, authorization server or client is none. */
  #fits({ url, issuer, client }: StoredLogin): boolean {
    const { url: wanted, spec } = this.#options;
    if (url !== wanted) return false;
    if (spec.issuer !== undefined && spec.issuer !== issuer) return false;
    return spec.clientId === undefined || spec.clientId === client.client_id;
  }

  /** @param refused The token that is over, or was refused */
  async #renewed(refused: string): Promise<string> {
    const { store, name } = this.#options;
    return store.alone(name, async () => {
      const login = await this.#login();
      if (login.accessToken !== refused) return login.accessToken; // another process was faster
      if (login.refreshToken === null) throw notLoggedIn(name);
      const renewed = await this.#renew(login, login.refreshToken);
      await store.write(name, renewed);

      return renewed.accessToken;
    });
  }

  async #renew(login: StoredLogin, refreshToken: string): Promise<StoredLogin> {
    const { clock, store, name } = this.#options;
    const late = (): Error => new Error(`no answer within ${ANSWER_MS / 1_000} s`);
    try {
      const tokens = await withTimeout(clock, ANSWER_MS, late, (signal) =>
        refreshAuthorization(login.issuer, {
          metadata: login.metadata,
          clientInformation: this.#clientOf(login),
          refreshToken,
          fetchFn: fetchWith(signal),
          ...onlyDefined({ resource: login.resource ?? undefined }),
        }),
      );

      return { ...login, ...toStored(tokens, clock.now()) };
    } catch (error) {
      if (isRefused(error)) {
        await store.remove(name);
        throw notLoggedIn(name, error);
      }
      throw new DureError(
        "MCP_LOGIN_UNAVAILABLE",
        `The login at ${name} could not be renewed: ${messageOf(error)}`,
        { class: "unavailable", cause: error },
      );
    }
  }

  #clientOf({ client }: StoredLogin): StoredLogin["client"] {
    const { clientSecret } = this.#options;
    return clientSecret === undefined ? client : { ...client, client_secret: clientSecret };
  }
}

/** A fetch that ends with the signal. */
export function fetchWith(signal: AbortSignal): FetchLike {
  return (url, init) => fetch(url, { ...init, signal });
}

interface GivenTokens {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
  readonly expires_in?: number | undefined;
}

/** Pure. */
export function toStored(
  { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds }: GivenTokens,
  now: number,
): Pick<StoredLogin, "accessToken" | "refreshToken" | "expiresAt"> {
  const expiresAt = seconds === undefined ? null : now + seconds * 1_000;
  return { accessToken, refreshToken: refreshToken ?? null, expiresAt };
}

/** The grant is over, or the client is not known any more: only a person can log in again. */
const OVER: ReadonlySet<string> = new Set([
  OAuthErrorCode.InvalidGrant,
  OAuthErrorCode.InvalidClient,
  OAuthErrorCode.UnauthorizedClient,
]);

function isRefused(error: unknown): boolean {
  return error instanceof OAuthError && OVER.has(error.code);
}

function notLoggedIn(name: string, cause?: unknown): DureError {
  const words = `not logged in: run dure mcp login ${name}`;
  return new DureError("MCP_NOT_LOGGED_IN", words, { class: "unauthorized", cause });
}
