import {
  agent,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type AgentApp,
  type AgentContext,
  type ListSessionsRequest,
  type ListSessionsResponse,
  type PromptResponse,
  type SessionMode,
  type SessionModeState,
} from "@agentclientprotocol/sdk";
import type { DureClient, PlanRun, Session } from "../client/index.ts";
import { isRunOver } from "../client/run-stream.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import { EditorSession } from "./editor-session.ts";
import { promptText } from "./prompt-text.ts";
import { modeOfTask, TASK_MODE, type TaskMode } from "./task-mode.ts";
import { TaskRuns } from "./task-runs.ts";
import { endOfTask } from "./task-update.ts";
import { TeamTurns } from "./team-turns.ts";

/** Sessions that one editor has open. The one that was used first is forgotten, not ended. */
const MAX_SESSIONS = 200;
/** Of the ids of sessions that an editor has begun. */
const PREFIX = "acp-";
/** Sessions that one page of a list is chosen from. */
const SESSIONS_OF_PAGE = 100;

export interface AcpAgentOptions {
  readonly connect: () => Promise<DureClient>;
  readonly clock: Clock;
  readonly version: string;
  /** Undefined: the editor begins no tasks. */
  readonly task?: TaskMode | undefined;
}

/** Where a session is shown, and the folder that is open there. */
interface Window {
  readonly editor: AgentContext;
  readonly folder: string;
}

/** The team as an agent of an editor. Its modes are the services and agents to talk to. */
export class AcpAgent {
  readonly #options: AcpAgentOptions;
  readonly #turns: TeamTurns;
  readonly #tasks: TaskRuns;
  readonly #sessions = new Map<string, EditorSession>();

  constructor(options: AcpAgentOptions) {
    this.#options = options;
    this.#turns = new TeamTurns(options);
    this.#tasks = new TaskRuns(options);
  }

  app(): AgentApp {
    const { version } = this.#options;
    return agent({ name: "dure" })
      .onRequest(methods.agent.initialize, () => ({
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: "dure", version },
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { embeddedContext: true },
          sessionCapabilities: { list: {}, resume: {}, close: {} },
        },
        authMethods: [],
      }))
      .onRequest(methods.agent.session.new, ({ params, client }) =>
        told(() => this.#open({ editor: client, folder: params.cwd })),
      )
      .onRequest(methods.agent.session.list, ({ params }) => told(() => this.#list(params)))
      .onRequest(methods.agent.session.load, ({ params, client }) =>
        told(() =>
          this.#load(params.sessionId, { editor: client, folder: params.cwd }, { replays: true }),
        ),
      )
      .onRequest(methods.agent.session.resume, ({ params, client }) =>
        told(() =>
          this.#load(params.sessionId, { editor: client, folder: params.cwd }, { replays: false }),
        ),
      )
      .onRequest(methods.agent.session.close, ({ params }) =>
        told(() => this.#close(params.sessionId)),
      )
      .onRequest(methods.agent.session.setMode, ({ params }) =>
        told(() => this.#setMode(params.sessionId, params.modeId)),
      )
      .onRequest(methods.agent.session.prompt, ({ params, signal }): Promise<PromptResponse> =>
        told(async () => {
          const text = promptText(params.prompt);
          return { stopReason: await this.#session(params.sessionId).prompt(text, signal) };
        }),
      )
      .onNotification(methods.agent.session.cancel, ({ params }) =>
        this.#sessions.get(params.sessionId)?.cancel(),
      );
  }

  async #open(window: Window): Promise<{ sessionId: string; modes: SessionModeState }> {
    const sessionId = `${PREFIX}${ulid(this.#options.clock.now())}`;
    const modes = await this.#modes(undefined);
    this.#keep(sessionId, window, modes.currentModeId);

    return { sessionId, modes };
  }

  /** Those that an editor has begun. A session of dure has no folder: it belongs to all. */
  async #list({ cwd, cursor }: ListSessionsRequest): Promise<ListSessionsResponse> {
    const client = await this.#options.connect();
    const page = { limit: SESSIONS_OF_PAGE, cursor: cursor ?? undefined };
    const { items, nextCursor } = await client.sessions(page);
    const own = items.filter(({ sessionId }) => sessionId.startsWith(PREFIX));
    const sessions = own.map(({ sessionId, title, updatedAt }) => ({
      sessionId,
      cwd: cwd ?? process.cwd(),
      title,
      updatedAt: new Date(updatedAt).toISOString(),
    }));

    return { sessions, nextCursor };
  }

  /** What was said is told again; a turn or a task that still runs is followed. */
  async #load(
    sessionId: string,
    window: Window,
    { replays }: { readonly replays: boolean },
  ): Promise<{ modes: SessionModeState }> {
    const client = await this.#options.connect();
    const found = await client.session(sessionId).catch((error: unknown) => {
      if (error instanceof DureError && error.class === "not-found") return undefined;
      throw error;
    });
    const tasks = await this.#tasksOf(sessionId);
    const modes = await this.#modes(found?.service ?? (tasks.length > 0 ? TASK_MODE : undefined));
    const isKnown = found !== undefined || tasks.length > 0 || this.#sessions.has(sessionId);
    if (!isKnown) throw RequestError.sessionNotFound(sessionId);

    const session = this.#keep(sessionId, window, modes.currentModeId);
    if (found && replays) await replay(found, session);
    if (replays) await this.#replayTasks(tasks, session);
    if (found?.runningTurn) session.follow(found.runningTurn.turnId);
    const last = tasks.at(-1);
    if (last && !isRunOver(last.status)) session.followTask(last.id, { replays });

    return { modes };
  }

  /** A token that may not read plans has none. */
  async #tasksOf(session: string): Promise<readonly PlanRun[]> {
    if (!this.#options.task) return [];
    return this.#tasks.of(session).catch((error: unknown) => {
      if (error instanceof DureError && error.class === "forbidden") return [];
      throw error;
    });
  }

  /** What was asked for, and how it ended. */
  async #replayTasks(tasks: readonly PlanRun[], session: EditorSession): Promise<void> {
    for (const { id } of tasks) {
      const run = await this.#tasks.run(id);
      const text = run.ports[0]?.goal ?? "";
      await session.tell("user_message_chunk", { text, of: `${id}-user` });
      if (!isRunOver(run.status)) continue;
      await session.tell("agent_message_chunk", { text: endOfTask(run), of: `${id}-end` });
    }
  }

  async #close(sessionId: string): Promise<object> {
    await this.#session(sessionId).close();
    this.#sessions.delete(sessionId);

    return {};
  }

  async #setMode(sessionId: string, modeId: string): Promise<object> {
    const session = this.#session(sessionId);
    const { availableModes } = await this.#modes(undefined);
    if (!availableModes.some(({ id }) => id === modeId)) {
      throw RequestError.invalidParams({ modeId }, `There is no mode ${modeId}.`);
    }
    session.service = modeId;

    return {};
  }

  async #modes(current: string | undefined): Promise<SessionModeState> {
    const services = await (await this.#options.connect()).services();
    const first = services.find((service) => service.default) ?? services[0];
    if (!first) throw RequestError.internalError(undefined, "The team has no service.");
    const { task } = this.#options;
    const availableModes: SessionMode[] = services.map(({ name, title, description }) => ({
      id: name,
      name: title || name,
      description: description || null,
    }));
    if (task) availableModes.push(modeOfTask(task));
    const known = availableModes.some(({ id }) => id === current);

    return { currentModeId: known ? current! : first.name, availableModes };
  }

  #session(id: string): EditorSession {
    const session = this.#sessions.get(id);
    if (!session) throw RequestError.sessionNotFound(id);
    return session;
  }

  #keep(id: string, { editor, folder }: Window, service: string): EditorSession {
    const known = this.#sessions.get(id);
    if (known) return known;

    const session = new EditorSession({
      id,
      editor,
      service,
      folder,
      turns: this.#turns,
      tasks: this.#tasks,
      taskMode: this.#options.task,
      clock: this.#options.clock,
      connect: this.#options.connect,
    });
    this.#sessions.set(id, session);
    if (this.#sessions.size > MAX_SESSIONS) {
      this.#sessions.delete(this.#sessions.keys().next().value!);
    }

    return session;
  }
}

async function replay({ history }: Session, session: EditorSession): Promise<void> {
  for (const { role, content, turnId, author } of history) {
    if (content === "" || (role === "user" && author === "system")) continue;
    await session.tell(role === "user" ? "user_message_chunk" : "agent_message_chunk", {
      text: content,
      of: `${turnId ?? "turn"}-${role}`,
    });
  }
}

/** A refusal of dure in ACP's shape, with its hint. */
async function told<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DureError)) throw error;
    const { code, hint, message } = error;
    throw new RequestError(
      error.class === "input" ? -32_602 : -32_603,
      [message, hint].filter(Boolean).join(" "),
      { code, hint },
    );
  }
}
