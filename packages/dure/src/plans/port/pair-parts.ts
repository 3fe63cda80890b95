import type { Confinement } from "../sandbox/sandbox.ts";
import type { Database } from "../../durable/database.ts";
import type { Notifications } from "../../durable/notify.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Mutex } from "../../kernel/mutex.ts";
import type { MemberPlace } from "../agents/member-home.ts";
import type { Port, WorkerSpec } from "../plan.ts";
import type { Worker } from "../workers/worker.ts";
import type { Briefing, BriefingRequest } from "../assign/brief.ts";
import type { TokenMeter } from "../assign/token-meter.ts";
import type { DirectChannel } from "../rows/channel.ts";
import type { RunModules } from "./modules.ts";
import type { PortAccount } from "./port-account.ts";
import type { PortFiles } from "./port-files.ts";
import type { PortSteps } from "./port-steps.ts";
import type { PlanRun, PlanStep } from "../rows/run.ts";
import type { StepLogParts } from "../rows/step-log.ts";
import type { OwnTries, TryBy } from "./tries.ts";

/** What the work on every port of a run needs. */
export interface PairParts extends StepLogParts {
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly files: (port: Port) => Promise<PortFiles>;
  readonly worker: (spec: WorkerSpec) => Worker;
  /** From the files of a commit. */
  readonly brief: (request: BriefingRequest, commit: string) => Promise<Briefing>;
  /** Variables of a worker of this port; complete. */
  readonly environment: (
    port: Port,
    spec: WorkerSpec | undefined,
    place: MemberPlace,
    step: PlanStep,
  ) => Readonly<Record<string, string>>;
  /** What a worker may write or see beside the tree, because the plan says so. */
  readonly surroundings: (spec: WorkerSpec) => Pick<Confinement, "writable" | "shown">;
  /** At most one orchestrator works at a time. */
  readonly orchestratorTurn: Mutex;
  readonly modules: RunModules;
  /** Of the whole run. */
  readonly tokens: TokenMeter;
  /** How long such a step takes, milliseconds; undefined: it is not known. */
  readonly typicalMs: (step: PlanStep) => Promise<number | undefined>;
  /** See `WorkerSignsOptions`. */
  readonly stalledMs?: number | undefined;
}

/** One port while it is worked on. */
export interface PortWork {
  readonly run: PlanRun;
  readonly port: Port;
  readonly parts: PairParts;
  readonly account: PortAccount;
  readonly files: PortFiles;
  readonly channel: DirectChannel;
  readonly steps: PortSteps;
  /** Aborts when the run stops, and when the port's time is over. */
  readonly signal: AbortSignal;
}

/** One try of a port. */
export interface Try {
  /** 1-based over all tries. */
  readonly number: number;
  readonly most: number;
  readonly by: TryBy;
  /** As its workers count; what their prompts say. */
  readonly own: OwnTries;
}
