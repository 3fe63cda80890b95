import { DureError } from "../../kernel/errors.ts";
import type { Trace } from "../../kernel/turn-events.ts";
import type { Database } from "../../durable/database.ts";
import { modelName, parseModelNames } from "../../models/card.ts";
import { sessionIdFor } from "../../kernel/tenant.ts";
import type { Viewer } from "../api.ts";
import type { AnyService } from "../service/combine.ts";
import type { TurnEnvironment } from "../turn/turn-parts.ts";
import { replayableAgents, replayTurn, type Replayed } from "./replay-turn.ts";
import { readStoredTurn, type StoredTurn } from "./stored-turn.ts";

/** A turn of a conversation, and with what it can be replayed. */
export interface ReplayableTurn {
  readonly turnId: string;
  readonly sessionId: string;
  readonly service: string;
  /** What was said to it. */
  readonly input: string;
  /** What it answered. */
  readonly message: string;
  readonly trace: Trace;
  /** Those that are asked anew, with prompt and model as the team has them now. */
  readonly agents: readonly {
    readonly key: string;
    readonly prompt: string;
    /** As `provider:model`. */
    readonly model: string;
    /** Own code: its outcome is the recorded one. */
    readonly isCustom: boolean;
  }[];
}

/** What is asked of a replay. */
export interface ReplayOrder {
  /** `provider:model` for every agent. */
  readonly model?: string | undefined;
  /** By key of the agent. */
  readonly prompts?: Readonly<Record<string, string>> | undefined;
}

/** Replays of stored turns, as the server sees them. */
export interface TurnReplays {
  /** Throws `TURN_UNKNOWN`, `TURN_RUNNING`, `REPLAY_TOO_OLD`, `REPLAY_OTHER_VERSION`. */
  find(turn: string, caller: Viewer): Promise<ReplayableTurn>;
  /** Throws the same, `REPLAYS_BUSY`, and what is wrong with the model's name. */
  run(
    turn: string,
    order: ReplayOrder,
    options: { caller: Viewer; signal: AbortSignal },
  ): Promise<Replayed>;
}

/** Replays of one process at a time: each may hold a model for minutes. */
const MOST_AT_ONCE = 4;

/** Replays turns of this process's services. */
export class Replays implements TurnReplays {
  readonly #database: Database;
  readonly #environment: () => TurnEnvironment;
  readonly #serviceOf: (name: string) => AnyService | undefined;
  #running = 0;

  constructor(options: {
    database: Database;
    environment: () => TurnEnvironment;
    serviceOf: (name: string) => AnyService | undefined;
  }) {
    this.#database = options.database;
    this.#environment = options.environment;
    this.#serviceOf = options.serviceOf;
  }

  async find(turn: string, caller: Viewer): Promise<ReplayableTurn> {
    const { stored, service } = await this.#read(turn, caller);
    const { held, done } = stored;
    const agents = replayableAgents(stored, service, this.#environment());

    return {
      turnId: held.turn,
      sessionId: sessionIdFor(caller.tenant, held.session),
      service: held.service,
      input: held.messages.map(({ text }) => text).join("\n"),
      message: done.message,
      trace: done.trace,
      agents: agents.map((agent) => ({ ...agent, model: modelName(agent.model) })),
    };
  }

  async run(
    turn: string,
    order: ReplayOrder,
    { caller, signal }: { caller: Viewer; signal: AbortSignal },
  ): Promise<Replayed> {
    const model = order.model === undefined ? undefined : parseModelNames(order.model);
    const { stored, service } = await this.#read(turn, caller);
    if (this.#running >= MOST_AT_ONCE) throw busy();

    const environment = this.#environment();
    if (model) environment.resolve(model); // throws where the team has no such provider
    this.#running += 1;
    try {
      const change = { model, prompts: order.prompts };
      return await replayTurn(stored, service, { environment, change, signal });
    } finally {
      this.#running -= 1;
    }
  }

  async #read(turn: string, caller: Viewer): Promise<{ stored: StoredTurn; service: AnyService }> {
    const stored = await readStoredTurn(this.#database, turn, caller.tenant);
    const { held } = stored;
    const service = this.#serviceOf(held.service);
    if (service === undefined || service.version !== held.version) throw otherVersion(turn);

    return { stored, service };
  }
}

function busy(): DureError {
  return new DureError("REPLAYS_BUSY", `${MOST_AT_ONCE} replays run here already.`, {
    class: "limit",
    hint: "Wait until one of them has ended.",
  });
}

function otherVersion(turn: string): DureError {
  return new DureError(
    "REPLAY_OTHER_VERSION",
    `The turn ${turn} was run by a service of another version, or one that is not here.`,
    { class: "conflict", hint: "Replay turns of the version that runs now." },
  );
}
