import type { z } from "zod";
import type { Clock } from "../../kernel/clock.ts";
import { withTimeout } from "../../kernel/clock.ts";
import { fetchAtOrigin } from "../../kernel/fetch-at-origin.ts";
import { ChannelError } from "../../rooms/channel-adapter.ts";
import { toChannelError, type SlackAttempt } from "./errors.ts";
import { SLACK_API, slackLogger, type SlackPackages } from "./packages.ts";
import { authAnswer, pageAnswer, userAnswer, type SlackWireMessage } from "./wire.ts";

export interface AppApiOptions {
  readonly packages: SlackPackages;
  /** Of the bot, or of Socket Mode for the one method that takes it. */
  readonly token: string;
  readonly apiUrl: string | undefined;
  readonly clock: Clock;
  /** For one request and its answer, milliseconds. */
  readonly timeoutMs: number;
  readonly debug: (line: string) => void;
  /** Called once, when the token is refused; nothing is asked with it any more. */
  readonly onRefused: () => void;
}

/** Who an app is in its workspace. */
export interface AppIdentity {
  readonly userId: string;
  readonly botId: string;
  readonly name: string;
  /** `https://team.slack.com/` */
  readonly url: string;
  readonly scopes: readonly string[];
}

/** A person as the platform describes one. */
export interface WorkspaceUser {
  readonly name: string;
  readonly manages: boolean;
}

export interface SlackCall<Shape extends z.ZodType> extends SlackAttempt {
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly answer: Shape;
  readonly signal: AbortSignal;
}

/** Where messages are read: the channel, or one thread of it. */
export interface ReadFrom {
  readonly channel: string;
  readonly threadTs?: string | undefined;
  /** Behind this `ts`; absent: the newest. */
  readonly after?: string | undefined;
  /** The message with this `ts` alone, and the root of its thread. */
  readonly at?: string | undefined;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** Messages that the platform advises to ask for at once. Source: conversations.history. */
const PAGE = 200;
/** Pages that are read of one place. */
const MAX_PAGES = 10;
const KEPT_USERS = 2000;

/**
 * One app's requests over HTTP, by the official client. Tries each once: who retries is the outbox.
 * Rejects with a `ChannelError`, or with the reason of the signal; an abort does not take back what
 * the platform has already got.
 */
export class AppApi {
  readonly #options: AppApiOptions;
  /** Bounded, oldest out. */
  readonly #users = new Map<string, WorkspaceUser>();
  #refused = false;
  #identity: AppIdentity | undefined;

  constructor(options: AppApiOptions) {
    this.#options = options;
  }

  get isRefused(): boolean {
    return this.#refused;
  }

  /** Undefined until it was asked for. */
  get identity(): AppIdentity | undefined {
    return this.#identity;
  }

  refuse(): void {
    if (this.#refused) return;
    this.#refused = true;
    this.#options.onRefused();
  }

  async call<Shape extends z.ZodType>(call: SlackCall<Shape>): Promise<z.output<Shape>> {
    const { method, args, answer, signal, ...attempt } = call;
    signal.throwIfAborted();
    if (this.#refused) {
      throw new ChannelError(
        "credential",
        `Slack did not ${attempt.doing}: the app's token was refused.`,
        { detail: "invalid_auth", notSent: true },
      );
    }
    try {
      const said = await this.#ask(method, args, attempt, signal);
      const parsed = answer.safeParse(said);
      if (parsed.success) return parsed.data;
      throw new ChannelError(
        "transient",
        `Slack did not ${attempt.doing}: its answer has another form than documented.`,
        { detail: parsed.error.issues[0]?.path.join(".") ?? "" },
      );
    } catch (error) {
      signal.throwIfAborted();
      const failure = toChannelError(error, attempt);
      if (failure.failure === "credential") this.refuse();
      throw failure;
    }
  }

  /** Asked once per token. */
  async whoAmI(signal: AbortSignal): Promise<AppIdentity> {
    if (this.#identity) return this.#identity;
    const said = await this.call({
      method: "auth.test",
      args: {},
      answer: authAnswer,
      doing: "tell who the app is",
      signal,
    });
    this.#identity = {
      userId: said.user_id,
      botId: said.bot_id ?? "",
      name: said.user,
      url: said.url,
      scopes: said.response_metadata?.scopes ?? [],
    };
    return this.#identity;
  }

  /** Kept; a person's id where the platform does not tell. */
  async user(id: string, signal: AbortSignal): Promise<WorkspaceUser> {
    const known = this.#users.get(id);
    if (known) return known;
    try {
      const { user } = await this.call({
        method: "users.info",
        args: { user: id },
        answer: userAnswer,
        doing: "tell who a person is",
        signal,
      });
      const name = user.profile?.display_name || user.real_name || user.name;
      const found = { name, manages: user.is_admin === true || user.is_owner === true };
      this.#users.set(id, found);
      if (this.#users.size > KEPT_USERS) this.#users.delete(this.#users.keys().next().value!);
      return found;
    } catch (error) {
      if (!(error instanceof ChannelError) || error.failure === "credential") throw error;
      return { name: id, manages: false };
    }
  }

  /**
   * Oldest first, at most `limit`, with metadata. A channel is told from its newest message on, a
   * thread from its oldest.
   */
  async read(from: ReadFrom): Promise<readonly SlackWireMessage[]> {
    const { after, limit, threadTs } = from;
    const fromOldest = threadTs !== undefined && after !== undefined;
    const fromNewest = threadTs === undefined && after === undefined;
    const all: SlackWireMessage[] = [];
    let cursor: string | undefined;
    for (let count = 0; count < MAX_PAGES; count++) {
      const size = fromOldest || fromNewest ? limit : PAGE;
      const page = await this.page({ ...from, limit: size }, cursor);
      all.push(...page.messages.filter((message) => isOf(message, threadTs)));
      cursor = page.next;
      if (cursor === undefined || (size === limit && all.length >= limit)) break;
    }
    const sorted = all.toSorted((one, other) => (one.ts < other.ts ? -1 : 1));
    return after === undefined ? sorted.slice(-limit) : sorted.slice(0, limit);
  }

  /** One page as the platform gives it. */
  async page(
    { channel, threadTs, after, at, limit, signal }: ReadFrom,
    cursor?: string,
  ): Promise<{ messages: readonly SlackWireMessage[]; next: string | undefined }> {
    const { messages, response_metadata } = await this.call({
      method: threadTs === undefined ? "conversations.history" : "conversations.replies",
      args: {
        channel,
        ts: threadTs,
        oldest: at ?? after,
        latest: at,
        inclusive: at === undefined ? undefined : true,
        limit: Math.min(PAGE, limit),
        cursor,
        include_all_metadata: true,
      },
      answer: pageAnswer,
      doing: "read messages",
      channel,
      signal,
    });
    return { messages, next: response_metadata?.next_cursor || undefined };
  }

  /** A client for each request, since one has no signal of its own. */
  async #ask(
    method: string,
    args: Readonly<Record<string, unknown>>,
    attempt: SlackAttempt,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { packages, token, apiUrl, clock, timeoutMs, debug } = this.#options;
    const late = (): Error =>
      new ChannelError(
        "transient",
        `Slack did not answer in ${timeoutMs / 1000} s when asked to ${attempt.doing}.`,
        { detail: "timeout" },
      );
    return withTimeout(clock, { ms: timeoutMs, signal }, late, (ends) => {
      const client = new packages.WebClient(token, {
        slackApiUrl: apiUrl ?? SLACK_API,
        logger: slackLogger(debug),
        retryConfig: { retries: 0 }, // its own retries know nothing of what may have arrived
        rejectRateLimitedCalls: true, // the outbox waits: where it is seen
        fetch: (url, init) => fetchAtOrigin(url, { ...init, signal: ends }),
      });
      return client.apiCall(method, args);
    });
  }
}

/** Of a thread its replies without the root; of a channel no replies that were shown there too. */
function isOf({ ts, thread_ts: root }: SlackWireMessage, threadTs: string | undefined): boolean {
  return threadTs === undefined ? root === undefined || root === ts : ts !== threadTs;
}
