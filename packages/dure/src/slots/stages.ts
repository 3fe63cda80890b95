/** Where a transfer stands. Source: docs/spec/conversation §8. */
export type Stage =
  | "INIT"
  | "FILLING"
  | "READY"
  | "CONFIRMED"
  | "EXECUTED"
  | "FAILED"
  | "CANCELLED"
  | "UNSUPPORTED";

/** The stages of a form, from its beginning to its end. */
export const STAGES = [
  "INIT",
  "FILLING",
  "READY",
  "CONFIRMED",
  "EXECUTED",
  "FAILED",
  "CANCELLED",
  "UNSUPPORTED",
] as const satisfies readonly Stage[];

/**
 * Which stage may follow which; whatever is not written here is refused. Back to INIT is the reset;
 * READY to FILLING happens when a required slot was cleared or became invalid. INIT has nothing to
 * cancel.
 */
export const NEXT_STAGES = {
  INIT: ["FILLING", "READY"],
  FILLING: ["READY", "CANCELLED", "UNSUPPORTED"],
  READY: ["FILLING", "CONFIRMED", "CANCELLED"],
  CONFIRMED: ["EXECUTED", "FAILED"],
  EXECUTED: ["INIT"],
  FAILED: ["INIT"],
  CANCELLED: ["INIT"],
  UNSUPPORTED: ["INIT"],
} as const satisfies Record<Stage, readonly Stage[]>;

/** Stages in which a transfer is over: it gets an entry in `completed` and the flow is reset. */
export const TERMINAL_STAGES = [
  "EXECUTED",
  "FAILED",
  "CANCELLED",
  "UNSUPPORTED",
] as const satisfies readonly Stage[];
export type TerminalStage = (typeof TERMINAL_STAGES)[number];

export type StageMove =
  | { readonly ok: true; readonly stage: Stage }
  | { readonly ok: false; readonly code: "STAGE_NOT_ALLOWED"; readonly because: string };

/** Whether `to` may follow `from`, and if not, what may. */
export function moveStage(from: Stage, to: Stage): StageMove {
  const allowed: readonly Stage[] = NEXT_STAGES[from];
  if (allowed.includes(to)) return { ok: true, stage: to };
  return {
    ok: false,
    code: "STAGE_NOT_ALLOWED",
    because: `${to} may not follow ${from}; only ${allowed.join(", ")} may.`,
  };
}

export function isTerminal(stage: Stage): stage is TerminalStage {
  return (TERMINAL_STAGES as readonly Stage[]).includes(stage);
}
