// The door `dure/compat`: the other ways to write a service, and what reads like other frameworks.

// Services put together step by step
export { ServiceBuilder } from "./service-builder.ts";
export type { AgentClass, AgentParts, AgentSpec } from "../engine/service/assemble-service.ts";

// Helpers for flows written as generators
export {
  done,
  resetState,
  resultDict,
  runAgent,
  streamAgentTurn,
  taskProgress,
  updateMemory,
} from "./handler-helpers.ts";
export type { ResultStatus } from "./handler-helpers.ts";
