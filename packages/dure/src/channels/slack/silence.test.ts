import { FakeSlack, type FakeSlackApp } from "@dure/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { silentLogger } from "../../kernel/logger.ts";
import { TestClock } from "../../kernel/test-clock.ts";
import { FULL } from "../../kernel/test-tiers.ts";
import type { ChannelAccount } from "../../rooms/channel-adapter.ts";
import { RecordingPort } from "../test-port.ts";
import { isMissed, SilenceWatch } from "./silence.ts";
import { SlackAdapter } from "./slack-adapter.ts";
import { eventually } from "../../../test/until.ts";

const MINUTE = 60_000;
const RUDA: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다" };
const never = new AbortController().signal;

test("what stands in a channel and was not told counts as missed after a minute", () => {
  const now = 1_700_000_100_000;

  expect(isMissed("1700000010.000100", "1700000001.000100", now)).toBe(true);
  expect(isMissed("1700000090.000100", "1700000001.000100", now)).toBe(false);
  expect(isMissed("1700000001.000100", "1700000001.000100", now)).toBe(false);
  expect(isMissed("", "", now)).toBe(false);
});

describe("of a connection that says nothing", () => {
  test("the channels are looked at after five minutes, and it is given up for what it missed", async () => {
    const { clock, watch, channel } = aWatch();
    await clock.pass(4 * MINUTE);
    expect([channel.looks, channel.deaf]).toEqual([0, 0]);

    await clock.pass(MINUTE);
    expect([channel.looks, channel.deaf]).toEqual([1, 0]);
    channel.newest = tsAt(clock.now());
    await clock.pass(5 * MINUTE);

    expect([channel.looks, channel.deaf]).toEqual([2, 1]);
    await watch;
  });

  test("a word that is told begins the time anew, and is not missed", async () => {
    const { clock, silence, channel } = aWatch();
    await clock.pass(4 * MINUTE);
    channel.newest = tsAt(clock.now());
    silence.heard({ event: { type: "message", ts: channel.newest } });

    await clock.pass(4 * MINUTE);
    expect(channel.looks).toBe(0);
    await clock.pass(MINUTE);

    expect([channel.looks, channel.deaf]).toEqual([1, 0]);
  });

  test("the next ones that are deaf are looked at later and later, up to an hour", async () => {
    const { clock, silence, channel } = aWatch();
    const waits: number[] = [];
    channel.newest = tsAt(clock.now());
    for (let round = 0; round < 6; round++) {
      const since = clock.now();
      while (channel.deaf === round) await clock.pass(MINUTE);
      waits.push((clock.now() - since) / MINUTE);
      void silence.watch(() => (channel.deaf += 1), never);
    }

    expect(waits).toEqual([5, 10, 20, 40, 60, 60]);
  });

  test("a look that fails is no sign of deafness", async () => {
    const { clock, channel } = aWatch();
    channel.fails = true;

    await clock.pass(20 * MINUTE);

    expect([channel.looks, channel.deaf]).toEqual([4, 0]);
  });
});

describe("against the service", { ...FULL, timeout: 90_000 }, () => {
  test("one that answers pings and tells nothing is made anew, and what was said is heard", async () => {
    const { slack, ruda, port, say } = await connected({ quietMs: 1_000 });
    say("들려요", 5 * MINUTE);
    await until(() => expect(port.texts("ruda")).toEqual(["들려요"]));

    slack.silence(ruda);
    say("안 들려요", 2 * MINUTE);
    await until(() => expect(port.texts("ruda")).toEqual(["들려요", "안 들려요"]));

    expect(slack.sessionsStarted(ruda)).toBe(2);
    expect(port.stateOf("ruda")).toBe("ready");
    expect(port.lines).toEqual([expect.stringContaining("was told nothing by Slack")]);
    say("다시 들려요");
    await until(() => expect(port.texts("ruda").at(-1)).toBe("다시 들려요"));
  });

  test("one that answers no ping is given up, and what was said meanwhile is heard", async () => {
    const { slack, ruda, port, say } = await connected({});

    slack.silence(ruda, { frozen: true });
    say("얼어붙은 말");
    await until(() => expect(port.stateOf("ruda")).toBe("reconnecting"));

    await until(() => expect(port.texts("ruda")).toEqual(["얼어붙은 말"]));
    expect(port.stateOf("ruda")).toBe("ready");
    expect(slack.sessionsStarted(ruda)).toBe(2);
  });

  test("one that opens and never says hello is given up and tried again", async () => {
    const { slack, ruda, port, say } = await connected({ timeoutMs: 2_000 });

    slack.withholdHello(ruda, 1);
    slack.cut(ruda);
    say("인사 없는 사이");

    await until(() => expect(port.texts("ruda")).toEqual(["인사 없는 사이"]));
    expect(port.lines).toContainEqual(expect.stringContaining("Slack said no hello in 2 s"));
    expect(slack.sessionsStarted(ruda)).toBe(3);
  });
});

function tsAt(ms: number): string {
  return `${String(Math.floor(ms / 1000)).padStart(10, "0")}.000000`;
}

/** A connection without a word from its beginning on, and a channel behind it. */
function aWatch() {
  const clock = new TestClock();
  const channel = { newest: "", looks: 0, deaf: 0, fails: false };
  const silence = new SilenceWatch({
    clock,
    logger: silentLogger,
    name: "ruda",
    quietMs: 5 * MINUTE,
    look: async () => {
      channel.looks += 1;
      if (channel.fails) throw new Error("no answer");
      return channel.newest;
    },
  });
  const watch = silence.watch(() => (channel.deaf += 1), never);
  return { clock, silence, channel, watch };
}

interface Stage {
  readonly slack: FakeSlack;
  readonly ruda: FakeSlackApp;
  readonly port: RecordingPort;
  readonly say: (text: string, agoMs?: number) => void;
}

async function connected(options: { quietMs?: number; timeoutMs?: number }): Promise<Stage> {
  const slack = await FakeSlack.start();
  const general = slack.addChannel("general");
  const ruda = slack.addApp({ name: "루다", botToken: "xoxb-1", appToken: "xapp-1" });
  const minjun = slack.addPerson("민준");
  const adapter = new SlackAdapter({
    ...options,
    tokens: { ruda: { bot: ruda.botToken, app: ruda.appToken } },
    apiUrl: slack.url,
    channels: () => [general.id],
  });
  const port = new RecordingPort(adapter);
  port.watched.push({ adapter: "slack", channel: general.id });
  onTestFinished(async () => {
    await adapter.stop();
    await slack.stop();
  });
  await adapter.start(port);
  void adapter.connect(RUDA, { signal: never });
  await until(() => expect(port.gapsRead).toBe(1));
  const say = (text: string, agoMs = 0): void =>
    void minjun.post({ channel: general }, text, { agoMs });
  return { slack, ruda, port, say };
}

function until(check: () => unknown): Promise<unknown> {
  return eventually(check, { patienceMs: 60_000 });
}
