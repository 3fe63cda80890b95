import { DureError } from "../../kernel/errors.ts";
import type { Trace } from "../../kernel/turn-events.ts";
import type { Database } from "../../durable/database.ts";
import type { ModelRequest } from "../../models/model.ts";
import { promptHash } from "../../models/telemetry.ts";
import { modelName, parseModelNames } from "../../models/card.ts";
import { sessionIdFor } from "../../kernel/tenant.ts";
import type { Viewer } from "../api.ts";
import type { AnyService } from "../service/combine.ts";
import type { TurnEnvironment } from "../turn/turn-parts.ts";
import { rebuildRequests, replayableAgents, replayTurn, type Replayed } from "./replay-turn.ts";
import { readLiveTurn, readStoredTurn, type LiveTurn } from "./stored-turn.ts";

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
  /** The code has another version by now. */
  readonly isOtherVersion: boolean;
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
  /** The place of a call of a model from which on the turn is run again. */
  readonly from?: string | undefined;
  /** By the code as it is now, also where it has another version. */
  readonly anyVersion?: boolean | undefined;
}

/** A request of a turn to a model, made again. */
export interface RebuiltRequest {
  readonly request: ModelRequest;
  /** Where the messages of this turn begin. */
  readonly turnFrom: number | undefined;
  /** By which it is known whether exactly this was sent. */
  readonly hash: string;
}

/** Replays of stored turns, as the server sees them. */
export interface TurnReplays {
  /** Throws `TURN_UNKNOWN`, `TURN_RUNNING`, `REPLAY_TOO_OLD`, `REPLAY_OTHER_VERSION`. */
  find(turn: string, caller: Viewer): Promise<ReplayableTurn>;
  /**
   * Every request to a model, by its place in the journal. Throws as `find` does,
   * but takes turns that run.
   */
  requests(turn: string, caller: Viewer): Promise<ReadonlyMap<string, RebuiltRequest>>;
  /** Throws as `find` does, `REPLAY_PLACE_UNKNOWN`, `REPLAYS_BUSY`, and what is wrong with the model's name. */
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
    const stored = await readStoredTurn(this.#database, turn, caller.tenant);
    const service = this.#serviceFor(stored, { anyVersion: true });
    const { held, done } = stored;
    const agents = replayableAgents(stored, service, this.#environment());

    return {
      turnId: held.turn,
      sessionId: sessionIdFor(caller.tenant, held.session),
      service: held.service,
      input: held.messages.map(({ text }) => text).join("\n"),
      message: done.message,
      trace: done.trace,
      isOtherVersion: service.version !== held.version,
      agents: agents.map((agent) => ({ ...agent, model: modelName(agent.model) })),
    };
  }

  async requests(turn: string, caller: Viewer): Promise<ReadonlyMap<string, RebuiltRequest>> {
    const stored = await readLiveTurn(this.#database, turn, caller.tenant);
    const service = this.#serviceFor(stored, { anyVersion: false });
    const asked = await this.#oneMore(() => rebuildRequests(stored, service, this.#environment()));

    return new Map(
      asked.map(({ place, request, turnFrom }) => [
        place,
        { request, turnFrom, hash: promptHash(request) },
      ]),
    );
  }

  async run(
    turn: string,
    order: ReplayOrder,
    { caller, signal }: { caller: Viewer; signal: AbortSignal },
  ): Promise<Replayed> {
    const model = order.model === undefined ? undefined : parseModelNames(order.model);
    const stored = await readStoredTurn(this.#database, turn, caller.tenant);
    const service = this.#serviceFor(stored, order);
    const held = { ...stored.held, version: service.version };
    const environment = this.#environment();
    if (model) environment.resolve(model); // throws where the team has no such provider
    const change = { model, prompts: order.prompts, from: order.from };

    return this.#oneMore(() =>
      replayTurn({ ...stored, held }, service, { environment, change, signal }),
    );
  }

  async #oneMore<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#running >= MOST_AT_ONCE) throw busy();
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
    }
  }

  #serviceFor({ held }: LiveTurn, { anyVersion }: Pick<ReplayOrder, "anyVersion">): AnyService {
    const service = this.#serviceOf(held.service);
    const isOther = service?.version !== held.version && anyVersion !== true;
    if (service === undefined || isOther) throw otherVersion(held.turn);
    return service;
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
    {
      class: "conflict",
      hint: "Replay it with the code of now, or turns of the version that runs.",
    },
  );
}
