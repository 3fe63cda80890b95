import { FULL } from "../../../dure/src/kernel/test-tiers.ts";
import path from "node:path";
import type { SlackEvent } from "@slack/types";
import ts from "typescript";
import { expect, test } from "vitest";
import { FakeSlack } from "../index.ts";

/**
 * What the double tells, held against the platform's own types: `@slack/types` is made by Slack.
 * Two of its readings differ from the pages of docs.slack.dev, where a message without a subtype has
 * no such field, and where the message inside of `message_changed` names no channel.
 */

test("every event of the double is one of the platform's types", FULL, async () => {
  await using slack = await FakeSlack.start();
  const general = slack.addChannel("general");
  const ruda = slack.addApp({ name: "루다", botToken: "xoxb-1", appToken: "xapp-1" });
  const minsu = slack.addPerson("민수");
  const heard = await connect(slack, ruda.appToken);

  const root = minsu.post({ channel: general }, `${slack.mention(ruda)} 말`);
  minsu.post({ channel: general, threadTs: root.ts }, "답", { files: [{ name: "a", size: 1 }] });
  minsu.edit(root, "고친 말");
  minsu.remove(minsu.post({ channel: general }, "가는 말"));
  minsu.post({ channel: slack.direct(ruda, minsu) }, "둘이서");
  minsu.post({ channel: slack.group(ruda, minsu, slack.addPerson("서연")) }, "셋이서");
  slack.rename(general, "plaza");
  slack.archive(general);
  slack.removeFrom(general, ruda);
  await heard.until(10);

  const events = heard.events.map(asTyped);
  expect(new Set(events.map(({ type }) => type))).toEqual(
    new Set<SlackEvent["type"]>([
      "message",
      "channel_rename",
      "channel_archive",
      "member_left_channel",
    ]),
  );
  expect(problemsOf(events)).toEqual([]);
});

type Event = Readonly<Record<string, unknown>>;

/** With what the types demand beside the pages. */
function asTyped(event: Event): Event {
  if (event["type"] !== "message") return event;
  const { channel, channel_type, event_ts } = event;
  const inner = (message: unknown): unknown =>
    message && { subtype: undefined, channel, channel_type, event_ts, ...(message as Event) };
  return {
    subtype: undefined,
    ...event,
    message: inner(event["message"]),
    previous_message: inner(event["previous_message"]),
  };
}

/** What the compiler says of these values as `SlackEvent`. */
function problemsOf(events: readonly Event[]): readonly string[] {
  const lines = events.map((event, index) => {
    const text = JSON.stringify(event, (_key, value: unknown) => value ?? "__undefined__");
    const literal = text.replaceAll('"__undefined__"', "undefined");
    return `const event${index} = ${literal} as const;\nhold(event${index});`;
  });
  const source = [
    'import type { SlackEvent } from "@slack/types";',
    "type Loose<T> = T extends readonly (infer U)[] ? readonly Loose<U>[]",
    "  : T extends object ? { readonly [K in keyof T]: Loose<T[K]> } : T;",
    "declare function hold(event: Loose<SlackEvent>): void;",
    ...lines,
  ].join("\n");
  return compiled(source);
}

function compiled(source: string): readonly string[] {
  const file = path.join(import.meta.dirname, "held-shapes.ts");
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  };
  const host = ts.createCompilerHost(options);
  const withSource: ts.CompilerHost = {
    ...host,
    fileExists: (name) => name === file || host.fileExists(name),
    readFile: (name) => (name === file ? source : host.readFile(name)),
    getSourceFile: (name, ...rest) =>
      name === file
        ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2023, true)
        : host.getSourceFile(name, ...rest),
  };
  const program = ts.createProgram([file], options, withSource);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}

/** A client of Socket Mode that acknowledges all it is told. */
async function connect(
  slack: FakeSlack,
  appToken: string,
): Promise<{ events: Event[]; until: (count: number) => Promise<void> }> {
  const opened = await fetch(`${slack.url}apps.connections.open`, {
    method: "POST",
    headers: { authorization: `Bearer ${appToken}` },
  });
  const { url } = (await opened.json()) as { url: string };
  const socket = new WebSocket(url);
  const events: Event[] = [];
  const waiting = new Set<() => void>();
  socket.addEventListener("message", ({ data }) => {
    const told = JSON.parse(String(data)) as { envelope_id?: string; payload?: { event: Event } };
    if (told.envelope_id === undefined) return;
    socket.send(JSON.stringify({ envelope_id: told.envelope_id }));
    events.push(told.payload!.event);
    for (const look of waiting) look();
  });
  await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
  const until = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (events.length >= count) resolve();
      };
      waiting.add(look);
      look();
    });
  return { events, until };
}
