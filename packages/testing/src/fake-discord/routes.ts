import type { BotAccount } from "./bots.ts";
import * as forms from "./forms.ts";
import {
  guildFacts,
  messagePayload,
  ownMemberPayload,
  placePayload,
  rolesOf,
  threadMemberPayload,
  userPayload,
  type PayloadView,
} from "./payloads.ts";
import { REFUSALS } from "./refusal.ts";
import type { World } from "./world.ts";
import type { FileFact, Interaction } from "./world-facts.ts";

/** A request that came so far that it has a bot and a form. */
export interface RouteRequest {
  readonly bot: BotAccount;
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly files: readonly FileFact[];
}

export interface RouteAnswer {
  readonly status: number;
  readonly body?: unknown;
}

export interface RouteContext {
  readonly world: World;
  readonly gatewayUrl: string;
  /** Per bot. Source: "Gateway: Session Start Limit Object". */
  readonly sessionStarts: (bot: BotAccount) => {
    total: number;
    remaining: number;
    reset_after: number;
    max_concurrency: number;
  };
  readonly interactionWindowMs: number;
  /** Threads that a list of active ones shows. */
  readonly activeThreads: number;
}

type Handler = (context: RouteContext, request: RouteRequest) => RouteAnswer;

export interface Route {
  /** `POST /channels/{channel}/messages` */
  readonly name: string;
  readonly method: string;
  readonly template: string;
  readonly pattern: RegExp;
  /**
   * The parameter that has a rate limit of its own. Source: "Rate Limits": channel, guild, webhook.
   */
  readonly major: string | undefined;
  /** Interactions prove themselves by their token. */
  readonly open: boolean;
  readonly handle: Handler;
}

/** Every request that this double understands. */
const ROUTES: readonly Route[] = [
  route("GET /gateway/bot", getGateway),
  route("GET /users/@me", (_context, { bot }) =>
    ok({ ...userPayload(bot.user), verified: true, mfa_enabled: true, locale: "ko" }),
  ),
  route("GET /applications/@me", getApplication),
  route("GET /users/@me/guilds", getGuilds),
  route("POST /users/@me/channels", createDirectMessage),
  route("GET /guilds/{guild}", (context, { bot, parameters }) =>
    ok(guildFacts(context.world.visibleGuild(bot.user, parameters["guild"]))),
  ),
  route("GET /guilds/{guild}/channels", getGuildChannels),
  route("GET /guilds/{guild}/roles", (context, { bot, parameters }) =>
    ok(rolesOf(context.world.visibleGuild(bot.user, parameters["guild"]))),
  ),
  route("GET /guilds/{guild}/members/{user}", getMember),
  route("GET /guilds/{guild}/threads/active", getActiveThreads),
  route("GET /channels/{channel}", (context, { bot, parameters }) =>
    ok(placePayload(context.world.visiblePlace(bot.user, parameters["channel"]), viewOf(bot))),
  ),
  route("PATCH /channels/{channel}", modifyChannel),
  route("DELETE /channels/{channel}", deleteChannel),
  route("POST /channels/{channel}/typing", typing),
  route("GET /channels/{channel}/messages", listMessages),
  route("POST /channels/{channel}/messages", createMessage),
  route("GET /channels/{channel}/messages/{message}", getMessage),
  route("PATCH /channels/{channel}/messages/{message}", editMessage),
  route("DELETE /channels/{channel}/messages/{message}", deleteMessage),
  route("PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me", setReaction),
  route("DELETE /channels/{channel}/messages/{message}/reactions/{emoji}/@me", unsetReaction),
  route("POST /channels/{channel}/threads", startThread),
  route("POST /channels/{channel}/messages/{message}/threads", startThreadFromMessage),
  route("GET /channels/{channel}/threads/archived/public", getArchivedThreads),
  route("GET /channels/{channel}/thread-members", getThreadMembers),
  route("PUT /channels/{channel}/thread-members/@me", joinThread),
  route("DELETE /channels/{channel}/thread-members/@me", leaveThread),
  route("POST /applications/{application}/guilds/{guild}/commands", createCommand),
  openRoute("POST /interactions/{interaction}/{token}/callback", answerInteraction),
  openRoute("PATCH /webhooks/{webhook}/{token}/messages/@original", editInteractionAnswer),
];

export function findRoute(
  method: string,
  path: string,
): { route: Route; parameters: Record<string, string> } | undefined {
  for (const route of ROUTES) {
    const match = route.method === method ? route.pattern.exec(path) : null;
    if (match !== null) return { route, parameters: { ...match.groups } };
  }

  return undefined;
}

// ── Who and where
// ────────────────────────────────────────────────────────────────────────

/** Source: "Gateway: Get Gateway Bot". */
function getGateway(
  { gatewayUrl, sessionStarts }: RouteContext,
  { bot }: RouteRequest,
): RouteAnswer {
  return ok({ url: gatewayUrl, shards: 1, session_start_limit: sessionStarts(bot) });
}

/**
 * Source: "Application: Get Current Application"; flag 1 << 19 is the message content switch of a
 * bot in few guilds.
 */
function getApplication(_context: RouteContext, { bot }: RouteRequest): RouteAnswer {
  const { user } = bot;
  const flags =
    (bot.messageContentIntent ? 1 << 19 : 0) |
    (bot.memberAndPresenceIntents ? (1 << 13) | (1 << 15) : 0);

  return ok({
    id: user.id,
    name: user.name,
    icon: null,
    description: "",
    summary: "",
    bot_public: true,
    bot_require_code_grant: false,
    verify_key: "",
    team: null,
    flags,
    flags_new: String(flags),
    bot: userPayload(user),
  });
}

function getGuilds({ world }: RouteContext, { bot }: RouteRequest): RouteAnswer {
  const guilds = [...world.guilds.values()].filter((guild) => guild.members.has(bot.user.id));
  return ok(
    guilds.map((guild) => ({
      id: guild.id,
      name: guild.name,
      icon: null,
      banner: null,
      owner: false,
      permissions: String(guild.members.get(bot.user.id)?.base),
      features: [],
    })),
  );
}

/** Source: "User: Create DM". */
function createDirectMessage({ world }: RouteContext, { bot, body }: RouteRequest): RouteAnswer {
  const { recipient_id } = forms.parseForm(forms.createDirectMessage, body);
  const recipient = world.users.get(recipient_id);
  if (recipient === undefined) throw REFUSALS.unknownUser();

  return ok(placePayload(world.directChannel(bot.user, recipient), viewOf(bot)));
}

/** Neither threads nor channels that the bot may not view. Source: "Guild: Get Guild Channels". */
function getGuildChannels({ world }: RouteContext, { bot, parameters }: RouteRequest): RouteAnswer {
  const guild = world.visibleGuild(bot.user, parameters["guild"]);
  const channels = [...world.places.values()].filter(
    (place) =>
      place.guild === guild &&
      place.thread === undefined &&
      world.can(bot.user, place, "VIEW_CHANNEL"),
  );

  return ok(channels.map((channel) => placePayload(channel, viewOf(bot))));
}

function getMember({ world }: RouteContext, { bot, parameters }: RouteRequest): RouteAnswer {
  const guild = world.visibleGuild(bot.user, parameters["guild"]);
  const user = world.users.get(parameters["user"] ?? "");
  if (user === undefined || !guild.members.has(user.id)) throw REFUSALS.unknownMember();

  return ok(ownMemberPayload(guild, user));
}

function modifyChannel(
  { world }: RouteContext,
  { bot, parameters, body }: RouteRequest,
): RouteAnswer {
  const place = world.visiblePlace(bot.user, parameters["channel"]);
  return ok(
    placePayload(
      world.threads.modify(bot.user, place, forms.parseForm(forms.modifyThread, body)),
      viewOf(bot),
    ),
  );
}

function deleteChannel({ world }: RouteContext, { bot, parameters }: RouteRequest): RouteAnswer {
  const place = world.visiblePlace(bot.user, parameters["channel"]);
  world.require(bot.user, place, place.thread === undefined ? "MANAGE_CHANNELS" : "MANAGE_THREADS");
  const answer = ok(placePayload(place, viewOf(bot)));
  if (place.thread === undefined) world.removeChannel(place);
  else world.threads.delete(place);

  return answer;
}

/** Source: "Channel: Trigger Typing Indicator". */
function typing({ world }: RouteContext, { bot, parameters }: RouteRequest): RouteAnswer {
  world.requireWriting(bot.user, world.visiblePlace(bot.user, parameters["channel"]));
  return { status: 204 };
}

// ── Messages
// ────────────────────────────────────────────────────────────────────────

function listMessages(
  { world }: RouteContext,
  { bot, parameters, query }: RouteRequest,
): RouteAnswer {
  const page = forms.parseForm(forms.listMessages, query);
  const place = world.visiblePlace(bot.user, parameters["channel"]);

  return ok(
    world.messages
      .list(bot.user, place, page)
      .map((message) => messagePayload(message, viewOf(bot))),
  );
}

/** The answer carries the nonce, later reads do not. Source: "Message: Create Message". */
function createMessage(
  { world }: RouteContext,
  { bot, parameters, body, files }: RouteRequest,
): RouteAnswer {
  const place = world.visiblePlace(bot.user, parameters["channel"]);
  const message = world.messages.create(
    bot.user,
    place,
    forms.parseForm(forms.createMessage, body),
    files,
  );

  return ok({ ...messagePayload(message, viewOf(bot)), nonce: message.nonce });
}

function getMessage({ world }: RouteContext, { bot, parameters }: RouteRequest): RouteAnswer {
  const place = world.visiblePlace(bot.user, parameters["channel"]);
  return ok(
    messagePayload(world.messages.visible(bot.user, place, parameters["message"]), viewOf(bot)),
  );
}

function editMessage(
  { world }: RouteContext,
  { bot, parameters, body }: RouteRequest,
): RouteAnswer {
  const message = ownOrVisible(world, bot, parameters);
  return ok(
    messagePayload(
      world.messages.edit(bot.user, message, forms.parseForm(forms.editMessage, body)),
      viewOf(bot),
    ),
  );
}

function deleteMessage({ world }: RouteContext, { bot, parameters }: RouteRequest): RouteAnswer {
  world.messages.delete(bot.user, ownOrVisible(world, bot, parameters));
  return { status: 204 };
}

/** Source: "Message: Create Reaction". */
function setReaction({ world }: RouteContext, { bot, parameters }: RouteRequest): RouteAnswer {
  const emoji = decodeURIComponent(parameters["emoji"] ?? "");
  world.messages.react(bot.user, ownOrVisible(world, bot, parameters), emoji);
  return { status: 204 };
}

/** Source: "Message: Delete Own Reaction". */
function unsetReaction({ world }: RouteContext, { bot, parameters }: RouteRequest): RouteAnswer {
  const emoji = decodeURIComponent(parameters["emoji"] ?? "");
  world.messages.react(bot.user, ownOrVisible(world, bot, parameters), emoji, "REMOVE");
  return { status: 204 };
}

function ownOrVisible(world: World, bot: BotAccount, parameters: RouteRequest["parameters"]) {
  const message = world
    .visiblePlace(bot.user, parameters["channel"])
    .messages.get(parameters["message"] ?? "");
  if (message === undefined) throw REFUSALS.unknownMessage();

  return message;
}

// ── Threads
// ────────────────────────────────────────────────────────────────────────

function startThread(
  { world }: RouteContext,
  { bot, parameters, body }: RouteRequest,
): RouteAnswer {
  const channel = world.visiblePlace(bot.user, parameters["channel"]);
  const view = viewOf(bot);
  if (channel.kind === "forum") {
    const { thread, message } = world.threads.startPost(
      bot.user,
      channel,
      forms.parseForm(forms.startPost, body),
    );
    const told = { ...placePayload(thread, view), message: messagePayload(message, view) };

    return { status: 201, body: told };
  }
  const thread = world.threads.start(bot.user, channel, forms.parseForm(forms.startThread, body));

  return { status: 201, body: placePayload(thread, view) };
}

function startThreadFromMessage(
  { world }: RouteContext,
  { bot, parameters, body }: RouteRequest,
): RouteAnswer {
  const channel = world.visiblePlace(bot.user, parameters["channel"]);
  const message = world.messages.visible(bot.user, channel, parameters["message"]);

  return {
    status: 201,
    body: placePayload(
      world.threads.start(
        bot.user,
        channel,
        forms.parseForm(forms.startThreadFromMessage, body),
        message,
      ),
      viewOf(bot),
    ),
  };
}

/**
 * Source: "Guild: List Active Guild Threads"; newest first. It has no pages, and says in `has_more`
 * that it left some out: the package's `APIThreadList`.
 */
function getActiveThreads(
  { world, activeThreads }: RouteContext,
  { bot, parameters }: RouteRequest,
): RouteAnswer {
  const all = world.threads
    .active(bot.user, world.visibleGuild(bot.user, parameters["guild"]))
    .toReversed();
  const threads = all.slice(0, activeThreads);

  return ok({
    threads: threads.map((thread) => placePayload(thread, viewOf(bot))),
    members: threads.flatMap((thread) => threadMemberPayload(thread, bot.user.id) ?? []),
    has_more: threads.length < all.length,
  });
}

function getArchivedThreads(
  { world }: RouteContext,
  { bot, parameters, query }: RouteRequest,
): RouteAnswer {
  const channel = world.visiblePlace(bot.user, parameters["channel"]);
  const { threads, hasMore } = world.threads.archived(
    bot.user,
    channel,
    forms.parseForm(forms.listArchivedThreads, query),
  );

  return ok({
    threads: threads.map((thread) => placePayload(thread, viewOf(bot))),
    members: threads.flatMap((thread) => threadMemberPayload(thread, bot.user.id) ?? []),
    has_more: hasMore,
  });
}

/** Source: "Channel: List Thread Members". */
function getThreadMembers({ world }: RouteContext, { bot, parameters }: RouteRequest): RouteAnswer {
  const thread = world.visiblePlace(bot.user, parameters["channel"]);
  if (thread.thread === undefined) throw REFUSALS.wrongChannelType();

  return ok([...thread.thread.members.keys()].map((id) => threadMemberPayload(thread, id)));
}

function joinThread({ world }: RouteContext, { bot, parameters }: RouteRequest): RouteAnswer {
  const thread = world.visiblePlace(bot.user, parameters["channel"]);
  // Source: "Channel: Join Thread": requires that the thread is not archived.
  if (thread.thread?.archived === true) throw REFUSALS.archivedThread();

  world.threads.join(bot.user, thread);

  return { status: 204 };
}

function leaveThread({ world }: RouteContext, { bot, parameters }: RouteRequest): RouteAnswer {
  world.threads.leave(bot.user, world.visiblePlace(bot.user, parameters["channel"]));
  return { status: 204 };
}

// ── Interactions
// ────────────────────────────────────────────────────────────────────────

/** Source: "Application Commands: Create Guild Application Command": 201, or 200 for an update. */
function createCommand(
  { world }: RouteContext,
  { bot, parameters, body }: RouteRequest,
): RouteAnswer {
  const { application } = parameters;
  if (application !== bot.user.id) throw REFUSALS.missingAccess();
  const guild = world.visibleGuild(bot.user, parameters["guild"]);
  const form = forms.parseForm(forms.createCommand, body);
  const isKnown = world.commands.find(bot.user, guild.id, form.name) !== undefined;
  const command = world.commands.register(bot.user, guild.id, form);
  const answer = {
    ...form,
    id: command.id,
    application_id: application,
    guild_id: guild.id,
    default_member_permissions: null,
    version: world.snowflake(),
  };

  return { status: isKnown ? 200 : 201, body: answer };
}

function answerInteraction(
  { world, interactionWindowMs }: RouteContext,
  { parameters, body }: RouteRequest,
): RouteAnswer {
  const interaction = world.interactions.get(parameters["interaction"] ?? "");
  if (interaction === undefined || interaction.token !== parameters["token"]) {
    throw REFUSALS.unknownInteraction();
  }

  const { type, data } = forms.parseForm(forms.interactionCallback, body);
  world.interactions.answer(interaction, type, data ?? {}, interactionWindowMs);

  return { status: 204 };
}

function editInteractionAnswer(
  { world }: RouteContext,
  { parameters, body }: RouteRequest,
): RouteAnswer {
  const form = forms.parseForm(forms.editMessage, body);
  const interaction = interactionByToken(world, parameters["webhook"], parameters["token"]);
  world.interactions.editAnswer(interaction, form);

  return ok({
    id: interaction.id,
    channel_id: interaction.place.id,
    content: form.content ?? "",
    author: userPayload(interaction.bot),
  });
}

function interactionByToken(
  world: World,
  application: string | undefined,
  token: string | undefined,
): Interaction {
  for (const interaction of world.interactions.values()) {
    if (interaction.token === token && interaction.bot.id === application) return interaction;
  }
  throw REFUSALS.unknownWebhook();
}

// ── Steps
// ────────────────────────────────────────────────────────────────────────

function ok(body: unknown): RouteAnswer {
  return { status: 200, body };
}

/**
 * Over HTTP the portal's switch decides, not what a connection asked for. Source: "Gateway: Message
 * Content Intent".
 */
function viewOf(bot: BotAccount): PayloadView {
  return { bot: bot.user, content: bot.messageContentIntent };
}

function route(name: string, handle: Handler, open = false): Route {
  const [method = "", template = ""] = name.split(" ");
  const pattern = new RegExp(
    `^${template.replaceAll(/\{(\w+)\}/gu, (_, parameter: string) => `(?<${parameter}>[^/]+)`)}$`,
    "u",
  );

  const major = ["channel", "guild", "webhook"].find((parameter) =>
    template.includes(`{${parameter}}`),
  );

  return { name, method, template, pattern, major, open, handle };
}

function openRoute(name: string, handle: Handler): Route {
  return route(name, handle, true);
}
