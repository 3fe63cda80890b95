// The door `dure/team`: services that run together, with their rooms, jobs and plans.

// Teams
export { defineTeam } from "./define-team.ts";
export { loadTeam, readTeam } from "./config.ts";
export type { LoadedTeam, TeamOptions } from "./config.ts";
export { readEnvironment } from "./environment.ts";
export type { Environment } from "./environment.ts";
export { startTeam } from "./start.ts";
export type { EmbeddedTeam, RunningTeam, StartTeamOptions } from "./start.ts";
export type { Clock } from "../kernel/clock.ts";
export { silentLogger } from "../kernel/logger.ts";
export type { Logger } from "../kernel/logger.ts";

// Evaluations: conversations that are played with the team
export { defineEval } from "./evals/eval-file.ts";
export type { EvalCheck, EvalOptions } from "./evals/eval-file.ts";
export type { HeardCall, HeardTurn } from "./evals/expectation.ts";

// Conversations: what a running team is asked
export type {
  AcceptedTurn,
  AcceptOptions,
  Caller,
  Conversations,
  SessionDetail,
  TurnHandle,
  TurnRequest,
  Viewer,
} from "../engine/api.ts";

// Rooms: places where agents and people talk
export type {
  CollaborateCall,
  CollaborateCaller,
  CollaborateResult,
} from "../rooms/handover/collaborate-call.ts";
export type { Directory, RoomAgent, RoomChannel } from "../rooms/directory.ts";
export type { PlaceState, CollaborateCode } from "../kernel/rooms.ts";
export type { Place } from "../rooms/place.ts";
export type { RoomPerson } from "../rooms/look/room-person.ts";
export type { Rooms } from "../rooms/rooms.ts";

// Escalations: what waits for a decision
export type { Escalation } from "../wire/escalations.ts";
export type {
  Answerer,
  EscalationFilter,
  EscalationMatch,
  EscalationPage,
  Inbox,
  RaisedEscalation,
  ResolvedListener,
} from "../escalations/inbox.ts";
export type {
  EscalationSeverity,
  EscalationSource,
  EscalationStatus,
  EscalationStep,
  EscalationType,
  NewEscalation,
  SuggestedAction,
} from "../kernel/escalation.ts";

// Files of conversations
export { bucketStore } from "../durable/files/bucket-store.ts";
export type { BucketOptions } from "../durable/files/bucket-store.ts";
export type { ByteStore, ByteStoreOptions } from "../durable/files/byte-store.ts";

// Jobs: exchanges between agents
export type { JobTurn, JobWords } from "../wire/jobs.ts";
export type { JobOutcome, JobStatus } from "../kernel/jobs.ts";
export type { Job, JobDetail } from "../jobs/job.ts";
export type { AskRequest, AskResult } from "../jobs/ask.ts";
export type { JobFrame } from "../jobs/job-stream.ts";
export type { Jobs } from "../jobs/jobs.ts";
export type { RecoveryReport } from "../jobs/recovery.ts";
export type { JobPayload } from "../jobs/payloads.ts";
export { exchangeInMemory, MemoryJobs } from "../jobs/memory-exchange.ts";
export type { MemoryAgent, MemoryJobsOptions, MemoryTurn } from "../jobs/memory-exchange.ts";
export type { JobLimits } from "../jobs/limits.ts";

// Plans: graphs of work, and their runs
export { definePlan } from "../plans/plan.ts";
export type { Contract, Plan, Port, WorkerSpec } from "../plans/plan.ts";
export type { PlanInput } from "../plans/plan-schema.ts";
export { readPlan } from "../plans/plan-file.ts";
export type { PlanReading } from "../plans/plan-file.ts";
export type { Problem } from "../engine/files/load-service-document.ts";
export type { PlanChoice, PlanLibrary, PlanView } from "../plans/runs/plan-library.ts";
export type { PlanFile, PlanSource } from "../plans/runs/plan-files.ts";
export type { Runs } from "../plans/runs/runs.ts";
export type { PortDetail, RunDetail, RunFilter, RunFrame } from "../plans/runs/run-queries.ts";
export type { PlanRunStatus, RunPhase } from "../kernel/plans.ts";
export type { PlanPort, PlanRun, PlanStep, RunOrder } from "../plans/rows/run.ts";

// Workers of a kind of your own
export { runWorker } from "../plans/workers/worker-run.ts";
export type { OpenWorker, OwnWorkers } from "../plans/workers/open-worker.ts";
export type { WorkerReport } from "../plans/workers/worker-run.ts";
export type { Assignment, Worker, WorkerEvent, WorkerResult } from "../plans/workers/worker.ts";
export type { Because, RunMode } from "../wire/plans.ts";
export type { RunReport } from "../wire/runs.ts";
export type { CompletedEntry } from "../wire/turns.ts";
