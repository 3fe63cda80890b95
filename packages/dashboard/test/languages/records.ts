import type {
  AgentDetail,
  AgentEditDetail,
  AgentFiles,
  Escalation,
  Job,
  JobDetail,
  PlanDraft,
  ReplayableTurn,
  Room,
  RoomAgent,
  RoomMessage,
  Schedule,
  Thread,
  WorkTrace,
  WorkTraceLine,
  WorkTraceTexts,
} from "dure/client";

const AT = Date.UTC(2026, 10, 22, 3);

export const GENERAL: Room = {
  id: "web:general",
  adapter: "web",
  kind: "channel",
  parent: null,
  name: "일반",
  state: "resting",
  suspendedUntil: null,
  closedBecause: null,
  closedFor: null,
  archived: false,
  agent: null,
  defaultAgent: "ruda",
  unread: 2,
  lastAt: AT,
  members: ["ruda", "eden"],
  deaf: ["eden"],
};

export const CLOSED: Room = {
  ...GENERAL,
  id: "web:closed",
  name: "옛 방",
  state: "closed",
  closedBecause: "the channel was removed, or may not be seen any more",
  closedFor: { code: "channel-removed", facts: {} },
  unread: 0,
};

export const THREAD: Thread = {
  ...GENERAL,
  id: "thread_1",
  kind: "thread",
  parent: "web:general",
  below: null,
  name: "로그인 검토",
  state: "open",
  participants: ["ruda"],
  people: ["민준"],
  messages: 3,
  activeAt: AT,
  createdAt: AT,
  openRequests: 1,
  unread: 0,
};

const WORDS: RoomMessage = {
  id: "message_1",
  place: "web:general",
  seq: 1,
  author: "민준",
  authorKind: "person",
  authorName: "민준",
  text: "검토해 줘",
  mentions: [],
  mark: null,
  replyTo: null,
  delivery: "sent",
  deliveryError: null,
  attachments: [],
  buttons: null,
  at: AT,
  editedAt: AT + 1,
  deletedAt: null,
  reactions: [{ emoji: "👍", count: 12, own: true, people: ["민준"] }],
  thread: { id: "thread_1", messages: 3, activeAt: AT },
  roles: [
    { agent: "ruda", role: "HANDLER", rank: "PRIMARY", because: "mentioned" },
    { agent: "eden", role: "OBSERVER", because: "others-mentioned" },
  ],
};

export const MESSAGES: readonly RoomMessage[] = [
  WORDS,
  {
    ...WORDS,
    id: "message_2",
    seq: 2,
    author: "ruda",
    authorKind: "agent",
    authorName: "루다",
    text: "돈을 보낼까요?",
    mark: "notice",
    delivery: "failed",
    deliveryError: { code: "PERMISSION_DENIED" },
    buttons: [
      { value: "esc_room:approve", label: "승인", code: "approve" },
      { value: "esc_room:reject", label: "거절", code: "reject" },
    ],
    roles: [],
  },
];

const ACCOUNT: RoomAgent["accounts"][number] = {
  adapter: "discord",
  id: "ruda",
  platformId: null,
  state: "refused",
  detail: "Discord does not accept the bot's token.",
  reason: { code: "token-refused", facts: {} },
  changedAt: AT,
};

export const AGENTS: readonly RoomAgent[] = [
  {
    id: "ruda",
    displayName: "루다",
    service: "faq",
    leads: true,
    channel: null,
    persona: "차분해요.",
    accounts: [
      ACCOUNT,
      { ...ACCOUNT, adapter: "web", state: "ready", detail: null, reason: null },
      {
        ...ACCOUNT,
        adapter: "other",
        detail: "There is no bot token for the account ruda.",
        reason: { code: "token-missing", facts: { account: "ruda" } },
      },
    ],
    paused: null,
    working: 1,
    waiting: 2,
    tokensToday: 1_200,
    microUsdToday: 7_500,
  },
  {
    id: "eden",
    displayName: "이든",
    service: "faq",
    leads: false,
    channel: "web:general",
    persona: null,
    accounts: [],
    paused: null,
    working: 0,
    waiting: 0,
    tokensToday: 0,
    microUsdToday: 0,
  },
];

/** An agent with tools of the team, of an MCP server and of a stranger. */
export const AGENT: AgentDetail = {
  ...AGENTS[0]!,
  models: ["offline:ruda"],
  tools: [
    { name: "ask_agent", description: "Asks another agent.", effect: "idempotent", mcp: null },
    { name: "pay", description: "Sends money.", effect: "once", mcp: null },
    { name: "files_read", description: "Reads a file.", effect: "none", mcp: "files" },
  ],
  skills: [{ name: "refunds", description: "Decides on refunds." }],
  leftOut: [
    {
      name: "683 tools",
      mcp: "files",
      because: "of 883 tools the first 200 are offered",
      next: "Name the tools that agents need in `tools` of mcp.files.",
    },
  ],
  files: [{ path: "agents/ruda/SOUL.md", text: "차분해요.", cut: true }],
  answers: [
    {
      place: "web:general",
      placeName: "일반",
      message: "m1",
      excerpt: "배포해도 될까요?",
      outcome: "answered",
      at: 0,
    },
    {
      place: "web:general",
      placeName: "일반",
      message: null,
      excerpt: null,
      outcome: "failed",
      at: 1,
    },
  ],
};

const JOB: Job = {
  jobId: "job_1",
  status: "ABANDONED",
  outcome: "stale",
  requester: "ruda",
  requesterName: "루다",
  target: "eden",
  targetName: "이든",
  message: "로그인을 살펴봐 줘",
  payload: null,
  topic: "로그인",
  intent: "request",
  conversationId: "conversation_1",
  parentJobId: null,
  rootId: "job_1",
  depth: 0,
  retryOf: "job_0",
  files: [{ id: "file_1", name: "login.log", type: "text/plain", bytes: 3, turn: 0 }],
  maxTurns: 4,
  turnsDone: 1,
  resumeCount: 1,
  resumes: 1,
  lastError: { code: "JOB_STALE", message: "Nothing was done for an hour." },
  waiting: null,
  origin: { session: "s1", turn: null },
  createdAt: AT,
  updatedAt: AT,
  startedAt: AT,
  finishedAt: AT + 4_000,
  turnStartedAt: null,
};

export const JOBS: readonly Job[] = [
  JOB,
  { ...JOB, jobId: "job_2", status: "RUNNING", outcome: null, waiting: "person", finishedAt: null },
];

const TURN: JobDetail["turns"][number] = {
  number: 1,
  speaker: "eden",
  text: "살펴볼게요",
  tokensIn: 900,
  tokensOut: 40,
  costMicroUsd: 300,
  turnId: null,
  attempts: 2,
  startedAt: AT,
  finishedAt: AT + 1_000,
};

export const DETAIL: JobDetail = {
  ...JOB,
  answer: { how: "message", by: "eden", text: "살펴볼게요" },
  turns: [TURN],
  words: [{ id: 1, author: "민준", text: "서둘러 줘", at: AT, turn: 1 }],
};

/** The same under way: what can be done with it is shown. */
export const RUNNING: JobDetail = {
  ...DETAIL,
  ...JOBS[1]!,
  words: [{ id: 2, author: "민준", text: "서둘러 줘", at: AT, turn: null }],
};

const QUESTION: Escalation = {
  id: "esc_1",
  source: { job: "job_1" },
  type: "job_abandoned",
  severity: "medium",
  title: "루다 → 이든: 로그인",
  description: "한 시간 동안 아무 일도 없었어요.",
  context: { jobId: "job_1", outcome: "stale", turnsDone: 1 },
  suggestedActions: [
    { value: "retry", code: "try-again", label: "Try again", style: "primary" },
    { value: "leave", code: "leave", label: "Leave it" },
  ],
  status: "open",
  resolution: null,
  resolvedBy: null,
  resolvedByPerson: null,
  resolvedAt: null,
  createdAt: AT,
  expiresAt: AT + 60_000,
  step: "operator",
  nextStepAt: AT + 30_000,
};

export const ESCALATIONS: readonly Escalation[] = [
  QUESTION,
  {
    ...QUESTION,
    id: "esc_2",
    type: "test_failure",
    severity: "high",
    source: { run: "run_1", port: "api" },
    title: "세 번 모두 통과하지 못했어요",
    context: { tries: 3, maxTries: 3, failing: ["로그인"] },
    suggestedActions: [
      { value: "retry", code: "retry", label: "Retry", asks: "text" },
      { value: "own", code: "own-path", label: "Let it own the path" },
      { value: "cancel", code: "cancel-run", label: "Cancel the run", style: "danger" },
    ],
  },
  {
    ...QUESTION,
    id: "esc_3",
    status: "resolved",
    resolution: { value: "retry" },
    resolvedBy: "token_1",
    resolvedByPerson: "민준",
    resolvedAt: AT,
  },
  {
    ...QUESTION,
    id: "esc_4",
    status: "dismissed",
    resolution: { value: "time" },
    resolvedBy: "system",
    resolvedAt: AT,
  },
];

export const AGENT_FILES: AgentFiles = {
  notEditable: null,
  configured: ["card.llm"],
  files: (["SOUL.md", "AGENTS.md", "MEMORY.md", "agent.yaml"] as const).map((file, index) => ({
    ...{ file, path: `agents/ruda/${file}`, isFromOutside: index === 0, problem: null },
    ...(index === 0 ? { text: "차분해요.", version: "1" } : { text: null, version: null }),
  })),
};

export const EDIT: AgentEditDetail = {
  ...{ id: 2, file: "SOUL.md", path: "agents/ruda/SOUL.md", at: Date.UTC(2026, 10, 22, 3) },
  ...{ by: "token_1", person: "민준", outcome: "unknown", restores: 1, isFromOutside: true },
  ...{ added: 1, removed: 1, before: "빨라요.\n", after: "느려요.\n" },
  patch:
    "diff --git a/a b/agents/ruda/SOUL.md\n--- a/a\n+++ b/agents/ruda/SOUL.md\n" +
    "@@ -1,1 +1,1 @@\n-빨라요.\n+느려요.\n",
};

const STATUSES = ["sent", "done", "answered", "RUNNING", "partial", "blocked", "resolved"];

export const TRACE: WorkTrace = {
  asked: "turn_1",
  isCut: true,
  steps: (["agent", "model", "tool", "step", "wait", "remote"] as const).map((kind, index) => ({
    ...{ kind, turn: "turn_1", place: `1.${index}`, under: null, title: "ruda" },
    ...{ status: (["done", "failed", "running", "waiting"] as const)[index % 4]!, error: "GONE" },
    ...{ at: Date.UTC(2026, 10, 22, 3) + index, endedAt: null, model: "offline:one", attempt: 2 },
    ...{ tokensIn: 900, tokensOut: 30, cachedIn: 500, microUsd: 1_200, firstTokenMs: 40 },
  })),
  items: (["message", "turn", "request", "job", "run", "port", "escalation"] as const).map(
    (kind, index) => ({
      ...{ kind, id: kind === "port" ? "run_1/api" : `${kind}_1`, title: "로그인을 봐 줘" },
      ...{ beganBy: index === 0 ? null : "message_1", who: "ruda", status: STATUSES[index]! },
      ...{ at: Date.UTC(2026, 10, 22, 3) + index, endedAt: Date.UTC(2026, 10, 22, 3) + 900 },
      ...{ session: "s1", place: "web:general", tokens: 1_200 },
      agents: [
        { agent: "ruda", elapsedMs: 10, success: true },
        { agent: "eden", elapsedMs: 20, success: false },
      ],
    }),
  ),
};

/** A plan that two people write, with a question of the model. */
export const DRAFT: PlanDraft = {
  id: "draft_1",
  goal: "로그인을 만들어 줘",
  repository: null,
  text: "plan: login\nbase: main\nports:\n  - id: domain\n    goal: 로그인\n",
  ports: [],
  problems: [],
  problemCount: 0,
  questions: [{ question: "비밀번호는 몇 글자인가요?", answer: null }],
  open: [],
  version: 1,
  updatedBy: "민준",
  createdAt: AT,
  updatedAt: AT,
};

const REPLAYED = {
  agent: "ruda",
  elapsedMs: 1_240,
  success: true,
  retries: 0,
  error: null,
  tokensIn: 900,
  tokensOut: 40,
};

export const REPLAYABLE: ReplayableTurn = {
  isOtherVersion: true,
  turnId: "turn_1",
  sessionId: "s1",
  service: "ruda",
  input: "안녕",
  message: "안녕하세요.",
  elapsedMs: 1_300,
  agents: [REPLAYED],
  replayed: [{ key: "ruda", prompt: "짧게 답해요.", model: "offline:ruda", isCustom: false }],
};

export const SCHEDULE: Schedule = {
  name: "아침",
  cron: "0 9 * * 1-5",
  timeZone: "Asia/Seoul",
  missed: "once",
  tenant: "",
  does: "message",
  with: "general",
  next: AT + 3_600_000,
  paused: null,
  last: [
    {
      key: "k1",
      due: AT,
      by: null,
      status: "failed",
      messageId: null,
      jobId: null,
      runId: null,
      error: "AGENT_UNKNOWN",
    },
  ],
};

export const TRACE_TEXTS: WorkTraceTexts = {
  args: "로그인을 봐 줘",
  result: { ok: true },
  noPrompt: null,
  prompt: {
    system: "You review.",
    messages: (["history", "context", "message", "work"] as const).map((part) => ({
      ...{ part, data: { role: "user", text: "로그인" } },
    })),
    tools: ["collaborate"],
    isAsSent: false,
  },
};

export const TRACE_LINE: WorkTraceLine = {
  ...{ id: "job_1", kind: "job", title: "로그인을 봐 줘", who: "ruda → eden", status: "FAILED" },
  ...{ error: "MODEL_TIMEOUT", at: Date.UTC(2026, 10, 22, 3), endedAt: null, tokens: 1_200 },
  ...{ microUsd: 4_000, models: ["offline:one"] },
};
