import type { FailureVerdict, GivenUp, OutsideHandler } from "../durable/outbox-handler.ts";
import { storable } from "../durable/storable.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError, type ErrorClass } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import type { WebHandler } from "../server/web-handler.ts";
import { carryOut } from "../webhooks/carry-out.ts";
import { deliveryKey } from "../webhooks/hook-deed.ts";
import { END } from "./schedule-rows.ts";
import { momentWords, type TakenMoment } from "./schedule.ts";

/** Messages of a room are remembered for 24 h: later it could be said twice. */
const BEGUN_WITHIN_MS = 20 * 3_600_000;
/** Nine pauses of 1 to 256 s: 8.5 minutes in all, and up to 20 % more. */
const POLICY = { attempts: 10, firstRetryMs: 1_000, timeoutMs: 30_000 };

/** Does what a moment is for, once: each attempt has the same key. */
export function firingHandler({ web, clock }: { web: WebHandler; clock: Clock }): OutsideHandler {
  return {
    policy: POLICY,
    send: async (payload, { key, signal }) => {
      const moment = payload as unknown as TakenMoment;
      const { name, tenant, deed, due } = moment;
      if (clock.now() - due > BEGUN_WITHIN_MS) throw tooLate(moment);

      const who = { tenant, name: `schedule:${name}`, person: `schedule ${name}` };
      const carried = { who, deed, key: deliveryKey(key), payload: momentWords(moment), signal };

      return (await carryOut(carried, web)) as Json;
    },
    classify: verdictOf,
    onSent: async ({ key, result }, tx) => {
      await tx.query(END, [key, "done", storable(result), null]);
    },
    onGivenUp: async (given, tx) => {
      await tx.query(END, [given.key, given.outcome, null, errorOf(given)]);
    },
  };
}

function tooLate({ name }: TakenMoment): DureError {
  return new DureError("SCHEDULE_TOO_LATE", `What ${name} began is too long ago.`, {
    class: "conflict",
    hint: "Look whether it was done, and run it by hand.",
  });
}

/** The next attempt would be told the same. */
const REFUSED: ReadonlySet<ErrorClass> = new Set([
  "input",
  "not-found",
  "conflict",
  "forbidden",
  "unauthorized",
]);

/** Pure. */
function verdictOf(error: unknown): FailureVerdict | undefined {
  if (!(error instanceof DureError)) return undefined;
  if (REFUSED.has(error.class)) return { class: "permanent", notSent: true };

  const afterMs = error.details?.["retryAfterMs"];
  return { class: "transient", afterMs: typeof afterMs === "number" ? afterMs : undefined };
}

function errorOf({ error }: GivenUp): string {
  return codeOf(error) ?? "INTERNAL";
}
