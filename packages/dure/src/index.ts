// The door `dure`: services, agents and tools. Beside it stand `dure/team`, `dure/channels`,
// `dure/slots`, `dure/client` and `dure/compat`. What no door names is ours to change.

// Services: one conversational application
export { defineService, flow } from "./engine/service/service.ts";
export type {
  BusyPolicy,
  CompletedSelector,
  DonePayload,
  ErrorFacts,
  FlowHandler,
  HookContext,
  HookHandler,
  Service,
  ServiceOptions,
  SessionOptions,
} from "./engine/service/service.ts";
export type {
  AgentCallOptions,
  AgentOutcome,
  EffectCallOptions,
  EffectOutcome,
  EscalationAnswer,
  TurnContext,
} from "./engine/turn/turn-context.ts";
export type {
  Answering,
  AskingAction,
  Question,
  QuestionDetails,
  UnansweredBecause,
} from "./engine/turn/question.ts";
export { loadService } from "./engine/files/load-service.ts";

// Agents
export {
  AgentResult,
  chatAgent,
  conversationalAgent,
  customAgent,
  defineAgent,
} from "./engine/agent/agent.ts";
export type {
  Agent,
  AgentOptions,
  PromptsByLanguage,
  Retriever,
  Validator,
} from "./engine/agent/agent.ts";
export type { AgentContext, CustomModelRequest } from "./engine/agent/agent-context.ts";
export type { BudgetLimitInput, CardInput, LlmInput, OneModel, OwnModel } from "./models/card.ts";
export type { ModelObject } from "./models/model-object.ts";
export type { ModelSettings } from "./models/asking.ts";
export type { Reasoning } from "./models/reasoning.ts";
export type { LlmRef, ProviderName } from "./models/model.ts";

// Tools
export { fileResult } from "./engine/agent/file-result.ts";
export type { FileResult, GivenFile } from "./engine/agent/file-result.ts";
export { NotSentError, tool } from "./engine/agent/tool.ts";
export type {
  EffectKind,
  ProbeAnswer,
  Tool,
  ToolCall,
  ToolContext,
  ToolOptions,
} from "./engine/agent/tool.ts";
export type { GivenSchemas, InputSchema } from "./engine/agent/input-schema.ts";
export { calculator, clockTool, webFetch } from "./engine/agent/builtin-tools.ts";
export { openapiTools } from "./engine/openapi/openapi-tools.ts";
export type { Approvals, OpenApiAuth, OpenApiOptions } from "./engine/openapi/openapi-tools.ts";
export type { LeftOutOperation } from "./engine/openapi/operations.ts";
export { teamTools } from "./engine/agent/team-tools.ts";
export type { TeamToolName } from "./engine/agent/team-tools.ts";

// State, slots and memory
export { defineState, StateManager } from "./engine/turn/state.ts";
export type { SlotDescription, StageMachine, StateDefinition } from "./engine/turn/state.ts";
export type { Memory, MemoryEntry, MemoryOptions, SummaryPrompts } from "./engine/agent/memory.ts";

// Several services behind one name
export { combineServices, keywordRouter, modelRouter } from "./engine/service/combine.ts";
export type {
  AnyService,
  CombinedService,
  LeafService,
  RouteOptions,
  ServiceRouter,
} from "./engine/service/combine.ts";
export { remoteService } from "./engine/remote/remote-service.ts";
export type { RemoteService } from "./engine/remote/remote-service.ts";

// Models that are functions
export { offlineModel } from "./models/offline.ts";
export type {
  OfflineAnswer,
  OfflineContext,
  OfflineModel,
  OfflineReply,
  OfflineRespond,
} from "./models/offline.ts";
export type { ModelAnswer, ModelMessage, ModelRequest } from "./models/model.ts";

// What a turn says
export type { FileRef, FileType, MadeFiles } from "./kernel/files.ts";
export type {
  Done,
  NextAction,
  TaskProgress,
  ToolCallView,
  ToolDone,
  ToolStart,
  TurnError,
  TurnEvent,
  UiHint,
} from "./kernel/turn-events.ts";

// Small things that everything speaks of
export { DureError } from "./kernel/errors.ts";
export type { DureErrorOptions, ErrorClass } from "./kernel/errors.ts";
export type { Duration } from "./kernel/duration.ts";
export type { Json, JsonObject } from "./kernel/json.ts";
