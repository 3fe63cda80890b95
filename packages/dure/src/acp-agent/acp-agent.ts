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
  type ContentBlock,
} from "@agentclientprotocol/sdk";
import type { DureClient, PlanRun, ServiceInfo, Session, SessionSummary } from "../client/index.ts";
import { isRunOver } from "../kernel/plans.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import { EditorSession } from "./editor-session.ts";
import { modeOfTask, TASK_MODE, type TaskMode } from "./task-mode.ts";
import { TaskRuns } from "./task-runs.ts";
import { endOfTask } from "./task-update.ts";
import { TeamTurns } from "./team-turns.ts";
import { acpWords, refusalIn, sentenceIn, type AcpWords } from "./words.ts";

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
interface ListWindow {
  readonly editor: AgentContext;
  readonly folder: string;
}

/** A session as a list tells it. */
type ListedSession = Pick<SessionSummary, "sessionId" | "title" | "updatedAt">;

/** The team as an agent of an editor. Its modes are the services and agents to talk to. */
export class AcpAgent {
  readonly #options: AcpAgentOptions;
  readonly #turns: TeamTurns;
  readonly #tasks: TaskRuns;
  readonly #sessions = new Map<string, EditorSession>();
  /** Of the team's language, as it was when its modes were read last. */
  #words: AcpWords = acpWords("en");

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
        this.#told(() => this.#open({ editor: client, folder: params.cwd })),
      )
      .onRequest(methods.agent.session.list, ({ params }) => this.#told(() => this.#list(params)))
      .onRequest(methods.agent.session.load, ({ params, client }) =>
        this.#told(() =>
          this.#load(params.sessionId, { editor: client, folder: params.cwd }, { replays: true }),
        ),
      )
      .onRequest(methods.agent.session.resume, ({ params, client }) =>
        this.#told(() =>
          this.#load(params.sessionId, { editor: client, folder: params.cwd }, { replays: false }),
        ),
      )
      .onRequest(methods.agent.session.close, ({ params }) =>
        this.#told(() => this.#close(params.sessionId)),
      )
      .onRequest(methods.agent.session.setMode, ({ params }) =>
        this.#told(() => this.#setMode(params.sessionId, params.modeId)),
      )
      .onRequest(methods.agent.session.prompt, ({ params, signal }): Promise<PromptResponse> =>
        this.#told(async () => {
          const text = promptText(params.prompt);
          return { stopReason: await this.#session(params.sessionId).prompt(text, signal) };
        }),
      )
      .onNotification(methods.agent.session.cancel, ({ params }) =>
        this.#sessions.get(params.sessionId)?.cancel(),
      );
  }

  async #open(window: ListWindow): Promise<{ sessionId: string; modes: SessionModeState }> {
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
    const talks = items.filter(({ sessionId }) => sessionId.startsWith(PREFIX));
    const tasks = page.cursor === undefined ? await this.#taskSessions(talks) : [];
    const own = [...talks, ...tasks].toSorted((one, other) => other.updatedAt - one.updatedAt);
    const sessions = own.map(({ sessionId, title, updatedAt }) => ({
      sessionId,
      cwd: cwd ?? process.cwd(),
      title,
      updatedAt: new Date(updatedAt).toISOString(),
    }));

    return { sessions, nextCursor };
  }

  /** Sessions in which nothing was said but to workers. They stand in no list of the team. */
  async #taskSessions(talks: readonly ListedSession[]): Promise<readonly ListedSession[]> {
    if (!this.#options.task) return [];
    const known = new Set(talks.map(({ sessionId }) => sessionId));
    const found: ListedSession[] = [];
    const sessions = await unlessForbidden(() => this.#tasks.sessions(PREFIX));
    for (const { id: sessionId, run, updatedAt } of sessions) {
      if (known.has(sessionId) || (await this.#talk(sessionId))) continue;
      const { ports } = await this.#tasks.run(run);
      found.push({ sessionId, title: ports[0]?.goal.split("\n")[0] ?? "", updatedAt });
    }

    return found;
  }

  /** Undefined: nothing was said there. */
  async #talk(sessionId: string): Promise<Session | undefined> {
    const client = await this.#options.connect();
    return client.session(sessionId).catch((error: unknown) => {
      if (error instanceof DureError && error.class === "not-found") return undefined;
      throw error;
    });
  }

  /** What was said is told again; a turn or a task that still runs is followed. */
  async #load(
    sessionId: string,
    window: ListWindow,
    { replays }: { readonly replays: boolean },
  ): Promise<{ modes: SessionModeState }> {
    const found = await this.#talk(sessionId);
    const tasks = await this.#tasksOf(sessionId);
    const modes = await this.#modes(found?.service ?? (tasks.length > 0 ? TASK_MODE : undefined));
    const isKnown = found !== undefined || tasks.length > 0 || this.#sessions.has(sessionId);
    if (!isKnown) throw noSession(sessionId, this.#words);

    const session = this.#keep(sessionId, window, modes.currentModeId);
    if (found && replays) await replay(found, session);
    if (replays) await this.#replayTasks(tasks, session);
    if (found?.runningTurn) session.follow(found.runningTurn.turnId);
    const last = tasks.at(-1);
    if (last && !isRunOver(last.status)) session.followTask(last.id, { replays });

    return { modes };
  }

  async #tasksOf(session: string): Promise<readonly PlanRun[]> {
    if (!this.#options.task) return [];
    return unlessForbidden(() => this.#tasks.of(session));
  }

  /** What was asked for, and how it ended. */
  async #replayTasks(tasks: readonly PlanRun[], session: EditorSession): Promise<void> {
    for (const { id } of tasks) {
      const run = await this.#tasks.run(id);
      const text = run.ports[0]?.goal ?? "";
      await session.tell("user_message_chunk", { text, of: `${id}-user` });
      if (!isRunOver(run.status)) continue;
      await session.tell("agent_message_chunk", {
        text: endOfTask(run, this.#words),
        of: `${id}-end`,
      });
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
      throw new RequestError(-32_602, this.#words.noMode(modeId), { modeId });
    }
    session.service = modeId;

    return {};
  }

  async #modes(current: string | undefined): Promise<SessionModeState> {
    const client = await this.#options.connect();
    const [services, { locale }] = await Promise.all([client.services(), client.me()]);
    this.#words = acpWords(locale);
    const first = services.find((service) => service.default) ?? services[0];
    if (!first) throw new RequestError(-32_603, this.#words.noService);
    const { task } = this.#options;
    const availableModes = services.map((service) => modeOfService(service, locale));
    if (task) availableModes.push(modeOfTask(task, this.#words));
    const known = availableModes.some(({ id }) => id === current);

    return { currentModeId: known ? current! : first.name, availableModes };
  }

  /** A refusal of dure in ACP's shape, with its hint. */
  async #told<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DureError)) throw error;
      const { code, hint } = error;
      const number = error.class === "input" ? -32_602 : -32_603;
      throw new RequestError(number, refusalIn(this.#words, error), {
        code,
        hint: hint && sentenceIn(this.#words, hint),
      });
    }
  }

  #session(id: string): EditorSession {
    const session = this.#sessions.get(id);
    if (!session) throw noSession(id, this.#words);
    return session;
  }

  #keep(id: string, { editor, folder }: ListWindow, service: string): EditorSession {
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
      words: this.#words,
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

/** As the protocol has it, in the language of the team. */
function noSession(sessionId: string, words: AcpWords): RequestError {
  return new RequestError(-32_002, words.noSession, { sessionId });
}

/** In the language of the team, where the service says itself in it. Pure. */
function modeOfService(service: ServiceInfo, locale: string): SessionMode {
  const said = service.translations?.find(({ language }) => language === locale);
  return {
    id: service.name,
    name: said?.title ?? (service.title || service.name),
    description: said?.description ?? (service.description || null),
  };
}

/** A token that may not read plans has none. */
async function unlessForbidden<Item>(
  read: () => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  return read().catch((error: unknown) => {
    if (error instanceof DureError && error.class === "forbidden") return [];
    throw error;
  });
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

// --- prompt text

/** What a prompt says: text, links, and text that the editor has put in. Throws `NOT_SPOKEN`. */
function promptText(prompt: readonly ContentBlock[]): string {
  return prompt.map(textOf).join("\n").trim();
}

function textOf(block: ContentBlock): string {
  if (block.type === "text") return block.text;
  if (block.type === "resource_link") return `[${block.name}](${block.uri})`;
  if (block.type === "resource" && "text" in block.resource) {
    return `<file uri=${JSON.stringify(block.resource.uri)}>\n${block.resource.text}\n</file>`;
  }

  throw new DureError("NOT_SPOKEN", `A part of the type "${block.type}" is not taken.`, {
    class: "input",
    hint: "Send text, links and text files.",
  });
}
