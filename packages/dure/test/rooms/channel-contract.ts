import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import {
  ChannelError,
  type ChannelAccount,
  type ChannelAdapter,
  type ChannelFailure,
  type Audience,
  type ChannelPort,
  type InboundMessage,
  type OutgoingPost,
  type OutgoingThread,
  type PlaceAddress,
} from "../../src/rooms/channel-adapter.ts";
import type { AccountState } from "../../src/kernel/rooms.ts";
import { postOnce } from "../../src/rooms/out/outgoing.ts";
import { eventually } from "../until.ts";

/**
 * A platform with one empty channel, two accounts in it, and an adapter that has not been started.
 * Each test gets its own.
 */
export interface ChannelStage {
  readonly adapter: ChannelAdapter;
  readonly account: ChannelAccount;
  readonly other: ChannelAccount;
  readonly channel: PlaceAddress;
  /** What people see there, oldest first; a mention of an account as `@` and its display name. */
  shown(place: PlaceAddress): Promise<readonly string[]>;
  /** The next request of this kind fails so. `hang`: it never answers. */
  fail(
    what: "post" | "thread",
    failure: FailureOfPlatform,
    options?: { afterDoing?: boolean; retryAfterMs?: number },
  ): void;
  /**
   * A person's message, its platform id. Absent: people write through dure itself, and nothing is
   * ever missed.
   */
  readonly say?: (place: PlaceAddress, text: string) => Promise<string>;
}

export type FailureOfPlatform = Exclude<ChannelFailure, "invalid"> | "hang";

/**
 * What a platform does not have. `find`: what was sent cannot be looked for. `threads`: dure makes
 * none there. `read`: what was said is not given back. `retry-after`: a refusal for the rate does not
 * say how long.
 */
export type ContractGap = "find" | "threads" | "read" | "retry-after";

/**
 * What every adapter must do, in the words of `ChannelAdapter`. Run it for a new platform before
 * anything else. `cannot`: what the platform does not have is not asked of its adapter; the test of
 * the adapter says what it answers instead.
 */
export function channelContract(
  name: string,
  makeStage: () => Promise<ChannelStage>,
  { cannot = [] }: { cannot?: readonly ContractGap[] } = {},
): void {
  const testWith = (needed: ContractGap): typeof test.skip =>
    cannot.includes(needed) ? test.skip : test;
  const open = async (): Promise<ChannelStage & { port: ContractPort }> => {
    const stage = await makeStage();
    const port = new ContractPort();
    await stage.adapter.start(port);
    return { ...stage, port };
  };
  const { signal } = new AbortController();

  describe(`the channel contract on ${name}`, { timeout: 30_000 }, () => {
    test("names itself, and what it allows has room for a sentence", async () => {
      const { adapter, channel } = await makeStage();

      expect(adapter.name).toBe(channel.adapter);
      expect(adapter.limits.messageLength).toBeGreaterThanOrEqual(500);
      expect(adapter.limits.threadNameLength).toBeGreaterThanOrEqual(50);
    });

    test("starting twice is one start; stopping is allowed twice, and before a start", async () => {
      const { adapter } = await makeStage();
      const { adapter: never } = await makeStage();
      const port = new ContractPort();

      await Promise.all([adapter.start(port), adapter.start(port)]);
      await Promise.all([adapter.stop(), adapter.stop()]);
      await adapter.stop();
      await never.stop();

      expect(port.states).toEqual([]);
    });

    test("a connection lives until it is aborted, tells its states, and may be made again", async () => {
      const { adapter, account, port } = await open();
      if (adapter.isLocal) return; // there is nothing to connect

      for (const _round of [1, 2]) {
        const over = new AbortController();
        const connected = adapter.connect(account, { signal: over.signal });
        await eventually(() => expect(port.states.at(-1)).toBe("ready"));
        over.abort();
        await connected;
        expect(port.states.at(-1)).toBe("stopped");
      }
      expect(port.states).toEqual(["starting", "ready", "stopped", "starting", "ready", "stopped"]);
      await adapter.stop();
    });

    test("stopping ends a connection", async () => {
      const { adapter, account, port } = await open();
      const connected = adapter.connect(account, { signal: new AbortController().signal });
      if (!adapter.isLocal) {
        await eventually(() => expect(port.states.at(-1)).toBe("ready"));
      }

      await adapter.stop();
      await connected;

      expect(port.states.at(-1)).toBe(adapter.isLocal ? undefined : "stopped");
    });

    testWith("find")("a post is shown once, however often it is sent with its key", async () => {
      const stage = await open();
      const post = postOf(stage, { text: "안녕하세요" });

      const first = await stage.adapter.post(post, { signal });
      const again = await postOnce(stage.adapter, post, { signal });

      expect(again.platformId).toBe(first.platformId);
      expect(await stage.shown(stage.channel)).toEqual(["안녕하세요"]);
    });

    test("posts stand in the order in which they were sent, of one account and of several", async () => {
      const stage = await open();

      for (let index = 0; index < 6; index++) {
        await stage.adapter.post(
          postOf(stage, {
            text: `${index}번`,
            key: `key-${index}`,
            account: index % 2 === 0 ? stage.account : stage.other,
          }),
          { signal },
        );
      }

      expect(await stage.shown(stage.channel)).toEqual(["0번", "1번", "2번", "3번", "4번", "5번"]);
    });

    test("the longest post is taken", async () => {
      const stage = await open();
      const text = "가".repeat(stage.adapter.limits.messageLength);

      await stage.adapter.post(postOf(stage, { text }), { signal });

      expect(await stage.shown(stage.channel)).toEqual([text]);
    });

    testWith("find")(
      "a post is found by what it is, and another one is not found in its stead",
      async () => {
        const stage = await open();
        const post = postOf(stage, { text: "찾아 보세요", key: "key-1" });
        const before = await stage.adapter.post(postOf(stage, { text: "처음", key: "key-0" }), {
          signal,
        });
        expect(await stage.adapter.findPost(post, { after: before.platformId, signal })).toEqual({
          found: "no",
        });

        const { platformId } = await stage.adapter.post(post, { signal });

        expect(await stage.adapter.findPost(post, { after: before.platformId, signal })).toEqual({
          found: "yes",
          platformId,
        });
        expect(
          await stage.adapter.findPost(postOf(stage, { text: "다른 말", key: "key-2" }), {
            after: before.platformId,
            signal,
          }),
        ).toEqual({ found: "no" });
        expect(
          await stage.adapter.findPost(
            postOf(stage, { text: "찾아 보세요", key: "key-3", account: stage.other }),
            { after: before.platformId, signal },
          ),
        ).toEqual({ found: "no" });
      },
    );

    testWith("find")(
      "a post whose answer was lost is found, and sending it again shows it once",
      async () => {
        const stage = await open();
        const before = await stage.adapter.post(postOf(stage, { text: "처음", key: "key-0" }), {
          signal,
        });
        const post = postOf(stage, { text: "답을 잃음", key: "key-1" });
        stage.fail("post", "transient", { afterDoing: true });

        await expect(stage.adapter.post(post, { signal })).rejects.toMatchObject({
          failure: "transient",
          notSent: false,
        });

        expect(
          await stage.adapter.findPost(post, { after: before.platformId, signal }),
        ).toMatchObject({ found: "yes" });
        await postOnce(stage.adapter, post, { signal });
        expect(await stage.shown(stage.channel)).toEqual(["처음", "답을 잃음"]);
      },
    );

    testWith("threads")(
      "a thread is made, found by its owner and name, and holds what is posted in it",
      async () => {
        const stage = await open();
        const thread = threadOf(stage, { name: "[협업] 하나 → 둘" });
        expect(await stage.adapter.findThread(thread, { signal })).toEqual({ found: "no" });

        const { platformId } = await stage.adapter.createThread(thread, { signal });

        expect(await stage.adapter.findThread(thread, { signal })).toEqual({
          found: "yes",
          platformId,
        });
        expect(
          await stage.adapter.findThread(
            threadOf(stage, { name: "[협업] 둘 → 하나", key: "another-thread" }),
            { signal },
          ),
        ).toEqual({ found: "no" });
        const place = { ...stage.channel, thread: platformId };
        await stage.adapter.post(postOf(stage, { text: "여기서 합시다", place }), { signal });
        expect(await stage.shown(place)).toEqual(["여기서 합시다"]);
        expect(await stage.shown(stage.channel)).toEqual([]);
      },
    );

    test("a mention in dure's words is the platform's mention", async () => {
      const stage = await open();
      const { agent, displayName, platformId } = stage.other;

      await stage.adapter.post(
        postOf(stage, {
          text: `<@${agent}> 봐 줘`,
          mentions: [{ agent, displayName, platformId: platformId ?? agent }],
        }),
        { signal },
      );

      expect(await stage.shown(stage.channel)).toEqual([`@${displayName} 봐 줘`]);
    });

    test.each([
      ["permission", true],
      ["not-found", true],
      ["rate-limited", true],
      ["credential", true],
      ["transient", false],
    ] as const)(
      "a refusal of the class %s is a ChannelError that says so, and nothing is shown",
      async (failure, notSent) => {
        const stage = await open();
        stage.fail("post", failure, { retryAfterMs: 1_500 });

        const error: unknown = await stage.adapter
          .post(postOf(stage, { text: "nein" }), { signal })
          .catch((reason: unknown) => reason);

        expect(error).toBeInstanceOf(ChannelError);
        expect(error).toMatchObject({ failure, notSent });
        if (failure === "rate-limited" && !cannot.includes("retry-after")) {
          expect((error as ChannelError).retryAfterMs).toSatisfy(
            (ms: number) => ms >= 1_500 && ms < 3_500,
          );
        } // never sooner; platforms round up
        expect(await stage.shown(stage.channel)).toEqual([]);
      },
    );

    const asked = cannot.includes("threads") ? (["post"] as const) : (["post", "thread"] as const);
    test.each(asked)("an abort ends a %s that is not answered", async (what) => {
      const stage = await open();
      stage.fail(what, "hang");
      const over = new AbortController();
      const work =
        what === "post"
          ? stage.adapter.post(postOf(stage, { text: "…" }), { signal: over.signal })
          : stage.adapter.createThread(threadOf(stage, { name: "…" }), { signal: over.signal });

      systemClock.after(100, () => over.abort(new Error("enough")));

      await expect(work).rejects.toThrow();
    });

    test("a typing sign never fails", async () => {
      const stage = await open();

      stage.adapter.typing(stage.account, stage.channel);
      stage.adapter.typing(stage.account, { ...stage.channel, channel: "1" });

      expect(await stage.shown(stage.channel)).toEqual([]);
    });

    testWith("read")(
      "what people said is read oldest first, behind a message, at most so many; without one the newest",
      async () => {
        const stage = await open();
        const { say, adapter, account, channel } = stage;
        if (!say) {
          return expect(await adapter.readSince(account, channel, { limit: 100, signal })).toEqual(
            [],
          );
        }
        expect(await adapter.readSince(account, channel, { limit: 100, signal })).toEqual([]);
        const ids: string[] = [];
        for (let index = 0; index < 8; index++) ids.push(await say(channel, `${index}번`));

        const textsOf = (messages: readonly InboundMessage[]): readonly string[] =>
          messages.map(({ text }) => text);
        expect(
          textsOf(
            await adapter.readSince(account, channel, { after: ids[2]!, limit: 100, signal }),
          ),
        ).toEqual(["3번", "4번", "5번", "6번", "7번"]);
        expect(
          textsOf(await adapter.readSince(account, channel, { after: ids[2]!, limit: 2, signal })),
        ).toEqual(["3번", "4번"]);
        expect(textsOf(await adapter.readSince(account, channel, { limit: 3, signal }))).toEqual([
          "5번",
          "6번",
          "7번",
        ]);
        expect(
          await adapter.readSince(account, channel, { after: ids[7]!, limit: 100, signal }),
        ).toEqual([]);
      },
    );

    test("what a person says comes in once per account, with its place, author and time, and is the same when it is read", async () => {
      const stage = await open();
      const { say, adapter, account, channel, port } = stage;
      if (!say) return; // it is stored before it is answered
      const over = new AbortController();
      const connected = adapter.connect(account, { signal: over.signal });
      await eventually(() => expect(port.states.at(-1)).toBe("ready"));
      await eventually(() => expect(port.gaps).toBeGreaterThan(0));

      const platformId = await say(channel, "들려요?");

      await eventually(() =>
        expect(port.messages.map((message) => message.platformId)).toEqual([platformId]),
      );
      expect(port.messages[0]).toMatchObject({
        text: "들려요?",
        place: { adapter: channel.adapter, channel: channel.channel },
        author: { isBot: false },
        mentions: [],
        attachments: [],
      });
      expect(Math.abs(port.messages[0]!.at - systemClock.now())).toBeLessThan(60_000);
      const [read] = await adapter.readSince(account, channel, { limit: 10, signal });
      if (cannot.includes("read")) expect(read).toBeUndefined();
      else {
        expect(read).toMatchObject({
          platformId,
          text: "들려요?",
          author: port.messages[0]!.author,
        });
      }
      over.abort();
      await connected;
    });
  });
}

function postOf(
  stage: ChannelStage,
  options: Partial<OutgoingPost> & { text: string },
): OutgoingPost {
  return { account: stage.account, place: stage.channel, mentions: [], key: "a-key", ...options };
}

function threadOf(
  stage: ChannelStage,
  options: Partial<OutgoingThread> & { name: string },
): OutgoingThread {
  return {
    account: stage.account,
    channel: stage.channel,
    key: "a-thread",
    since: systemClock.now() - 1_000,
    ...options,
  };
}

/** Keeps what it is told. */
class ContractPort implements ChannelPort {
  readonly clock = systemClock;
  readonly logger = silentLogger;
  readonly states: AccountState[] = [];
  readonly messages: InboundMessage[] = [];
  readonly audiences: [string, boolean][] = [];
  gaps = 0;

  async received(_account: ChannelAccount, message: InboundMessage): Promise<void> {
    this.messages.push(message);
  }

  async edited(): Promise<void> {}
  async deleted(): Promise<void> {}
  async reacted(): Promise<void> {}

  async placeChanged(): Promise<void> {}

  async audienceChanged({ id }: ChannelAccount, { seenByAll }: Audience): Promise<void> {
    this.audiences.push([id, seenByAll]);
  }

  async accountChanged(_account: ChannelAccount, state: AccountState): Promise<void> {
    this.states.push(state);
  }

  async mayHaveMissed(): Promise<void> {
    this.gaps++;
  }

  async pressed(): Promise<string> {
    return "";
  }
}
