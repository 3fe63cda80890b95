import { z } from "zod";

/**
 * Which requests a fault hits: `POST /transfers`, the probe `GET /transfers/{key}`, or the look
 * `POST /previews` (of these two before and after are one).
 */
export const FAULT_PLACES = ["transfer", "probe", "preview"] as const;
export type FaultPlace = (typeof FAULT_PLACES)[number];

/**
 * What may be made to go wrong. `when` is seen from the booking: a cut `after` has booked and does not
 * answer. Source: docs/spec/conversation §8.
 */
export const faultSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("delay"),
    when: z.enum(["before", "after"]),
    ms: z.int().min(0).max(600_000),
    ...where(),
  }),
  z.strictObject({
    kind: z.literal("status"),
    when: z.enum(["before", "after"]),
    status: z.int().min(500).max(599).default(503),
    ...where(),
  }),
  z.strictObject({ kind: z.literal("cut"), when: z.enum(["before", "after"]), ...where() }),
  z.strictObject({ kind: z.literal("ignore_keys"), times: times() }),
]);
export type Fault = z.output<typeof faultSchema>;
export type FaultInput = z.input<typeof faultSchema>;

export interface PlannedFaults {
  readonly delayBefore: number;
  readonly delayAfter: number;
  readonly before: "pass" | "cut" | number;
  readonly after: "pass" | "cut" | number;
  readonly ignoreKeys: boolean;
}

/** The faults that still stand; each request takes one use of everything that applies to it. */
export class Faults {
  #standing: Fault[] = [];

  constructor(faults: readonly FaultInput[] = []) {
    this.add(faults);
  }

  add(faults: readonly FaultInput[]): void {
    this.#standing.push(...faults.map((fault) => faultSchema.parse(fault)));
  }

  list(): readonly Fault[] {
    return [...this.#standing];
  }

  clear(): void {
    this.#standing = [];
  }

  /**
   * What happens to one request. Of two faults of the same kind and moment the older one is used
   * first.
   */
  take(place: FaultPlace): PlannedFaults {
    const used = new Map<string, Fault>();
    for (const fault of this.#standing) {
      const hit = fault.kind === "ignore_keys" ? "transfer" : fault.on;
      if (hit !== place) continue;
      const moment =
        fault.kind === "ignore_keys"
          ? "ignore_keys"
          : `${fault.kind === "delay" ? "delay" : "end"}-${fault.when}`;
      if (!used.has(moment)) used.set(moment, fault);
    }
    const taken = new Set(used.values());
    this.#standing = this.#standing.flatMap((fault) =>
      taken.has(fault) ? oneUseLess(fault) : [fault],
    );

    const end = (moment: string): "pass" | "cut" | number => {
      const fault = used.get(moment);
      return fault?.kind === "status" ? fault.status : fault?.kind === "cut" ? "cut" : "pass";
    };
    const delay = (moment: string): number => {
      const fault = used.get(moment);
      return fault?.kind === "delay" ? fault.ms : 0;
    };
    return {
      delayBefore: delay("delay-before"),
      delayAfter: delay("delay-after"),
      before: end("end-before"),
      after: end("end-after"),
      ignoreKeys: used.has("ignore_keys"),
    };
  }
}

function oneUseLess(fault: Fault): Fault[] {
  if (fault.times === "always") return [fault];
  return fault.times > 1 ? [{ ...fault, times: fault.times - 1 }] : [];
}

/** A fault is used once unless it says how often, or `always`. */
function times() {
  return z.union([z.int().min(1), z.literal("always")]).default(1);
}

function where() {
  return { times: times(), on: z.enum(FAULT_PLACES).default("transfer") };
}
