import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { TraceAgent } from "../../kernel/turn-events.ts";
import type { JournalRow, TurnStore } from "../../durable/turns.ts";
import type { Llm } from "../../models/card.ts";
import { paidModels } from "../../models/paid.ts";
import { promptLanguage } from "../../models/prompt-files.ts";
import type { Agent } from "../agent/agent.ts";
import { chooseLlm } from "../agent/agent-model.ts";
import type { AnyService, LeafService } from "../service/combine.ts";
import type { Service } from "../service/service.ts";
import { namesOf } from "../turn/paused.ts";
import { storedCall } from "../agent/stored-call.ts";
import { handleTurn } from "../turn/turn-handler.ts";
import { TurnParts, type TurnEnvironment } from "../turn/turn-parts.ts";
import { agentPlaces, Replay, splitPlace, type AskedRequest, type ReplayedCall } from "./replay.ts";
import type { LiveTurn, StoredTurn } from "./stored-turn.ts";

/** What is different in a replay. */
export interface ReplayChange {
  /** The model of every agent; absent: as the team has it now. */
  readonly model?: Llm | undefined;
  /** Prompts by key of the agent; the others are as the team has them now. */
  readonly prompts?: Readonly<Record<string, string>> | undefined;
  /** The place of a call of a model: what stands before it comes from the record. */
  readonly from?: string | undefined;
}

/** What a replay came to. */
export interface Replayed {
  readonly message: string;
  readonly state: JsonObject;
  readonly agents: readonly TraceAgent[];
  readonly calls: readonly ReplayedCall[];
  /** Why it did not come to an answer. */
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly elapsedMs: number;
  /** Millionths of a US dollar; null where a model has no price. */
  readonly costMicroUsd: number | null;
}

/** An agent of a turn, as it would be asked now. */
export interface ReplayableAgent {
  readonly key: string;
  readonly prompt: string;
  readonly model: Llm;
  /** Own code: its outcome is the recorded one. */
  readonly isCustom: boolean;
}

/** How long a replay may take, milliseconds. Source: the longest answer that a reader waits for. */
const MOST_MS = 180_000;

/**
 * Runs the handler of a stored turn again: its agents ask their models anew, and all else comes from
 * the journal or is refused (`Replay`). Stores nothing but the cost of its model calls. An abort
 * cuts the calls that run; they are still paid for.
 */
export async function replayTurn(
  stored: StoredTurn,
  service: AnyService,
  given: {
    readonly environment: TurnEnvironment;
    readonly change: ReplayChange;
    readonly signal: AbortSignal;
  },
): Promise<Replayed> {
  const { environment, change } = given;
  const from = rowOf(stored, change.from);
  const replay = new Replay(stored.rows, from);
  const bill = new Bill();
  const late = new AbortController();
  const timer = environment.clock.after(MOST_MS, () => late.abort(tookTooLong()));
  const signal = AbortSignal.any([given.signal, environment.lease, late.signal]);
  const held = { ...stored.held, rows: keptRows(stored.rows, service, from) };
  const parts = new TurnParts({
    held,
    service: withPrompts(service, change.prompts ?? {}),
    environment: drained(environment, { replay, bill, stored, change, lease: signal }),
    interruptions: 0,
  });
  const cut = (): void => parts.stop.leaseLost();
  signal.addEventListener("abort", cut, { once: true });
  const startedAt = environment.clock.monotonic();

  try {
    const end = await endOf(parts);
    signal.throwIfAborted();
    return {
      ...end,
      state: parts.route.state?.snapshot() ?? {},
      agents: parts.agents.traces("TURN_CLOSED"),
      calls: replay.calls,
      elapsedMs: Math.round(environment.clock.monotonic() - startedAt),
      costMicroUsd: bill.total,
    };
  } finally {
    timer();
    signal.removeEventListener("abort", cut);
    parts.journal.close();
  }
}

/** How long the requests of a turn may take to be made again, milliseconds. */
const MOST_REBUILD_MS = 10_000;

/**
 * The requests of a turn to its models, made again from its journal: every answer is the recorded
 * one, and what has no record is refused. Prompts are as the team has them now.
 */
export async function rebuildRequests(
  stored: LiveTurn,
  service: AnyService,
  environment: TurnEnvironment,
): Promise<readonly AskedRequest[]> {
  const replay = new Replay(stored.rows, "never");
  const late = new AbortController();
  const timer = environment.clock.after(MOST_REBUILD_MS, () => late.abort(tookTooLong()));
  const rows = stored.rows.filter(
    ({ type, place }) => type === "RECORD" && !splitPlace(place)[1].startsWith("agent:"),
  );
  const lease = AbortSignal.any([environment.lease, late.signal]);
  const given = { replay, bill: new Bill(), stored, change: {}, lease };
  const parts = new TurnParts({
    held: { ...stored.held, rows },
    service,
    environment: drained(environment, given),
    interruptions: 0,
  });
  const cut = (): void => parts.stop.leaseLost();
  lease.addEventListener("abort", cut, { once: true });
  try {
    await endOf(parts);
    return replay.asked;
  } finally {
    timer();
    lease.removeEventListener("abort", cut);
    parts.journal.close();
  }
}

/** The row of a place at which a model is asked. Throws `REPLAY_PLACE_UNKNOWN`. */
function rowOf({ rows, held }: LiveTurn, place: string | undefined): number {
  if (place === undefined) return 0;
  const row = rows.find(({ type, place: at }) => {
    const [path, name] = splitPlace(at);
    return type === "RECORD" && path === place && name.startsWith("model:");
  });
  if (row) return row.seq;
  throw new DureError(
    "REPLAY_PLACE_UNKNOWN",
    `The turn ${held.turn} asked no model at place ${place}.`,
    { class: "not-found", hint: "Take the place of a model call of its trace." },
  );
}

async function endOf(parts: TurnParts): Promise<Pick<Replayed, "message" | "error">> {
  try {
    const { message, error } = await handleTurn(parts);
    return { message, error: error ?? null };
  } catch (error) {
    return {
      message: parts.steps.shownText,
      error: { code: codeOf(error) ?? "INTERNAL", message: messageOf(error) },
    };
  }
}

/** What the replay's calls cost. */
class Bill {
  #sum: number | null = 0;

  add(micro: number | undefined): void {
    this.#sum = micro === undefined || this.#sum === null ? null : this.#sum + micro;
  }

  get total(): number | null {
    return this.#sum;
  }
}

/** The environment of a replay: it writes nothing, and each model call is paid for by itself. */
function drained(
  environment: TurnEnvironment,
  given: {
    replay: Replay;
    bill: Bill;
    stored: LiveTurn;
    change: ReplayChange;
    lease: AbortSignal;
  },
): TurnEnvironment {
  const { replay, bill, stored, change, lease } = given;
  const { session, service, turn } = stored.held;
  const { budgets, pauses, store } = environment;

  const models = paidModels(
    { resolve: (llm) => environment.resolve(llm as Llm) },
    async (request, model, labels) => {
      const agent = labels["agent"] ?? service;
      const paused = pauses?.first(namesOf({ session, services: [service], agent }));
      if (paused !== undefined) throw isPaused(agent);
      const facts = { session, path: `replay/${turn}`, service, agent };
      const charged = await budgets?.charge(facts, request, model);
      return {
        settle: async (record) => {
          bill.add(record.costMicroUsd);
          if (charged) return charged.settle(record);
          await store.noteCalls(session, service, [storedCall(agent, record)]).catch(() => {});
        },
      };
    },
  );

  return {
    ...environment,
    ...{ replay, lease },
    store: storeOfReplay(),
    resolve: (llm) => models.resolve(llm),
    everyLlm: change.model ?? environment.everyLlm,
    attemptRules: () => undefined,
    patienceMs: () => 0,
    budgets: undefined,
    pauses: undefined,
    approvals: {
      find: async () => undefined,
      standing: async () => [],
      askedIn: async () => [],
    },
  };
}

/** Takes the rows of the journal and forgets them. Everything else is refused. */
function storeOfReplay(): TurnStore {
  const known: Partial<Record<keyof TurnStore, () => Promise<unknown>>> = {
    journal: async () => ({ stop: false }),
    confirm: async () => undefined,
    effectsOf: async () => [],
  };
  return new Proxy({} as TurnStore, {
    get(_target, name) {
      const method = known[name as keyof TurnStore];
      if (method) return method;
      throw new DureError("REPLAY_REFUSED", `A replay does not store (${String(name)}).`, {
        class: "conflict",
      });
    },
  });
}

/**
 * What a replay takes over: the handler's own steps, agents made of code, and what an agent read
 * before it first asked its model, and all that stands before the row `from`. Other answers of
 * models and calls of tools are left out. Pure.
 */
function keptRows(rows: readonly JournalRow[], service: AnyService, from: number): JournalRow[] {
  const agents = agentsOf(service);
  const anew = new Set(
    [...agentPlaces(rows)].flatMap(([path, key]) => {
      const agent = agents.get(key);
      return agent !== undefined && isCode(agent) ? [] : [path];
    }),
  );
  const asked = new Set<string>();

  return rows.filter(({ place, type, seq }) => {
    if (type !== "RECORD") return false;
    if (seq < from) return true;
    const [path, name] = splitPlace(place);
    const top = path.split(".")[0]!;
    if (!anew.has(top)) return true;
    if (/^(?:model|tool):/u.test(name)) asked.add(top);

    return path !== top && name.startsWith("step:") && !asked.has(top);
  });
}

/** The agents of a turn that can be asked anew, as the team has them now. */
export function replayableAgents(
  stored: StoredTurn,
  service: AnyService,
  { defaultLlm, everyLlm, locale }: Pick<TurnEnvironment, "defaultLlm" | "everyLlm" | "locale">,
): readonly ReplayableAgent[] {
  const agents = agentsOf(service);
  const keys = new Set(agentPlaces(stored.rows).values());
  const language = promptLanguage(localeOf(stored) ?? locale);

  return [...keys].flatMap((key) => {
    const agent = agents.get(key);
    if (agent === undefined) return [];
    const prompt = agent.prompts?.[language] ?? agent.prompt;
    const model = chooseLlm(agent.card.llm, defaultLlm, everyLlm);
    return [{ key, prompt, model, isCustom: isCode(agent) }];
  });
}

/** The language in which the turn was answered. */
function localeOf({ held }: StoredTurn): string | null {
  const said = held.messages.at(-1)?.input["locale"];
  return typeof said === "string" ? said : held.locale;
}

function isCode(agent: Agent): boolean {
  return agent.run !== undefined || agent.stream !== undefined;
}

function leavesIn(service: AnyService): readonly LeafService[] {
  return service.kind === "combined" ? [...service.services.values()] : [service];
}

function agentsOf(service: AnyService): ReadonlyMap<string, Agent> {
  const leaves = leavesIn(service).filter((leaf): leaf is Service => leaf.kind === "service");
  return new Map(leaves.flatMap((leaf) => Object.entries(leaf.agents)));
}

/** The same service whose agents have other prompts. */
function withPrompts(service: AnyService, prompts: Readonly<Record<string, string>>): AnyService {
  if (service.kind === "combined") {
    const services = [...service.services].map(
      ([name, leaf]) => [name, withPrompts(leaf, prompts) as LeafService] as const,
    );
    return { ...service, services: new Map(services) };
  }
  if (service.kind === "remote") return service;

  const agents = Object.entries(service.agents).map(([key, agent]) => {
    const prompt = prompts[key];
    return [key, prompt === undefined ? agent : { ...agent, prompt, prompts: undefined }];
  });
  return { ...service, agents: Object.fromEntries(agents) as Service["agents"] };
}

function tookTooLong(): DureError {
  return new DureError("REPLAY_TOO_LONG", `The replay took longer than ${MOST_MS / 1_000} s.`, {
    class: "unavailable",
    hint: "Try a faster model.",
  });
}

function isPaused(agent: string): DureError {
  return new DureError("AGENT_PAUSED", `The agent ${agent} is paused.`, {
    class: "conflict",
    hint: "Let it go on first: no model call of it begins.",
  });
}
