// The door `dure/client`: a server of dure, from a browser or a program.

// The client
export {
  DureClient,
  type DureClientOptions,
  type EventsOptions,
  type SendOptions,
  type TurnOptions,
} from "./client.ts";
export { type CallOptions } from "./http.ts";
export { type ReconnectOptions } from "./reconnect.ts";
export { TurnStream, type ConnectionState } from "./turn-stream.ts";
export { type TurnFrame } from "./turn-cursor.ts";

// What a page shows of a turn
export {
  EMPTY_TURN_VIEW,
  shownText,
  turnView,
  type AgentRun,
  type ToolRun,
  type TurnView,
} from "./turn-view.ts";

// Events of the platform
export {
  type EventData,
  type EventOf,
  type EventType,
  type KnownEvent,
  type PlatformEvent,
  type UnknownEvent,
} from "../wire/events.ts";

// What the routes give and take
export type {
  KnowledgeBases,
  KnowledgeDocument,
  KnowledgePassage,
  KnowledgeText,
} from "../wire/knowledge.ts";
export type {
  CompletedEntry,
  HistoryEntry,
  MessageRequest,
  ServiceInfo,
  Session,
  SessionDebug,
  SessionSummary,
  SlotInfo,
  StageMachine,
} from "../wire/turns.ts";
export { LISTED_KINDS, TRACE_STATES, type TraceStatus } from "../kernel/traces.ts";
export type {
  TracesFilter,
  WorkTraceLine,
  WorkTrace,
  WorkTraceNode,
  WorkTraceStep,
  WorkTraceTexts,
} from "../wire/traces.ts";
export type { ReplayableTurn, ReplayRequest, TurnReplay } from "../wire/replays.ts";
export type {
  AuditEntry,
  AuditFilter,
  CostBudget,
  CostPoint,
  Costs,
  CostSum,
  Me,
  NamedCost,
} from "../wire/platform.ts";
export type {
  EscalationAnswer,
  EscalationAnswered,
  EscalationsFilter,
  Escalation,
} from "../wire/escalations.ts";
export { type EventsFilter, type Page } from "./resources.ts";

// Drafts of plans
export type {
  DraftChange,
  DraftPort,
  ListedDraft,
  NewDraft,
  PlanDraft,
  PortChange,
} from "../wire/drafts.ts";

// Notifications
export { type NotificationsClient, type NotifiedBrowser } from "./notifications.ts";
export { type ToldChoice } from "../kernel/alerts.ts";
export { type NotificationChoices } from "../wire/notifications.ts";

// Rooms
export type {
  AgentDetail,
  CollaborateAnswer,
  CollaborateRequest,
  MessageRole,
  Room,
  RoomAgent,
  FoundMessage,
  RoomMessage,
  RoomPeople,
  Stopped,
  Thread,
} from "../wire/rooms.ts";
export { RoomsClient } from "./rooms.ts";
export type { FileInfo, Uploaded } from "../wire/files.ts";
export type {
  AgentEditDetail,
  AgentEditEntry,
  AgentFiles,
  AgentFileSaved,
} from "../wire/agent-files.ts";
export { AgentFilesClient } from "./agent-files.ts";

// Jobs
export type {
  AuditedJob,
  Job,
  JobAnswer,
  JobDetail,
  JobRequest,
  JobsFilter,
  JobTurn,
  JobWords,
} from "../wire/jobs.ts";
export { JobsClient, type JobNews } from "./jobs.ts";
export { KnowledgeClient } from "./knowledge.ts";

// Schedules
export type { Schedule, ScheduleFiring } from "../wire/schedules.ts";
export { SchedulesClient } from "./schedules.ts";

// Plans and their runs
export { translatorOf, type SentenceForm } from "../kernel/sentence-forms.ts";
export { reviewNeeded } from "./review-needed.ts";
export { publishTarget, type PublishTarget } from "../kernel/publish-target.ts";
export type {
  Because,
  PlanDefinition,
  PlanDrafted,
  PlanDraftRequest,
  PlanFile,
  PlanProblem,
  PlanView,
  PortDefinition,
  RunMode,
} from "../wire/plans.ts";
export type {
  ChannelMessage,
  CleanRequest,
  CommentRequest,
  ContextManifest,
  DirectChannel,
  FeedbackLoop,
  ListedRun,
  MergeOutcome,
  UndoOutcome,
  PlanPort,
  PlanRun,
  PlanSource,
  PlanStep,
  PlanViolation,
  PortComment,
  PortDetail,
  PortSaid,
  PortWords,
  Approvals,
  PublishOutcome,
  ResultFinding,
  ReviewNeeded,
  RunLeaving,
  RetryRequest,
  RunChoice,
  RunCleaned,
  RunDetail,
  RunOrdered,
  RunReport,
  RunRequest,
  RunsFilter,
  StepOutput,
  TestFeedback,
  Transcript,
  TranscriptFilter,
  TranscriptLine,
  TreeDiff,
} from "../wire/runs.ts";
export { PlansClient, type RunNews } from "./plans.ts";

// Words of the kernel that a client meets
export { systemClock, type Clock } from "../kernel/clock.ts";
export { FINDING_WORDS_EN, FINDING_WORDS_KO } from "../kernel/finding-words.ts";
export { codeOf, DureError, isAbort, messageOf, type ErrorClass } from "../kernel/errors.ts";
export {
  ESCALATION_SEVERITIES,
  ESCALATION_STATUSES,
  ESCALATION_TYPES,
  MAX_NOTE,
  SOURCE_KINDS,
  type EscalationSeverity,
  type EscalationSource,
  type EscalationStatus,
  type EscalationStep,
  type EscalationType,
  type SuggestedAction,
} from "../kernel/escalation.ts";
export { type Coded, type CodedMessage } from "../kernel/coded-message.ts";
export { ulid } from "../kernel/ids.ts";
export { isObject, type Json, type JsonObject } from "../kernel/json.ts";
export {
  JOB_OUTCOMES,
  JOB_STATUSES,
  isJobOver,
  type JobIntent,
  type JobOutcome,
  type JobStatus,
} from "../kernel/jobs.ts";
export {
  PLAN_RUN_STATUSES,
  PORT_STATUSES,
  STALLED_AFTER_MS,
  STEP_KINDS,
  isPortOver,
  isRunOver,
  type Member as PairMember,
  type PlanRunStatus,
  type PortStatus,
} from "../kernel/plans.ts";
export { type EventRole } from "../kernel/platform-events.ts";
export { ROLE_REASONS, type RoleReason } from "../kernel/role-reasons.ts";
export {
  TURN_EVENT_TYPES,
  type AgentDone,
  type AgentStart,
  type Done,
  type HookRecord,
  type LlmDone,
  type NextAction,
  type TaskProgress,
  type ToolDone,
  type ToolStart,
  type Trace,
  type TraceAgent,
  type TurnError,
  type TurnEvent,
  type TurnEventType,
  type UiHint,
} from "../kernel/turn-events.ts";
