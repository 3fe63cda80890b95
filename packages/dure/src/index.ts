// Everything that a user of dure may import; what is not named here is ours to change.

// Services: one conversational application
export { defineService, flow } from "./engine/service.ts";
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
} from "./engine/service.ts";
export type {
  AgentCallOptions,
  AgentOutcome,
  EffectCallOptions,
  EffectOutcome,
  EscalationAnswer,
  TurnContext,
} from "./engine/turn-context.ts";
export { loadService } from "./engine/load-service.ts";
export { ServiceBuilder } from "./engine/service-builder.ts";
export type { AgentClass, AgentParts, AgentSpec } from "./engine/service-builder.ts";

// Agents and their tools
export {
  AgentResult,
  chatAgent,
  conversationalAgent,
  customAgent,
  defineAgent,
} from "./engine/agent.ts";
export type { Agent, AgentOptions, Retriever, Validator } from "./engine/agent.ts";
export type { AgentContext } from "./engine/agent-context.ts";
export { NotSentError, tool } from "./engine/tool.ts";
export { calculator, clock, webFetch } from "./engine/builtin-tools.ts";
export { teamTools } from "./engine/team-tools.ts";
export type { TeamToolName } from "./engine/team-tools.ts";
export type {
  EffectKind,
  ProbeAnswer,
  Tool,
  ToolCall,
  ToolContext,
  ToolOptions,
} from "./engine/tool.ts";
export type { BudgetLimitInput, CardInput, LlmInput } from "./models/card.ts";

// State, slots and memory
export { defineState, StateManager } from "./engine/state.ts";
export type { SlotDescription, StageMachine, StateDefinition } from "./engine/state.ts";
export type { Memory, MemoryEntry, MemoryOptions } from "./engine/memory.ts";

// Helpers for flow handlers
export {
  done,
  resetState,
  runAgent,
  streamAgentTurn,
  taskProgress,
  updateMemory,
} from "./engine/handler-helpers.ts";

// Several services behind one name
export { combineServices, keywordRouter, modelRouter } from "./engine/combine.ts";
export type {
  AnyService,
  CombinedService,
  LeafService,
  RouteOptions,
  ServiceRouter,
} from "./engine/combine.ts";
export { remoteService } from "./engine/remote-service.ts";
export type { RemoteService } from "./engine/remote-service.ts";

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

// Teams: services that run together
export { defineTeam } from "./team/define-team.ts";
export { loadTeam, readTeam } from "./team/config.ts";
export type { LoadedTeam, TeamOptions } from "./team/config.ts";
export { readEnvironment } from "./team/environment.ts";
export type { Environment } from "./team/environment.ts";
export { startTeam } from "./team/start.ts";
export type { RunningTeam, StartTeamOptions } from "./team/start.ts";

// Rooms: places where agents and people talk
export { discord, web } from "./team/rooms.ts";
export { ChannelError } from "./rooms/channel-adapter.ts";
export type {
  AccountState,
  Attachment,
  ChannelAccount,
  ChannelAdapter,
  ChannelFailure,
  ChannelFinding,
  ChannelLimits,
  ChannelPort,
  FoundOnPlatform,
  InboundAuthor,
  InboundMessage,
  OutgoingPost,
  OutgoingThread,
  PlaceAddress,
  PlaceChange,
} from "./rooms/channel-adapter.ts";
export type {
  CollaborateCall,
  CollaborateCaller,
  CollaborateCode,
  CollaborateResult,
} from "./rooms/collaborate-call.ts";
export type { Directory, RoomAgent, RoomChannel } from "./rooms/directory.ts";
export type { Place, PlaceState } from "./rooms/place.ts";
export type { RoomPerson } from "./rooms/room-person.ts";
export type { Rooms } from "./rooms/rooms.ts";

// Escalations: what waits for a decision
export type {
  Answerer,
  EscalationFilter,
  EscalationMatch,
  EscalationPage,
  Inbox,
  RaisedEscalation,
  ResolvedListener,
} from "./escalations/inbox.ts";
export type {
  Escalation,
  EscalationSeverity,
  EscalationSource,
  EscalationStatus,
  EscalationStep,
  EscalationType,
  NewEscalation,
  SuggestedAction,
} from "./kernel/escalation.ts";

// Jobs: exchanges between agents
export type { Job, JobOutcome, JobStatus, JobTurn, JobWords } from "./jobs/job.ts";
export type { AskRequest, AskResult } from "./jobs/ask.ts";
export type { JobDetail, JobFrame, Jobs, RecoveryReport } from "./jobs/jobs.ts";
export type { JobPayload } from "./jobs/payloads.ts";

// What a running team says and is asked
export type {
  AcceptedTurn,
  AcceptOptions,
  Caller,
  CompletedEntry,
  Conversations,
  SessionDetail,
  TurnHandle,
  TurnRequest,
  Viewer,
} from "./engine/api.ts";
export type {
  Done,
  NextAction,
  TaskProgress,
  TurnError,
  TurnEvent,
  UiHint,
} from "./kernel/turn-events.ts";

// Small things that everything speaks of
export { DureError } from "./kernel/errors.ts";
export type { DureErrorOptions, ErrorClass } from "./kernel/errors.ts";
export type { Clock } from "./kernel/clock.ts";
export type { Duration } from "./kernel/duration.ts";
export type { Json, JsonObject } from "./kernel/json.ts";
export { silentLogger } from "./kernel/logger.ts";
export type { Logger } from "./kernel/logger.ts";
