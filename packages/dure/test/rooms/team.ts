import { onTestFinished } from "vitest";
import { Database } from "../../src/durable/database.ts";
import { Leases } from "../../src/durable/leases.ts";
import { Notifications } from "../../src/durable/notify.ts";
import { Outbox } from "../../src/durable/outbox.ts";
import { Pauses } from "../../src/durable/pauses.ts";
import { applicationName, ProcessLease } from "../../src/durable/processes.ts";
import { Takeover } from "../../src/durable/takeover.ts";
import { testDatabase } from "../../src/durable/test-database.ts";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { Engine, type EngineOptions } from "../../src/engine/engine.ts";
import { defineService, flow, type Service } from "../../src/engine/service/service.ts";
import { Inbox } from "../../src/escalations/inbox.ts";
import { systemClock, type Clock } from "../../src/kernel/clock.ts";
import { newId } from "../../src/kernel/ids.ts";
import { silentLogger, type Logger } from "../../src/kernel/logger.ts";
import { Models } from "../../src/models/models.ts";
import { offlineModel, type OfflineReply } from "../../src/models/offline.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import { answersHome, renderAnswersHome } from "../../src/rooms/handover/answers-home.ts";
import type { ChannelAdapter } from "../../src/rooms/channel-adapter.ts";
import { Directory, type RoomAgent, type RoomChannel } from "../../src/rooms/directory.ts";
import type { DefaultPlaces } from "../../src/rooms/named-place.ts";
import { GATHER, ROOM_LIMITS, type GatherRule, type RoomLimits } from "../../src/rooms/limits.ts";
import type { RoomRoles } from "../../src/rooms/orders/pressed-by.ts";
import { Rooms } from "../../src/rooms/rooms.ts";
import {
  collaborateTool,
  presenceTools,
  type RoomToolsParts,
} from "../../src/rooms/handover/tools.ts";
import type { SinkTargets } from "../../src/rooms/handover/sink.ts";
import { EventLog } from "../../src/durable/event-log.ts";
import type { AnyTool } from "../../src/engine/agent/tool.ts";

/** The four of the specification's scenarios; 루다 leads. */
export const NAMES = { ruda: "루다", eden: "이든", seum: "세움", dajim: "다짐" } as const;
export type Name = keyof typeof NAMES;

/** What an agent says to a message: words, or calls of tools. */
export type Behave = (heard: Heard) => OfflineReply | Promise<OfflineReply>;

export interface Heard {
  /** The newest message, `author: text`. */
  readonly text: string;
  readonly background: string;
  /** Results of the tools that this turn has called. */
  readonly results: readonly unknown[];
  readonly request: ModelRequest;
}

export interface TestTeam {
  readonly rooms: Rooms;
  readonly database: Database;
  readonly engine: Engine;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly leases: Leases;
  readonly url: string;
  readonly processId: string;
  /** Model calls of an agent so far, in this process. */
  calls(agent: Name): number;
  stop(): Promise<void>;
}

export interface TestTeamOptions {
  readonly behave?: Partial<Record<Name, Behave>>;
  readonly limits?: Partial<RoomLimits>;
  readonly gather?: Partial<GatherRule>;
  /** Default no: what is posted is counted in many tests. */
  readonly signs?: boolean;
  /** Several: the team is on all of them, in this order. */
  readonly adapter: (database: Database) => ChannelAdapter | readonly ChannelAdapter[];
  readonly agents?: readonly RoomAgent[];
  readonly channels?: readonly RoomChannel[];
  readonly defaultChannel?: DefaultPlaces;
  readonly tools?: Readonly<Record<string, AnyTool>>;
  /** On the database of another one: a second process, or the same after a restart. */
  readonly on?: { readonly url: string };
  readonly logger?: Logger;
  /** Of the rooms; the others keep the system's. */
  readonly clock?: Clock;
  /** Of the outbox: how long it waits for an answer. */
  readonly outboxClock?: Clock;
  readonly allowBots?: boolean;
  readonly approvers?: readonly string[];
  readonly roles?: RoomRoles;
  readonly stream?: boolean;
  /** Where background work is reported; the job's id is its conversation. */
  readonly sink?: SinkTargets;
  readonly engine?: Partial<EngineOptions>;
  /** The session in which a job was asked for. Default: none. */
  readonly originOf?: (job: string) => string | undefined;
  /** Another process has taken this one over. Default: it stays, without the right to write. */
  readonly onFenced?: () => void;
  /** Is given the function that stops the team. Default: it is called when the test ends. */
  readonly onEnd?: (stop: () => Promise<void>) => void;
}

/**
 * A team with a database of its own, wired as `team/` does it. It is stopped when the test ends.
 */
export async function startTestTeam(options: TestTeamOptions): Promise<TestTeam> {
  const logger = options.logger ?? silentLogger;
  const clock = systemClock;
  const stack = new AsyncDisposableStack();
  const owned = options.on ? undefined : await testDatabase();
  // Registered first, so it goes after every team on it.
  if (owned) onTestFinished(() => owned[Symbol.asyncDispose]());
  const url = options.on?.url ?? owned!.url;
  const processId = newId("process");
  const database = await Database.open({
    url,
    applicationName: applicationName(processId),
    logger,
    clock,
  });
  stack.defer(() => database.close());
  const notifications = new Notifications({ database, logger, clock });
  await notifications.start();
  stack.defer(() => notifications.stop());
  const lease = new ProcessLease({
    database,
    id: processId,
    appVersion: "test",
    logger,
    clock,
    notifications,
    onFenced: options.onFenced ?? (() => {}),
  });
  await lease.start();
  stack.defer(() => lease.stop());
  const outbox = new Outbox({
    database,
    lease,
    logger,
    notifications,
    clock: options.outboxClock ?? clock,
  });
  const pauses = new Pauses({ database, notifications, clock, logger, signal: lease.signal });
  await pauses.start();
  stack.defer(() => pauses.stop());
  const takeover = new Takeover({ database, lease, logger, clock, notifications });

  const opened = Promise.withResolvers<RoomToolsParts>();
  const counts = new Map<string, number>();
  const names = Object.keys(NAMES) as Name[];
  const models = names.map((name) =>
    offlineModel(name, async (request) => {
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const users = request.messages
        .filter((message) => message.role === "user")
        .map((message) => message.text);
      const lastUser = request.messages.findLastIndex((message) => message.role === "user");
      const results = request.messages
        .slice(lastUser + 1)
        .flatMap((message) => (message.role === "tool" ? [message.result] : []));
      const behave = options.behave?.[name] ?? (() => `${NAMES[name]}의 답입니다`);
      return behave({ text: users.at(-1) ?? "", background: users.at(-2) ?? "", results, request });
    }),
  );
  const services = names.map((name): Service => {
    const agent = chatAgent({
      name,
      prompt: `You are ${NAMES[name]}.`,
      card: { llm: `offline:${name}` },
      tools: {
        collaborate: collaborateTool(name, () => opened.promise),
        ...presenceTools(() => opened.promise),
        ...options.tools,
      },
    });
    return defineService({
      name,
      agents: { [name]: agent },
      flows: {
        DEFAULT: flow(async (turn) =>
          turn.done({ message: (await turn.agent(name, "답변")).text }),
        ),
      },
    });
  });
  const engine = new Engine({
    services,
    database,
    notifications,
    models: new Models({ clock, logger, offline: models }),
    clock,
    logger,
    processId,
    lease: lease.signal,
    proof: lease,
    pauses,
    told: async (session) =>
      renderAnswersHome(await answersHome(database, session), (agent) => NAMES[agent as Name]),
    defaultLlm: { provider: "offline", model: "echo", fallbacks: [] },
    ...options.engine,
  });
  takeover.onDead("turns", async (dead) => void (await engine.store.release(dead.id)));
  engine.start();
  stack.defer(() => engine.stop({ graceMs: 2_000 }));
  await takeover.start();
  stack.defer(() => takeover.stop());
  const adapters = [options.adapter(database)].flat();
  const adapter = adapters[0]!;
  const directory = new Directory({
    agents:
      options.agents ??
      names.map((name) => ({
        id: name,
        displayName: NAMES[name],
        service: name,
        leads: name === "ruda",
        accounts: { [adapter.name]: { id: name } },
      })),
    channels: options.channels ?? [
      {
        key: "general",
        adapter: adapter.name,
        name: "general",
        channel: "general",
        collaborate: true,
      },
    ],
    defaultChannel: options.defaultChannel,
  });
  const leases = new Leases({ database, lease, logger, clock });
  const inbox = new Inbox({ database, notifications, locale: "ko" });
  const rooms = new Rooms({
    database,
    outbox,
    notifications,
    lease,
    leases,
    pauses,
    conversations: engine,
    files: engine.files,
    inbox,
    directory,
    adapters,
    // On a busy machine any answer may take long; what is shown then has tests of its own.
    limits: { ...ROOM_LIMITS, workingNoticeMs: 600_000, ...options.limits },
    // What people say in a row has tests of its own; elsewhere a wait for more only slows down.
    gather: { ...GATHER, restMs: 0, ...options.gather },
    signs: options.signs ?? false,
    locale: "ko",
    clock: options.clock ?? clock,
    logger,
    ...(options.allowBots !== undefined && { allowBots: options.allowBots }),
    ...(options.sink && {
      sink: options.sink,
      events: new EventLog({ database, notifications, logger, clock }),
      conversationOf: async (job: string) => ({
        id: job,
        subject: job,
        session: options.originOf?.(job),
      }),
    }),
    ...(options.stream !== undefined && { stream: options.stream }),
    ...(options.approvers !== undefined && { approvers: options.approvers }),
    roles: options.roles,
  });
  opened.resolve({ database, collaboration: rooms.collaboration });
  await rooms.start();
  stack.defer(() => rooms.stop());
  outbox.start();
  stack.defer(() => outbox.stop({ graceMs: 500 }));
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= stack.disposeAsync());
  (options.onEnd ?? onTestFinished)(stop);
  return {
    rooms,
    database,
    engine,
    inbox,
    outbox,
    leases,
    url,
    processId,
    calls: (agent) => counts.get(agent) ?? 0,
    stop,
  };
}
