import type { SlackApp, SlackFile, SlackMessage, SlackUser } from "./facts.ts";
import type { SlackWorld } from "./world.ts";

export const TEAM = "T0000000001";

/**
 * A message as methods and events give it. Source: docs.slack.dev/reference/events/message and,
 * for the name of a persona, …/message/bot_message.
 */
export function messagePayload(
  world: SlackWorld,
  message: SlackMessage,
  { withMetadata }: { withMetadata: boolean },
): Record<string, unknown> {
  const { ts, text, threadTs, botId, appId, username, files } = message;
  const replies = world.replies(message.channel, ts);
  const root = threadTs === undefined ? undefined : world.message(message.channel, threadTs);

  // What is undefined is no part of the JSON.
  return {
    type: "message",
    subtype: subtypeOf(message),
    user: message.user,
    text,
    ts,
    team: TEAM,
    bot_id: botId,
    app_id: appId,
    username,
    thread_ts: threadTs ?? (replies.length > 0 ? ts : undefined),
    parent_user_id: root && threadTs !== ts ? root.user : undefined,
    reply_count: replies.length > 0 ? replies.length : undefined,
    latest_reply: replies.at(-1)?.ts,
    blocks: message.blocks,
    edited: message.editedAt === undefined ? undefined : editOf(message),
    files: files.length > 0 ? files.map((file) => filePayload(world, file)) : undefined,
    metadata: withMetadata ? message.metadata : undefined,
  };
}

function subtypeOf({ username, files, subtype }: SlackMessage): string | undefined {
  if (subtype !== undefined) return subtype;
  if (username !== undefined) return "bot_message";
  return files.length > 0 ? "file_share" : undefined;
}

function editOf({ user, editedAt }: SlackMessage): object {
  return { user, ts: editedAt };
}

/** Source: docs.slack.dev/reference/objects/file-object. */
export function filePayload(world: SlackWorld, file: SlackFile): object {
  const { id = "F0", name, contentType, bytes } = file;
  const url = `${world.origin}/files-pri/${TEAM}-${id}`;
  const shown = encodeURIComponent(name.toLowerCase());

  return {
    id,
    created: 0,
    name,
    title: name,
    size: file.size ?? bytes?.length ?? 0,
    mimetype: contentType ?? "text/plain",
    filetype: "text",
    pretty_type: "Plain Text",
    mode: "hosted",
    editable: false,
    is_external: false,
    external_type: "",
    is_public: true,
    public_url_shared: false,
    display_as_bot: false,
    username: "",
    channels: [],
    groups: [],
    url_private: `${url}/${shown}`,
    url_private_download: `${url}/download/${shown}`,
    permalink: `https://workspace.slack.example/files/${name}`,
  };
}

/** Source: docs.slack.dev/apis/events-api, "Event type structure". */
export function eventCallback(
  app: SlackApp,
  event: Record<string, unknown>,
  ids: { readonly eventId: string; readonly at: number },
): Record<string, unknown> {
  return {
    token: "verification",
    team_id: TEAM,
    api_app_id: app.appId,
    event,
    type: "event_callback",
    event_id: ids.eventId,
    event_time: Math.floor(ids.at / 1000),
    authorizations: [{ enterprise_id: null, team_id: TEAM, user_id: app.userId, is_bot: true }],
    is_ext_shared_channel: false,
  };
}

/** Source: docs.slack.dev/interactivity/implementing-slash-commands, "Command payload descriptions". */
export function slashCommand(
  app: SlackApp,
  given: { readonly person: SlackUser; readonly channel: string; readonly text: string },
): Record<string, unknown> {
  return {
    token: "verification",
    team_id: TEAM,
    team_domain: "workspace",
    channel_id: given.channel,
    user_id: given.person.id,
    user_name: given.person.name,
    command: "/dure",
    text: given.text,
    api_app_id: app.appId,
    is_enterprise_install: "false",
    response_url: "https://hooks.slack.com/commands/1/2/3",
    trigger_id: "1.2.3",
  };
}

/** Source: docs.slack.dev/reference/interaction-payloads/block_actions-payload. */
export function blockActions(
  world: SlackWorld,
  message: SlackMessage,
  press: { readonly person: SlackUser; readonly value: string; readonly actionId: string },
): Record<string, unknown> {
  return {
    type: "block_actions",
    user: { id: press.person.id, username: press.person.name, name: press.person.name },
    api_app_id: message.appId,
    team: { id: TEAM, domain: "workspace" },
    container: {
      type: "message",
      message_ts: message.ts,
      channel_id: message.channel,
      is_ephemeral: false,
      thread_ts: message.threadTs,
    },
    trigger_id: "1.2.3",
    channel: { id: message.channel, name: world.channels.get(message.channel)?.name },
    message: messagePayload(world, message, { withMetadata: true }),
    actions: [
      {
        type: "button",
        action_id: press.actionId,
        block_id: "b",
        value: press.value,
        action_ts: message.ts,
      },
    ],
  };
}
