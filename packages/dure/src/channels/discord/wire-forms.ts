import { z } from "zod";

/*
 * What Discord sends, as far as this adapter reads it. A member that is not needed to understand
 * the rest is left out when it has another form; what cannot be understood at all fails the parse.
 */

/** Source: "API Reference: Snowflakes": a 64-bit number, as a text. */
const snowflake = z.string().regex(/^\d{1,20}$/u, "no snowflake");

/**
 * Characters of a message that are read. Source: "Message: Create Message": 2,000, of subscribers
 * 4,000.
 */
const LONGEST_TEXT = 8000;

/** Characters of a name or an address. The platform's own are 100, addresses of files are longer. */
const LONGEST_NAME = 2000;

/** Entries of one list that are read. No list that this adapter uses is as long. */
const LONGEST_LIST = 10_000;

/** Left out when it has another form. */
function maybe<T extends z.ZodType>(form: T) {
  return form.optional().catch(undefined);
}

/** The entries that have the form. */
function manyOf<T extends z.ZodType>(form: T) {
  return z
    .array(z.unknown())
    .catch([])
    .transform((entries): z.output<T>[] =>
      entries.slice(0, LONGEST_LIST).flatMap((entry) => {
        const parsed = form.safeParse(entry);
        return parsed.success ? [parsed.data] : [];
      }),
    );
}

/** What the database can store: no half of a pair, and no character U+0000. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

const longText = z.string().transform((text) => storable(text.slice(0, LONGEST_TEXT)));
const shortText = z.string().transform((text) => storable(text.slice(0, LONGEST_NAME)));

/** Source: "Permissions": a set of bits, as a decimal text. */
const bits = z.string().regex(/^\d{1,40}$/u, "no permissions");

/** Source: "User Object". */
const userForm = z.object({
  id: snowflake,
  username: maybe(shortText),
  global_name: maybe(shortText),
  bot: maybe(z.boolean()),
});
export type WireUser = z.output<typeof userForm>;

/** Source: "Message: Attachment Object". */
const attachmentForm = z.object({
  id: maybe(snowflake),
  filename: shortText,
  url: shortText,
  size: maybe(z.number().min(0)),
  content_type: maybe(shortText),
});
export type WireAttachment = z.output<typeof attachmentForm>;

/** A forwarded message. Source: "Message Snapshot Object". */
const snapshotForm = z.object({
  message: z.object({ content: longText.catch(""), attachments: manyOf(attachmentForm) }),
});

/** Source: "Poll Resource: Poll Object". */
const pollForm = z.object({
  question: z.object({ text: shortText }),
  answers: manyOf(z.object({ poll_media: z.object({ text: shortText }) })),
});

/** Source: "Message Object", and "Gateway Events: Message Create" for what an event adds. */
export const messageForm = z.object({
  id: snowflake,
  channel_id: snowflake,
  guild_id: maybe(snowflake),
  type: z.number().int(),
  author: userForm,
  member: maybe(z.object({ nick: maybe(shortText) })),
  content: longText,
  mentions: manyOf(userForm),
  mention_roles: manyOf(snowflake),
  message_snapshots: manyOf(snapshotForm),
  poll: maybe(pollForm),
  attachments: manyOf(attachmentForm),
  timestamp: maybe(z.string()),
  edited_timestamp: maybe(z.string()),
  nonce: maybe(z.union([z.string(), z.number()])),
  message_reference: maybe(z.object({ message_id: maybe(snowflake) })),
  referenced_message: maybe(z.object({ author: userForm })),
  webhook_id: maybe(snowflake),
});
export type WireMessage = z.output<typeof messageForm>;

/** Source: "Gateway Events: Message Update"; other changes than of the text come here too. */
export const messageUpdateForm = z.object({
  id: snowflake,
  channel_id: snowflake,
  guild_id: maybe(snowflake),
  content: maybe(longText),
  mention_roles: manyOf(snowflake),
  edited_timestamp: maybe(z.string()),
});
export type WireMessageUpdate = z.output<typeof messageUpdateForm>;

/** One, or what a moderator took away at once. Source: "Gateway Events: Message Delete (Bulk)". */
export const messageGoneForm = z.object({
  id: maybe(snowflake),
  ids: manyOf(snowflake),
  channel_id: snowflake,
  guild_id: maybe(snowflake),
});
export type WireMessageGone = z.output<typeof messageGoneForm>;

/** Source: "Permissions: Overwrite Object". */
const overwriteForm = z.object({ id: snowflake, allow: bits, deny: bits });

/** Source: "Channel Object", "Thread Metadata Object". */
export const placeForm = z.object({
  id: snowflake,
  type: z.number().int(),
  guild_id: maybe(snowflake),
  parent_id: maybe(snowflake),
  name: maybe(shortText),
  owner_id: maybe(snowflake),
  last_message_id: maybe(snowflake),
  flags: maybe(z.number().int().min(0)),
  /** Absent of threads, and where one of them is not understood. */
  permission_overwrites: maybe(z.array(overwriteForm).max(LONGEST_LIST)),
  thread_metadata: maybe(
    z.object({ archived: maybe(z.boolean()), archive_timestamp: maybe(z.string()) }),
  ),
  /** Present when the bot has joined this thread. */
  member: maybe(z.looseObject({})),
  newly_created: maybe(z.boolean()),
});
/** A channel or thread as the platform describes it, in answers and in events. */
export type WirePlace = z.output<typeof placeForm>;

/** Source: "Permissions: Role Object". */
const roleForm = z.object({
  id: snowflake,
  permissions: bits,
  tags: maybe(z.object({ bot_id: maybe(snowflake) })),
});
export const rolesForm = z.array(roleForm);
export type WireRole = z.output<typeof roleForm>;

/** Source: "Gateway Events: Guild Role Create", "Guild Role Update", "Guild Role Delete". */
export const roleCameForm = z.object({ role: roleForm });
export const roleGoneForm = z.object({ role_id: snowflake });

/** Source: "Gateway Events: Guild Create", "Guild Delete", "Unavailable Guild Object". */
export const guildForm = z.object({
  id: snowflake,
  name: maybe(shortText),
  unavailable: maybe(z.boolean()),
  channels: manyOf(placeForm),
  threads: manyOf(placeForm),
  roles: manyOf(roleForm),
});
export type WireGuild = z.output<typeof guildForm>;

/** Source: "Gateway Events: Thread List Sync". */
export const threadListForm = z.object({
  guild_id: snowflake,
  threads: manyOf(placeForm),
  /** Memberships of the bot itself. */
  members: manyOf(z.object({ id: snowflake, user_id: maybe(snowflake) })),
});

/** Source: "Gateway Events: Thread Members Update". */
export const threadMembersForm = z.object({
  id: snowflake,
  added_members: manyOf(z.object({ user_id: snowflake })),
  removed_member_ids: manyOf(snowflake),
});

/** Source: "Receiving and Responding: Interaction Object". */
export const interactionForm = z.object({
  id: snowflake,
  type: z.number().int(),
  /** Stands in a path: nothing but what a path may have. */
  token: z.string().regex(/^[\w.~-]{1,2000}$/u, "no token"),
  application_id: snowflake,
  channel_id: maybe(snowflake),
  guild_id: maybe(snowflake),
  data: maybe(
    z.object({
      /** Of a button. */
      custom_id: maybe(z.string().max(100)),
      /** Of a command: its name, and under it the one that was chosen. */
      name: maybe(shortText),
      options: manyOf(z.object({ name: shortText, type: z.number().int() })),
    }),
  ),
  member: maybe(
    z.object({
      user: userForm,
      roles: manyOf(snowflake),
      permissions: maybe(bits),
    }),
  ),
  user: maybe(userForm),
});
export type WireInteraction = z.output<typeof interactionForm>;

/** Source: "Gateway Events: Message Reaction Add". Of a standard emoji `id` is null. */
export const reactionForm = z.object({
  user_id: snowflake,
  channel_id: snowflake,
  message_id: snowflake,
  guild_id: maybe(snowflake),
  member: maybe(
    z.object({ user: maybe(userForm), nick: maybe(shortText), roles: manyOf(snowflake) }),
  ),
  emoji: z.object({ id: maybe(snowflake), name: maybe(shortText) }),
});
export type WireReaction = z.output<typeof reactionForm>;

/** Source: "Gateway Events: Payload Structure". */
export const packetForm = z.object({
  op: z.number().int(),
  /** Not there in the answer to a heartbeat. */
  d: z.unknown().optional(),
  s: maybe(z.number().int().min(0)),
  t: maybe(z.string()),
});
export type WirePacket = z.output<typeof packetForm>;

/** Source: "Gateway Events: Hello". */
export const helloForm = z.object({ heartbeat_interval: z.number().min(10).max(3_600_000) });

/** Source: "Gateway Events: Ready". */
export const readyForm = z.object({
  user: z.object({ id: snowflake }),
  application: maybe(z.object({ id: snowflake })),
  session_id: z.string().min(1).max(1000),
  resume_gateway_url: maybe(z.url({ protocol: /^wss?$/u })),
  guilds: manyOf(z.object({ id: snowflake })),
});
export type WireReady = z.output<typeof readyForm>;

/** Source: "Gateway: Get Gateway Bot". */
export const gatewayForm = z.object({
  url: z.url({ protocol: /^wss?$/u }),
  session_start_limit: maybe(
    z.object({
      total: z.number().min(1),
      remaining: z.number().min(0),
      /** Milliseconds. */
      reset_after: z.number().min(0),
    }),
  ),
});

/** Source: "Guild: List Active Guild Threads", "Channel: List Public Archived Threads". */
export const threadsForm = z.object({
  threads: manyOf(placeForm),
  has_more: maybe(z.boolean()),
});
export type WireThreads = z.output<typeof threadsForm>;

/** A page of messages, with how many there were before what cannot be understood was left out. */
export const messagesForm = z.array(z.unknown()).transform((entries) => ({
  messages: manyOf(messageForm).parse(entries),
  count: entries.length,
}));

/** An answer that names what it made or shows. */
export const namedForm = z.object({ id: snowflake });

/** Source: "User: Get Current User". */
export const selfForm = userForm;

/** Source: "Application Object". */
export const applicationForm = z.object({ flags: maybe(z.number().int()) });

/** Source: "User: Get Current User Guilds". */
export const guildsForm = z.array(z.object({ id: snowflake, name: shortText }));

/** Source: "Guild: Get Guild Channels", "Overwrite Object". */
export const channelsForm = z.array(
  z.object({
    id: snowflake,
    type: z.number().int(),
    name: maybe(shortText),
    permission_overwrites: manyOf(overwriteForm),
  }),
);
export type WireChannel = z.output<typeof channelsForm>[number];
export type WireOverwrite = WireChannel["permission_overwrites"][number];

/** Source: "Guild Member Object". */
export const memberForm = z.object({ roles: z.array(snowflake) });
