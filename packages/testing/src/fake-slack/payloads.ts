import type { SlackApp, SlackMessage, SlackUser } from "./facts.ts";
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
  return {
    type: "message",
    user: message.user,
    text,
    ts,
    team: TEAM,
    ...(botId !== undefined && { bot_id: botId, app_id: appId }),
    ...(username !== undefined && { subtype: "bot_message", username }),
    ...(threadTs !== undefined && { thread_ts: threadTs }),
    ...(root && threadTs !== ts && { parent_user_id: root.user }),
    ...(replies.length > 0 && {
      thread_ts: ts,
      reply_count: replies.length,
      latest_reply: replies.at(-1)!.ts,
    }),
    ...(message.blocks && { blocks: message.blocks }),
    ...(message.editedAt !== undefined && {
      edited: { user: message.user, ts: message.editedAt },
    }),
    ...(files.length > 0 && {
      subtype: "file_share",
      files: files.map((file, index) => ({
        id: `F${index}`,
        name: file.name,
        size: file.size,
        mimetype: "text/plain",
        url_private: `https://files.slack.example/${file.name}`,
        permalink: `https://workspace.slack.example/files/${file.name}`,
      })),
    }),
    ...(withMetadata && message.metadata && { metadata: message.metadata }),
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
      ...(message.threadTs !== undefined && { thread_ts: message.threadTs }),
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
