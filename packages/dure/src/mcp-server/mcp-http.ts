import { createMcpHandler } from "@modelcontextprotocol/server";
import type { FastifyRequest } from "fastify";
import { DureClient } from "../client/client.ts";
import type { Scope } from "../kernel/access.ts";
import type { Clock } from "../kernel/clock.ts";
import { hasScope, type Principal } from "../server/access.ts";
import type { WebHandler } from "../server/web-handler.ts";
import { makeMcpServer, type McpExtension } from "./make-server.ts";
import { subscriptionOf } from "./team-subscriptions.ts";
import type { TeamConnection, ToolGroup } from "./team-tool.ts";

/** What a request to `/mcp` is answered with. */
export interface AskedMcp {
  readonly groups: readonly ToolGroup[];
  /** Name to speak under, where the server asks for no token. */
  readonly as: string | undefined;
  /** What the call has begun goes on when it aborts. */
  readonly signal: AbortSignal;
  /** Aborts it. */
  readonly end: () => void;
  readonly clock: Clock;
  /** Of dure. */
  readonly version: string;
  /** The server itself: each tool is a request to it, as the one who asked. */
  readonly web: WebHandler;
  readonly extension: McpExtension | undefined;
}

/** A tool of a group whose scope a token has not is not offered. */
const SCOPE_OF_GROUP = {
  agents: "rooms",
  rooms: "rooms",
  posts: "rooms",
  jobs: "jobs",
  plans: "plans:read",
  services: "chat",
  decisions: "admin",
} as const satisfies Record<ToolGroup, Scope>;

/** Answers one HTTP request of an MCP client. Nothing is kept from one to the next. */
export async function answerMcp(request: FastifyRequest, asked: AskedMcp): Promise<Response> {
  const { version, signal, clock, end, extension } = asked;
  const principal = request.principal!;
  const groups = asked.groups.filter((group) => hasScope(principal, SCOPE_OF_GROUP[group]));
  const connect = async (): Promise<TeamConnection> => connectionOf(request, asked);
  const listening = { groups, connect, clock, signal, end };
  const subscription = await subscriptionOf(request.body, listening);

  const handler = createMcpHandler(
    ({ era }) =>
      makeMcpServer({ version, groups, connect, subscribes: era === "modern", extension }),
    subscription && { bus: subscription.bus },
  );
  const parsedBody = subscription?.body ?? request.body;

  return handler.fetch(webRequestOf(request, signal), { parsedBody });
}

/** The team as the person who asked sees it. */
function connectionOf(request: FastifyRequest, { as, web }: AskedMcp): TeamConnection {
  const principal = request.principal!;
  const client = new DureClient({
    baseUrl: addressOf(request),
    fetch: (input, init) => web.fetch(asksOn(request, new Request(input, init)), principal),
  });

  return { client, rooms: client.rooms(personOf(principal, as)) };
}

/** A token speaks under its own name. Pure. */
function personOf({ proof }: Principal, as: string | undefined): string | undefined {
  return proof === "none" ? (as ?? "operator") : as;
}

/** What the guard asks a browser's page for holds for what is asked on. */
function asksOn({ headers }: FastifyRequest, inner: Request): Request {
  for (const name of ["origin", "sec-fetch-site"] as const) {
    const value = headers[name];
    if (typeof value === "string") inner.headers.set(name, value);
  }

  return inner;
}

function webRequestOf(request: FastifyRequest, signal: AbortSignal): Request {
  const { method, url } = request;
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === "string") headers.set(name, value);
  }

  return new Request(addressOf(request) + url, { method, headers, signal });
}

function addressOf({ protocol, headers }: FastifyRequest): string {
  return `${protocol}://${headers.host ?? "localhost"}`;
}
