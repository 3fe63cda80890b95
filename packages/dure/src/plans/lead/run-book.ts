/** What a leader writes: each decision with its events, under the run's lease. */

import type { Transaction } from "../../durable/database.ts";
import type { Lease } from "../../durable/leases.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import type { LeaderParts } from "./leader-parts.ts";
import { RESUMING_TRIGGERS } from "../ask/triggers.ts";
import { emit, eventsEmitted, portsChanged, present, settled } from "../rows/records.ts";
import type { OpenOrder, PortChange, RunChange, Settling } from "../rows/run-changes.ts";
import { carryReview, type CarriedReview } from "../rows/comment-rows.ts";
import { REFUSALS, type ClosedOrder } from "./run-orders.ts";
import { ORCHESTRATOR, type PlanPort, type PlanRun, type RunOrder } from "../rows/run.ts";
import type { NewPlatformEvent } from "../../wire/events.ts";
import { type RunEventData, type RunEventType, eventOfRun } from "../rows/run-event.ts";
import { isRunOver, type RunOutcome } from "../../kernel/plans.ts";

/** What is written of a run in one transaction. */
export interface RunEntry {
  readonly change?: RunChange | undefined;
  readonly changes?: readonly PortChange[] | undefined;
  readonly events?: readonly NewPlatformEvent[] | undefined;
  readonly raised?: readonly NewEscalation[] | undefined;
  readonly closed?: readonly ClosedOrder[] | undefined;
  readonly settles?: readonly Settling[] | undefined;
  readonly reviews?: readonly CarriedReview[] | undefined;
}

type BookParts = Pick<LeaderParts, "records" | "inbox" | "announce" | "logger">;

/**
 * Changes of ports that are written in one transaction; more are written in several, one after the
 * other.
 */
const BATCH = 1_000;

/** A run and its ports as their leader knows them. What changes is written before it is known. */
export class RunBook {
  readonly #parts: BookParts;
  readonly #lease: Lease;
  #run: PlanRun;
  #ports = new Map<string, PlanPort>();

  constructor(run: PlanRun, lease: Lease, parts: BookParts) {
    this.#run = run;
    this.#lease = lease;
    this.#parts = parts;
  }

  get run(): PlanRun {
    return this.#run;
  }

  get ports(): ReadonlyMap<string, PlanPort> {
    return this.#ports;
  }

  port(id: string): PlanPort {
    return this.#ports.get(id)!;
  }

  /** The id of the port at a position of the plan. */
  portAt(position: number): string {
    return this.#run.plan.ports[position]!.id;
  }

  async reloadRun(): Promise<void> {
    this.#run = (await this.#parts.records.run(this.#run.id))!;
  }

  /** Reads the ports again, with what the work on them has written. */
  async reloadPorts(): Promise<readonly PlanPort[]> {
    const ports = await this.#parts.records.ports(this.#run.id);
    this.#ports = new Map(ports.map((port) => [port.id, port]));

    return ports;
  }

  /** Takes in a change that is written already, or with the next entry. */
  note({ changes = [], run = {} }: { changes?: readonly PortChange[]; run?: RunChange }): void {
    for (const change of changes) {
      const id = this.portAt(change.position);
      this.#ports.set(id, { ...this.port(id), ...withoutAdds(change) });
    }
    this.#run = { ...this.#run, ...present(run) };
  }

  event<Type extends RunEventType>(type: Type, data: RunEventData<Type>): NewPlatformEvent {
    return eventOfRun(this.#run, type, data);
  }

  /** Writes all of the entry together. */
  async write(entry: RunEntry): Promise<void> {
    const { change = {}, changes = [] } = entry;
    await this.transaction(async (tx) => {
      const { records } = this.#parts;
      await records.changePorts(tx, this.#run.id, changes);
      await records.changeRun(tx, this.#run.id, change);
      if (change.status !== undefined && isRunOver(change.status)) {
        const names = changes.map(({ position }) => this.portAt(position));
        await records.steps.stop(tx, this.#run.id, [ORCHESTRATOR, ...names]);
        const ended = { run: this.#run.id, outcome: change.status, resuming: RESUMING_TRIGGERS };
        await records.settleEnded(tx, ended);
      }
      await this.#writeBeside(tx, entry);
    });
    this.#announce(entry);
    this.#run = { ...this.#run, ...present(change) };
  }

  /**
   * Writes what the scheduler has decided. The changes of many ports go in several transactions; the
   * rest goes with the first one.
   */
  async writeDecided(entry: RunEntry): Promise<void> {
    const { change = {}, changes = [], closed = [] } = entry;
    if (isPlain(entry)) {
      await this.#putPlain(entry);
    } else {
      for (let from = 0; from === 0 || from < changes.length; from += BATCH) {
        await this.transaction(async (tx) => {
          await this.#changePorts(tx, changes.slice(from, from + BATCH));
          if (from > 0) return;
          const { records } = this.#parts;
          const isChanged = Object.keys(present(change)).length > 0;
          if (isChanged) await records.changeRun(tx, this.#run.id, change);
          await this.#writeBeside(tx, entry);
          if (closed.some(({ order, refused }) => order.order.type === "again" && !refused)) {
            await records.steps.forgetFailedIntegrations(tx, this.#run.id, ORCHESTRATOR);
          }
        });
      }
    }
    this.#announce(entry);
    this.note({ changes, run: change });
  }

  /** In one statement: ports that begin and succeed. */
  async #putPlain({ changes = [], settles = [], events = [] }: RunEntry): Promise<void> {
    const run = this.#run.id;
    const changed = changes.length === 0 ? [] : [portsChanged(run, changes)];
    const ports = settles.flatMap((one) => one.ports ?? []);
    const closed = ports.length === 0 ? [] : [settled(run, { ports })];
    const writes = [...changed, ...closed, ...eventsEmitted(events)];
    if (writes.length > 0) await this.#parts.records.put(this.#lease, writes);
  }

  /** Ends the run. */
  async end(
    change: RunChange & { readonly status: RunOutcome },
    entry: Omit<RunEntry, "change" | "settles"> = {},
  ): Promise<void> {
    const { events = [] } = entry;
    await this.write({
      ...entry,
      change: { because: null, ...change },
      events: [...events, ...this.#endEvents(change)],
    });
    this.#parts.logger.info(
      { run: this.#run.id, outcome: change.status },
      `run ${this.#run.id} of ${this.#run.plan.name} ended: ${change.status}`,
    );
  }

  /** Closes every open order: it is not carried out. */
  async refuseOrders(code: string, message: string): Promise<void> {
    const { records } = this.#parts;
    const orders = await records.orders.open(this.#run.id);
    if (orders.length === 0) return;
    await this.transaction(async (tx) => {
      for (const { id } of orders) await records.orders.close(tx, id, { ok: false, code, message });
      await emit(
        tx,
        orders.map((order) => this.#refusalEvent(order, code, message)),
      );
    });
    this.#parts.announce();
  }

  /** Throws `FENCED` when the lease is another's. */
  transaction(work: (tx: Transaction) => Promise<void>): Promise<void> {
    return this.#parts.records.write(this.#lease, work);
  }

  async #changePorts(tx: Transaction, changes: readonly PortChange[]): Promise<void> {
    const { records } = this.#parts;
    await records.changePorts(tx, this.#run.id, changes);
    const over = changes.filter(({ status }) => status === "failed" || status === "cancelled");
    const names = over.map(({ position }) => this.portAt(position));
    await records.steps.stop(tx, this.#run.id, names);
  }

  async #writeBeside(tx: Transaction, entry: RunEntry): Promise<void> {
    const { records, inbox } = this.#parts;
    const { settles = [], raised = [], closed = [], events = [], reviews = [] } = entry;
    for (const review of reviews) await carryReview(tx, this.#run.id, review);
    for (const settling of settles) await records.settle(tx, this.#run.id, settling);
    if (raised.length > 0) await inbox.raise(tx, raised);
    await this.#close(tx, closed);
    await emit(tx, events);
  }

  /**
   * An order that is refused is an event too: no caller waits for the outcome of an answer to an
   * escalation.
   */
  async #close(tx: Transaction, closed: readonly ClosedOrder[]): Promise<void> {
    const refusals: NewPlatformEvent[] = [];
    for (const { order, refused } of closed) {
      if (!refused) {
        await this.#parts.records.orders.close(tx, order.id, { ok: true });
        continue;
      }
      const message = REFUSALS[refused];
      await this.#parts.records.orders.close(tx, order.id, { ok: false, code: refused, message });
      refusals.push(this.#refusalEvent(order, refused, message));
    }
    await emit(tx, refusals);
  }

  #refusalEvent({ order, by }: OpenOrder, code: string, because: string): NewPlatformEvent {
    return this.event("run.refused", {
      order: order.type,
      port: portOf(order),
      by,
      code,
      because,
    });
  }

  #endEvents({
    status,
    because,
    report,
  }: RunChange & { readonly status: RunOutcome }): NewPlatformEvent[] {
    return [
      this.event("session.end", { outcome: status }),
      this.event("run.end", {
        outcome: status,
        because: because?.message,
        kept: report?.kept.length ?? 0,
        missing: report?.missing.length ?? 0,
        branch: report?.branch ?? null,
      }),
    ];
  }

  #announce({ raised = [] }: RunEntry): void {
    if (raised.length > 0) this.#parts.inbox.announce();
    this.#parts.announce();
  }
}

/** Undefined: the order is to the whole run. Pure. */
export function portOf(order: RunOrder): string | undefined {
  return "port" in order ? order.port : undefined;
}

/** It changes ports that go well, and nothing beside them. Pure. */
function isPlain({ change = {}, changes = [], ...rest }: RunEntry): boolean {
  const { settles = [], raised = [], closed = [], reviews = [] } = rest;
  const isMore = raised.length + closed.length + reviews.length > 0;
  const isOver = changes.some(({ status }) => status === "failed" || status === "cancelled");
  const isOfRun = Object.keys(present(change)).length > 0;
  const isSimple = settles.every(({ ports, types, except }) => ports && !types && !except);

  return !isMore && !isOver && !isOfRun && isSimple && changes.length <= BATCH;
}

function withoutAdds(change: PortChange): Partial<PlanPort> {
  const { addSpentMs: _spent, addTokensIn: _in, addTokensOut: _out, ...more } = present(change);
  const { addTokensCached: _cached, ...rest } = more;
  return rest;
}
