import type { ServerEventBus } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { EventsFilter } from "../client/index.ts";
import type { Clock } from "../kernel/clock.ts";
import { isReadable, readAddress, type ResourceKind } from "./team-resources.ts";
import type { TeamConnection, ToolGroup } from "./team-tool.ts";

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
export interface Subscription {
  /** The request with those addresses alone that are followed: the client is told them. */
  readonly body: unknown;
  readonly bus: ServerEventBus;
}

/** Undefined for a request that listens to nothing of the team. */
export async function subscriptionOf(
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
