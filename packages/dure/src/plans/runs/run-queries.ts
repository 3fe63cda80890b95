import type { Database } from "../../durable/database.ts";
import type { EventLog, FollowedItem } from "../../durable/event-log.ts";
import { followSubject } from "../../durable/follow-subject.ts";
import { pageLimit, pageOf, readCursor, type RowPage } from "../../durable/page.ts";
import { DureError } from "../../kernel/errors.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import { channelMessages } from "../rows/channel-rows.ts";
import type { RunRecords } from "../rows/records.ts";
import { ORCHESTRATOR, type PlanPort, type PlanRun, type PlanStep } from "../rows/run.ts";
import { BROKEN_TRIES, triesForBreak } from "../port/tries.ts";
import type { PlatformEvent } from "../../wire/events.ts";
import { isRunOver, type PlanRunStatus } from "../../kernel/plans.ts";
import { readTranscript } from "../rows/transcript-rows.ts";
import type {
  ChannelMessage,
  ContextManifest,
  PlanViolation,
  StepWaiting,
  Transcript,
  TranscriptFilter,
} from "../../wire/runs.ts";

/** A port with its steps, messages and violations, oldest first. */
export interface PortDetail extends PlanPort {
  readonly steps: readonly PlanStep[];
  readonly messages: readonly ChannelMessage[];
  readonly violations: readonly PlanViolation[];
}

/** A run with what its ports and the orchestrator have come to. */
export interface RunDetail extends PlanRun {
  /** `triesMade`: tries that were begun. */
  readonly ports: readonly (PlanPort & {
    readonly triesMade: number;
    readonly waiting: StepWaiting | null;
    readonly unproven: boolean;
  })[];
  /** Steps of no port: the contracts, the merge. */
  readonly orchestrator: readonly PlanStep[];
}

/** One frame of the stream of a run. `reset`: older events are gone; read the run anew. */
export type RunFrame =
  /** How the run stands; what follows comes behind `position`. */
  | { readonly kind: "run"; readonly run: RunDetail; readonly position: string }
  | { readonly kind: "event"; readonly event: PlatformEvent }
  | { readonly kind: "reset"; readonly oldest: string };

/** A run of a list, with its ports by status. */
export interface ListedRun extends PlanRun {
  readonly counts: Readonly<Record<string, number>>;
  /** Under which it was begun, as it is stored. */
  readonly key: string | null;
}

/** Which runs are listed. */
export interface RunFilter {
  readonly tenant?: TenantView | undefined;
  readonly plan?: string | undefined;
  readonly status?: PlanRunStatus | undefined;
  /** Under which it was begun, as it is stored. */
  readonly key?: string | undefined;
  /** How that begins. */
  readonly keyPrefix?: string | undefined;
  readonly limit?: number | undefined;
  /** Where the last page ended. */
  readonly cursor?: string | undefined;
}

/** Lines of a transcript that one answer has. */
const TRANSCRIPT_PAGE = 200;
const PAGE = { usual: 50, most: 200 } as const;

/** Looks at runs; changes nothing. Every question throws `RUN_UNKNOWN` for another tenant's run. */
export class RunQueries {
  readonly #records: RunRecords;
  readonly #database: Database;
  readonly #events: Pick<EventLog, "now" | "read" | "follow" | "caughtUp">;

  constructor(options: {
    records: RunRecords;
    database: Database;
    events: Pick<EventLog, "now" | "read" | "follow" | "caughtUp">;
  }) {
    this.#records = options.records;
    this.#database = options.database;
    this.#events = options.events;
  }

  async find(id: string, tenant: TenantView): Promise<PlanRun> {
    const run = await this.#records.run(id);
    if (run && (tenant === null || run.tenant === tenant)) return run;
    throw new DureError("RUN_UNKNOWN", `There is no run ${id}.`, {
      class: "not-found",
      hint: "List them with: dure plan runs",
    });
  }

  /** Throws `PLAN_PORT_UNKNOWN`. */
  async findPort(run: PlanRun, id: string): Promise<PlanPort> {
    const port = await this.#records.port(run.id, id);
    if (port) return port;
    const names = run.plan.ports.slice(0, 20).map((one) => one.id);
    throw new DureError("PLAN_PORT_UNKNOWN", `The run ${run.id} has no port ${id}.`, {
      class: "not-found",
      hint: `Its ports are ${names.join(", ")}.`,
    });
  }

  async get(
    id: string,
    tenant: TenantView,
  ): Promise<PlanRun & { readonly ports: readonly PlanPort[] }> {
    const run = await this.find(id, tenant);
    return { ...run, ports: await this.#records.ports(id) };
  }

  /** As `get`, with the orchestrator's steps. */
  async detail(id: string, tenant: TenantView): Promise<RunDetail> {
    const run = await this.get(id, tenant);
    const [ports, orchestrator] = await Promise.all([
      this.#withTries(id, run.ports),
      this.#records.steps.of(id, ORCHESTRATOR),
    ]);
    return { ...run, ports, orchestrator };
  }

  /** Some of the ports of `detail`, with their run; names that it has not are left out. */
  async ports(
    id: string,
    names: readonly string[],
    tenant: TenantView,
  ): Promise<Pick<RunDetail, "plan" | "ports">> {
    const { plan } = await this.find(id, tenant);
    const found = await this.#records.portsNamed(id, names);
    return { plan, ports: await this.#withTries(id, found, names) };
  }

  async #withTries(
    id: string,
    ports: readonly PlanPort[],
    names?: readonly string[],
  ): Promise<RunDetail["ports"]> {
    const tries = await this.#records.steps.triesMade(id, names);
    return ports.map((port) => {
      const known = tries.get(port.id);
      const { made = 0, isBroken = false, waiting = null, unproven = false } = known ?? {};
      const triesPair = port.triesPair + (isBroken ? BROKEN_TRIES : 0);
      return { ...port, triesPair, triesMade: made, waiting, unproven };
    });
  }

  async port(id: string, port: string, tenant: TenantView): Promise<PortDetail> {
    const found = await this.findPort(await this.find(id, tenant), port);
    const [steps, messages, violations] = await Promise.all([
      this.#records.steps.of(id, port),
      channelMessages(this.#database, id, port),
      this.#records.violations(id, port),
    ]);
    const triesPair = found.triesPair + triesForBreak(steps);
    return { ...found, triesPair, steps, messages, violations };
  }

  /** See `Runs.transcript`. Steps of no port stand under `orchestrator`. */
  async transcript(
    id: string,
    port: string,
    filter: TranscriptFilter,
    tenant: TenantView,
  ): Promise<Transcript> {
    const run = await this.find(id, tenant);
    if (port !== ORCHESTRATOR) await this.findPort(run, port);
    const { after = 0 } = filter;
    const limit = filter.limit ?? TRANSCRIPT_PAGE;
    const found = await readTranscript(this.#database, id, port, { ...filter, limit: limit + 1 });
    const lines = filter.before === undefined ? found.slice(0, limit) : found.slice(-limit);
    return { lines, next: lines.at(-1)?.id ?? after, hasMore: found.length > limit };
  }

  /** Null for a step without a prompt. Throws `STEP_UNKNOWN`. */
  async manifest(
    id: string,
    port: string,
    step: number,
    tenant: TenantView,
  ): Promise<ContextManifest | null> {
    await this.find(id, tenant);
    const steps = await this.#records.steps.of(id, port);
    if (steps.some((one) => one.id === step)) return this.#records.steps.manifest(id, step);
    throw new DureError("STEP_UNKNOWN", `The port ${port} of ${id} has no step ${step}.`, {
      class: "not-found",
      hint: "Its steps are listed with the port.",
    });
  }

  /** Newest first. */
  async list(filter: RunFilter): Promise<RowPage<ListedRun>> {
    const { tenant = "", plan, status, key, keyPrefix, cursor } = filter;
    const limit = pageLimit(filter.limit, PAGE);
    const [number] = readCursor(cursor, /^(\d{1,15})$/) ?? [];
    const before = number === undefined ? undefined : Number(number);
    const wanted = { tenant, plan, status, key, keyPrefix, before, limit: limit + 1 };
    const rows = await this.#records.runs(wanted);
    const { items, nextCursor } = pageOf(rows, limit, ({ seq }) => [seq]);
    return { items: items.map(({ run, ...rest }) => ({ ...run, ...rest })), nextCursor };
  }

  /** See `Runs.stream`. */
  async *stream(
    id: string,
    {
      tenant,
      after,
      signal,
    }: { tenant: TenantView; after: string | undefined; signal: AbortSignal | undefined },
  ): AsyncGenerator<RunFrame, void, undefined> {
    const frames = followSubject<RunDetail>({
      events: this.#events,
      filter: { run: id },
      after,
      signal,
      read: () => this.detail(id, tenant),
      isOver: ({ status }) => isRunOver(status),
      untilOver: (items) => this.#untilEnd(id, items),
    });
    for await (const frame of frames) {
      if (frame.kind !== "subject") yield frame;
      else yield { kind: "run", run: frame.subject, position: frame.position };
    }
  }

  /** A run that has ended may go on by a retry that was ordered before. */
  async *#untilEnd(
    id: string,
    items: AsyncIterable<FollowedItem>,
  ): AsyncGenerator<FollowedItem, void, undefined> {
    for await (const item of items) {
      yield item;
      if (item.kind !== "event" || item.event.type !== "run.end") continue;
      const now = await this.#records.run(id);
      if (!now || isRunOver(now.status)) return;
    }
  }
}
