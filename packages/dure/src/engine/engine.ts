/** The engine: turns and sessions of the team's services, for all who ask. */

import type { Cancel, Clock } from "../kernel/clock.ts";
import type { BackOff } from "../kernel/back-off.ts";
import { codeOf, DureError, ProcessError } from "../kernel/errors.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Done, TurnEvent, TurnStatus } from "../kernel/turn-events.ts";
import type { Database } from "../durable/database.ts";
import type { RowPage } from "../durable/page.ts";
import { Files } from "../durable/files/files.ts";
import type { LeaseProof } from "../durable/lease-proof.ts";
import type { Notifications } from "../durable/notify.ts";
import type { PauseGate } from "./turn/paused.ts";
import { TurnStore, UNATTENDED_TOPIC } from "../durable/turns.ts";
import type { Llm } from "../models/card.ts";
import type { PromptOverrides } from "../models/prompt-files.ts";
import type { Models } from "../models/models.ts";
import type { AttemptRules } from "./agent/agent-environment.ts";
import type {
  AcceptedTurn,
  AcceptOptions,
  ByViewer,
  Conversations,
  ListOptions,
  ReadOptions,
  SessionDetail,
  TurnFrame,
  TurnHandle,
  TurnOptions,
  TurnRequest,
  Viewer,
} from "./api.ts";
import type { Budgets } from "./money/budgets.ts";
import type { AnyService } from "./service/combine.ts";
import { MemoryFolder } from "./agent/memory-fold.ts";
import { QUESTION_HOLDS_MS } from "./turn/question.ts";
import { Replays } from "./replay/replays.ts";
import { retryRefusal } from "./turn/turn-request.ts";
import { RunningTurns } from "./turn/running-turns.ts";
import { ApprovalReader } from "./effects/approval-reader.ts";
import { changedInput } from "./effects/changed-input.ts";
import type { Escalation } from "../wire/escalations.ts";
import { ServiceDirectory } from "./service/service-directory.ts";
import { SessionReader } from "./turn/sessions.ts";
import { TurnAcceptance } from "./turn/turn-acceptance.ts";
import type { TurnEnvironment } from "./turn/turn-parts.ts";
import { TurnReader, turnUnknown } from "./turn/turn-reader.ts";
import { ModelOutages } from "../models/outages.ts";
import { outageReports, RETRY_MODELS_TOPIC } from "./outage-reports.ts";
import type { CompletedEntry, ServiceInfo, SessionDebug, SessionSummary } from "../wire/turns.ts";

export interface EngineOptions {
  /** The first one is the default. */
  readonly services: readonly AnyService[];
  readonly database: Database;
  readonly notifications: Notifications;
  readonly models: Models;
  /** Absent: small files alone, in the database. */
  readonly files?: Files | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** This process start; the holder of the turns that run here. */
  readonly processId: string;
  /** Aborts when this process may write no more (its lease is lost) or stops. */
  readonly lease: AbortSignal;
  /**
   * What the process knows of its lease; looked at before each model call. Absent: it is trusted.
   */
  readonly proof?: LeaseProof | undefined;
  readonly defaultLlm: Llm;
  /** Goes before every card: `DURE_MODEL`. */
  readonly everyLlm?: Llm | undefined;
  /** Go before the prompts of dure; see `readPromptOverrides`. */
  readonly prompts?: PromptOverrides | undefined;
  /** Rules of attempts for the sessions that have their own; elsewhere each agent's card says. */
  readonly attemptRules?: (session: string) => AttemptRules | undefined;
  /** How long a session's turns wait for a model that is away, milliseconds. Default 0. */
  readonly patienceMs?: ((session: string) => number) | undefined;
  /** Pauses between the calls to a model that is away. */
  readonly outageRetry?: BackOff | undefined;
  /** What a message of a session is told besides its own background; stored with the message. */
  readonly told?: ((session: string) => Promise<string | undefined>) | undefined;
  /** Absent: nothing is limited. */
  readonly budgets?: Budgets | undefined;
  /** Absent: no agent is ever paused. */
  readonly pauses?: PauseGate | undefined;
  /** Default `ko`. */
  readonly locale?: string;
  /** Default `Asia/Seoul`. */
  readonly timeZone?: string;
  readonly devMode?: boolean;
  /** Default false: spans of OpenTelemetry hold no texts. */
  readonly spanTexts?: boolean | undefined;
  readonly limits?: Partial<EngineLimits>;
}

/** What conversations are made of. A running engine can be given others. */
export type EngineDefinitions = Pick<
  EngineOptions,
  "services" | "models" | "defaultLlm" | "everyLlm" | "prompts"
>;

/** Limits that a team can set. */
export interface EngineLimits {
  /**
   * Messages that may wait in a session behind a running turn. Default 20. Source:
   * docs/spec/conversation §3.
   */
  readonly sessionQueue: number;
  /** Bytes of UTF-8 in a message. Default 65 536. Source: docs/spec/conversation §6. */
  readonly messageBytes: number;
  /**
   * What handlers see as `turn.limits.maxFillTurns`. Default 5. Source: docs/spec/conversation §8.
   */
  readonly maxFillTurns: number;
  /** How long a yes to a question counts. Default 600 000 (10 min). Source: docs/spec/conversation §3. */
  readonly confirmMs: number;
  /**
   * How long a request without a key is taken for a repetition of one that has ended. 0: never.
   * Default 600 000 (10 min). Source: docs/decisions/0018-requests-without-a-key.md
   */
  readonly repeatMs: number;
}

const DEFAULT_LIMITS: EngineLimits = {
  sessionQueue: 20,
  messageBytes: 65_536,
  maxFillTurns: 5,
  confirmMs: QUESTION_HOLDS_MS,
  repeatMs: 600_000,
};

/** How often, and after which pause, a session that is answering is looked at to be forgotten. */
const FORGET_TRIES = 100;
const FORGET_WAIT_MS = 50;

/**
 * Conversations over journaled turns. Accepting stores the message; a turn then runs here, or
 * anywhere, until its `DONE` is stored. Reading is apart from running: a reader may come and go, on
 * any process.
 */
export class Engine implements Conversations {
  readonly #options: EngineOptions;
  readonly #store: TurnStore;
  readonly #sessions: SessionReader;
  readonly #directory: ServiceDirectory;
  readonly #turns: RunningTurns;
  readonly #acceptance: TurnAcceptance;
  readonly #reader: TurnReader;
  readonly #replays: Replays;
  /** What conversations carry. */
  readonly files: Files;
  #environment: TurnEnvironment;
  #folder: MemoryFolder;
  readonly #cancels: Cancel[] = [];

  constructor(options: EngineOptions) {
    const { database, notifications, clock, logger, lease, proof, processId: holder } = options;
    this.#options = options;
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    const store = new TurnStore({ database, notifications, clock, holder, proof });
    const directory = new ServiceDirectory({ services: options.services, store, lease, logger });
    const sessions = new SessionReader(database);
    const files = options.files ?? new Files({ database, clock });
    const turns = new RunningTurns({
      store,
      clock,
      logger,
      lease,
      directory,
      environment: () => this.#environment,
      folder: () => this.#folder,
      onChange: (turn) => this.#reader.wake(turn),
    });
    this.files = files;
    this.#store = store;
    this.#directory = directory;
    this.#sessions = sessions;
    this.#turns = turns;
    this.#acceptance = new TurnAcceptance({
      store,
      clock,
      lease,
      limits,
      directory,
      turns,
      files,
      told: options.told,
      pauses: options.pauses,
      handedOut: (session) => sessions.handedOut(session),
    });
    this.#reader = new TurnReader({
      store,
      clock,
      runOf: (turn) => turns.get(turn),
      find: (turn, caller) => this.find(turn, { caller }),
    });
    this.#environment = environmentOf(options, { store, files, limits });
    this.#folder = this.#folderFor(options);
    this.#replays = new Replays({
      database,
      environment: () => this.#environment,
      serviceOf: (name) => this.#directory.get(name),
    });
  }

  #folderFor({
    models,
    defaultLlm,
    prompts,
  }: Pick<EngineDefinitions, "models" | "defaultLlm" | "prompts">): MemoryFolder {
    const { clock, logger, lease, budgets, pauses } = this.#options;
    return new MemoryFolder({
      store: this.#store,
      reader: this.#sessions,
      models,
      clock,
      logger,
      defaultLlm,
      lease,
      budgets,
      pauses,
      prompts,
    });
  }

  /**
   * Others from now on: turns that run finish with the definitions with which they began, those
   * that begin have these. Throws `SERVICE_INVALID`, and has changed nothing then.
   */
  redefine(definitions: EngineDefinitions): void {
    const { services, models, defaultLlm, everyLlm, prompts } = definitions;
    this.#directory.redefine(services);
    this.#environment = {
      ...this.#environment,
      defaultLlm,
      everyLlm,
      prompts,
      resolve: (llm) => models.resolve(llm),
    };
    // What the old folder had in line is considered again after the session's next turn.
    void this.#folder.stop();
    this.#folder = this.#folderFor(definitions);
    if (this.#cancels.length > 0) void this.#directory.tell();
  }

  /** The turns that run here. */
  get running(): number {
    return this.#turns.size;
  }

  /** Models that this process cannot reach: all of its work waits for them together. */
  get outages(): ModelOutages {
    return this.#environment.outages;
  }

  /** Stored turns, run again without any effect. */
  get replays(): Replays {
    return this.#replays;
  }

  /** Where the recoverer of dead processes gives up their turns. */
  get store(): TurnStore {
    return this.#store;
  }

  /** Begins to look for turns that no process works on; the first look is at once. */
  start(): void {
    if (this.#cancels.length > 0) return;
    const { notifications } = this.#options;
    this.#cancels.push(
      notifications.subscribe("stops", () => this.#turns.wakeStops()),
      notifications.subscribe(RETRY_MODELS_TOPIC, () => this.#environment.outages.retryNow()),
      notifications.subscribe("turns", () => this.#reader.wakeAll()),
      notifications.subscribe(UNATTENDED_TOPIC, () => this.#turns.wake()),
    );
    void this.#directory.tell();
    this.#turns.start();
  }

  /**
   * The arguments of a call that waits for a yes, as a person has changed them and its tool reads
   * them. Throws `ANSWER_INVALID`.
   */
  changedInput(escalation: Escalation, input: Readonly<Record<string, unknown>>): JsonObject {
    const { service = "" } = escalation.source;
    return changedInput(this.#directory.leavesOf(service), escalation, input);
  }

  /** Turns that wait for a model that is away call it now, in every process. */
  retryModels(): void {
    this.#environment.outages.retryNow();
    this.#options.notifications.publish(RETRY_MODELS_TOPIC);
  }

  /**
   * Goes on with turns that have no living holder, now. Resolves when those that this process has
   * room for run here.
   */
  async pickUp(): Promise<void> {
    await this.#turns.pickUp();
  }

  /**
   * Starts nothing more and waits for the turns that run here, at most `graceMs`; what is left is
   * given up for other processes.
   */
  async stop({ graceMs = 10_000 }: { graceMs?: number } = {}): Promise<void> {
    for (const cancel of this.#cancels.splice(0)) cancel();
    this.#environment.outages.stop(
      new ProcessError("PROCESS_STOPPED", "This process stops; its waits go on in another one.", {
        class: "unavailable",
      }),
    );
    const cut = new AbortController();
    await Promise.race([
      this.#turns.end(),
      this.#options.clock.sleep(graceMs, { signal: cut.signal }).catch(() => {}),
    ]);
    cut.abort();
    await this.#folder.stop();
  }

  // --- Conversations

  describe(): readonly ServiceInfo[] {
    return this.#directory.describe();
  }

  accept(request: TurnRequest, options: AcceptOptions = {}): Promise<AcceptedTurn> {
    return this.#acceptance.accept(request, options);
  }

  turn(request: TurnRequest, options: TurnOptions = {}): TurnHandle {
    const { signal, caller } = options;
    const accepted = this.accept(request, options);
    const turnId = accepted.then((turn) => turn.turnId);
    const sessionId = accepted.then((turn) => turn.sessionId);
    turnId.catch(() => {});
    sessionId.catch(() => {});
    const events = async function* (this: Engine): AsyncGenerator<TurnEvent> {
      for await (const { event } of this.read(await turnId, { caller, signal })) yield event;
    }.bind(this);
    const toDone = async (): Promise<Done> => this.#reader.done(await accepted, { caller, signal });
    let done: Promise<Done> | undefined;
    return {
      turnId,
      sessionId,
      get done() {
        return (done ??= toDone());
      },
      [Symbol.asyncIterator]: events,
    };
  }

  read(turnId: string, options: ReadOptions = {}): AsyncGenerator<TurnFrame> {
    return this.#reader.read(turnId, options);
  }

  async find(
    turnId: string,
    { caller }: ByViewer = {},
  ): Promise<{ status: TurnStatus; sessionId: string; lastSeq: number }> {
    const found = await this.#sessions.turn(turnId, viewOf(caller));
    if (!found) throw turnUnknown(turnId);
    const { status, sessionId } = found;
    const told = this.#turns.get(turnId)?.journal.told ?? 0;
    return { status, sessionId, lastSeq: Math.max(found.lastSeq, told) };
  }

  hasActed(turnId: string): Promise<boolean> {
    return this.#store.hasActed(turnId);
  }

  async stopTurn(turnId: string, { caller }: ByViewer = {}): Promise<void> {
    const tenant = viewOf(caller) ?? (await this.#sessions.turn(turnId, null))?.tenant;
    if (tenant === undefined) throw turnUnknown(turnId);
    const answer = await this.#store.stop(turnId, tenant, caller?.name ?? "");
    if (answer === null) throw turnUnknown(turnId);
    if (answer === "finished") {
      throw new DureError("TURN_FINISHED", `The turn ${turnId} has ended already.`, {
        class: "conflict",
        hint: "There is nothing to stop.",
      });
    }
    this.#turns.stop(turnId);
  }

  async retryTurn(turnId: string, { caller }: ByViewer = {}): Promise<void> {
    const tenant = viewOf(caller) ?? (await this.#sessions.turn(turnId, null))?.tenant;
    if (tenant === undefined) throw turnUnknown(turnId);
    const answer = await this.#store.retry(turnId, tenant, caller?.name ?? "");
    if (answer === null) throw turnUnknown(turnId);
    const refusal = retryRefusal(answer, turnId);
    if (refusal) throw refusal;
    this.#turns.wake();
  }

  sessions(options: ListOptions = {}): Promise<RowPage<SessionSummary>> {
    return this.#sessions.list({ ...options, tenant: viewOf(options.caller) });
  }

  session(id: string, { caller }: ByViewer = {}): Promise<SessionDetail> {
    return this.#sessions.detail(id, viewOf(caller), {
      locale: this.#environment.locale,
      timeZone: this.#environment.timeZone,
      leafOf: (name) => this.#directory.leavesOf(name),
    });
  }

  debug(id: string, { caller }: ByViewer = {}): Promise<SessionDebug> {
    return this.#sessions.debug(id, viewOf(caller));
  }

  completed(id: string, { caller }: ByViewer = {}): Promise<readonly CompletedEntry[]> {
    return this.#sessions.completed(id, viewOf(caller));
  }

  async takeBack(id: string, question: string, { caller }: ByViewer = {}): Promise<boolean> {
    const taken = await this.#sessions.takeBack(id, viewOf(caller), question);
    if (taken === undefined) throw sessionUnknown(id);
    return taken;
  }

  async forget(id: string, { caller }: ByViewer = {}): Promise<void> {
    // A turn that runs ends first, so that nothing writes to a session that is gone.
    for (let tries = 0; ; tries++) {
      const session = await this.#sessions.running(id, viewOf(caller));
      if (session === undefined) throw sessionUnknown(id);
      const { turn: running, tenant } = session;
      if (running === null && (await this.#sessions.forget(id, tenant))) return;
      if (running !== null) await this.#stopIfRunning(running, caller);
      if (tries >= FORGET_TRIES) {
        throw new DureError("SESSION_BUSY", `The session ${id} is still answering.`, {
          class: "conflict",
          hint: "Try again in a moment.",
        });
      }
      await this.#options.clock.sleep(FORGET_WAIT_MS);
    }
  }

  async #stopIfRunning(turn: string, caller: Viewer | undefined): Promise<void> {
    try {
      await this.stopTurn(turn, { caller });
    } catch (error) {
      if (codeOf(error) !== "TURN_FINISHED") throw error;
    }
  }
}

function sessionUnknown(id: string): DureError {
  return new DureError("SESSION_UNKNOWN", `There is no session ${id}.`, {
    class: "not-found",
    hint: "Check the session id.",
  });
}

/** Whose things a viewer sees; without one, those that have no tenant. */
function viewOf(viewer: Viewer | undefined): Viewer["tenant"] {
  return viewer === undefined ? "" : viewer.tenant;
}

/** What every turn works with. */
function environmentOf(
  options: EngineOptions,
  own: Pick<TurnEnvironment, "store" | "files" | "limits">,
): TurnEnvironment {
  return {
    ...own,
    ...patienceOf(options),
    clock: options.clock,
    logger: options.logger,
    lease: options.lease,
    devMode: options.devMode ?? false,
    spanTexts: options.spanTexts ?? false,
    locale: options.locale ?? "ko",
    timeZone: options.timeZone ?? "Asia/Seoul",
    defaultLlm: options.defaultLlm,
    everyLlm: options.everyLlm,
    prompts: options.prompts,
    attemptRules: options.attemptRules ?? (() => undefined),
    resolve: (llm) => options.models.resolve(llm),
    budgets: options.budgets,
    pauses: options.pauses,
    approvals: new ApprovalReader(options.database),
  };
}

/** How turns outlast models that are away. */
function patienceOf({
  database,
  clock,
  logger,
  locale = "ko",
  patienceMs = () => 0,
  outageRetry: retry,
}: EngineOptions): Pick<TurnEnvironment, "outages" | "patienceMs"> {
  const reports = outageReports(database, locale);
  return { patienceMs, outages: new ModelOutages({ clock, logger, retry, ...reports }) };
}
