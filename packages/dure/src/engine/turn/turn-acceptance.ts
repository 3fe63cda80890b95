/** How a message becomes a turn: checked, stored, and begun or queued. */

import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, ProcessError } from "../../kernel/errors.ts";
import type { FileRef } from "../../kernel/files.ts";
import { newId } from "../../kernel/ids.ts";
import { sessionIdFor, sessionKey } from "../../kernel/tenant.ts";
import {
  OtherServiceError,
  type Accepted,
  type ClaimedTurn,
  type NewTurn,
  type RepeatRule,
  type TurnStore,
} from "../../durable/turns.ts";
import type { Files, FoundFile } from "../../durable/files/files.ts";
import { agentPaused } from "../../durable/pauses.ts";
import { startAcceptSpan } from "../../models/telemetry.ts";
import type { ToolSpec } from "../../models/model.ts";
import { READ_RESULT } from "../agent/kept-result.ts";
import { LOAD_SKILL } from "../agent/skills.ts";
import { FIND_TOOLS } from "../agent/tool-offer.ts";
import type { Agent } from "../agent/agent.ts";
import type { AcceptedTurn, AcceptOptions, TurnRequest } from "../api.ts";
import { nameTaken, takesNoCallerTools, type CallerTools } from "../caller/caller-tools.ts";
import { closed, refusalOfResults, type HandedOut } from "../caller/handed-out.ts";
import { waitsForResume, type PauseGate } from "./paused.ts";
import { MAX_RUNNING, type RunningTurns } from "./running-turns.ts";
import type { Addressee, ServiceDirectory } from "../service/service-directory.ts";
import {
  checkRequest,
  hashOf,
  plainly,
  titleOf,
  lettersOf,
  detectLanguage,
} from "./turn-request.ts";

/**
 * How long a request may wait for a database that cannot be reached, milliseconds: a person is
 * waiting.
 */
const ACCEPT_WITHIN_MS = 10_000;

/** Its session is marked as running for the turn that was accepted. */
type AcceptedRunning = Extract<Accepted, { readonly state: unknown }>;

interface TurnAcceptanceOptions {
  readonly store: TurnStore;
  readonly clock: Clock;
  readonly lease: AbortSignal;
  readonly limits: {
    readonly sessionQueue: number;
    readonly messageBytes: number;
    readonly repeatMs: number;
  };
  readonly directory: ServiceDirectory;
  readonly turns: RunningTurns;
  readonly files: Files;
  /** What a session is told besides the background of a request. */
  readonly told?: ((session: string) => Promise<string | undefined>) | undefined;
  readonly pauses?: PauseGate | undefined;
  /** The calls that a session has handed out last; by its key. */
  readonly handedOut: (session: string) => Promise<HandedOut | undefined>;
}

/** Accepts messages: each is stored as a turn, which runs here when its session is free. */
export class TurnAcceptance {
  readonly #options: TurnAcceptanceOptions;

  constructor(options: TurnAcceptanceOptions) {
    this.#options = options;
  }

  async accept(request: TurnRequest, options: AcceptOptions): Promise<AcceptedTurn> {
    const { limits } = this.#options;
    checkRequest(plainly(request, options.caller?.tenant ?? ""), limits.messageBytes);
    this.#assertRoom();
    if (request.callerTools) return this.#acceptTools(request, request.callerTools, options);
    return this.#acceptNew(request, options);
  }

  /** Results are once by themselves: the same ones again are the same turn. */
  async #acceptTools(
    request: TurnRequest,
    { tools, results }: CallerTools,
    options: AcceptOptions,
  ): Promise<AcceptedTurn> {
    const { clock, directory, handedOut } = this.#options;
    assertTakesTools(directory, request.service, tools);
    if (results === undefined) return this.#acceptNew(request, options);

    const { caller = ANONYMOUS } = options;
    const handed = await handedOut(sessionKey(caller.tenant, request.session));
    const now = { service: request.service, at: clock.now() };
    const refusal = refusalOfResults(handed, results, now);
    if (refusal) throw refusal;
    const key = `${handed!.turn}/${handed!.failures}`;
    try {
      const once = { caller: { ...caller, name: "calls" }, path: "calls", key };
      return await this.#acceptNew(request, { ...options, ...once });
    } catch (error) {
      throw codeOf(error) === "IDEMPOTENCY_KEY_REUSED" ? closed() : error;
    }
  }

  async #acceptNew(request: TurnRequest, options: AcceptOptions): Promise<AcceptedTurn> {
    const { clock, directory } = this.#options;
    const turn = options.turnId ?? newId("turn", clock.now());
    if (request.service !== undefined) {
      const addressee = await directory.addressee(request.service);
      return this.#acceptFor(addressee, turn, request, options);
    }
    try {
      return await this.#acceptFor(directory.assumed, turn, request, options);
    } catch (error) {
      if (!(error instanceof OtherServiceError)) throw error;
      const addressee = await directory.addresseeOrDefault(error.service);
      return this.#acceptFor(addressee, turn, request, options);
    }
  }

  #assertRoom(): void {
    const { turns } = this.#options;
    if (turns.isStopping) {
      throw new ProcessError(
        "SERVER_STOPPING",
        "This process is stopping and accepts nothing more.",
        {
          class: "unavailable",
          hint: "Try again; another process answers.",
        },
      );
    }
    if (turns.size >= MAX_RUNNING) {
      throw new DureError("SERVER_BUSY", `${turns.size} turns run here already.`, {
        class: "limit",
        hint: "Try again in a moment.",
      });
    }
  }

  async #acceptFor(
    service: Addressee,
    turn: string,
    request: TurnRequest,
    options: AcceptOptions,
  ): Promise<AcceptedTurn> {
    const { lease, limits, pauses, store, told, turns } = this.#options;
    const { tenant } = options.caller ?? ANONYMOUS;
    const session = sessionKey(tenant, request.session);
    const endAccepting = turns.accepts(turn);
    const span = startAcceptSpan({ turn, session, service: service.name }, options.traceParent);
    try {
      if (pauses?.first([service.name])) {
        await this.#assertAnswers(service, { session, tenant, author: options.author });
      }
      const named = request.files ?? [];
      const files =
        named.length === 0 ? undefined : await this.#options.files.find(named, { session, tenant });
      const given = {
        turn,
        session,
        max_waiting: limits.sessionQueue,
        trace_parent: span.traceParent,
        files: files?.map(({ sha256: _hash, ...file }) => file),
        repeats: repeatRuleOf(request, options, { files, withinMs: limits.repeatMs }),
      };
      const accept = async (about: AnswersToTell): Promise<AcceptedTurn | undefined> => {
        const entry = newTurnOf(service, request, options, { ...given, ...about });
        const accepted = await store.accept(entry, { signal: lease, within: ACCEPT_WITHIN });
        return accepted === "untold" ? undefined : this.#begun(entry, accepted);
      };
      const accepted = await accept({ untold: told && true });
      return accepted ?? (await accept({ untold: false, told: await told?.(session) }))!;
    } catch (error) {
      if (!(error instanceof OtherServiceError)) span.end(error);
      if (!lease.aborted) throw error;
      throw new ProcessError("SERVER_STOPPING", "This process may write no more.", {
        class: "unavailable",
        hint: "Send it again with the same Idempotency-Key; another process answers.",
        cause: error,
      });
    } finally {
      span.end();
      endAccepting();
    }
  }

  /** Throws `AGENT_PAUSED`. A message that names no service is for the one of its session. */
  async #assertAnswers(
    service: Addressee,
    {
      session,
      tenant,
      author,
    }: { session: string; tenant: string } & Pick<AcceptOptions, "author">,
  ): Promise<void> {
    const { pauses, store } = this.#options;
    const pause = pauses?.first([service.name]);
    if (!pause || waitsForResume(session, author)) return;
    const own = service.assumed ? await store.serviceOf(session, tenant) : undefined;
    if (own === undefined || own === service.name) throw agentPaused(pause.agent);
  }

  /** Runs the turn where its session was free, and stops the one that it interrupts. */
  #begun(entry: NewTurn, accepted: Accepted): AcceptedTurn {
    const { turns } = this.#options;
    if (accepted.outcome === "accepted") {
      if ("state" in accepted) turns.begin(heldOf(entry, accepted));
      if (accepted.stopped) turns.stop(accepted.stopped);
    }
    return {
      turnId: accepted.turn,
      sessionId: sessionIdFor(entry.tenant, accepted.session),
      status: accepted.status,
      repeated: accepted.outcome === "repeated",
    };
  }
}

/** Throws `NOT_SPOKEN` and `TOOL_NAME_TAKEN`. A service of another process decides when it runs. */
function assertTakesTools(
  directory: ServiceDirectory,
  name: string | undefined,
  tools: readonly ToolSpec[],
): void {
  const service = directory.get(name ?? directory.assumed.name);
  if (service === undefined) return;
  if (service.kind !== "service" || !service.callerTools) throw takesNoCallerTools(service.name);
  for (const agent of Object.values(service.agents)) {
    const own = ownToolNames(agent);
    const taken = tools.find((tool) => own.has(tool.name));
    if (taken) throw nameTaken(taken.name, service.name);
  }
}

function ownToolNames({ tools, toolSets = [] }: Agent): ReadonlySet<string> {
  const ofSets = toolSets.flatMap((set) => Object.keys(set.tools()));
  return new Set([FIND_TOOLS, LOAD_SKILL, READ_RESULT, ...Object.keys(tools), ...ofSets]);
}

const ANONYMOUS = { tenant: "", name: "" };

const ACCEPT_WITHIN = { ms: ACCEPT_WITHIN_MS, onOver: notStored } as const;

function notStored(): DureError {
  return new DureError(
    "DATABASE_UNAVAILABLE",
    `The message could not be stored within ${ACCEPT_WITHIN_MS} ms.`,
    { class: "unavailable", hint: "Send it again with the same Idempotency-Key." },
  );
}

/** What the session is told: nothing yet, or the answers to what it handed over. */
interface AnswersToTell extends Pick<NewTurn, "untold"> {
  readonly told?: string | undefined;
}

function newTurnOf(
  service: Addressee,
  request: TurnRequest,
  options: AcceptOptions,
  {
    told,
    files,
    ...given
  }: Pick<NewTurn, "turn" | "session" | "max_waiting" | "trace_parent" | "repeats"> &
    AnswersToTell & { readonly files: readonly FileRef[] | undefined },
): NewTurn {
  const { caller = ANONYMOUS, author = "person" } = options;
  const { tenant } = caller;
  const { turn, session } = given;
  const written = author === "person" ? detectLanguage(request.message) : undefined;
  return {
    ...given,
    tenant,
    service: service.name,
    assumed: service.assumed,
    version: service.version,
    author,
    policy: service.busy,
    message: request.message,
    input: {
      slots: request.slots,
      confirm_id: request.confirmId,
      last_question: request.lastQuestion,
      background: [request.background, told].filter(Boolean).join("\n\n") || undefined,
      caller_tools: request.callerTools,
      speaker: options.speaker,
      files,
    },
    title: titleOf(request.message.trim() || (files?.[0]?.name ?? "")),
    locale: request.locale,
    written,
    letters: author === "person" && !written ? lettersOf(request.message) : undefined,
    time_zone: request.timeZone,
    idempotency: idempotencyOf(request, options),
    events: [
      {
        type: "turn.accepted",
        role: "conversation",
        tenant,
        session,
        turn,
        service: service.name,
        data: { author },
      },
    ],
  };
}

function idempotencyOf(
  request: TurnRequest,
  { key, path = "turn", caller = ANONYMOUS }: AcceptOptions,
): NewTurn["idempotency"] {
  if (key === undefined) return undefined;
  const body_hash = hashOf(plainly(request, caller.tenant));
  return { caller: caller.name, path, key, body_hash };
}

function repeatRuleOf(
  request: TurnRequest,
  { repeats: of, path = "turn", caller = ANONYMOUS }: AcceptOptions,
  { files, withinMs: within_ms }: { files: readonly FoundFile[] | undefined; withinMs: number },
): RepeatRule | undefined {
  if (of === undefined || within_ms === 0) return undefined;
  const said = plainly(request, caller.tenant);
  const place = of === "session" ? `${caller.tenant}/${said.session}` : `${caller.tenant}/`;
  // In another session the same file has another id.
  const carried = files?.map(({ name, sha256 }) => [name, sha256]);
  const key = `said-${hashOf({ ...said, session: place, files: carried })}`;
  return { of, within_ms, caller: caller.name, path, key };
}

/** The first life of a turn, as a claim would give it. */
function heldOf(entry: NewTurn, accepted: AcceptedRunning): ClaimedTurn {
  const { turn, tenant, service, version, author, message, input } = entry;
  const { session, ordinal, now, incarnation, state, memory, memory_rev } = accepted;
  return {
    turn,
    session,
    tenant,
    service,
    version,
    author,
    epoch: 1,
    stop: null,
    trace_parent: entry.trace_parent ?? null,
    accepted_at: now,
    incarnation,
    state,
    memory,
    memory_rev,
    locale: accepted.locale,
    time_zone: accepted.time_zone,
    messages: [{ ordinal, author, text: message, input, queued: false, at: now }],
    rows: [],
  };
}
