import type { Database } from "../../durable/database.ts";
import type {
  ChannelAccount,
  ChannelAdapter,
  ChannelPort,
  FoundOnPlatform,
  InboundMessage,
  OutgoingPost,
  OutgoingThread,
  PlaceAddress,
} from "../../rooms/channel-adapter.ts";

/**
 * The rooms that dure serves itself: their platform is the database, so posting is a row and
 * nothing is ever missed. `faults` lets tests refuse, delay or cut what a real platform would (see
 * `@dure/testing`).
 */
export class WebAdapter implements ChannelAdapter {
  readonly name = "web";
  readonly isLocal = true;
  readonly limits = { messageLength: 100_000, threadNameLength: 100, keyMemoryMs: 60_000 } as const;
  readonly #database: Database;
  readonly #faults: WebFaults | undefined;

  constructor(options: { database: Database; faults?: WebFaults }) {
    this.#database = options.database;
    this.#faults = options.faults;
  }

  async start(port: ChannelPort): Promise<void> {
    this.#faults?.attach?.(port);
  }

  async stop(): Promise<void> {
    // There is no connection to end.
  }

  async connect(): Promise<void> {
    // Every process serves every account: there is no connection to hold.
  }

  async post(
    post: OutgoingPost,
    options: { signal: AbortSignal },
  ): Promise<{ platformId: string }> {
    const platformId = `web-${post.key}`;
    const write = async (): Promise<{ platformId: string }> => {
      await this.#database.query(POST, [
        platformId,
        post.account.id,
        post.place.thread ?? post.place.channel,
        post.text,
      ]);
      return { platformId };
    };
    return this.#faults
      ? this.#faults.around("post", { account: post.account, place: post.place }, write, options)
      : write();
  }

  async findPost(post: OutgoingPost, options: { signal: AbortSignal }): Promise<FoundOnPlatform> {
    const look = async (): Promise<FoundOnPlatform> => {
      const [row] = await this.#database.query<{ id: string }>(FIND, [`web-${post.key}`]);
      return row ? { found: "yes", platformId: row.id } : { found: "no" };
    };
    return this.#faults
      ? this.#faults.around("find", { account: post.account, place: post.place }, look, options)
      : look();
  }

  async createThread(
    thread: OutgoingThread,
    options: { signal: AbortSignal },
  ): Promise<{ platformId: string }> {
    const platformId = `thread-${thread.key}`;
    const write = async (): Promise<{ platformId: string }> => {
      await this.#database.query(POST, [
        platformId,
        thread.account.id,
        thread.channel.channel,
        thread.name,
      ]);
      return { platformId };
    };
    return this.#faults
      ? this.#faults.around(
          "thread",
          { account: thread.account, place: thread.channel },
          write,
          options,
        )
      : write();
  }

  /** A thread of the web rooms has one key for ever: no caller needs to name it. */
  async findThread(
    thread: OutgoingThread,
    options: { signal: AbortSignal },
  ): Promise<FoundOnPlatform> {
    const look = async (): Promise<FoundOnPlatform> => {
      const [row] = await this.#database.query<{ id: string }>(FIND, [`thread-${thread.key}`]);
      return row ? { found: "yes", platformId: row.id } : { found: "no" };
    };
    return this.#faults
      ? this.#faults.around(
          "find",
          { account: thread.account, place: thread.channel },
          look,
          options,
        )
      : look();
  }

  typing(): void {
    // The page asks who works on an answer: it is a row already.
  }

  linkTo(
    _place: PlaceAddress,
    { id, name }: { readonly id: string; readonly name: string },
  ): string {
    return `[${name.replace(/[\\[\]]/g, "\\$&")}](/rooms/${encodeURIComponent(id)})`;
  }

  async readSince(): Promise<readonly InboundMessage[]> {
    return []; // what a person posts is stored before it is answered with 202
  }
}

/** What stands between the adapter and its platform in tests. */
export interface WebFaults {
  attach?(port: ChannelPort): void;
  around<T>(
    what: "post" | "find" | "thread",
    where: { account: ChannelAccount; place: PlaceAddress },
    work: () => Promise<T>,
    options: { signal: AbortSignal },
  ): Promise<T>;
}

/** The same key is posted once. */
const POST = {
  name: "web.post",
  text: `
    insert into dure.web_posts (id, account, place, text)
    values ($1, $2, $3, $4)
    on conflict (id) do nothing`,
};
const FIND = { name: "web.find", text: "select id from dure.web_posts where id = $1" };
