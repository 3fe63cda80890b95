/**
 * The bank of a chaos run, a process of its own: `node bank.ts --file bookings.ndjson`. It speaks
 * as the bank of the example does (docs/spec/conversation §8), and counts what it was asked.
 *
 * - `POST /transfers`, `GET /transfers/{key}`: book and probe; `POST /faults`: what the next of
 *   them suffers
 * - `GET /report`: all bookings, and how many keys were honoured and probes answered
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { parseArgs } from "node:util";
import { z } from "zod";
import { Ledger } from "../examples/transfer/bank/ledger.ts";
import { Faults, faultSchema, type PlannedFaults } from "../examples/transfer/bank/faults.ts";
import { pause, say, sendJson, serveDouble } from "./double.ts";

const { values } = parseArgs({ options: { file: { type: "string" } } });
const ledger = new Ledger({ file: values.file, accounts: { balance: Number.MAX_SAFE_INTEGER } });
const faults = new Faults();
const counts = { orders: 0, keysHonoured: 0, probes: 0, faults: 0 };

const orderSchema = z.object({
  to: z.string(),
  amount: z.int(),
  memo: z.string().optional(),
  date: z.string().optional(),
});

await serveDouble(async (request, response, body) => {
  const path = request.url ?? "";
  if (path === "/report") {
    return sendJson(response, 200, { bookings: ledger.bookings(), ...counts });
  }
  if (path === "/faults") {
    faults.add([faultSchema.parse(JSON.parse(body))]);
    return sendJson(response, 201, {});
  }
  if (request.method === "POST" && path === "/transfers") return order(request, response, body);
  if (path.startsWith("/transfers/")) {
    return probe(decodeURIComponent(path.slice("/transfers/".length)), response);
  }
  sendJson(response, 404, {
    code: "NO_SUCH_ADDRESS",
    message: "There is nothing at this address.",
  });
});

async function order(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
): Promise<void> {
  const key = String(request.headers["idempotency-key"]);
  const transfer = orderSchema.parse(JSON.parse(body));
  counts.orders += 1;
  const plan = faults.take("transfer");
  say(`order ${transfer.memo} under ${key}${told(plan)}`);
  await pause(plan.delayBefore);
  if (plan.before !== "pass") return fail(response, plan.before);

  const isKnown = ledger.find(key) !== undefined;
  const answer = ledger.order(key, transfer, { ignoreKey: plan.ignoreKeys });
  if (isKnown) counts.keysHonoured += 1;
  say(`order ${transfer.memo} under ${key}: ${answer.kind}${isKnown ? ", known" : ""}`);

  await pause(plan.delayAfter);
  if (plan.after !== "pass") return fail(response, plan.after);
  if (answer.kind === "booked") {
    return sendJson(response, 201, {
      transaction_id: answer.booking.transaction_id,
      status: "booked",
    });
  }
  sendJson(
    response,
    422,
    answer.kind === "refused"
      ? answer.refusal
      : { code: "KEY_REUSED", message: "This key belongs to another transfer." },
  );
}

async function probe(key: string, response: ServerResponse): Promise<void> {
  counts.probes += 1;
  const plan = faults.take("probe");
  const booking = ledger.find(key);
  say(`probe of ${key}: ${booking ? "booked" : "nothing"}${told(plan)}`);
  await pause(plan.delayBefore + plan.delayAfter);
  const end = plan.before === "pass" ? plan.after : plan.before;
  if (end !== "pass") return fail(response, end);
  if (booking) return sendJson(response, 200, booking);
  sendJson(response, 404, { code: "NOT_FOUND", message: `Nothing is booked under ${key}.` });
}

function fail(response: ServerResponse, end: "cut" | number): void {
  if (end === "cut") return void response.socket?.destroy();
  sendJson(response, end, { code: "INJECTED", message: "Injected." });
}

function told(plan: PlannedFaults): string {
  const isPlain =
    plan.before === "pass" &&
    plan.after === "pass" &&
    plan.delayBefore === 0 &&
    plan.delayAfter === 0;
  if (isPlain) return "";
  counts.faults += 1;
  return `; fault ${JSON.stringify(plan)}`;
}
