import { setTimeout as sleep } from "node:timers/promises";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { z } from "zod";
import { Faults, faultSchema, type Fault, type FaultInput, type PlannedFaults } from "./faults.ts";
import { Ledger, type Accounts, type Booking } from "./ledger.ts";

/**
 * The bank of the example: a small real HTTP service that books a transfer once per
 * `Idempotency-Key` and can be told to misbehave. Source: docs/spec/conversation §8.
 *
 * - `POST /transfers` `{to, amount, memo?, date?}` with `Idempotency-Key` → 201
 *   `{transaction_id, status: "booked"}`, the same answer for the same key; 422 `{code, message}`
 *   is a refusal, 400 a request that is not understood
 * - `POST /previews` `{to, amount}` → 200 `{possible: true, balance, limit}`, or `{possible: false,
 *   code, balance, limit}` with the refusal that the transfer would get now; books nothing
 * - `GET /transfers/{key}` → 200 with the booking, or 404
 * - `GET /transfers` → an array of all bookings, oldest first
 * - `GET /` → who this is and which file it keeps
 * - `POST /faults` adds one fault or a list, `GET /faults` shows what still stands,
 *   `DELETE /faults` removes all
 */
export interface Bank {
  /** `http://127.0.0.1:<listen>`, without a slash at the end. */
  readonly url: string;
  bookings(): readonly Booking[];
  /** What others do meanwhile: money is withdrawn, an account is closed. */
  changeAccounts(changed: Accounts): void;
  addFaults(...faults: readonly FaultInput[]): void;
  faults(): readonly Fault[];
  /** Milliseconds since the last request. */
  idleMs(): number;
  /**
   * Closes the door and every connection; a request that is waiting in an injected delay is not
   * booked any more.
   */
  stop(): Promise<void>;
}

export interface BankOptions {
  /** The TCP port to listen on, loopback only. Default 0: any free one. */
  readonly port?: number;
  readonly accounts?: Accounts;
  /** Answers are appended here and synced before they are given; without it they live in memory. */
  readonly file?: string | undefined;
  readonly faults?: readonly FaultInput[];
}

export async function startBank({
  port = 0,
  accounts,
  file,
  faults: initial = [],
}: BankOptions = {}): Promise<Bank> {
  const faults = new Faults(initial);
  const stopping = new AbortController();
  const app = fastify({ forceCloseConnections: true, bodyLimit: 64 * 1024 });

  let askedAt = performance.now();
  const opened = Promise.withResolvers<Ledger>();
  app.addHook("onRequest", async () => {
    askedAt = performance.now();
  });
  app.get("/", () => ({ service: "example-bank", file: file ?? null, pid: process.pid }));
  addTransferRoutes(app, opened.promise, faults, stopping.signal);
  addPreviewRoute(app, opened.promise, faults, stopping.signal);
  addFaultRoutes(app, faults);
  app.setNotFoundHandler((_request, reply) =>
    problem(reply, 404, "NO_SUCH_ADDRESS", "There is nothing at this address."),
  );
  app.setErrorHandler((error, _request, reply) => {
    const status = (error as { statusCode?: number }).statusCode ?? 500;
    return problem(
      reply,
      status,
      status < 500 ? "INVALID_REQUEST" : "INTERNAL",
      error instanceof Error ? error.message : String(error),
    );
  });

  // The port first: who does not get it must not touch the file, which is another bank's.
  const url = await app.listen({ host: "127.0.0.1", port });
  const ledger = await openLedger({ accounts, file }).catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  opened.resolve(ledger);
  let stopped: Promise<void> | undefined;
  return {
    url,
    bookings: () => ledger.bookings(),
    changeAccounts: (changed) => ledger.changeAccounts(changed),
    addFaults: (...added) => faults.add(added),
    faults: () => faults.list(),
    idleMs: () => performance.now() - askedAt,
    stop: () => {
      stopping.abort();
      return (stopped ??= app.close().then(() => ledger.close()));
    },
  };
}

async function openLedger(options: ConstructorParameters<typeof Ledger>[0]): Promise<Ledger> {
  return new Ledger(options);
}

const orderSchema = z.strictObject({
  to: z.string().trim().min(1).max(100),
  /** Whole won. */
  amount: z.int().min(1),
  memo: z.string().max(100).optional(),
  date: z.iso.date("date must be a day of the calendar, YYYY-MM-DD").optional(),
});

/** Visible ASCII, as long as the header may be. Source: docs/spec/conversation §6. */
const keySchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, "Idempotency-Key must be 1 to 255 visible ASCII characters");

function addTransferRoutes(
  app: FastifyInstance,
  opened: Promise<Ledger>,
  faults: Faults,
  stopping: AbortSignal,
): void {
  app.post("/transfers", async (request, reply) => {
    const key = keySchema.safeParse(request.headers["idempotency-key"]);
    if (!key.success) return problem(reply, 400, "INVALID_REQUEST", issueOf(key.error));
    const order = orderSchema.safeParse(request.body);
    if (!order.success) return problem(reply, 400, "INVALID_REQUEST", issueOf(order.error));

    const plan = faults.take("transfer");
    if (!(await waited(plan.delayBefore, stopping))) return cut(reply);
    if (plan.before === "cut") return cut(reply);
    if (plan.before !== "pass") {
      return problem(reply, plan.before, "INJECTED", "Injected before the booking.");
    }

    const ledger = await opened;
    const answer = ledger.order(key.data, order.data, { ignoreKey: plan.ignoreKeys });

    if (!(await waited(plan.delayAfter, stopping))) return cut(reply);
    if (plan.after === "cut") return cut(reply);
    if (plan.after !== "pass") {
      return problem(reply, plan.after, "INJECTED", "Injected after the booking.");
    }
    switch (answer.kind) {
      case "booked":
        return reply
          .code(201)
          .send({ transaction_id: answer.booking.transaction_id, status: answer.booking.status });
      case "refused":
        return problem(reply, 422, answer.refusal.code, answer.refusal.message);
      case "key-reused":
        return problem(
          reply,
          422,
          "KEY_REUSED",
          "This Idempotency-Key belongs to another transfer.",
        );
    }
    return answer satisfies never;
  });

  app.get("/transfers/:key", async (request, reply) => {
    const { key } = request.params as { key: string };
    const end = await endOfRead(faults.take("probe"), stopping);
    if (end === "cut") return cut(reply);
    if (end !== "pass") return problem(reply, end, "INJECTED", "Injected into the probe.");

    const booking = (await opened).find(key);
    return booking
      ? reply.send(booking)
      : problem(reply, 404, "NOT_FOUND", `Nothing is booked under ${key}.`);
  });

  app.get("/transfers", async () => (await opened).bookings());
}

const previewSchema = orderSchema.pick({ to: true, amount: true });

function addPreviewRoute(
  app: FastifyInstance,
  opened: Promise<Ledger>,
  faults: Faults,
  stopping: AbortSignal,
): void {
  app.post("/previews", async (request, reply) => {
    const order = previewSchema.safeParse(request.body);
    if (!order.success) return problem(reply, 400, "INVALID_REQUEST", issueOf(order.error));
    const end = await endOfRead(faults.take("preview"), stopping);
    if (end === "cut") return cut(reply);
    if (end !== "pass") return problem(reply, end, "INJECTED", "Injected into the preview.");

    const { refusal, balance, limit } = (await opened).preview(order.data);
    return reply.send(
      refusal
        ? { possible: false, code: refusal.code, balance, limit }
        : { possible: true, balance, limit },
    );
  });
}

/** What the faults make of a request that only reads: before and after are one. */
async function endOfRead(
  { delayBefore, delayAfter, before, after }: PlannedFaults,
  stopping: AbortSignal,
): Promise<"pass" | "cut" | number> {
  const isInTime = await waited(delayBefore + delayAfter, stopping);
  if (!isInTime || before === "cut" || after === "cut") return "cut";
  return before === "pass" ? after : before;
}

function addFaultRoutes(app: FastifyInstance, faults: Faults): void {
  app.post("/faults", async (request, reply) => {
    const read = z.union([faultSchema, z.array(faultSchema)]).safeParse(request.body);
    if (!read.success) return problem(reply, 400, "INVALID_REQUEST", issueOf(read.error));
    faults.add([read.data].flat());
    return reply.code(201).send({ faults: faults.list() });
  });
  app.get("/faults", () => ({ faults: faults.list() }));
  app.delete("/faults", async (_request, reply) => {
    faults.clear();
    return reply.code(204).send();
  });
}

function problem(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  return reply.code(status).send({ code, message });
}

/** The connection ends without a byte of an answer. */
function cut(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.socket?.destroy();
  return reply;
}

/**
 * Waits `ms`; false when the bank stops meanwhile. A caller that goes away changes nothing: the
 * request has arrived.
 */
async function waited(ms: number, stopping: AbortSignal): Promise<boolean> {
  if (ms === 0) return !stopping.aborted;
  return sleep(ms, true, { signal: stopping }).catch(() => false);
}

function issueOf(error: z.ZodError): string {
  return error.issues
    .map(({ path, message }) => (path.length > 0 ? `${path.join(".")}: ${message}` : message))
    .join("; ");
}
