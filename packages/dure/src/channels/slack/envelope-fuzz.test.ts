import { FakeSlack, type SlackRateLimits } from "@dure/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isObject } from "../../kernel/json.ts";
import { sampled } from "../../kernel/test-tiers.ts";
import type { ChannelAccount, PlaceAddress } from "../../rooms/channel-adapter.ts";
import { numbersFrom, oddPayload } from "../test-odd-payloads.ts";
import { RecordingPort } from "../test-port.ts";
import { SlackAdapter } from "./slack-adapter.ts";
import { CHANNEL_EVENTS } from "./wire.ts";
import { eventually } from "../../../test/until.ts";

/** Odd envelopes behind each seed; 10,000 in all. */
const PER_SEED = 100;
const FIRST_SEED = Number(process.env["DURE_TEST_SEED"] ?? "1");
const SEEDS = sampled(
  Array.from({ length: 100 }, (_, index) => FIRST_SEED + index),
  3,
);
const RUDA: ChannelAccount = { id: "ruda", agent: "ruda", displayName: "루다" };
const OPEN = { limit: 100_000, perMs: 1000 };
const LIMITS: SlackRateLimits = {
  tiers: { "1": OPEN, "2": OPEN, "3": OPEN, "4": OPEN },
  posting: OPEN,
};
const never = new AbortController().signal;
/** What is heard of messages: each way in which the platform tells of one. */
const MESSAGE_KINDS = [
  "message",
  "message file_share",
  "message message_changed",
  "message message_deleted",
];

type Envelope = Readonly<Record<string, unknown>>;

let stage: Awaited<ReturnType<typeof aStage>>;
let samples: ReadonlyMap<string, readonly Envelope[]>;

beforeAll(async () => {
  stage = await aStage();
  samples = await trueEnvelopes();
});

afterAll(() => stage.stop());

test("odd envelopes are made of true ones, of every kind that is heard", () => {
  const heard = [...MESSAGE_KINDS, ...CHANNEL_EVENTS, "interactive", "slash_commands", "hello"];

  expect(heard.filter((kind) => !samples.has(kind))).toEqual([]);
});

test.each(SEEDS.rows)(
  "odd envelopes cost a line in the log, and the next message is answered (seed %i)",
  SEEDS.options,
  async (seed) => {
    const { slack, ruda, minsu, general, here, port, adapter } = stage;
    const random = numbersFrom(seed);
    const kinds = [...samples.keys()];

    for (let index = 0; index < PER_SEED; index++) {
      const known = samples.get(kinds[(seed + index) % kinds.length]!)!;
      const sample = known[Math.floor(random() * known.length)]!;
      const odd = oddPayload(renamed(sample, `E${seed}-${index}`), random);
      slack.sendRaw(ruda, JSON.stringify(odd) ?? "");
    }
    const text = `말 ${seed}`;
    minsu.post({ channel: general }, text);
    await eventually(() => expect(port.texts("ruda")).toContain(text));
    const post = { account: RUDA, place: here, text: `답 ${seed}`, mentions: [], key: `k${seed}` };
    await adapter.post(post, { signal: never });

    expect(slack.messages({ channel: general }).at(-1)?.text).toBe(`답 ${seed}`);
    expect(port.stateOf("ruda")).toBe("ready");
  },
);

test("odd envelopes have left lines, and the connection is the first one", () => {
  const { port, slack, ruda } = stage;

  expect(port.lines.filter((line) => /malformed|no envelope/u.test(line)).length).toBeGreaterThan(
    0,
  );
  expect(slack.sessionsStarted(ruda)).toBe(1);
});

/** With ids of its own: what comes again is left out. */
function renamed(envelope: Envelope, id: string): Envelope {
  const { payload } = envelope;
  const own = isObject(payload) && "event_id" in payload ? { ...payload, event_id: id } : payload;
  return { ...envelope, envelope_id: `envelope-${id}`, payload: own };
}

/** What the app is told when people do everything that it hears of. */
async function trueEnvelopes(): Promise<ReadonlyMap<string, readonly Envelope[]>> {
  const { slack, ruda, general, minsu, adapter, here, port } = stage;
  const room = slack.addChannel("room");
  const root = minsu.post({ channel: room }, `${slack.mention(ruda)} 말`);
  minsu.post({ channel: room, threadTs: root.ts }, "답", { files: [{ name: "a", size: 1 }] });
  minsu.edit(root, "고친 말");
  minsu.remove(minsu.post({ channel: room }, "가는 말"));
  slack.rename(room, "plaza");
  slack.archive(room);
  slack.removeFrom(room, ruda);
  for (const type of [
    "channel_deleted",
    "group_archive",
    "group_deleted",
    "channel_left",
    "group_left",
  ]) {
    slack.sendEvent(ruda, { type, channel: room.id });
  }
  slack.sendEvent(ruda, { type: "group_rename", channel: { id: room.id, name: "plaza" } });
  const buttons = [{ value: "e:yes", label: "네" }];
  const post = { account: RUDA, place: here, text: "?", mentions: [], key: "q", buttons };
  await adapter.post(post, { signal: never });
  minsu.press(slack.messages({ channel: general }).at(-1)!, "네");
  await eventually(() => expect(port.texts("ruda")).toContain("답"));

  const told = slack.envelopes(ruda).filter(isObject);
  const command = {
    type: "slash_commands",
    payload: { command: "/dure", text: "who", user_id: "U1" },
  };
  return Map.groupBy([...told, command], kindOf);
}

function kindOf(envelope: Envelope): string {
  const { payload } = envelope;
  const event = isObject(payload) && isObject(payload["event"]) ? payload["event"] : undefined;
  if (event === undefined) return String(envelope["type"]);
  return [event["type"], event["subtype"]].filter(Boolean).join(" ");
}

async function aStage() {
  const slack = await FakeSlack.start({ rateLimits: LIMITS });
  const general = slack.addChannel("general");
  const ruda = slack.addApp({ name: "루다", botToken: "xoxb-1", appToken: "xapp-1" });
  const minsu = slack.addPerson("민수");
  const here: PlaceAddress = { adapter: "slack", channel: general.id };
  const tokens = { ruda: { bot: "xoxb-1", app: "xapp-1" } };
  const adapter = new SlackAdapter({ tokens, apiUrl: slack.url });
  const port = new RecordingPort(adapter);
  await adapter.start(port);
  void adapter.connect(RUDA, { signal: never });
  await eventually(() => expect(port.stateOf("ruda")).toBe("ready"));
  const stop = async (): Promise<void> => {
    await adapter.stop();
    await slack.stop();
  };
  return { slack, general, ruda, minsu, here, adapter, port, stop };
}
