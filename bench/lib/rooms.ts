import { Database } from "../../packages/dure/src/durable/database.ts";
import { Leases } from "../../packages/dure/src/durable/leases.ts";
import { migrate } from "../../packages/dure/src/durable/migrate.ts";
import { SCHEMA } from "../../packages/dure/src/team/schema.ts";
import { Notifications } from "../../packages/dure/src/durable/notify.ts";
import { Outbox } from "../../packages/dure/src/durable/outbox.ts";
import { Pauses } from "../../packages/dure/src/durable/pauses.ts";
import { applicationName, ProcessLease } from "../../packages/dure/src/durable/processes.ts";
import { chatAgent } from "../../packages/dure/src/engine/agent/agent.ts";
import { Engine } from "../../packages/dure/src/engine/engine.ts";
import { defineService, flow } from "../../packages/dure/src/engine/service/service.ts";
import { Inbox } from "../../packages/dure/src/escalations/inbox.ts";
import { systemClock } from "../../packages/dure/src/kernel/clock.ts";
import { newId } from "../../packages/dure/src/kernel/ids.ts";
import { silentLogger } from "../../packages/dure/src/kernel/logger.ts";
import { Models } from "../../packages/dure/src/models/models.ts";
import { offlineModel } from "../../packages/dure/src/models/offline.ts";
import { Directory } from "../../packages/dure/src/rooms/directory.ts";
import { ROOM_LIMITS, type RoomLimits } from "../../packages/dure/src/rooms/limits.ts";
import { Rooms } from "../../packages/dure/src/rooms/rooms.ts";
import {
  presenceTools,
  type RoomToolsParts,
} from "../../packages/dure/src/rooms/handover/tools.ts";
import { WebAdapter } from "../../packages/dure/src/channels/web/web-adapter.ts";

/**
 * Web rooms in this process, wired as `team/start.ts` does it. Its agents say nothing, so what is
 * left is our own work.
 */
export interface BenchRooms extends AsyncDisposable {
  readonly rooms: Rooms;
  readonly database: Database;
}

/** @param agents How many: `agent-0` leads. */
export async function startRooms({
  url,
  agents,
  limits = {},
}: {
  url: string;
  agents: number;
  limits?: Partial<RoomLimits>;
}): Promise<BenchRooms> {
  await using stack = new AsyncDisposableStack();
  const clock = systemClock;
  const logger = silentLogger;
  const processId = newId("process");
  const database = await Database.open({
    url,
    applicationName: applicationName(processId),
    logger,
    clock,
  });
  stack.defer(() => database.close());
  await migrate(database, SCHEMA, { logger });
  const notifications = new Notifications({ database, logger, clock });
  await notifications.start();
  stack.defer(() => notifications.stop());
  const lease = new ProcessLease({
    database,
    id: processId,
    appVersion: "bench",
    logger,
    clock,
    notifications,
    onFenced: (error) => console.error(error),
  });
  await lease.start();
  stack.defer(() => lease.stop());
  const outbox = new Outbox({ database, lease, logger, notifications, clock });

  const opened: { parts?: RoomToolsParts } = {};
  const silent = offlineModel("silent", (request) =>
    request.messages.at(-1)?.role === "tool"
      ? "."
      : { toolCalls: [{ name: "stay_silent", args: {} }] },
  );
  const service = defineService({
    name: "chat",
    agents: {
      helper: chatAgent({
        name: "helper",
        prompt: "Answer briefly.",
        tools: presenceTools(async () => opened.parts!),
      }),
    },
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({ message: (await turn.agent("helper", "thinking")).text }),
      ),
    },
  });
  const engine = new Engine({
    services: [service],
    database,
    notifications,
    models: new Models({ clock, logger, offline: [silent] }),
    clock,
    logger,
    processId,
    lease: lease.signal,
    defaultLlm: { provider: "offline", model: "silent", fallbacks: [] },
  });
  engine.start();
  stack.defer(() => engine.stop({ graceMs: 1_000 }));
  const directory = new Directory({
    agents: Array.from({ length: agents }, (_, index) => ({
      id: `agent-${index}`,
      displayName: `에이전트${index}`,
      service: "chat",
      leads: index === 0,
      accounts: { web: { id: `agent-${index}` } },
    })),
    channels: [
      { key: "general", adapter: "web", name: "general", channel: "general", collaborate: true },
    ],
    defaultChannel: "general",
  });
  const rooms = new Rooms({
    database,
    outbox,
    notifications,
    lease,
    leases: new Leases({ database, lease, logger, clock }),
    pauses: new Pauses({ database, notifications, clock, logger }),
    conversations: engine,
    inbox: new Inbox({ database, notifications }),
    directory,
    adapters: [new WebAdapter({ database })],
    limits: { ...ROOM_LIMITS, ...limits },
    locale: "ko",
    clock,
    logger,
  });
  opened.parts = { database, collaboration: rooms.collaboration };
  await rooms.start();
  stack.defer(() => rooms.stop());
  outbox.start();
  stack.defer(() => outbox.stop({ graceMs: 500 }));

  const kept = stack.move();
  return { rooms, database, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
