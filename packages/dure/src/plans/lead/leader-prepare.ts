import { isRunOver } from "../../kernel/plans.ts";
import type { Because } from "../../wire/plans.ts";
import type { PlanPort } from "../rows/run.ts";
import { reportOf, type LeaderParts } from "./leader-parts.ts";
import type { ValueOrCancel, OrderListener } from "./order-listener.ts";
import type { RunBook } from "./run-book.ts";
import { OF_RUN } from "./run-orders.ts";

interface PreparingParts {
  readonly book: RunBook;
  readonly listener: OrderListener;
  readonly parts: LeaderParts;
}

/** The beginning of a run: its machine is looked at, and what its ports need is made ready. */
export class LeaderPrepare {
  readonly #book: RunBook;
  readonly #listener: OrderListener;
  readonly #parts: LeaderParts;

  constructor({ book, listener, parts }: PreparingParts) {
    this.#book = book;
    this.#listener = listener;
    this.#parts = parts;
  }

  /** Undefined: nothing is to be done. */
  async prepare(signal: AbortSignal): Promise<{ maxConcurrency: number } | undefined> {
    const isOver = isRunOver(this.#book.run.status);
    await this.#announceStart();
    // Nothing begins any more.
    if (this.#book.run.status === "cancelling") return { maxConcurrency: 1 };

    const prepare = (stop: AbortSignal): ReturnType<LeaderParts["prepare"]> =>
      this.#parts.prepare(this.#book.run, { signal: stop });
    const heard: ValueOrCancel<Awaited<ReturnType<typeof prepare>>> = isOver
      ? { value: await prepare(signal) }
      : await this.#listener.listen(prepare, signal);
    signal.throwIfAborted();
    const ports = await this.#parts.records.ports(this.#book.run.id);
    if ("cancel" in heard) {
      await this.#listener.cancelRun(heard.cancel, ports);
      return undefined;
    }
    if ("failed" in heard.value) {
      await this.#notPrepared(heard.value.failed, ports, isOver);
      return undefined;
    }
    await this.#book.reloadRun();

    return heard.value;
  }

  /** The run begins, or goes on on a machine that is back. */
  async #announceStart(): Promise<void> {
    const { status, statusBefore } = this.#book.run;
    if (status === "waiting_host") {
      await this.#book.write({
        change: { status: statusBefore ?? "running" },
        events: [this.#book.event("run.resume", { because: "its machine is back" })],
        settles: [{ ports: [OF_RUN], types: ["blocked"] }],
      });
    }
    const { run } = this.#book;
    if (run.status === "cancelling") return;
    if (run.phase !== "preparing" || run.startCommit !== null) return;
    const { name, ports } = run.plan;
    await this.#book.write({
      change: { status: run.status },
      events: [this.#book.event("run.start", { name, ports: ports.length })],
    });
  }

  /** What a run has come to is not undone by an order that cannot be carried out. */
  async #notPrepared(because: Because, ports: readonly PlanPort[], isOver: boolean): Promise<void> {
    await this.#book.refuseOrders(because.code, because.message);
    if (isOver) return;
    const report = reportOf(ports, because);
    await this.#book.end({ status: "failed", phase: "over", because, report });
  }
}
