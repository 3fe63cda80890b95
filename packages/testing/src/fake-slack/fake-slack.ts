import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock, type Clock } from "dure/client";
import type { ServedFiles } from "../served-files.ts";
import type { SlackApp, SlackFile, SlackMessage, SlackUser } from "./facts.ts";
import { SlackFaults, type SlackFault, type SlackFaultTarget } from "./faults.ts";
import { blockActions, eventCallback, messagePayload, slashCommand, TEAM } from "./payloads.ts";
import { SLACK_RATE_LIMITS, SlackRateLimiter, type SlackRateLimits } from "./rate-limits.ts";
import { SLACK_REDELIVERY, SocketMode, type Redelivery } from "./socket-mode.ts";
import { SlackWebApi, type SlackRequest } from "./web-api.ts";
import { SlackStorage } from "./storage.ts";
import { SlackWorld, type SlackWorldEvent } from "./world.ts";

/** How the fake server behaves. */
export interface FakeSlackOptions {
  readonly clock?: Clock;
  readonly rateLimits?: SlackRateLimits;
  readonly redelivery?: Redelivery | undefined;
}

/** Handles that tests hold. */
export interface FakeSlackChannel {
  readonly id: string;
  readonly name: string;
}

/** An app with its bot user. */
export interface FakeSlackApp {
  /** Of its bot user, as in `<@U…>`. */
  readonly id: string;
  readonly name: string;
  readonly botToken: string;
  readonly appToken: string;
}

/** A message as people see it. */
export interface FakeSlackMessage {
  readonly ts: string;
  readonly channel: string;
  readonly author: string;
  readonly authorIsBot: boolean;
  readonly text: string;
  readonly threadTs: string | undefined;
  /** Of its metadata; empty without. */
  readonly eventType: string;
  /** `user emoji`, in the order in which they were set. */
  readonly reactions: readonly string[];
  readonly edited: boolean;
  readonly files: readonly SlackFile[];
  readonly buttons: readonly { readonly value: string; readonly label: string }[];
}

/** Where a person writes. */
export interface FakeSlackPlace {
  readonly channel: { readonly id: string };
  readonly threadTs?: string | undefined;
}

/** What bots of dure need. Source: docs.slack.dev/reference/scopes. */
const USUAL_SCOPES = [
  "chat:write",
  "channels:history",
  "groups:history",
  "im:history",
  "mpim:history",
  "channels:read",
  "groups:read",
  "im:read",
  "mpim:read",
  "users:read",
  "reactions:read",
  "reactions:write",
  "commands",
  "files:read",
  "files:write",
];

type ReactionEventType = "reaction_added" | "reaction_removed";

const KEPT_REQUESTS = 10_000;
/** Who renames and archives. */
const ADMIN = "U000ADMIN";

/**
 * A Slack for tests: Web API and Socket Mode over loopback, strict where the real one is strict.
 * The official clients talk to it when `slackApiUrl` is its `url`:
 *
 *     await using slack = await FakeSlack.start();
 *     const general = slack.addChannel("general");
 *     const ruda = slack.addApp({ name: "루다", botToken: "xoxb-ruda", appToken: "xapp-ruda" });
 *     const minsu = slack.addPerson("민수");
 *
 *     minsu.post({ channel: general }, `${slack.mention(ruda)} 이것 확인해 줘`);
 */
export class FakeSlack implements AsyncDisposable {
  /** `http://127.0.0.1:PORT/api/` */
  readonly url: string;
  /** What was asked, oldest first. */
  readonly requests: SlackRequest[] = [];
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #world: SlackWorld;
  readonly #faults = new SlackFaults();
  readonly #socket: SocketMode;

  private constructor(server: Server, options: FakeSlackOptions) {
    const clock = options.clock ?? systemClock;
    const { port } = server.address() as AddressInfo;
    this.url = `http://127.0.0.1:${port}/api/`;
    this.#clock = clock;
    this.#server = server;
    const origin = `http://127.0.0.1:${port}`;
    this.#world = new SlackWorld({ clock, origin }, (event) => this.#tell(event));
    const storage = new SlackStorage(this.#world, this.#faults);

    this.#socket = new SocketMode(server, {
      clock,
      redelivery: options.redelivery ?? SLACK_REDELIVERY,
    });

    const api = new SlackWebApi({
      clock,
      world: this.#world,
      faults: this.#faults,
      limiter: new SlackRateLimiter(clock, options.rateLimits ?? SLACK_RATE_LIMITS),
      openConnection: (app) => `ws://127.0.0.1:${port}/link/?ticket=${this.#socket.ticket(app)}`,
      log: (request) => {
        this.requests.push(request);
        if (this.requests.length > KEPT_REQUESTS) this.requests.shift();
      },
    });

    server.on("request", (request, response) => {
      const isFile = storage.serves(request.url ?? "");
      const handled = isFile ? storage.handle(request, response) : api.handle(request, response);
      handled.catch(() => request.socket.destroy());
    });
  }

  static async start(options: FakeSlackOptions = {}): Promise<FakeSlack> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");

    return new FakeSlack(server, options);
  }

  async stop(): Promise<void> {
    this.#socket.stop();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Every app and person that exists, and every later one, is in it. */
  addChannel(name: string, { isPrivate = false } = {}): FakeSlackChannel {
    const id = this.#world.newId("C");
    const members = [...this.#world.apps.map(({ userId }) => userId), ...this.#world.users.keys()];

    this.#world.channels.set(id, {
      id,
      name,
      kind: isPrivate ? "group" : "channel",
      isArchived: false,
      members: new Set(members),
    });

    return { id, name };
  }

  addApp(options: {
    name: string;
    botToken: string;
    appToken: string;
    scopes?: readonly string[];
  }): FakeSlackApp {
    const { name, botToken, appToken, scopes = USUAL_SCOPES } = options;
    const app: SlackApp = {
      appId: this.#world.newId("A"),
      botId: this.#world.newId("B"),
      userId: this.#world.newId("U"),
      name,
      botToken,
      appToken,
      scopes: new Set(scopes),
    };

    this.#world.apps.push(app);
    this.#joinAll(app.userId);

    return { id: app.userId, name, botToken, appToken };
  }

  addPerson(name: string, { isAdmin = false } = {}): FakeSlackPerson {
    const user = { id: this.#world.newId("U"), name, isAdmin };
    this.#world.users.set(user.id, user);
    this.#joinAll(user.id);

    return new FakeSlackPerson(user, {
      world: this.#world,
      press: (press) => this.#press(press),
      command: (app, given) => this.#command(app, given),
      react: (message, reaction, type) => this.#react(message, { person: user, reaction, type }),
    });
  }

  /** The direct message of a person and an app. */
  direct(app: FakeSlackApp, person: { readonly id: string }): FakeSlackChannel {
    const known = [...this.#world.channels.values()].find(
      ({ kind, members }) => kind === "im" && members.has(app.id) && members.has(person.id),
    );
    if (known) return { id: known.id, name: known.name };

    const id = this.#world.newId("D");
    const members = new Set([app.id, person.id]);
    this.#world.channels.set(id, { id, name: "", kind: "im", isArchived: false, members });

    return { id, name: "" };
  }

  /** The group direct message of these people and apps; no other user is ever in it. */
  group(...users: readonly { readonly id: string }[]): FakeSlackChannel {
    const id = this.#world.newId("C");
    const members = new Set(users.map((user) => user.id));
    const name = `mpdm-${[...members].join("--").toLowerCase()}-1`;
    this.#world.channels.set(id, { id, name, kind: "mpim", isArchived: false, members });

    return { id, name };
  }

  mention({ id }: { readonly id: string }): string {
    return `<@${id}>`;
  }

  fault(target: SlackFaultTarget, fault: SlackFault): void {
    this.#faults.arm(target, fault);
  }

  /** Files of messages: who asked for them, and how serving them goes wrong. */
  get files(): ServedFiles {
    return this.#world.files;
  }

  /** Without its replies where it is a channel; in a thread without its root. */
  messages({ channel, threadTs }: FakeSlackPlace): readonly FakeSlackMessage[] {
    const all =
      threadTs === undefined
        ? this.#world.messages(channel.id).filter((message) => message.threadTs === undefined)
        : this.#world.replies(channel.id, threadTs);
    return all.map((message) => shown(this.#world, message));
  }

  /** Roots that have replies or were made as one. */
  threads(channel: { readonly id: string }): readonly FakeSlackMessage[] {
    return this.#world
      .messages(channel.id)
      .filter(
        ({ ts, threadTs, metadata }) =>
          threadTs === undefined &&
          (metadata?.event_type === "dure_thread" ||
            this.#world.replies(channel.id, ts).length > 0),
      )
      .map((message) => shown(this.#world, message));
  }

  /** Connections that an app has had. */
  sessionsStarted(app: FakeSlackApp): number {
    return this.#socket.started(this.#app(app));
  }

  connections(app: FakeSlackApp): number {
    return this.#socket.connectionsOf(this.#app(app)).length;
  }

  /** Ids of events that clients have acknowledged. */
  get acknowledged(): readonly string[] {
    return this.#socket.acknowledged;
  }

  /** Ids of events as clients were told them, each time. */
  get told(): readonly string[] {
    return this.#socket.told;
  }

  /** Events that no client has acknowledged yet, and that are not given up. */
  get unacknowledged(): number {
    return this.#socket.waiting;
  }

  /** Tells the app's clients to connect anew, as the platform does every few hours. */
  refresh(app: FakeSlackApp, reason = "refresh_requested"): void {
    this.#socket.refresh(this.#app(app), reason);
  }

  cut(app: FakeSlackApp): void {
    this.#socket.cut(this.#app(app));
  }

  /**
   * The platform is away for longer than it tells events again: it answers 503, takes no connection,
   * and what people write meanwhile is only to be read.
   */
  setOutage(isOut: boolean): void {
    this.#socket.setOutage(isOut);
    this.#faults.setOutage(isOut);
  }

  /**
   * The app's connections stay open, and it is told nothing more by them. With `frozen` they answer
   * no ping either. New ones are as always.
   */
  silence(app: FakeSlackApp, { frozen = false } = {}): void {
    this.#socket.silence(this.#app(app), frozen);
  }

  /** The app's next connections open and say nothing, not even hello. */
  withholdHello(app: FakeSlackApp, times: number): void {
    this.#socket.withholdHello(this.#app(app), times);
  }

  /** What an app's connections were sent, oldest first; the last 1,000. */
  envelopes(app: FakeSlackApp): readonly unknown[] {
    return this.#socket.sentTo(this.#app(app));
  }

  sendRaw(app: FakeSlackApp, text: string): void {
    this.#socket.sendRaw(this.#app(app), text);
  }

  /** An event as an app is told it. */
  sendEvent(app: FakeSlackApp, event: Record<string, unknown>): void {
    this.#send(this.#app(app), event);
  }

  /** Both tokens stop working. */
  revoke(app: FakeSlackApp): void {
    const known = this.#app(app);
    known.botToken = "";
    known.appToken = "";
    this.#socket.cut(known);
  }

  archive(channel: FakeSlackChannel): void {
    const known = this.#world.channel(channel.id);
    known.isArchived = true;
    this.#tell({ kind: "archived", channel: known });
  }

  /**
   * An admin makes a channel private, or public. Source: docs.slack.dev/reference/events/message,
   * channel_convert_to_private, channel_convert_to_public.
   */
  convert(channel: FakeSlackChannel, to: "private" | "public"): void {
    this.#world.convert(channel.id, { to, by: ADMIN });
  }

  rename(channel: FakeSlackChannel, name: string): void {
    const known = this.#world.channel(channel.id);
    known.name = name;
    this.#tell({ kind: "renamed", channel: known });
  }

  removeFrom(channel: FakeSlackChannel, app: FakeSlackApp): void {
    const known = this.#world.channel(channel.id);
    this.#tell({ kind: "left", channel: known, user: app.id });
    known.members.delete(app.id);
  }

  #app({ id }: { readonly id: string }): SlackApp {
    const app = this.#world.appOfUser(id);
    if (!app) throw new Error(`There is no app with the bot user ${id}.`);

    return app;
  }

  #joinAll(user: string): void {
    for (const channel of this.#world.channels.values()) {
      if (!/^(im|mpim)$/.test(channel.kind)) channel.members.add(user);
    }
  }

  #tell(event: SlackWorldEvent): void {
    const channel = this.#world.channel(
      "message" in event ? event.message.channel : event.channel.id,
    );
    for (const app of this.#world.apps) {
      if (channel.members.has(app.userId)) this.#send(app, eventOf(this.#world, event));
    }
  }

  #send(app: SlackApp, event: Record<string, unknown>): void {
    const ids = { eventId: this.#world.newId("Ev"), at: this.#clock.now() };
    this.#socket.send(app, "events_api", eventCallback(app, event, ids));
  }

  #command(
    bot: string,
    given: { readonly person: SlackUser; readonly channel: string; readonly text: string },
  ): void {
    const app = this.#world.apps.find(({ userId }) => userId === bot);
    if (!app) throw new Error(`There is no app ${bot}.`);
    this.#socket.send(app, "slash_commands", slashCommand(app, given));
  }

  /** Told to the apps that are in the channel. Source: docs.slack.dev/reference/events/reaction_added. */
  #react(
    message: SlackMessage,
    { person, reaction, type }: { person: SlackUser; reaction: string; type: ReactionEventType },
  ): void {
    const { channel, ts } = message;
    const event = {
      type,
      user: person.id,
      reaction,
      item_user: message.user,
      item: { type: "message", channel, ts },
      event_ts: this.#world.newTs(),
    };
    for (const app of this.#world.apps) {
      if (this.#world.channel(channel).members.has(app.userId)) this.#send(app, event);
    }
  }

  #press(press: PressedButton): void {
    const { message, person } = press;
    const app = this.#world.apps.find(({ botId }) => botId === message.botId);
    if (!app) throw new Error(`There is no button ${press.label}.`);
    const payload = blockActions(this.#world, message, { person, ...buttonOf(press) });
    this.#socket.send(app, "interactive", payload);
  }
}

interface PressedButton {
  readonly message: SlackMessage;
  readonly person: SlackUser;
  readonly label: string;
  /** Of a button that may be gone meanwhile. */
  readonly value?: string;
}

function buttonOf({ message, label, value }: PressedButton): { value: string; actionId: string } {
  const button = (message.blocks ?? [])
    .flatMap(({ elements }) => elements ?? [])
    .find(({ text }) => text?.text === label);
  if (!button && value === undefined) throw new Error(`There is no button ${label}.`);

  return { value: value ?? button?.value ?? "", actionId: button?.action_id ?? "old" };
}

interface PersonParts {
  readonly world: SlackWorld;
  readonly press: (press: PressedButton) => void;
  readonly command: (
    bot: string,
    given: { readonly person: SlackUser; readonly channel: string; readonly text: string },
  ) => void;
  readonly react: (message: SlackMessage, reaction: string, type: ReactionEventType) => void;
}

/** A person at the keyboard. */
export class FakeSlackPerson {
  readonly id: string;
  readonly name: string;
  readonly #user: SlackUser;
  readonly #parts: PersonParts;

  constructor(user: SlackUser, parts: PersonParts) {
    this.id = user.id;
    this.name = user.name;
    this.#user = user;
    this.#parts = parts;
  }

  post(
    { channel, threadTs }: FakeSlackPlace,
    text: string,
    { agoMs = 0, files = [] }: { agoMs?: number; files?: SlackMessage["files"] } = {},
  ): { readonly ts: string; readonly channel: string } {
    return this.#parts.world.add({
      ts: this.#parts.world.newTs(agoMs),
      channel: channel.id,
      user: this.id,
      botId: undefined,
      appId: undefined,
      text,
      threadTs,
      metadata: undefined,
      blocks: undefined,
      username: undefined,
      files,
      editedAt: undefined,
    });
  }

  edit(message: { readonly ts: string; readonly channel: string }, text: string): void {
    this.#parts.world.change(this.#found(message), text, undefined);
  }

  remove(message: { readonly ts: string; readonly channel: string }): void {
    this.#parts.world.remove(this.#found(message));
  }

  press(message: { readonly ts: string; readonly channel: string }, label: string): void {
    this.#parts.press({ message: this.#found(message), person: this.#user, label });
  }

  /** A button that was shown under a message, also when it is gone meanwhile: an old screen. */
  pressValue(
    message: { readonly ts: string; readonly channel: string },
    button: { readonly value: string; readonly label: string },
  ): void {
    this.#parts.press({ message: this.#found(message), person: this.#user, ...button });
  }

  /** `/dure <text>` of an app, in a channel: Slack takes none in a thread. */
  command(app: { readonly id: string }, channel: { readonly id: string }, text: string): void {
    this.#parts.command(app.id, { person: this.#user, channel: channel.id, text });
  }

  /** By the name of the emoji, such as `octagonal_sign`. */
  react(message: { readonly ts: string; readonly channel: string }, reaction: string): void {
    this.#parts.react(this.#found(message), reaction, "reaction_added");
  }

  /** Takes an own emoji away. */
  unreact(message: { readonly ts: string; readonly channel: string }, reaction: string): void {
    this.#parts.react(this.#found(message), reaction, "reaction_removed");
  }

  #found({ channel, ts }: { readonly ts: string; readonly channel: string }): SlackMessage {
    const message = this.#parts.world.message(channel, ts);
    if (!message) throw new Error(`There is no message ${ts}.`);

    return message;
  }
}

function eventOf(world: SlackWorld, event: SlackWorldEvent): Record<string, unknown> {
  const at = world.newTs();
  switch (event.kind) {
    case "message":
    case "changed":
    case "deleted":
      return messageEvent(world, event, at);
    case "left":
      return {
        type: "member_left_channel",
        user: event.user,
        channel: event.channel.id,
        channel_type: "C",
        team: TEAM,
        event_ts: at,
      };
    case "archived":
      return { type: "channel_archive", channel: event.channel.id, user: ADMIN, event_ts: at };
    case "renamed": {
      const { id, name } = event.channel;
      const kind = { is_channel: true, is_mpim: false };
      const channel = { id, name, name_normalized: name, created: 0, ...kind };

      return { type: "channel_rename", channel, event_ts: at };
    }
    default:
      return event satisfies never;
  }
}

function shown(world: SlackWorld, message: SlackMessage): FakeSlackMessage {
  const buttons = (message.blocks ?? []).flatMap(({ elements }) =>
    (elements ?? []).map(({ value = "", text }) => ({ value, label: text?.text ?? "" })),
  );

  return {
    ts: message.ts,
    channel: message.channel,
    author: message.username ?? world.nameOf(message.user),
    authorIsBot: message.botId !== undefined,
    text: message.text,
    threadTs: message.threadTs,
    eventType: message.metadata?.event_type ?? "",
    edited: message.editedAt !== undefined,
    reactions: [...message.reactions],
    files: message.files,
    buttons,
  };
}

function messageEvent(
  world: SlackWorld,
  { kind, message }: { kind: "message" | "changed" | "deleted"; message: SlackMessage },
  at: string,
): Record<string, unknown> {
  const channel = world.channel(message.channel);
  const payload = messagePayload(world, message, { withMetadata: false });
  const place = { channel: channel.id, channel_type: channel.kind };
  if (kind === "message") return { ...payload, ...place, event_ts: message.ts };

  const hidden = { type: "message", hidden: true, ts: at, event_ts: at, ...place };

  return kind === "changed"
    ? { ...hidden, subtype: "message_changed", message: payload, previous_message: payload }
    : { ...hidden, subtype: "message_deleted", deleted_ts: message.ts, previous_message: payload };
}
