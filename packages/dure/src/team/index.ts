// The door `dure/team`: teams of services, their rooms, jobs and plans.

// Exchanges between agents that are functions, without engine and database
export { exchangeInMemory, MemoryJobs } from "../jobs/memory-exchange.ts";
export type { MemoryAgent, MemoryJobsOptions, MemoryTurn } from "../jobs/memory-exchange.ts";
export type { JobLimits } from "../jobs/limits.ts";

// Workers of a kind of your own
export { runWorker } from "../plans/workers/worker-run.ts";
export type { WorkerReport } from "../plans/workers/worker-run.ts";
export type { Assignment, Worker, WorkerEvent, WorkerResult } from "../plans/workers/worker.ts";
