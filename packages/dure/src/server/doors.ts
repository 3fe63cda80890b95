import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyRequest } from "fastify";
import { timingSafeEqual } from "node:crypto";
import { DureError } from "../kernel/errors.ts";
import type { Clock } from "../kernel/clock.ts";
import { tokenInvalid, type Principal } from "./access.ts";
import {
  decideAccess,
  decideLocal,
  forwardingHeader,
  type AccessFacts,
  type AccessMode,
  type Arrival,
  type StrangerReason,
} from "./access-mode.ts";
import { loginCookie, readLoginCookie } from "./login-cookie.ts";
import { MemoryLogins, type LoginRows } from "./login-rows.ts";
import { Logins, type KnownLogin } from "./logins.ts";
import { LOCAL_TOKEN_ID, looksLocal, type LocalToken } from "./local-token.ts";
import { MemorySocket } from "./memory-socket.ts";
import { hostName, isLoopbackAddress, isLoopbackName } from "./names.ts";
import { openPeerOwners, type PeerOwner, type PeerOwners } from "./peer-owner.ts";
import { hashToken, type LivingToken, type TokenRecord, type TokenStore } from "./token-store.ts";
import { SCOPES } from "../kernel/access.ts";

/** What of a server's settings says who may come in. */
export interface AccessOptions extends Pick<AccessFacts, "allowedHosts" | "trustProxy"> {
  readonly tokens: TokenStore;
  readonly clock: Clock;
  /** The address that it listens on. Default 127.0.0.1. */
  readonly host?: string | undefined;
  readonly loginAlways?: boolean | undefined;
  readonly hasEnvironmentToken?: boolean | undefined;
  /** Default: in this process's memory. */
  readonly logins?: LoginRows | undefined;
  /** Absent: the server has no data folder, and no token in it. */
  readonly localToken?: LocalToken | undefined;
  /** For tests of systems that do not say whose connection it is. Default: what this one says. */
  readonly peers?: (() => Promise<PeerOwners | undefined>) | undefined;
}

/** Who asks; a stranger with the reason why. */
export type Identified =
  | { readonly principal: Principal; readonly login?: KnownLogin | undefined }
  | { readonly principal: null; readonly because: StrangerReason };

/**
 * What the person at the machine may do. A connection does not say enough of who asks to take
 * protection away.
 */
const SCOPES_AT_MACHINE = SCOPES.filter((scope) => scope !== "plans:unconfined");

/**
 * Decides who comes in: by a bearer, by the cookie of a login, or as the user who runs the server.
 * Source: docs/spec/platform §6.
 */
export class Doors {
  readonly logins: Logins;
  readonly #options: AccessOptions;
  #peers: Promise<PeerOwners | undefined> | undefined;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.logins = new Logins({
      rows: options.logins ?? new MemoryLogins({ clock: options.clock }),
      find: (id) => this.living(id),
    });
  }

  /**
   * Who needs credentials now. What another process changes is known within 2 s. @throws
   * TOKENS_UNAVAILABLE
   */
  async mode(): Promise<AccessMode> {
    const {
      tokens,
      host = "127.0.0.1",
      loginAlways = false,
      hasEnvironmentToken = false,
      allowedHosts,
      trustProxy,
    } = this.#options;

    const [hasLivingToken, peers] = await Promise.all([
      whenReachable(() => tokens.anyLiving()),
      this.#openPeers(),
    ]);

    return decideAccess({
      host,
      loginAlways,
      hasEnvironmentToken,
      hasLivingToken,
      allowedHosts,
      trustProxy,
      namesPeers: peers !== undefined,
    });
  }

  /** @throws AUTHORIZATION_INVALID, TOKEN_INVALID, TOKENS_UNAVAILABLE */
  async identify(request: FastifyRequest): Promise<Identified> {
    const asks = askedFor(request);
    if (asks) return { principal: asks };

    const { authorization } = request.headers;
    if (authorization !== undefined) return { principal: await this.#byBearer(authorization) };

    const cookie = readLoginCookie(request.headers.cookie, siteOf(request));
    const login =
      cookie === undefined ? null : await whenReachable(() => this.logins.verify(cookie));
    if (login) {
      return { principal: principalOf(login.record, { proof: "cookie", login: login.id }), login };
    }

    return this.#byConnection(request);
  }

  /** The record of a token's text. @throws TOKEN_INVALID, TOKENS_UNAVAILABLE */
  async tokenOf(text: string): Promise<LivingToken> {
    const record = looksLocal(text)
      ? await this.#localRecord(text)
      : await whenReachable(() => this.#options.tokens.verify(text));
    if (!record) throw tokenInvalid();

    return { record, hash: hashToken(text) };
  }

  /** The living token of an id, wherever it is kept. */
  async living(id: string): Promise<LivingToken | null> {
    if (id === LOCAL_TOKEN_ID) return (await this.#options.localToken?.living()) ?? null;
    return this.#options.tokens.living(id);
  }

  /** Whether a principal would still be let in: for what lasts long. */
  async stillIn({ proof, caller, login }: Principal): Promise<boolean> {
    if (proof === "none") return (await this.mode()).mode === "same-user";
    if (proof === "bearer") return (await this.living(caller.name)) !== null;

    return login !== undefined && this.logins.stillHolds(login);
  }

  /** A path of this server that logs in once. @throws LOGIN_LINK_REFUSED */
  async makeLink({ proof, caller }: Pick<Principal, "proof" | "caller">): Promise<string> {
    if (proof === "cookie") {
      throw new DureError("LOGIN_LINK_REFUSED", "A login makes no other login.", {
        class: "forbidden",
        hint: "Use a token, or `dure login` at the server's machine.",
      });
    }

    const tokenId = proof === "none" ? await this.#ensureLocalToken() : caller.name;
    return `/login?once=${await this.logins.makeLink(tokenId)}`;
  }

  async #ensureLocalToken(): Promise<string> {
    const { localToken } = this.#options;
    if (!localToken) {
      throw new DureError(
        "LOGIN_LINK_REFUSED",
        "This server has no data folder, so no login can be kept for its own user.",
        { class: "forbidden", hint: "Use a token." },
      );
    }

    await localToken.ensure();

    return LOCAL_TOKEN_ID;
  }

  async #byBearer(authorization: string): Promise<Principal> {
    const token = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization)?.[1];
    if (token === undefined) {
      throw new DureError(
        "AUTHORIZATION_INVALID",
        "The header Authorization is not `Bearer <token>`.",
        { class: "unauthorized", hint: "Send `Authorization: Bearer <token>`, or leave it out." },
      );
    }

    return principalOf((await this.tokenOf(token)).record, { proof: "bearer" });
  }

  async #localRecord(text: string): Promise<TokenRecord | null> {
    const local = await this.#options.localToken?.living();
    return local && timingSafeEqual(local.hash, hashToken(text)) ? local.record : null;
  }

  async #byConnection(request: FastifyRequest): Promise<Identified> {
    const [mode, arrival] = [await this.mode(), arrivalOf(request)];
    const before = decideLocal(mode, arrival, "same-user");
    const decision = before.isLocal
      ? decideLocal(mode, arrival, await this.#ownerOf(request.raw.socket))
      : before;
    if (!decision.isLocal) return { principal: null, because: decision.because };

    return {
      principal: {
        caller: { tenant: "", name: request.ip },
        scopes: SCOPES_AT_MACHINE,
        proof: "none",
      },
    };
  }

  async #ownerOf(socket: Socket): Promise<PeerOwner> {
    if (!(socket instanceof Socket)) return "same-user"; // called within this process: Fastify's inject
    return (await this.#openPeers())?.of(socket) ?? "unknown";
  }

  #openPeers(): Promise<PeerOwners | undefined> {
    return (this.#peers ??= (this.#options.peers ?? openPeerOwners)());
  }
}

/**
 * How cookies are called and marked for a request. https counts when a trusted proxy says it, or
 * the browser's own page does.
 */
export function siteOf({ protocol, headers }: FastifyRequest): {
  host: string | undefined;
  isSecure: boolean;
} {
  return {
    host: headers.host,
    isSecure: protocol === "https" || headers.origin?.startsWith("https://") === true,
  };
}

/** `Set-Cookie` of a login for the answer to a request. */
export function cookieFor(request: FastifyRequest, value: string): string {
  return loginCookie(value, siteOf(request));
}

/** Of a request that a route of this server makes: whose request it answers. */
function askedFor({ raw }: FastifyRequest): Principal | undefined {
  const socket: Duplex = raw.socket;
  return socket instanceof MemorySocket ? socket.asks : undefined;
}

function arrivalOf({ raw, headers }: FastifyRequest): Arrival {
  return {
    isEmbedded: (raw.socket as Duplex) instanceof MemorySocket,
    peerIsLoopback: isLoopbackAddress(raw.socket.remoteAddress ?? ""),
    httpVersion: raw.httpVersion,
    hostIsLoopback: isLoopbackName(hostName(headers.host ?? "") ?? ""),
    forwardedBy: forwardingHeader(headers),
  };
}

function principalOf(
  { id, name, tenant, scopes, roles }: TokenRecord,
  how: Pick<Principal, "proof" | "login">,
): Principal {
  const person = name === "" ? undefined : name;
  return { caller: { tenant, name: id }, scopes, roles, person, ...how };
}

/** A store that does not answer is no wrong token: 503, not 401. */
async function whenReachable<Value>(ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask();
  } catch (cause) {
    throw new DureError(
      "TOKENS_UNAVAILABLE",
      "Who asks cannot be checked now: the database does not answer.",
      {
        class: "unavailable",
        hint: "Is the database up? /readyz says.",
        cause,
      },
    );
  }
}
