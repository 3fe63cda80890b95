import { messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import { reportOf } from "./leader-parts.ts";
import type { RunRecords } from "../rows/records.ts";
import type { OpenOrder } from "../rows/run-changes.ts";
import type { RunBook } from "./run-book.ts";
import type { PlanPort } from "../rows/run.ts";
import { RUN_EVENTS } from "./schedule-entry.ts";

/** What work beside the scheduler came to: its own end, or an order that the run ends. */
export type ValueOrCancel<T> = { readonly value: T } | { readonly cancel: OpenOrder };

/** Receives orders while work outside the scheduler runs: contracts, the merge. */
export class OrderListener {
  readonly #options: {
    readonly book: RunBook;
    readonly records: RunRecords;
    readonly logger: Logger;
    /** Resolves with the next call of `notice`. */
    readonly wait: () => Promise<void>;
    readonly notice: () => void;
  };

  constructor(options: {
    book: RunBook;
    records: RunRecords;
    logger: Logger;
    wait: () => Promise<void>;
    notice: () => void;
  }) {
    this.#options = options;
  }

  /**
   * Runs work outside the scheduler. Meanwhile it takes pause, resume and cancel; other orders
   * wait.
   */
  async listen<T>(
    work: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<ValueOrCancel<T>> {
    const stop = new AbortController();
    let isOver = false;
    const working = work(AbortSignal.any([signal, stop.signal])).finally(() => {
      isOver = true;
      this.#options.notice();
    });
    working.catch(() => {}); // it is waited for below
    try {
      while (!isOver) {
        const orders = signal.aborted ? [] : await this.#openOrders();
        const cancel = orders.find(({ order }) => order.type === "cancel");
        if (cancel) {
          stop.abort(new DOMException("The run was cancelled.", "AbortError"));
          await working.catch(() => {});
          return { cancel };
        }
        for (const order of orders) await this.#heard(order);
        if (!isOver) await this.#options.wait();
      }
    } finally {
      stop.abort(new DOMException("It is over.", "AbortError"));
      await Promise.allSettled([working]);
    }
    return { value: await working };
  }

  /** Never rejects: orders are looked for again. */
  async #openOrders(): Promise<readonly OpenOrder[]> {
    const { records, logger } = this.#options;
    const { id } = this.#options.book.run;
    try {
      return await records.orders.open(id);
    } catch (error) {
      logger.warn(
        { run: id, error: messageOf(error) },
        `orders to ${id} could not be read; trying again`,
      );
      return [];
    }
  }

  /** A pause counts for what is to begin; what works goes on. */
  async #heard(order: OpenOrder): Promise<void> {
    const { type } = order.order;
    if (type !== "pause" && type !== "resume") return;
    const isPaused = this.#options.book.run.status === "paused";
    if (isPaused === (type === "pause")) {
      const refused = isPaused ? "already-paused" : "not-paused";
      return this.#options.book.write({ closed: [{ order, refused }] });
    }
    await this.#options.book.write({
      change: { status: type === "pause" ? "paused" : "running" },
      events: [this.#options.book.event(RUN_EVENTS[type], { by: order.by })],
      closed: [{ order }],
    });
  }

  /** The run ends here and now; what its ports have made stays theirs. */
  async cancelRun(order: OpenOrder, ports: readonly PlanPort[]): Promise<void> {
    const isOpen = ({ status }: PlanPort): boolean =>
      status === "waiting" || status === "ready" || status === "running";
    const left = ports.map((port) =>
      isOpen(port) ? { ...port, status: "cancelled" as const } : port,
    );
    const dropped = ports.filter(isOpen);
    await this.#options.book.end(
      { status: "cancelled", phase: "over", report: reportOf(left) },
      {
        changes: dropped.map(({ position }) => ({ position, status: "cancelled" })),
        events: [this.#options.book.event("run.cancel", { by: order.by })],
        closed: [{ order }],
      },
    );
  }
}
