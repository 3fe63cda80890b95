import { z } from "zod";
import type { SlackApp, SlackChannel, SlackMessage } from "./facts.ts";
import { SlackRefusal } from "./facts.ts";
import { filePayload, messagePayload, TEAM } from "./payloads.ts";
import type { SlackTier } from "./rate-limits.ts";
import type { SlackWorld } from "./world.ts";

/** A method of the Web API as it is served. Each comment names its page. */
export interface SlackMethod {
  readonly tier: SlackTier | "special";
  /** One of these is needed; empty: any token. */
  readonly scopes: readonly string[];
  readonly appToken?: true;
  /** What may stand in the request; another name is refused with `invalid_arg_name`. */
  readonly input: z.ZodObject;
  readonly run: (call: FakeSlackCall) => Record<string, unknown>;
}

export interface FakeSlackCall {
  readonly world: SlackWorld;
  readonly app: SlackApp;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Arguments come as text in a form. */
const number = z.string().regex(/^\d+$/).transform(Number);
const flag = z
  .enum(["true", "false", "1", "0"])
  .transform((text) => text === "true" || text === "1");
const ts = z.string().regex(/^\d{10,}\.\d{6}$/);
const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue("not JSON");
    return z.NEVER;
  }
});
const label = z.strictObject({
  type: z.literal("plain_text"),
  text: z.string().min(1).max(75),
  emoji: z.boolean().optional(),
});
/** Source: docs.slack.dev/reference/block-kit/blocks/section-block: 3,000 characters. */
const section = z.strictObject({
  type: z.literal("section"),
  block_id: z.string().max(255).optional(),
  text: z.strictObject({ type: z.literal("mrkdwn"), text: z.string().min(1).max(3000) }),
});
/** Source: …/actions-block (25 elements) and …/block-elements/button-element. */
const actions = z.strictObject({
  type: z.literal("actions"),
  block_id: z.string().max(255).optional(),
  elements: z
    .array(
      z.strictObject({
        type: z.literal("button"),
        action_id: z.string().max(255),
        text: label,
        value: z.string().max(2000),
      }),
    )
    .min(1)
    .max(25),
});
/** At most 50 blocks. Source: docs.slack.dev/reference/block-kit/blocks. */
const blocks = json.pipe(
  z
    .array(z.discriminatedUnion("type", [section, actions]))
    .min(1)
    .max(50),
);
const metadata = json.pipe(
  z.strictObject({ event_type: z.string(), event_payload: z.record(z.string(), z.unknown()) }),
);
const post = {
  channel: z.string(),
  text: z.string().optional(),
  blocks: blocks.optional(),
  metadata: metadata.optional(),
};
const paged = {
  channel: z.string(),
  cursor: z.string().optional(),
  limit: number.pipe(z.number().max(999)).optional(),
  oldest: z.string().optional(),
  latest: z.string().optional(),
  inclusive: flag.optional(),
  include_all_metadata: flag.optional(),
};
/** Source: docs.slack.dev/reference/methods/chat.postMessage: longer text is cut off. */
const MAX_TEXT = 40_000;
/** Source: docs.slack.dev/reference/methods/chat.update, error `msg_too_long`. */
const MAX_UPDATED_TEXT = 4000;

/** The methods that are served. Source of each: docs.slack.dev/reference/methods/<name>. */
export const SLACK_METHODS: Readonly<Record<string, SlackMethod>> = {
  "auth.test": {
    tier: "4",
    scopes: [],
    input: z.strictObject({}),
    run: ({ app }) => ({
      url: "https://workspace.slack.example/",
      team: "workspace",
      team_id: TEAM,
      user: app.name,
      user_id: app.userId,
      bot_id: app.botId,
      is_enterprise_install: false,
    }),
  },
  "chat.postMessage": {
    tier: "special",
    scopes: ["chat:write"],
    input: z.strictObject({
      ...post,
      thread_ts: ts.optional(),
      unfurl_links: flag.optional(),
      unfurl_media: flag.optional(),
      username: z.string().max(80).optional(),
      icon_url: z.string().optional(),
      icon_emoji: z.string().optional(),
    }),
    run: postMessage,
  },
  "chat.update": {
    tier: "3",
    scopes: ["chat:write"],
    input: z.strictObject({ ...post, ts }),
    run: ({ world, app, args }) => {
      const message = ownMessage(world, app, args, "cant_update_message");
      const text = textOf(args);
      if (text.length > MAX_UPDATED_TEXT) throw new SlackRefusal("msg_too_long");

      world.change(message, text, args["blocks"] as SlackMessage["blocks"]);

      return { channel: message.channel, ts: message.ts, text };
    },
  },
  "chat.delete": {
    tier: "3",
    scopes: ["chat:write"],
    input: z.strictObject({ channel: z.string(), ts }),
    run: ({ world, app, args }) => {
      const message = ownMessage(world, app, args, "cant_delete_message");
      world.remove(message);
      return { channel: message.channel, ts: message.ts };
    },
  },
  /** Source: docs.slack.dev/reference/methods/reactions.add. */
  "reactions.add": reactionMethod("already_reacted"),
  /** Source: docs.slack.dev/reference/methods/reactions.remove. */
  "reactions.remove": reactionMethod("no_reaction"),
  "chat.postEphemeral": {
    tier: "4",
    scopes: ["chat:write"],
    input: z.strictObject({
      channel: z.string(),
      user: z.string(),
      text: z.string(),
      thread_ts: ts.optional(),
    }),
    run: ({ world, app, args }) => {
      memberChannel(world, app, args);
      return { message_ts: world.newTs() };
    },
  },
  "conversations.history": {
    tier: "3",
    scopes: ["channels:history", "groups:history", "im:history", "mpim:history"],
    input: z.strictObject(paged),
    run: history,
  },
  "conversations.replies": {
    tier: "3",
    scopes: ["channels:history", "groups:history", "im:history", "mpim:history"],
    input: z.strictObject({ ...paged, ts }),
    run: replies,
  },
  "conversations.info": {
    tier: "3",
    scopes: ["channels:read", "groups:read", "im:read", "mpim:read"],
    input: z.strictObject({ channel: z.string() }),
    run: ({ world, app, args }) => {
      const channel = world.channel(String(args["channel"]));
      requireReading(app, channel);
      return {
        channel: {
          id: channel.id,
          name: channel.name,
          is_channel: channel.kind === "channel" || channel.kind === "group",
          // of channels that were private ones from the beginning, long ago
          is_group: false,
          is_im: channel.kind === "im",
          is_mpim: channel.kind === "mpim",
          is_private: channel.kind !== "channel",
          is_archived: channel.isArchived,
          is_member: channel.members.has(app.userId),
        },
      };
    },
  },
  "files.info": {
    tier: "4",
    scopes: ["files:read"],
    input: z.strictObject({ file: z.string() }),
    run: ({ world, app, args }) => {
      const found = world.shared(String(args["file"]));
      const isSeen = found?.channels.some((id) => world.channel(id).members.has(app.userId));
      if (!found || !isSeen) throw new SlackRefusal("file_not_found");
      return { file: filePayload(world, found.file) };
    },
  },
  "files.getUploadURLExternal": {
    tier: "4",
    scopes: ["files:write"],
    input: z.strictObject({ filename: z.string().min(1), length: number.pipe(z.number().min(1)) }),
    run: ({ world, args }) => {
      const id = world.newId("F");
      const length = args["length"] as number;
      world.uploads.set(id, { name: String(args["filename"]), length });
      return { upload_url: `${world.origin}/upload/${id}`, file_id: id };
    },
  },
  "files.completeUploadExternal": {
    tier: "4",
    scopes: ["files:write"],
    input: z.strictObject({
      files: json.pipe(
        z.array(z.strictObject({ id: z.string(), title: z.string().optional() })).min(1),
      ),
      channel_id: z.string().optional(),
      thread_ts: ts.optional(),
      initial_comment: z.string().optional(),
    }),
    run: completeUpload,
  },
  "users.info": {
    tier: "4",
    scopes: ["users:read"],
    input: z.strictObject({ user: z.string() }),
    run: ({ world, args }) => {
      const id = String(args["user"]);
      const person = world.users.get(id);
      const app = world.appOfUser(id);
      if (!person && !app) throw new SlackRefusal("user_not_found");

      const name = world.nameOf(id);

      return {
        user: {
          id,
          name,
          real_name: name,
          profile: { display_name: name, real_name: name },
          is_bot: app !== undefined,
          is_admin: person?.isAdmin ?? false,
          is_owner: false,
        },
      };
    },
  },
};

function textOf(args: FakeSlackCall["args"]): string {
  const text = (args["text"] as string | undefined) ?? "";
  if (text === "" && args["blocks"] === undefined) throw new SlackRefusal("no_text");
  return text;
}

/** A channel that the app is in. */
function memberChannel(
  world: SlackWorld,
  app: SlackApp,
  args: FakeSlackCall["args"],
): SlackChannel {
  const channel = world.channel(String(args["channel"]));
  if (!channel.members.has(app.userId)) throw new SlackRefusal("not_in_channel");
  return channel;
}

/** What an app may ask of a channel. Source: conversations.info: of each kind its own scope. */
function requireReading(app: SlackApp, { kind, members }: SlackChannel): void {
  const needed = { channel: "channels", group: "groups", im: "im", mpim: "mpim" }[kind];
  if (!app.scopes.has(`${needed}:read`)) {
    throw new SlackRefusal("missing_scope", { needed: `${needed}:read` });
  }
  if (kind !== "channel" && !members.has(app.userId)) throw new SlackRefusal("channel_not_found");
}

function reactionMethod(refusal: "already_reacted" | "no_reaction"): SlackMethod {
  return {
    tier: "3",
    scopes: ["reactions:write"],
    input: z.strictObject({ channel: z.string(), timestamp: ts, name: z.string() }),
    run: ({ world, app, args }) => {
      const { id } = world.channel(String(args["channel"]));
      const message = world.message(id, String(args["timestamp"]));
      if (!message) throw new SlackRefusal("message_not_found");
      const sign = `${app.name} ${String(args["name"])}`;
      const isThere = message.reactions.has(sign);
      if (isThere === (refusal === "already_reacted")) throw new SlackRefusal(refusal);
      if (isThere) message.reactions.delete(sign);
      else message.reactions.add(sign);
      return {};
    },
  };
}

function ownMessage(
  world: SlackWorld,
  app: SlackApp,
  args: FakeSlackCall["args"],
  notOwn: string,
): SlackMessage {
  const channel = world.channel(String(args["channel"]));
  const message = world.message(channel.id, String(args["ts"]));
  if (!message) throw new SlackRefusal("message_not_found");
  if (message.botId !== app.botId) throw new SlackRefusal(notOwn);

  return message;
}

function postMessage({ world, app, args }: FakeSlackCall): Record<string, unknown> {
  const channel = memberChannel(world, app, args);
  if (channel.isArchived) throw new SlackRefusal("is_archived");

  const persona = args["username"] as string | undefined;
  const wantsPersona = persona ?? args["icon_url"] ?? args["icon_emoji"];
  if (wantsPersona !== undefined && !app.scopes.has("chat:write.customize")) {
    throw new SlackRefusal("missing_scope", { needed: "chat:write.customize" });
  }

  const threadTs = args["thread_ts"] as string | undefined;
  if (threadTs !== undefined && !world.message(channel.id, threadTs)) {
    throw new SlackRefusal("thread_not_found");
  }

  const message = world.add({
    ts: world.newTs(),
    channel: channel.id,
    user: app.userId,
    botId: app.botId,
    appId: app.appId,
    text: textOf(args).slice(0, MAX_TEXT),
    threadTs,
    metadata: args["metadata"] as SlackMessage["metadata"],
    blocks: args["blocks"] as SlackMessage["blocks"],
    username: persona,
    files: [],
    editedAt: undefined,
  });

  return {
    channel: channel.id,
    ts: message.ts,
    message: messagePayload(world, message, { withMetadata: true }),
  };
}

/** Shares what was uploaded as a message of the app. An upload is completed once. */
function completeUpload({ world, app, args }: FakeSlackCall): Record<string, unknown> {
  const channelId = args["channel_id"] as string | undefined;
  const given = args["files"] as readonly { readonly id: string }[];
  const files = given.map(({ id }) => {
    const begun = world.uploads.get(id);
    const bytes = world.files.get(id)?.bytes;
    if (!begun || !bytes) throw new SlackRefusal("file_not_found");
    return { id, name: begun.name, bytes };
  });
  if (channelId !== undefined) {
    const channel = memberChannel(world, app, { channel: channelId });
    world.add({
      ts: world.newTs(),
      channel: channel.id,
      user: app.userId,
      botId: app.botId,
      appId: app.appId,
      text: (args["initial_comment"] as string | undefined) ?? "",
      threadTs: args["thread_ts"] as string | undefined,
      metadata: undefined,
      blocks: undefined,
      username: undefined,
      files,
      editedAt: undefined,
    });
  }
  for (const { id } of files) world.uploads.delete(id);

  return { files: files.map(({ id, name }) => ({ id, title: name })) };
}

/** The newest of the range first; pages lead to older ones. */
function history(call: FakeSlackCall): Record<string, unknown> {
  const { world, app, args } = call;
  const channel = memberChannel(world, app, args);

  const roots = world
    .messages(channel.id)
    .filter(({ ts: at, threadTs }) => threadTs === undefined || threadTs === at)
    .toReversed();

  return pageOf(call, roots);
}

/** The root first, on every page, then its replies from the oldest on. */
function replies(call: FakeSlackCall): Record<string, unknown> {
  const { world, app, args } = call;
  const channel = memberChannel(world, app, args);
  const root = world.message(channel.id, String(args["ts"]));
  if (!root) throw new SlackRefusal("thread_not_found");

  const page = pageOf(call, world.replies(channel.id, root.ts));
  const rootPayload = messagePayload(world, root, {
    withMetadata: args["include_all_metadata"] === true,
  });

  return { ...page, messages: [rootPayload, ...(page["messages"] as unknown[])] };
}

function pageOf(
  { world, args }: FakeSlackCall,
  all: readonly SlackMessage[],
): Record<string, unknown> {
  const {
    oldest = "0",
    latest,
    cursor,
    limit = 100,
    inclusive = false,
  } = args as {
    oldest?: string;
    latest?: string;
    cursor?: string;
    limit?: number;
    inclusive?: boolean;
  };

  const isIn = ({ ts: at }: SlackMessage): boolean =>
    (inclusive ? at >= oldest : at > oldest) &&
    (latest === undefined || (inclusive ? at <= latest : at < latest));
  const from = cursor === undefined ? 0 : Number(cursor.replace("page:", ""));
  if (!Number.isInteger(from)) throw new SlackRefusal("invalid_cursor");

  const range = all.filter(isIn);
  const hasMore = range.length > from + limit;

  return {
    messages: range
      .slice(from, from + limit)
      .map((message) =>
        messagePayload(world, message, { withMetadata: args["include_all_metadata"] === true }),
      ),
    has_more: hasMore,
    response_metadata: { next_cursor: hasMore ? `page:${from + limit}` : "" },
  };
}
