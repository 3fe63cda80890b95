import { SERVER_LIMITS, type ServerLimitKey } from "./limits.ts";

/** One input of the server with one of its bounds. */
export interface InputBound {
  readonly input: string;
  /** What of it is bound: size, count, depth or time. */
  readonly bound: string;
  readonly limit: ServerLimitKey;
  readonly unit:
    | "bytes"
    | "ms"
    | "levels"
    | "values"
    | "slots"
    | "connections"
    | "streams"
    | "per minute";
  /** Path in the configuration. */
  readonly setting: string;
  /** What answers when it is exceeded. */
  readonly answer: string;
}

/** Every bound of what comes in and of who listens. docs/guides/limits.md is this table. */
export const INPUT_TABLE: readonly InputBound[] = [
  {
    input: "connections",
    bound: "count, in all",
    limit: "connections",
    unit: "connections",
    setting: "server.limits.connections",
    answer: "503 `CONNECTIONS_FULL`",
  },
  {
    input: "connections",
    bound: "count, of an address",
    limit: "connectionsPerAddress",
    unit: "connections",
    setting: "server.limits.connectionsPerAddress",
    answer: "429 `CONNECTIONS_PER_ADDRESS`",
  },
  {
    input: "connections",
    bound: "count, of an address of this machine",
    limit: "connectionsPerLoopback",
    unit: "connections",
    setting: "server.limits.connectionsPerLoopback",
    answer: "429 `CONNECTIONS_PER_ADDRESS`",
  },
  {
    input: "connections",
    bound: "time without a request",
    limit: "keepAliveMs",
    unit: "ms",
    setting: "server.limits.keepAlive",
    answer: "closed",
  },
  {
    input: "requests",
    bound: "count, of an address",
    limit: "perAddress",
    unit: "per minute",
    setting: "server.limits.perAddress",
    answer: "429 `RATE_LIMITED`",
  },
  {
    input: "requests",
    bound: "count, of an address of this machine",
    limit: "perLoopback",
    unit: "per minute",
    setting: "server.limits.perLoopback",
    answer: "429 `RATE_LIMITED`",
  },
  {
    input: "requests",
    bound: "time to come in whole",
    limit: "requestMs",
    unit: "ms",
    setting: "server.limits.request",
    answer: "408 `REQUEST_TOO_SLOW`",
  },
  {
    input: "log-ins",
    bound: "count, of an address",
    limit: "logins",
    unit: "per minute",
    setting: "server.limits.logins",
    answer: "429 `RATE_LIMITED`",
  },
  {
    input: "head: address and headers",
    bound: "size",
    limit: "headBytes",
    unit: "bytes",
    setting: "server.limits.headBytes",
    answer: "431 `HEADERS_TOO_LARGE`",
  },
  {
    input: "head: address and headers",
    bound: "time to come in",
    limit: "headMs",
    unit: "ms",
    setting: "server.limits.head",
    answer: "408 `REQUEST_TOO_SLOW`",
  },
  {
    input: "body",
    bound: "time between two pieces",
    limit: "bodyIdleMs",
    unit: "ms",
    setting: "server.limits.bodyIdle",
    answer: "408 `REQUEST_TOO_SLOW`",
  },
  {
    input: "body",
    bound: "depth of its JSON",
    limit: "jsonDepth",
    unit: "levels",
    setting: "server.limits.jsonDepth",
    answer: "400 `BODY_TOO_COMPLEX`",
  },
  {
    input: "body",
    bound: "count of its JSON's values",
    limit: "jsonValues",
    unit: "values",
    setting: "server.limits.jsonValues",
    answer: "400 `BODY_TOO_COMPLEX`",
  },
  {
    input: "body with a plan or a report of tests",
    bound: "size",
    limit: "planBytes",
    unit: "bytes",
    setting: "server.limits.planBytes",
    answer: "413 `BODY_TOO_LARGE`",
  },
  {
    input: "text of a plan",
    bound: "time to read it",
    limit: "planMs",
    unit: "ms",
    setting: "server.limits.planTime",
    answer: "400 `PLAN_TOO_EXPENSIVE`",
  },
  {
    input: "message",
    bound: "size",
    limit: "messageBytes",
    unit: "bytes",
    setting: "limits.messageBytes",
    answer: "413 `MESSAGE_TOO_LARGE`",
  },
  {
    input: "message",
    bound: "count of its slots",
    limit: "slots",
    unit: "slots",
    setting: "server.limits.slots",
    answer: "400 `SLOTS_TOO_MANY`",
  },
  {
    input: "streams",
    bound: "count, in all",
    limit: "streams",
    unit: "streams",
    setting: "server.limits.streams",
    answer: "503 `STREAMS_FULL`",
  },
  {
    input: "streams",
    bound: "count, of an address",
    limit: "streamsPerAddress",
    unit: "streams",
    setting: "server.limits.streamsPerAddress",
    answer: "429 `STREAMS_PER_ADDRESS`",
  },
  {
    input: "streams",
    bound: "count, of an address of this machine",
    limit: "streamsPerLoopback",
    unit: "streams",
    setting: "server.limits.streamsPerLoopback",
    answer: "429 `STREAMS_PER_ADDRESS`",
  },
  {
    input: "streams",
    bound: "count, of a token",
    limit: "streamsPerToken",
    unit: "streams",
    setting: "server.limits.streamsPerToken",
    answer: "429 `STREAMS_PER_TOKEN`",
  },
  {
    input: "streams",
    bound: "size of what waits for one reader",
    limit: "bufferBytes",
    unit: "bytes",
    setting: "server.limits.streamBytes",
    answer: "no more is fetched for it",
  },
  {
    input: "streams",
    bound: "time that a reader may stand still",
    limit: "stallMs",
    unit: "ms",
    setting: "server.limits.stall",
    answer: "cut off; it resumes",
  },
  {
    input: "streams",
    bound: "size of what waits for all readers",
    limit: "streamsBytes",
    unit: "bytes",
    setting: "server.limits.streamsBytes",
    answer: "the reader with most is cut off; it resumes",
  },
  {
    input: "answers under way at the end",
    bound: "time",
    limit: "drainMs",
    unit: "ms",
    setting: "server.drain",
    answer: "503 `SERVER_DRAINING`",
  },
];

/** The table as it stands in the guide. Pure. */
export function inputTableMarkdown(): string {
  const rows = INPUT_TABLE.map(
    ({ input, bound, limit, unit, setting, answer }) =>
      `| ${input} | ${bound} | ${numberText(SERVER_LIMITS[limit])} ${unit} | \`${setting}\` | ${answer} |`,
  );
  return [
    "| input | what is bound | default | setting | beyond |",
    "|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

function numberText(value: number): string {
  return value.toLocaleString("en").replaceAll(",", " ");
}
