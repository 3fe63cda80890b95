import { z } from "zod";

/**
 * What Slack says, as far as it is used; all else is left out. A field that is not of its
 * documented kind makes the whole thing malformed. Source: docs.slack.dev/reference.
 */

const ts = z.string().regex(/^\d{1,16}\.\d{1,10}$/);
const text = z.string().nullish();

/** Source: …/objects/file-object. */
const file = z.object({
  id: text,
  name: text,
  permalink: text,
  url_private: text,
  url_private_download: text,
  mimetype: text,
  size: z.number().nullish(),
  /** `external`, `tombstone`, `hidden_by_limit`: Slack does not have its bytes. */
  mode: text,
});

/** Source: …/methods/chat.postMessage, "Message metadata". */
const metadata = z.object({
  event_type: z.string(),
  event_payload: z.record(z.string(), z.unknown()).optional(),
});

/** Source: …/events/message. */
export const wireMessage = z.object({
  type: z.string().optional(),
  subtype: text,
  ts,
  user: text,
  bot_id: text,
  username: text,
  text,
  thread_ts: ts.nullish().transform((value) => value ?? undefined),
  latest_reply: text,
  reply_count: z.number().nullish(),
  edited: z.object({}).nullish(),
  files: z.array(file).nullish(),
  metadata: metadata.nullish(),
});
export type SlackWireMessage = z.output<typeof wireMessage>;

/** Source: …/events/message, and its subtypes message_changed and message_deleted. */
export const messageEvent = wireMessage.extend({
  type: z.literal("message"),
  channel: z.string(),
  channel_type: text,
  message: wireMessage.optional(),
  deleted_ts: ts.optional(),
});
export type MessageEvent = z.output<typeof messageEvent>;

const channelName = z.object({ id: z.string(), name: z.string() });

/** Events of channels that are heard. Source: …/events. */
export const channelEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("channel_archive"), channel: z.string() }),
  z.object({ type: z.literal("channel_deleted"), channel: z.string() }),
  z.object({ type: z.literal("group_archive"), channel: z.string() }),
  z.object({ type: z.literal("group_deleted"), channel: z.string() }),
  z.object({ type: z.literal("channel_left"), channel: z.string() }),
  z.object({ type: z.literal("group_left"), channel: z.string() }),
  z.object({ type: z.literal("member_left_channel"), channel: z.string(), user: z.string() }),
  z.object({ type: z.literal("channel_rename"), channel: channelName }),
  z.object({ type: z.literal("group_rename"), channel: channelName }),
]);
export type ChannelEvent = z.output<typeof channelEvent>;
export const CHANNEL_EVENTS: ReadonlySet<string> = new Set(
  channelEvent.options.map(({ shape }) => shape.type.value),
);

/** Source: docs.slack.dev/apis/events-api/using-socket-mode. */
export const envelope = z.object({
  type: z.string(),
  envelope_id: z.string().optional(),
  reason: text,
  payload: z.unknown().optional(),
});

/** Source: docs.slack.dev/apis/events-api, "Event type structure". */
export const eventCallback = z.object({
  event_id: z.string(),
  event: z.looseObject({ type: z.string() }),
});

/** Source: docs.slack.dev/reference/interaction-payloads/block_actions-payload. */
export const blockActions = z.object({
  type: z.literal("block_actions"),
  user: z.object({ id: z.string(), username: text, name: text }),
  container: z.object({ channel_id: z.string(), message_ts: ts, thread_ts: ts.nullish() }),
  actions: z.array(z.object({ type: z.string(), value: text })).min(1),
});
export type BlockActions = z.output<typeof blockActions>;

/** Source: docs.slack.dev/interactivity/implementing-slash-commands, "Command payload descriptions". */
export const slashCommand = z.object({
  command: z.string(),
  text,
  user_id: z.string(),
  channel_id: z.string(),
});
export type SlashCommand = z.output<typeof slashCommand>;

/** Source: …/events/reaction_added. */
export const reactionEvent = z.object({
  type: z.enum(["reaction_added", "reaction_removed"]),
  user: z.string(),
  reaction: z.string(),
  item: z.object({ type: z.literal("message"), channel: z.string(), ts }),
});
export type ReactionEvent = z.output<typeof reactionEvent>;

const pages = z.object({ next_cursor: text }).nullish();

/** Source: …/methods/auth.test; the client adds the scopes of the answer's header. */
export const authAnswer = z.object({
  user_id: z.string(),
  bot_id: text,
  user: z.string(),
  url: z.string(),
  response_metadata: z.object({ scopes: z.array(z.string()).nullish() }).nullish(),
});
/** Source: …/methods/users.info. */
export const userAnswer = z.object({
  user: z.object({
    name: z.string(),
    real_name: text,
    profile: z.object({ display_name: text }).nullish(),
    is_admin: z.boolean().nullish(),
    is_owner: z.boolean().nullish(),
  }),
});
/** Source: …/methods/conversations.history and conversations.replies. */
export const pageAnswer = z.object({
  messages: z.array(wireMessage),
  response_metadata: pages,
});
/** Source: …/methods/chat.postMessage. */
export const postedAnswer = z.object({ channel: z.string(), ts });
/** Source: …/methods/conversations.info; `is_mpim`: a group direct message. */
export const channelAnswer = z.object({
  channel: z.object({
    name: text,
    is_member: z.boolean().nullish(),
    is_archived: z.boolean().nullish(),
    is_private: z.boolean().nullish(),
    is_im: z.boolean().nullish(),
    is_mpim: z.boolean().nullish(),
  }),
});
export type SlackWireChannel = z.output<typeof channelAnswer>["channel"];
/** Source: …/methods/apps.connections.open. */
export const connectionAnswer = z.object({ url: z.string() });
/** Source: …/methods/files.info. */
export const fileAnswer = z.object({ file });
/** Source: …/methods/files.getUploadURLExternal. */
export const uploadAnswer = z.object({ upload_url: z.url(), file_id: z.string() });
/** Of methods that do something and tell nothing. */
export const plainAnswer = z.object({ ok: z.boolean() });
