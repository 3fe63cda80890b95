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
  type SessionModeState,
} from "@agentclientprotocol/sdk";
import type { DureClient, Session } from "../client/index.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import { EditorSession } from "./editor-session.ts";
import { promptText } from "./prompt-text.ts";
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
}

/** The team as an agent of an editor. Its modes are the services and agents to talk to. */
export class AcpAgent {
  readonly #options: AcpAgentOptions;
  readonly #turns: TeamTurns;
  readonly #sessions = new Map<string, EditorSession>();

  constructor(options: AcpAgentOptions) {
    this.#options = options;
    this.#turns = new TeamTurns(options);
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
      .onRequest(methods.agent.session.new, ({ client }) => told(() => this.#open(client)))
      .onRequest(methods.agent.session.list, ({ params }) => told(() => this.#list(params)))
      .onRequest(methods.agent.session.load, ({ params, client }) =>
        told(() => this.#load(params.sessionId, client, { replays: true })),
      )
      .onRequest(methods.agent.session.resume, ({ params, client }) =>
        told(() => this.#load(params.sessionId, client, { replays: false })),
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

  async #open(editor: AgentContext): Promise<{ sessionId: string; modes: SessionModeState }> {
    const sessionId = `${PREFIX}${ulid(this.#options.clock.now())}`;
    const modes = await this.#modes(undefined);
    this.#keep(sessionId, editor, modes.currentModeId);

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

  /** What was said is told again; a turn that still runs is followed. */
  async #load(
    sessionId: string,
    editor: AgentContext,
    { replays }: { readonly replays: boolean },
  ): Promise<{ modes: SessionModeState }> {
    const client = await this.#options.connect();
    const found = await client.session(sessionId).catch((error: unknown) => {
      if (error instanceof DureError && error.class === "not-found") return undefined;
      throw error;
    });
    const modes = await this.#modes(found?.service);
    if (!found && !this.#sessions.has(sessionId)) throw RequestError.sessionNotFound(sessionId);

    const session = this.#keep(sessionId, editor, modes.currentModeId);
    if (found && replays) await replay(found, session);
    if (found?.runningTurn) session.follow(found.runningTurn.turnId);

    return { modes };
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
    const known = services.some(({ name }) => name === current);

    return {
      currentModeId: known ? current! : first.name,
      availableModes: services.map(({ name, title, description }) => ({
        id: name,
        name: title || name,
        description: description || null,
      })),
    };
  }

  #session(id: string): EditorSession {
    const session = this.#sessions.get(id);
    if (!session) throw RequestError.sessionNotFound(id);
    return session;
  }

  #keep(id: string, editor: AgentContext, service: string): EditorSession {
    const known = this.#sessions.get(id);
    if (known) return known;

    const session = new EditorSession({
      id,
      editor,
      service,
      turns: this.#turns,
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
