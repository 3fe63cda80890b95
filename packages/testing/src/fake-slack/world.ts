import type { Clock } from "dure/client";
import { ServedFiles } from "../served-files.ts";
import type { SlackApp, SlackChannel, SlackFile, SlackMessage, SlackUser } from "./facts.ts";
import { SlackRefusal } from "./facts.ts";

/** What happened, for the apps that are in the channel. */
export type SlackWorldEvent =
  | { readonly kind: "message"; readonly message: SlackMessage }
  | { readonly kind: "changed" | "deleted"; readonly message: SlackMessage }
  | { readonly kind: "left"; readonly channel: SlackChannel; readonly user: string }
  | { readonly kind: "archived" | "renamed"; readonly channel: SlackChannel };

/** Apps, people, channels and messages of one workspace. */
export class SlackWorld {
  readonly apps: SlackApp[] = [];
  readonly users = new Map<string, SlackUser>();
  readonly channels = new Map<string, SlackChannel>();
  /** Files that were shared, by id. */
  readonly files = new ServedFiles();
  /** Where they are served: `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** Uploads that were begun and not completed. */
  readonly uploads = new Map<string, { readonly name: string; readonly length: number }>();
  readonly onEvent: (event: SlackWorldEvent) => void;
  readonly #clock: Clock;
  readonly #messages = new Map<string, SlackMessage[]>();
  #lastId = 0;
  #lastMicros = 0;

  constructor(
    { clock, origin }: { clock: Clock; origin: string },
    onEvent: (event: SlackWorldEvent) => void,
  ) {
    this.#clock = clock;
    this.origin = origin;
    this.onEvent = onEvent;
  }

  newId(letter: string): string {
    this.#lastId += 1;
    return `${letter}${this.#lastId.toString(36).toUpperCase().padStart(10, "0")}`;
  }

  /** Seconds and six digits, later than every one before. @param agoMs as if said earlier */
  newTs(agoMs = 0): string {
    const micros = (this.#clock.now() - agoMs) * 1000;
    if (agoMs === 0) this.#lastMicros = Math.max(this.#lastMicros + 1, micros);
    const at = agoMs === 0 ? this.#lastMicros : micros + (this.#lastId += 1);

    return `${Math.floor(at / 1e6)}.${String(at % 1e6).padStart(6, "0")}`;
  }

  channel(id: string): SlackChannel {
    const channel = this.channels.get(id);
    if (!channel) throw new SlackRefusal("channel_not_found");
    return channel;
  }

  /** Oldest first. */
  messages(channel: string): readonly SlackMessage[] {
    return this.#messages.get(channel) ?? [];
  }

  message(channel: string, ts: string): SlackMessage | undefined {
    return this.messages(channel).find((message) => message.ts === ts);
  }

  replies(channel: string, root: string): readonly SlackMessage[] {
    return this.messages(channel).filter(({ ts, threadTs }) => threadTs === root && ts !== root);
  }

  add(given: Omit<SlackMessage, "reactions">): SlackMessage {
    const files = given.files.map((file) => this.#kept(file));
    const message = { ...given, files, reactions: new Set<string>() };
    const known = this.#messages.get(message.channel) ?? [];
    this.#messages.set(
      message.channel,
      [...known, message].sort((one, other) => (one.ts < other.ts ? -1 : 1)),
    );

    this.onEvent({ kind: "message", message });

    return message;
  }

  /** With an id; its bytes are served from now on. */
  #kept(file: SlackFile): SlackFile {
    const id = file.id ?? this.newId("F");
    const { name, bytes, contentType = "text/plain" } = file;
    if (bytes) this.files.add(id, { name, bytes, contentType });
    return { ...file, id };
  }

  /** The file and where it was shared. */
  shared(
    id: string,
  ): { readonly file: SlackFile; readonly channels: readonly string[] } | undefined {
    const all = [...this.#messages.values()].flat();
    const having = all.filter(({ files }) => files.some((file) => file.id === id));
    const file = having[0]?.files.find((one) => one.id === id);
    return file && { file, channels: having.map(({ channel }) => channel) };
  }

  /** A channel is made private, or public: a message of the platform's own says so. */
  convert(id: string, { to, by }: { to: "private" | "public"; by: string }): void {
    this.channel(id).kind = to === "private" ? "group" : "channel";
    this.add({
      ts: this.newTs(),
      channel: id,
      user: by,
      botId: undefined,
      appId: undefined,
      text: `made this channel *${to}*.`,
      subtype: `channel_convert_to_${to}`,
      threadTs: undefined,
      metadata: undefined,
      blocks: undefined,
      username: undefined,
      files: [],
      editedAt: undefined,
    });
  }

  /** Source: docs.slack.dev/reference/events/message/message_changed. */
  change(message: SlackMessage, text: string, blocks: SlackMessage["blocks"]): void {
    message.text = text;
    message.blocks = blocks;
    message.editedAt = this.newTs();
    this.onEvent({ kind: "changed", message });
  }

  /** Source: docs.slack.dev/reference/events/message/message_deleted. */
  remove(message: SlackMessage): void {
    const left = this.messages(message.channel).filter(({ ts }) => ts !== message.ts);
    this.#messages.set(message.channel, left);
    this.onEvent({ kind: "deleted", message });
  }

  nameOf(user: string): string {
    return this.users.get(user)?.name ?? this.appOfUser(user)?.name ?? user;
  }

  appOfUser(user: string): SlackApp | undefined {
    return this.apps.find(({ userId }) => userId === user);
  }
}
