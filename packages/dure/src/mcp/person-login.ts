import {
  computeScopeUnion,
  extractWWWAuthenticateParams,
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
  type AuthProvider,
  type FetchLike,
} from "@modelcontextprotocol/client";
import { withTimeout, type Clock } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { fetchAtOrigin } from "../kernel/fetch-at-origin.ts";
import { onlyDefined } from "../kernel/json.ts";
import type { LoginStore, StoredMcpLogin } from "./login-store.ts";
import type { PersonLoginSpec } from "./server-spec.ts";

/** A token is renewed so long before its end, milliseconds: a call takes its time. */
const EARLY_MS = 30_000;
/** Characters of the scopes that a server can ask for. */
const MAX_SCOPE = 1_000;
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

  /** Passes answers on, and notes what a server says that the login does not allow. */
  readonly fetch: FetchLike = async (url, init) => {
    const answer = await fetchAtOrigin(url, init);
    if (answer.status !== 403) return answer;
    const { error, scope } = extractWWWAuthenticateParams(answer);
    if (error === "insufficient_scope" && scope !== undefined) await this.#lacks(scope);

    return answer;
  };

  /** The next login asks for it too, unless the settings name the scopes. */
  async #lacks(scope: string): Promise<void> {
    const { store, name } = this.#options;
    await store.alone(name, async () => {
      const login = await this.#login();
      const wants = computeScopeUnion(login.wants ?? undefined, scope) ?? null;
      const isNew = wants !== null && wants !== login.wants && wants.length <= MAX_SCOPE;
      if (isNew) await store.write(name, { ...login, wants });
    });
  }

  async #login(): Promise<StoredMcpLogin> {
    const { store, name } = this.#options;
    const login = await store.read(name);
    if (login && this.#fits(login)) return login;
    throw notLoggedIn(name);
  }

  /** A login for another address, authorization server or client is none. */
  #fits({ url, issuer, client }: StoredMcpLogin): boolean {
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

  async #renew(login: StoredMcpLogin, refreshToken: string): Promise<StoredMcpLogin> {
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

      return { ...login, ...toStored(tokens, { now: clock.now(), scope: login.scope }) };
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

  #clientOf({ client }: StoredMcpLogin): StoredMcpLogin["client"] {
    const { clientSecret } = this.#options;
    return clientSecret === undefined ? client : { ...client, client_secret: clientSecret };
  }
}

/** A fetch that ends with the signal. */
export function fetchWith(signal: AbortSignal): FetchLike {
  return (url, init) => fetchAtOrigin(url, { ...init, signal });
}

interface GivenTokens {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
  readonly expires_in?: number | undefined;
  readonly scope?: string | undefined;
}

/**
 * Pure.
 *
 * @param asked The time, and the scope of the request: a server that grants it all need not say so
 */
export function toStored(
  tokens: GivenTokens,
  { now, scope: asked }: { readonly now: number; readonly scope: string | null },
): Pick<StoredMcpLogin, "accessToken" | "refreshToken" | "expiresAt" | "scope"> {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = tokens;
  const expiresAt = seconds === undefined ? null : now + seconds * 1_000;
  const scope = tokens.scope ?? asked;
  return { accessToken, refreshToken: refreshToken ?? null, expiresAt, scope };
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
