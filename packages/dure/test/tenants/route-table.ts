import type { Things } from "./tenant-things.ts";
import type { Scope } from "../../src/kernel/access.ts";

/** What a route expects of who calls it. */
export interface Row {
  /** What is needed; `known`: any token, `public`: none. */
  readonly scope: Scope | "known" | "public";
  /**
   * `thing`: it names a thing of one tenant. `list`: it shows or makes what is the caller's. `all`:
   * it is done to all tenants at once.
   * `none`: nothing of a tenant is in it.
   */
  readonly names: "thing" | "list" | "all" | "none";
  readonly call: (of: Things) => { readonly path: string; readonly body?: unknown };
  /**
   * To who has the scope, about their own: a status, with the code of a refusal. A refusal behind
   * the look for the thing leaves it as it was.
   */
  readonly own: string;
  /**
   * `thing`: what it is for a thing that does not exist, and so for another tenant's. `all`: what a
   * tenant's token is told.
   */
  readonly absent?: string;
  /**
   * A channel that is named as the configuration does is the caller's own room, also when another tenant has
   * one of that name.
   */
  readonly isAlias?: true;
  /** A stream that does not end by itself. */
  readonly isEndless?: true;
  /**
   * Of a route of plans: which repository it can touch. `run`: that of the run that it names;
   * `none`: none, or it makes less happen than before.
   */
  readonly reaches?: "run" | "none" | Choice;
}

/** A route whose caller chooses a repository. */
interface Choice {
  readonly call: (repository: string) => { readonly path: string; readonly body?: unknown };
  /** To who may have it. */
  readonly own: string;
}

const SESSION = "404 SESSION_UNKNOWN";
const TURN = "404 TURN_UNKNOWN";
const ESCALATION = "404 ESCALATION_UNKNOWN";
const PLACE = "404 PLACE_UNKNOWN";
const JOB = "404 JOB_UNKNOWN";
const RUN = "404 RUN_UNKNOWN";
const SCHEDULE = "404 SCHEDULE_UNKNOWN";
const DRAFT = "404 DRAFT_UNKNOWN";
const LOGIN = "404 LOGIN_UNKNOWN";
const NO_EDIT = "403 AGENT_EDIT_NOT_ALLOWED";
const NO_KNOWLEDGE = "403 KNOWLEDGE_NOT_ALLOWED";

/** One port that a worker would write. */
const ANY_PLAN = `
plan: any
roles: modules
workers: { default: { kind: command, command: [sh, -c, "true"] } }
ports: [{ id: a, role: a, goal: Write., owns: ["**"], acceptance: "true" }]
`;

const at =
  (path: string): Row["call"] =>
  () => ({ path });
const chat = { session_id: "ceo", message: "안녕하세요", service: "desk" };

const a2aMessage = (id: string): object => ({
  message: {
    messageId: id,
    contextId: `a2a-${id}`,
    role: "ROLE_USER",
    parts: [{ text: "안녕하세요" }],
  },
});

/** Every route × what each role is told. A route that is not in here fails the test. */
export const ROUTES: Readonly<Record<string, Row>> = {
  // Conversations
  "POST /v1/agent/chat": {
    scope: "chat",
    names: "list",
    call: () => ({ path: "/v1/agent/chat", body: chat }),
    own: "200",
  },
  "POST /v1/agent/chat/stream": {
    scope: "chat",
    names: "list",
    call: () => ({ path: "/v1/agent/chat/stream", body: chat }),
    own: "200",
  },
  "GET /v1/agent/chat/stream": {
    scope: "chat",
    names: "list",
    call: () => ({ path: `/v1/agent/chat/stream?${new URLSearchParams(chat).toString()}` }),
    own: "200",
  },
  "POST /v1/agent/files": {
    scope: "chat",
    names: "list",
    call: () => ({ path: "/v1/agent/files", body: { session_id: "ceo" } }),
    own: "400 FILE_EMPTY",
  },
  "GET /v1/agent/files/:file_id": {
    scope: "chat",
    names: "thing",
    call: ({ file }) => ({ path: `/v1/agent/files/${file}` }),
    own: "200",
    absent: "404 FILE_UNKNOWN",
  },
  "GET /v1/agent/turns/:turn_id/stream": {
    scope: "chat",
    names: "thing",
    call: ({ turn }) => ({ path: `/v1/agent/turns/${turn}/stream` }),
    own: "200",
    absent: TURN,
  },
  "POST /v1/agent/turns/:turn_id/stop": {
    scope: "chat",
    names: "thing",
    call: ({ turn }) => ({ path: `/v1/agent/turns/${turn}/stop` }),
    own: "409 TURN_FINISHED",
    absent: TURN,
  },
  "POST /v1/agent/turns/:turn_id/retry": {
    scope: "chat",
    names: "thing",
    call: ({ turn }) => ({ path: `/v1/agent/turns/${turn}/retry` }),
    own: "409 TURN_NOT_RETRYABLE",
    absent: TURN,
  },
  "GET /v1/agent/turns/:turn_id/replay": {
    scope: "admin",
    names: "thing",
    call: ({ turn }) => ({ path: `/v1/agent/turns/${turn}/replay` }),
    own: "200",
    absent: TURN,
  },
  "POST /v1/agent/turns/:turn_id/replay": {
    scope: "admin",
    names: "thing",
    call: ({ turn }) => ({ path: `/v1/agent/turns/${turn}/replay`, body: {} }),
    own: "200",
    absent: TURN,
  },
  "GET /v1/traces": {
    scope: "chat",
    names: "list",
    call: () => ({ path: "/v1/traces" }),
    own: "200",
  },
  "GET /v1/traces/:id": {
    scope: "chat",
    names: "thing",
    call: ({ turn }) => ({ path: `/v1/traces/${turn}` }),
    own: "200",
    absent: "404 TRACE_UNKNOWN",
  },
  "GET /v1/traces/:id/texts": {
    scope: "chat",
    names: "thing",
    call: ({ turn }) => ({ path: `/v1/traces/${turn}/texts` }),
    own: "200",
    absent: "404 TRACE_UNKNOWN",
  },
  "GET /v1/agent/completed": {
    scope: "chat",
    names: "thing",
    call: ({ session }) => ({ path: `/v1/agent/completed?session_id=${session}` }),
    own: "200",
    absent: SESSION,
  },
  "GET /v1/agent/debug/:session_id": {
    scope: "chat",
    names: "thing",
    call: ({ session }) => ({ path: `/v1/agent/debug/${session}` }),
    own: "200",
    absent: SESSION,
  },
  "GET /v1/agent/sessions": {
    scope: "chat",
    names: "list",
    call: at("/v1/agent/sessions?search=secret"),
    own: "200",
  },
  "GET /v1/agent/sessions/:session_id": {
    scope: "chat",
    names: "thing",
    call: ({ session }) => ({ path: `/v1/agent/sessions/${session}` }),
    own: "200",
    absent: SESSION,
  },
  // That a tenant forgets its own session and no other one is shown by engine/turn/turns.test.ts.
  "DELETE /v1/agent/sessions/:session_id": {
    scope: "chat",
    names: "thing",
    call: ({ session }) => ({ path: `/v1/agent/sessions/${session}-gone` }),
    own: SESSION,
    absent: SESSION,
  },
  // That one's own question is taken back is shown by contract/openapi.test.ts.
  "POST /v1/agent/sessions/:session_id/leave": {
    scope: "chat",
    names: "thing",
    call: ({ session }) => ({
      path: `/v1/agent/sessions/${session}-gone/leave`,
      body: { question: "turn_01K0000000000000000000000" },
    }),
    own: SESSION,
    absent: SESSION,
  },
  "POST /ai-sdk/v1/chat/:service": {
    scope: "chat",
    names: "list",
    call: () => ({
      path: "/ai-sdk/v1/chat/desk",
      body: {
        id: "ceo",
        messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "안녕하세요" }] }],
      },
    }),
    own: "200",
  },
  // That another tenant's running turn is none is shown by ai-sdk/ai-sdk.test.ts.
  "GET /ai-sdk/v1/chat/:service/:id/stream": {
    scope: "chat",
    names: "thing",
    call: ({ session }) => ({ path: `/ai-sdk/v1/chat/desk/${session}/stream` }),
    own: "204",
    absent: "204",
  },
  "GET /.well-known/agent-card.json": {
    scope: "chat",
    names: "none",
    call: at("/.well-known/agent-card.json"),
    own: "200",
  },
  "GET /a2a/v1/:service/.well-known/agent-card.json": {
    scope: "chat",
    names: "none",
    call: at("/a2a/v1/desk/.well-known/agent-card.json"),
    own: "200",
  },
  "POST /a2a/v1/:service": {
    scope: "chat",
    names: "list",
    call: () => ({
      path: "/a2a/v1/desk?A2A-Version=1.0",
      body: { jsonrpc: "2.0", id: 1, method: "SendMessage", params: a2aMessage("rpc") },
    }),
    own: "200",
  },
  "POST /a2a/v1/:service/message::send": {
    scope: "chat",
    names: "list",
    call: () => ({
      path: "/a2a/v1/desk/message:send?A2A-Version=1.0",
      body: a2aMessage("send"),
    }),
    own: "200",
  },
  "POST /a2a/v1/:service/message::stream": {
    scope: "chat",
    names: "list",
    call: () => ({
      path: "/a2a/v1/desk/message:stream?A2A-Version=1.0",
      body: a2aMessage("stream"),
    }),
    own: "200",
  },
  "GET /a2a/v1/:service/extendedAgentCard": {
    scope: "chat",
    names: "none",
    call: at("/a2a/v1/desk/extendedAgentCard?A2A-Version=1.0"),
    own: "400 CARD_NOT_EXTENDED",
  },
  "GET /a2a/v1/:service/tasks": {
    scope: "chat",
    names: "list",
    call: at("/a2a/v1/desk/tasks?A2A-Version=1.0"),
    own: "200",
  },
  "GET /a2a/v1/:service/tasks/:task": {
    scope: "chat",
    names: "thing",
    call: ({ task }) => ({ path: `/a2a/v1/desk/tasks/${task}?A2A-Version=1.0` }),
    own: "200",
    absent: "404 TASK_UNKNOWN",
  },
  "POST /a2a/v1/:service/tasks/:task": {
    scope: "chat",
    names: "thing",
    call: ({ task }) => ({ path: `/a2a/v1/desk/tasks/${task}:cancel?A2A-Version=1.0` }),
    own: "400 TASK_NOT_CANCELABLE",
    absent: "404 TASK_UNKNOWN",
  },
  "POST /ag-ui/v1/agents/:service": {
    scope: "chat",
    names: "list",
    call: () => ({
      path: "/ag-ui/v1/agents/desk",
      body: {
        threadId: "ceo",
        runId: "r1",
        messages: [{ id: "m1", role: "user", content: "안녕하세요" }],
      },
    }),
    own: "200",
  },
  "POST /a2a/v1/:service/tasks/:task/pushNotificationConfigs": {
    scope: "chat",
    names: "thing",
    call: ({ task }) => ({
      path: `/a2a/v1/desk/tasks/${task}/pushNotificationConfigs?A2A-Version=1.0`,
      body: { url: "https://example.com" },
    }),
    own: "201",
    absent: "404 TASK_UNKNOWN",
  },
  "GET /a2a/v1/:service/tasks/:task/pushNotificationConfigs": {
    scope: "chat",
    names: "thing",
    call: ({ task }) => ({
      path: `/a2a/v1/desk/tasks/${task}/pushNotificationConfigs?A2A-Version=1.0`,
    }),
    own: "200",
    absent: "404 TASK_UNKNOWN",
  },
  "GET /a2a/v1/:service/tasks/:task/pushNotificationConfigs/:config": {
    scope: "chat",
    names: "thing",
    call: ({ task }) => ({
      path: `/a2a/v1/desk/tasks/${task}/pushNotificationConfigs/p?A2A-Version=1.0`,
    }),
    own: "404 PUSH_UNKNOWN",
    absent: "404 TASK_UNKNOWN",
  },
  "DELETE /a2a/v1/:service/tasks/:task/pushNotificationConfigs/:config": {
    scope: "chat",
    names: "thing",
    call: ({ task }) => ({
      path: `/a2a/v1/desk/tasks/${task}/pushNotificationConfigs/p?A2A-Version=1.0`,
    }),
    own: "404 PUSH_UNKNOWN",
    absent: "404 TASK_UNKNOWN",
  },
  // Whose delivery it is says its signature: webhooks/webhooks.test.ts.
  "POST /v1/hooks/:name": {
    scope: "public",
    names: "none",
    call: () => ({ path: "/v1/hooks/deploys", body: {} }),
    own: "401 HOOK_REFUSED",
  },
  // Whose request it is says the platform's signature, to the adapter.
  "GET /v1/channels/:name/webhook": {
    scope: "public",
    names: "none",
    call: at("/v1/channels/none/webhook"),
    own: "404 CHANNEL_TAKES_NO_WEBHOOK",
  },
  "GET /v1/channels/:name/webhook/:account": {
    scope: "public",
    names: "none",
    call: at("/v1/channels/none/webhook/ruda"),
    own: "404 CHANNEL_TAKES_NO_WEBHOOK",
  },
  "POST /v1/channels/:name/webhook": {
    scope: "public",
    names: "none",
    call: () => ({ path: "/v1/channels/none/webhook", body: {} }),
    own: "404 CHANNEL_TAKES_NO_WEBHOOK",
  },
  "POST /v1/channels/:name/webhook/:account": {
    scope: "public",
    names: "none",
    call: () => ({ path: "/v1/channels/none/webhook/ruda", body: {} }),
    own: "404 CHANNEL_TAKES_NO_WEBHOOK",
  },
  "GET /openai/v1/models": {
    scope: "chat",
    names: "none",
    call: at("/openai/v1/models"),
    own: "200",
  },
  "GET /openai/v1/models/:model": {
    scope: "chat",
    names: "none",
    call: at("/openai/v1/models/desk"),
    own: "200",
  },
  "POST /openai/v1/chat/completions": {
    scope: "chat",
    names: "list",
    call: () => ({
      path: "/openai/v1/chat/completions",
      body: { model: "desk", user: "ceo", messages: [{ role: "user", content: "안녕하세요" }] },
    }),
    own: "200",
  },
  // That another tenant's response is none is shown by openai/openai.test.ts.
  "POST /openai/v1/responses": {
    scope: "chat",
    names: "list",
    call: () => ({
      path: "/openai/v1/responses",
      body: { model: "desk", input: "안녕하세요", conversation: "ceo" },
    }),
    own: "200",
  },
  "GET /openai/v1/responses/:response_id": {
    scope: "chat",
    names: "thing",
    call: ({ turn }) => ({ path: `/openai/v1/responses/${turn.replace("turn_", "resp_")}` }),
    own: "200",
    absent: TURN,
  },
  "GET /openai/v1/responses/:response_id/input_items": {
    scope: "chat",
    names: "thing",
    call: ({ turn }) => ({
      path: `/openai/v1/responses/${turn.replace("turn_", "resp_")}/input_items`,
    }),
    own: "200",
    absent: TURN,
  },
  // That one's own response is deleted, and another tenant's is not, is shown by openai/openai.test.ts.
  "DELETE /openai/v1/responses/:response_id": {
    scope: "chat",
    names: "thing",
    call: () => ({ path: "/openai/v1/responses/resp_01J0000000000000000000000Z" }),
    own: TURN,
    absent: TURN,
  },
  // What a tool may do is that of the route that it calls: mcp/mcp-http.test.ts.
  "POST /mcp": {
    scope: "known",
    names: "none",
    call: () => ({ path: "/mcp", body: { jsonrpc: "2.0", id: 1, method: "tools/list" } }),
    own: "406",
  },
  "GET /v1/services": { scope: "chat", names: "none", call: at("/v1/services"), own: "200" },

  // Escalations
  "GET /v1/escalations": { scope: "chat", names: "list", call: at("/v1/escalations"), own: "200" },
  "GET /v1/escalations/:id": {
    scope: "chat",
    names: "thing",
    call: ({ escalation }) => ({ path: `/v1/escalations/${escalation}` }),
    own: "200",
    absent: ESCALATION,
  },
  "POST /v1/escalations/:id/answer": {
    scope: "admin",
    names: "thing",
    call: ({ escalation }) => ({
      path: `/v1/escalations/${escalation}/answer`,
      body: { value: "perhaps" },
    }),
    own: "400 ANSWER_INVALID",
    absent: ESCALATION,
  },
  "POST /v1/escalations/:id/dismiss": {
    scope: "admin",
    names: "thing",
    call: ({ decided }) => ({ path: `/v1/escalations/${decided}/dismiss` }),
    own: "409 ESCALATION_CLOSED",
    absent: ESCALATION,
  },

  // Rooms
  "GET /v1/rooms": { scope: "rooms", names: "list", call: at("/v1/rooms"), own: "200" },
  "POST /v1/rooms": {
    scope: "rooms",
    names: "list",
    call: () => ({ path: "/v1/rooms", body: { agent: "ruda" } }),
    own: "200",
  },
  "GET /v1/notifications": {
    scope: "rooms",
    names: "list",
    call: at("/v1/notifications"),
    own: "200",
  },
  "PATCH /v1/notifications": {
    scope: "rooms",
    names: "list",
    call: () => ({ path: "/v1/notifications", body: { told: "all" } }),
    own: "200",
  },
  "PUT /v1/notifications/muted/:room": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({ path: `/v1/notifications/muted/${room}` }),
    own: "200",
    absent: PLACE,
  },
  "DELETE /v1/notifications/muted/:room": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({ path: `/v1/notifications/muted/${room}` }),
    own: "200",
    absent: PLACE,
  },
  "POST /v1/notifications/subscriptions": {
    scope: "rooms",
    names: "list",
    call: () => ({
      path: "/v1/notifications/subscriptions",
      body: {
        endpoint: "http://push.example.com/a",
        keys: { p256dh: "B".repeat(87), auth: "a".repeat(22) },
      },
    }),
    own: "400 PUSH_ADDRESS",
  },
  "DELETE /v1/notifications/subscriptions/:id": {
    scope: "rooms",
    names: "list",
    call: at("/v1/notifications/subscriptions/of-no-one"),
    own: "204",
  },
  "GET /v1/rooms/:room/messages": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({ path: `/v1/rooms/${room}/messages` }),
    own: "200",
    absent: PLACE,
  },
  "POST /v1/rooms/:room/messages": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({ path: `/v1/rooms/${room}/messages`, body: { text: " " } }),
    own: "400 MESSAGE_INVALID",
    absent: PLACE,
  },
  "POST /v1/rooms/:room/answer": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({
      path: `/v1/rooms/${room}/answer`,
      body: { question: "escalation_0", value: "approve" },
    }),
    own: "404 ESCALATION_UNKNOWN",
    absent: PLACE,
  },
  "POST /v1/rooms/:room/files": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({ path: `/v1/rooms/${room}/files`, body: {} }),
    own: "400 FILE_EMPTY",
    absent: PLACE,
  },
  "GET /v1/rooms/:room/files/:file": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({ path: `/v1/rooms/${room}/files/file_0` }),
    own: "404 FILE_UNKNOWN",
    absent: PLACE,
  },
  "POST /v1/rooms/:room/read": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({ path: `/v1/rooms/${room}/read`, body: { seq: 0 } }),
    own: "204",
    absent: PLACE,
  },
  "POST /v1/rooms/:room/presence": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({ path: `/v1/rooms/${room}/presence`, body: { typing: true } }),
    own: "204",
    absent: PLACE,
  },
  "GET /v1/rooms/:room/threads": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({ path: `/v1/rooms/${room}/threads` }),
    own: "200",
    absent: PLACE,
  },
  "GET /v1/messages/:id": {
    scope: "rooms",
    names: "thing",
    call: ({ message }) => ({ path: `/v1/messages/${message}` }),
    own: "200",
    absent: "404 ROOM_MESSAGE_UNKNOWN",
  },
  "PATCH /v1/messages/:id": {
    scope: "rooms",
    names: "thing",
    call: ({ said }) => ({ path: `/v1/messages/${said}`, body: { text: "다른 말" } }),
    own: "403 MESSAGE_NOT_YOURS",
    absent: "404 ROOM_MESSAGE_UNKNOWN",
  },
  "PUT /v1/messages/:id/reactions/:emoji": {
    scope: "rooms",
    names: "thing",
    call: ({ message }) => ({ path: `/v1/messages/${message}/reactions/%F0%9F%91%8D` }),
    own: "200",
    absent: "404 ROOM_MESSAGE_UNKNOWN",
  },
  "DELETE /v1/messages/:id/reactions/:emoji": {
    scope: "rooms",
    names: "thing",
    call: ({ message }) => ({ path: `/v1/messages/${message}/reactions/%F0%9F%91%8D` }),
    own: "200",
    absent: "404 ROOM_MESSAGE_UNKNOWN",
  },
  "DELETE /v1/messages/:id": {
    scope: "rooms",
    names: "thing",
    call: ({ said }) => ({ path: `/v1/messages/${said}` }),
    own: "403 MESSAGE_NOT_YOURS",
    absent: "404 ROOM_MESSAGE_UNKNOWN",
  },
  "GET /v1/threads/:id": {
    scope: "rooms",
    names: "thing",
    call: ({ thread }) => ({ path: `/v1/threads/${thread}` }),
    own: "200",
    absent: PLACE,
  },
  "POST /v1/threads/:id/resume": {
    scope: "rooms",
    names: "thing",
    call: ({ thread }) => ({ path: `/v1/threads/${thread}/resume`, body: {} }),
    own: "200",
    absent: PLACE,
  },
  "POST /v1/threads/:id/stop": {
    scope: "rooms",
    names: "thing",
    call: ({ thread }) => ({ path: `/v1/threads/${thread}/stop`, body: {} }),
    own: "200",
    absent: PLACE,
  },
  "POST /v1/rooms/:room/stop": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({ path: `/v1/rooms/${room}/stop`, body: {} }),
    own: "200",
    absent: PLACE,
  },
  "POST /v1/rooms/:room/retry": {
    scope: "rooms",
    names: "thing",
    isAlias: true,
    call: ({ room }) => ({ path: `/v1/rooms/${room}/retry`, body: {} }),
    own: "204",
    absent: PLACE,
  },
  "DELETE /v1/threads/:id/participants/:agent": {
    scope: "rooms",
    names: "thing",
    call: ({ thread }) => ({ path: `/v1/threads/${thread}/participants/eden` }),
    own: "404 PARTICIPANT_UNKNOWN",
    absent: PLACE,
  },
  "GET /v1/messages": {
    scope: "rooms",
    names: "list",
    call: at(`/v1/messages?search=${encodeURIComponent("우리끼리만")}`),
    own: "200",
  },
  "GET /v1/observations": {
    scope: "rooms",
    names: "list",
    call: at("/v1/observations"),
    own: "200",
  },
  "GET /v1/agents": { scope: "rooms", names: "none", call: at("/v1/agents"), own: "200" },
  "GET /v1/agents/:agent": {
    scope: "rooms",
    names: "none",
    call: at("/v1/agents/eden"),
    own: "200",
  },
  "GET /v1/agents/:agent/files": {
    scope: "admin",
    names: "all",
    call: at("/v1/agents/eden/files"),
    own: "200",
    absent: NO_EDIT,
  },
  "PUT /v1/agents/:agent/files/:file": {
    scope: "admin",
    names: "all",
    call: () => ({ path: "/v1/agents/eden/files/SOUL.md", body: { text: "x", version: null } }),
    own: "409 AGENT_NOT_EDITABLE", // this team was given in code
    absent: NO_EDIT,
  },
  "GET /v1/agents/:agent/edits": {
    scope: "admin",
    names: "all",
    call: at("/v1/agents/eden/edits"),
    own: "200",
    absent: NO_EDIT,
  },
  "GET /v1/agents/:agent/edits/:edit": {
    scope: "admin",
    names: "all",
    call: at("/v1/agents/eden/edits/1"),
    own: "404 AGENT_EDIT_UNKNOWN",
    absent: NO_EDIT,
  },
  "POST /v1/agents/:agent/edits/:edit/restore": {
    scope: "admin",
    names: "all",
    call: () => ({
      path: "/v1/agents/eden/edits/1/restore",
      body: { side: "after", version: null },
    }),
    own: "404 AGENT_EDIT_UNKNOWN",
    absent: NO_EDIT,
  },
  "POST /v1/agents/:agent/pause": {
    scope: "admin",
    names: "all",
    call: () => ({ path: "/v1/agents/eden/pause", body: { paused: false } }),
    own: "204",
    absent: "403 PAUSE_NOT_ALLOWED",
  },
  // Documents belong to no tenant.
  "GET /v1/knowledge": {
    scope: "admin",
    names: "all",
    call: at("/v1/knowledge"),
    own: "200",
    absent: NO_KNOWLEDGE,
  },
  "GET /v1/knowledge/:base/documents": {
    scope: "admin",
    names: "all",
    call: at("/v1/knowledge/handbook/documents"),
    own: "200",
    absent: NO_KNOWLEDGE,
  },
  "PUT /v1/knowledge/:base/documents": {
    scope: "admin",
    names: "all",
    call: () => ({
      path: "/v1/knowledge/handbook/documents",
      body: { source: "a.md", text: "Refunds take three days." },
    }),
    own: "200",
    absent: NO_KNOWLEDGE,
  },
  "DELETE /v1/knowledge/:base/documents": {
    scope: "admin",
    names: "all",
    call: at("/v1/knowledge/handbook/documents?source=a.md"),
    own: "200",
    absent: NO_KNOWLEDGE,
  },
  "GET /v1/knowledge/:base/search": {
    scope: "admin",
    names: "all",
    call: at("/v1/knowledge/handbook/search?question=refunds"),
    own: "200",
    absent: NO_KNOWLEDGE,
  },
  "POST /v1/collaborate": {
    scope: "admin",
    names: "all",
    call: () => ({
      path: "/v1/collaborate",
      body: { agent: "ruda", target_agent: "ruda", message: "x" },
    }),
    own: "200",
    absent: "403 COLLABORATE_NOT_ALLOWED",
  },

  // Jobs
  "GET /v1/schedules": { scope: "jobs", names: "list", call: at("/v1/schedules"), own: "200" },
  "POST /v1/schedules/:name/run": {
    scope: "admin",
    names: "thing",
    call: ({ schedule }) => ({ path: `/v1/schedules/${schedule}/run` }),
    own: "202",
    absent: SCHEDULE,
  },
  "POST /v1/schedules/:name/pause": {
    scope: "admin",
    names: "thing",
    call: ({ schedule }) => ({ path: `/v1/schedules/${schedule}/pause` }),
    own: "200",
    absent: SCHEDULE,
  },
  "POST /v1/schedules/:name/resume": {
    scope: "admin",
    names: "thing",
    call: ({ schedule }) => ({ path: `/v1/schedules/${schedule}/resume` }),
    own: "200",
    absent: SCHEDULE,
  },

  "GET /v1/jobs": { scope: "jobs", names: "list", call: at("/v1/jobs"), own: "200" },
  "POST /v1/jobs": {
    scope: "jobs",
    names: "thing",
    call: ({ session }) => ({ path: "/v1/jobs", body: { agent: "ruda", session, message: "x" } }),
    own: SESSION,
    absent: SESSION,
  },
  "GET /v1/jobs/audit": { scope: "jobs", names: "list", call: at("/v1/jobs/audit"), own: "200" },
  "POST /v1/jobs/purge": {
    scope: "admin",
    names: "all",
    call: () => ({ path: "/v1/jobs/purge", body: { older_than: "365d" } }),
    own: "200",
    absent: "403 PURGE_NOT_ALLOWED",
  },
  "GET /v1/jobs/:id": {
    scope: "jobs",
    names: "thing",
    call: ({ job }) => ({ path: `/v1/jobs/${job}` }),
    own: "200",
    absent: JOB,
  },
  "GET /v1/jobs/:id/stream": {
    scope: "jobs",
    names: "thing",
    call: ({ job }) => ({ path: `/v1/jobs/${job}/stream` }),
    own: "200",
    absent: JOB,
  },
  "GET /v1/jobs/:id/files/:file_id": {
    scope: "jobs",
    names: "thing",
    call: ({ job }) => ({ path: `/v1/jobs/${job}/files/file_0` }),
    own: "404 FILE_UNKNOWN",
    absent: JOB,
  },
  "POST /v1/jobs/:id/cancel": {
    scope: "jobs",
    names: "thing",
    call: ({ job }) => ({ path: `/v1/jobs/${job}/cancel` }),
    own: "409 JOB_TRANSITION",
    absent: JOB,
  },
  "POST /v1/jobs/:id/retry": {
    scope: "jobs",
    names: "thing",
    call: ({ job }) => ({ path: `/v1/jobs/${job}/retry` }),
    own: "409 JOB_NOT_RETRYABLE",
    absent: JOB,
  },
  "POST /v1/jobs/:id/speak": {
    scope: "jobs",
    names: "thing",
    call: ({ job }) => ({ path: `/v1/jobs/${job}/speak`, body: { text: "x" } }),
    own: "409 JOB_OVER",
    absent: JOB,
  },

  // Plans and runs. What steers a run whose files are gone is refused behind the look for it.
  "GET /v1/plans": {
    scope: "plans:read",
    names: "none",
    call: at("/v1/plans"),
    own: "200",
    reaches: "none",
  },
  "GET /v1/plans/:name": {
    reaches: "none",
    scope: "plans:read",
    names: "none",
    call: at("/v1/plans/greet"),
    own: "200",
  },
  "POST /v1/plans/check": {
    reaches: "none",
    scope: "plans:read",
    names: "none",
    call: () => ({ path: "/v1/plans/check", body: { file: "a.yaml", text: "plan: a" } }),
    own: "200",
  },
  "POST /v1/plans/draft": {
    reaches: {
      call: (repository) => ({ path: "/v1/plans/draft", body: { goal: "Mend it.", repository } }),
      own: "200",
    },
    scope: "plans:run",
    names: "none",
    call: () => ({ path: "/v1/plans/draft", body: { goal: "" } }),
    own: "400 REQUEST_INVALID",
  },
  "POST /v1/drafts": {
    reaches: {
      call: (repository) => ({
        path: "/v1/drafts",
        body: { goal: "Mend it.", text: "plan: a", repository },
      }),
      own: "201",
    },
    scope: "plans:run",
    names: "none",
    call: () => ({ path: "/v1/drafts", body: { goal: "" } }),
    own: "400 REQUEST_INVALID",
  },
  "GET /v1/drafts": {
    scope: "plans:read",
    names: "list",
    call: at("/v1/drafts"),
    own: "200",
    reaches: "none",
  },
  "GET /v1/drafts/:id": {
    reaches: "none",
    scope: "plans:read",
    names: "thing",
    call: ({ draft }) => ({ path: `/v1/drafts/${draft}` }),
    own: "200",
    absent: DRAFT,
  },
  "PUT /v1/drafts/:id": {
    reaches: "none",
    scope: "plans:run",
    names: "thing",
    call: ({ draft }) => ({ path: `/v1/drafts/${draft}`, body: { version: 99, text: "plan: a" } }),
    own: "409 DRAFT_CHANGED",
    absent: DRAFT,
  },
  "POST /v1/drafts/:id/answers": {
    reaches: "none",
    scope: "plans:run",
    names: "thing",
    call: ({ draft }) => ({
      path: `/v1/drafts/${draft}/answers`,
      body: { version: 99, answers: [] },
    }),
    own: "409 DRAFT_CHANGED",
    absent: DRAFT,
  },
  "DELETE /v1/drafts/:id": {
    reaches: "none",
    scope: "plans:run",
    names: "thing",
    call: ({ draft }) => ({ path: `/v1/drafts/${draft}?version=99` }),
    own: "409 DRAFT_CHANGED",
    absent: DRAFT,
  },
  "POST /v1/runs": {
    reaches: {
      call: (repository) => ({
        path: "/v1/runs",
        body: { file: "a.yaml", text: ANY_PLAN, repository, dry_run: true },
      }),
      own: "200",
    },
    scope: "plans:run",
    names: "list",
    call: () => ({ path: "/v1/runs", body: { plan: "nowhere" } }),
    own: "404 PLAN_UNKNOWN",
  },
  "GET /v1/runs": {
    scope: "plans:read",
    names: "list",
    call: at("/v1/runs"),
    own: "200",
    reaches: "none",
  },
  "GET /v1/runs/:id": {
    reaches: "none",
    scope: "plans:read",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}` }),
    own: "200",
    absent: RUN,
  },
  "GET /v1/runs/:id/events": {
    reaches: "none",
    scope: "plans:read",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/events` }),
    own: "200",
    absent: RUN,
  },
  "GET /v1/runs/:id/diff": {
    reaches: "none",
    scope: "plans:read",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/diff` }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "GET /v1/runs/:id/leaving": {
    reaches: "run",
    scope: "plans:read",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/leaving` }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/:id/merge": {
    reaches: "run",
    scope: "plans:merge",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/merge`, body: { into: "no such branch" } }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/:id/undo": {
    reaches: "run",
    scope: "plans:merge",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/undo`, body: { from: "no such branch" } }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/:id/publish": {
    reaches: "run",
    scope: "plans:merge",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/publish` }),
    own: "409 PUBLISH_NOT_CONFIGURED",
    absent: RUN,
  },
  "POST /v1/runs/:id/approve": {
    reaches: "run",
    scope: "plans:merge",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/approve`, body: { commit: "0".repeat(40) } }),
    own: "409 APPROVAL_STALE",
    absent: RUN,
  },
  "POST /v1/runs/:id/pause": {
    reaches: "none",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/pause` }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/:id/resume": {
    reaches: "run",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/resume` }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/:id/cancel": {
    reaches: "none",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/cancel` }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/:id/again": {
    reaches: "run",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/again` }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/:id/extend": {
    reaches: "run",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/extend`, body: { tokens: 1 } }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/clean": {
    reaches: "none",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({ path: "/v1/runs/clean", body: { run, dry_run: true } }),
    own: "200",
    absent: RUN,
  },
  "GET /v1/runs/:id/ports": {
    reaches: "none",
    scope: "plans:read",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/ports?ids=greet` }),
    own: "200",
    absent: RUN,
  },
  "GET /v1/runs/:id/ports/:port": {
    reaches: "none",
    scope: "plans:read",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/ports/greet` }),
    own: "200",
    absent: RUN,
  },
  "GET /v1/runs/:id/ports/:port/steps/:step/manifest": {
    reaches: "none",
    scope: "plans:read",
    names: "thing",
    call: ({ run, step }) => ({ path: `/v1/runs/${run}/ports/greet/steps/${step}/manifest` }),
    own: "200",
    absent: RUN,
  },
  "GET /v1/runs/:id/ports/:port/transcript": {
    reaches: "none",
    scope: "plans:read",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/ports/greet/transcript` }),
    own: "200",
    absent: RUN,
  },
  "GET /v1/runs/:id/ports/:port/diff": {
    reaches: "none",
    scope: "plans:read",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/ports/greet/diff` }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/:id/ports/:port/retry": {
    reaches: "run",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/ports/greet/retry` }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/:id/ports/:port/skip": {
    reaches: "run",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/ports/greet/skip` }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/:id/ports/:port/say": {
    reaches: "run",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({
      path: `/v1/runs/${run}/ports/greet/say`,
      body: { to: "implementer", text: "x" },
    }),
    own: "409 RUN_OVER",
    absent: RUN,
  },
  "GET /v1/runs/:id/ports/:port/comments": {
    reaches: "none",
    scope: "plans:read",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/ports/greet/comments` }),
    own: "200",
    absent: RUN,
  },
  "POST /v1/runs/:id/ports/:port/comments": {
    reaches: "none",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({
      path: `/v1/runs/${run}/ports/greet/comments`,
      body: { path: "src/greet.txt", text: "x" },
    }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "DELETE /v1/runs/:id/ports/:port/comments/:comment": {
    reaches: "none",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/ports/greet/comments/1` }),
    own: "404 COMMENT_UNKNOWN",
    absent: RUN,
  },
  "POST /v1/runs/:id/ports/:port/review": {
    reaches: "none",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/ports/greet/review`, body: { text: "x" } }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  "POST /v1/runs/:id/ports/:port/approve": {
    reaches: "run",
    scope: "plans:run",
    names: "thing",
    call: ({ run }) => ({ path: `/v1/runs/${run}/ports/greet/approve` }),
    own: "409 RUN_CLEANED",
    absent: RUN,
  },
  // A worker's own token alone opens these; who calls is not asked for another one.
  "POST /v1/hooks/test-feedback": {
    scope: "public",
    names: "none",
    call: () => ({ path: "/v1/hooks/test-feedback", body: {} }),
    own: "401 HOOK_TOKEN_INVALID",
  },
  "POST /v1/hooks/ask": {
    scope: "public",
    names: "none",
    call: () => ({ path: "/v1/hooks/ask", body: { question: "x" } }),
    own: "401 HOOK_TOKEN_INVALID",
  },
  "POST /v1/hooks/request-access": {
    scope: "public",
    names: "none",
    call: () => ({
      path: "/v1/hooks/request-access",
      body: { path: "x", wants: "read", why: "x" },
    }),
    own: "401 HOOK_TOKEN_INVALID",
  },

  // The server. What of the event log a reader gets is shown by events.test.ts.
  "GET /v1/events": {
    scope: "known",
    names: "list",
    call: at("/v1/events"),
    own: "200",
    isEndless: true,
  },
  "GET /v1/audit": { scope: "admin", names: "list", call: at("/v1/audit?limit=200"), own: "200" },
  "GET /v1/costs": {
    scope: "admin",
    names: "all",
    call: at("/v1/costs"),
    own: "200",
    absent: "403 COSTS_NOT_ALLOWED",
  },
  "GET /metrics": {
    scope: "admin",
    names: "all",
    call: at("/metrics"),
    own: "200",
    absent: "403 METRICS_NOT_ALLOWED",
  },
  "POST /v1/reload": {
    scope: "admin",
    names: "all",
    call: at("/v1/reload"),
    own: "409 RELOAD_IMPOSSIBLE",
    absent: "403 RELOAD_NOT_ALLOWED",
  },
  "GET /v1/me": { scope: "known", names: "none", call: at("/v1/me"), own: "200" },
  "POST /v1/login": {
    scope: "public",
    names: "none",
    call: () => ({ path: "/v1/login", body: { token: "no-such-token-0123456789" } }),
    own: "401 TOKEN_INVALID",
  },
  "POST /v1/login/links": {
    scope: "known",
    names: "none",
    call: at("/v1/login/links"),
    own: "200",
  },
  "GET /v1/login/sessions": {
    scope: "known",
    names: "list",
    call: at("/v1/login/sessions"),
    own: "200",
  },
  "DELETE /v1/login/sessions/:id": {
    scope: "known",
    names: "thing",
    call: () => ({ path: "/v1/login/sessions/login_none" }),
    own: LOGIN,
    absent: LOGIN,
  },
  "POST /v1/logout": { scope: "public", names: "none", call: at("/v1/logout"), own: "204" },
  "GET /healthz": { scope: "public", names: "none", call: at("/healthz"), own: "200" },
  "HEAD /healthz": { scope: "public", names: "none", call: at("/healthz"), own: "200" },
  "GET /readyz": { scope: "public", names: "none", call: at("/readyz"), own: "200" },
  "HEAD /readyz": { scope: "public", names: "none", call: at("/readyz"), own: "200" },
  "GET /openapi.json": { scope: "public", names: "none", call: at("/openapi.json"), own: "200" },
};
