import { createMcpHandler, type ServerEventBus } from "@modelcontextprotocol/server";
import type { FastifyRequest } from "fastify";
import { DureClient } from "../client/client.ts";
import type { Scope } from "../kernel/access.ts";
import type { Clock } from "../kernel/clock.ts";
import { hasScope, type Principal } from "../server/access.ts";
import type { WebHandler } from "../server/web-handler.ts";
import { makeMcpServer, type McpExtension } from "./make-server.ts";
import type { TeamConnection, ToolGroup } from "./team-tool.ts";
import { z } from "zod";
import type { EventsFilter } from "../client/index.ts";
import { isReadable, readAddress, type ResourceKind } from "./team-resources.ts";

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

// --- team subscriptions

/** Things that one subscription follows, the first ones. Source: docs/spec/interop §2. */
const MOST_FOLLOWED = 20;
/** Changes within so many milliseconds are one notice. Source: docs/spec/interop §2. */
const GATHER_MS = 250;

/** Which events tell of a thing. */
const EVENTS_OF: Readonly<Record<ResourceKind, (id: string) => EventsFilter>> = {
  rooms: (id) => ({ room: id }),
  jobs: (id) => ({ job: id }),
  runs: (id) => ({ run: id }),
  sessions: (id) => ({ session: id }),
};

const Listen = z.looseObject({
  method: z.literal("subscriptions/listen"),
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }),
  }),
});

interface Listening {
  readonly groups: readonly ToolGroup[];
  readonly connect: () => Promise<TeamConnection>;
  readonly clock: Clock;
  /** Of the request. */
  readonly signal: AbortSignal;
  /** Ends the request. */
  readonly end: () => void;
}

/** A request to listen, and where its notices come from. */
interface Subscription {
  /** The request with those addresses alone that are followed: the client is told them. */
  readonly body: unknown;
  readonly bus: ServerEventBus;
}

/** Undefined for a request that listens to nothing of the team. */
async function subscriptionOf(
  body: unknown,
  listening: Listening,
): Promise<Subscription | undefined> {
  const asked = Listen.safeParse(body);
  if (!asked.success) return undefined;
  const { params } = asked.data;
  const uris = await readableOf(params.notifications.resourceSubscriptions, listening);
  const notifications = { ...params.notifications, resourceSubscriptions: uris };

  return {
    body: { ...asked.data, params: { ...params, notifications } },
    bus: busOf(uris, listening),
  };
}

async function readableOf(
  asked: readonly string[],
  { groups, connect, signal }: Listening,
): Promise<readonly string[]> {
  const uris = [...new Set(asked)].slice(0, MOST_FOLLOWED);
  const team = { ...(await connect()), signal };
  const found = await Promise.all(uris.map((uri) => isReadable(uri, groups, team)));

  return uris.filter((_, index) => found[index]);
}

/** The log of the team as what the SDK listens to; nothing is published on it. */
function busOf(uris: readonly string[], listening: Listening): ServerEventBus {
  return {
    publish: () => undefined,
    subscribe: (listener) => {
      const left = new AbortController();
      const signal = AbortSignal.any([listening.signal, left.signal]);
      for (const uri of uris) {
        const tell = (): void => listener({ kind: "resource_updated", uri });
        void follow(uri, tell, { ...listening, signal });
      }

      return () => left.abort();
    },
  };
}

/**
 * Tells of each change, and once at each beginning: what happened before it is read then. Where the
 * events can't be followed any more the whole subscription ends, so that its client comes again.
 */
async function follow(uri: string, tell: () => void, listening: Listening): Promise<void> {
  const { kind, id } = readAddress(uri)!;
  const { connect, clock, signal, end } = listening;
  const changed = gathered(tell, clock);
  const onConnection = (): void => changed();
  try {
    const { client } = await connect();
    const events = client.events(EVENTS_OF[kind](id), { signal, onConnection });
    for await (const _ of events) changed();
  } catch {
    end();
  }
}

/** Calls once for all that is told to it within a moment. */
function gathered(tell: () => void, clock: Clock): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    clock.after(GATHER_MS, () => {
      isDue = false;
      tell();
    });
  };
}
