import { approvalStage } from "./approval-stage.ts";
import { hookStage } from "./hook-stage.ts";
import { jobStage } from "./job-stage.ts";
import { roomStage } from "./room-stage.ts";
import { runStage } from "./run-stage.ts";
import type { StageOf } from "./stage.ts";
import { workerStage } from "./worker-stage.ts";

/** Where an outage begins, and the work around it. */
export const STAGES = {
  turn: roomStage,
  tool: roomStage,
  "hand-over": roomStage,
  outbox: roomStage,
  "open question": approvalStage,
  yes: approvalStage,
  "call of a yes": approvalStage,
  hook: hookStage,
  "job turn": jobStage,
  "tool of a job": jobStage,
  "port step": runStage,
  worker: workerStage,
  merge: runStage,
} as const satisfies Readonly<Record<string, StageOf>>;
export type Place = keyof typeof STAGES;
