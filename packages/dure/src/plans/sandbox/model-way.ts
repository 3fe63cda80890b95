import {
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHttp,
  type ServerResponse,
} from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { messageOf } from "../../kernel/errors.ts";
import { endToEnd } from "./door-http.ts";
import { targetOfUrl, type NetworkTarget } from "./network.ts";

/** Below it are the models of a worker, at the address of the egress proxy inside. */
export const MODELS_PATH = "/model/";

/** One provider of models, as processes reach it through dure's door. */
export interface ModelWay {
  /** In its address inside. */
  readonly name: string;
  /**
   * Where calls go: an address without a slash at its end. Nothing beside what is below it is
   * reached.
   */
  readonly base: string;
  /** As the price list calls it. */
  readonly provider: string;
  /** Keys that dure keeps, by what stands for them inside. */
  readonly keys: Readonly<Record<string, string>>;
}

/** Decides about calls of models, and is told what they came to. */
export interface ModelDesk {
  readonly ways: readonly ModelWay[];
  /** Words: the call may not be made. Waits where calls under way may take all that is left. */
  begin(call: CallOrder, options: { signal: AbortSignal }): Promise<PassedCall | string>;
}

export interface CallOrder {
  readonly way: ModelWay;
  /** Below the base. */
  readonly path: string;
  /** Bytes of what is sent; 0: not known. */
  readonly bytes: number;
}

/** One call of a model while it passes. */
export interface PassedCall {
  answered(status: number, headers: IncomingMessage["headers"]): void;
  passed(chunk: Buffer): void;
  /** Once, last. @param cause the answer, or the rest of it, did not come for this. */
  ended(cause?: "cut" | Error): void;
}

/** What the door can do in the world. */
export interface ModelReach {
  readonly desk: ModelDesk;
  /** Decides about a host, and finds the address that is connected to. */
  way(
    target: NetworkTarget,
  ): Promise<
    | { readonly open: true; readonly address: string }
    | { readonly open: false; readonly because: string }
  >;
  readonly keep: <S extends Duplex>(socket: S) => S;
  /** One line of the log. */
  readonly refused: (because: string) => void;
}

/** Bytes of one request. Source: Anthropic's and OpenAI's own bound of 32 MB, with files beside. */
const REQUEST_BYTES = 64_000_000;
/** Bytes of one answer: a day's worth of a model's words. */
const ANSWER_BYTES = 256_000_000;
/** Milliseconds without a byte. Source: agents wait 10 min for one answer. */
const IDLE_MS = 10 * 60_000;
/** A call that is billed later: nothing of it can be counted as it passes. */
const BATCHES = /\/batches(?:\/|$)|:batchGenerateContent$/;
const METHODS: readonly string[] = ["GET", "HEAD", "POST"];
/** Of the answer what is for a browser, and what would lead elsewhere. */
const NOT_INSIDE = new Set(["set-cookie", "alt-svc", "strict-transport-security", "location"]);
/** Of the request what says nothing to a provider. */
const NOT_OUTSIDE = new Set(["host", "cookie", "accept-encoding", "forwarded", "x-forwarded-for"]);

/** Passes one request on to the provider that its path names, and the answer back as it comes. */
export async function callModel(
  reach: ModelReach,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = "", url = "" } = message;
  const path = url.slice(MODELS_PATH.length);
  const name = path.split(/[/?]/, 1)[0]!;
  const rest = path.slice(name.length);
  const way = reach.desk.ways.find((one) => one.name === name);
  const refuse = (status: number, because: string): void => {
    reach.refused(because);
    sayError(response, { status, because, path: rest });
  };
  if (!way) return refuse(404, "no model is reached at this address");
  if (!METHODS.includes(method)) return refuse(405, `${method.slice(0, 20)} is no call of a model`);
  const there = addressBelow(way.base, rest);
  if (!there) return refuse(403, `the address is not below that of ${way.name}`);
  if (BATCHES.test(there.pathname)) {
    return refuse(403, "batches are billed later, and cannot be counted");
  }
  const target = targetOfUrl(there.href)!;
  const found = await reach.way(target);
  if (!found.open) return sayError(response, { status: 403, because: found.because, path: rest });

  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const bytes = Number(message.headers["content-length"]) || 0;
  if (bytes > REQUEST_BYTES) return refuse(413, `more than ${REQUEST_BYTES} bytes`);
  const asked = { way, path: there.pathname, bytes };
  const call = method === "POST" ? await reach.desk.begin(asked, gone) : undefined;
  if (typeof call === "string") return refuse(402, call);
  if (gone.signal.aborted) return call?.ended("cut");
  send({ reach, way, there, address: found.address, call }, message, response);
}

interface Sending {
  readonly reach: ModelReach;
  readonly way: ModelWay;
  readonly there: URL;
  readonly address: string;
  readonly call: PassedCall | undefined;
}

function send(
  { reach, way, there, address, call }: Sending,
  message: IncomingMessage,
  response: ServerResponse,
): void {
  const isPlain = there.protocol === "http:";
  const host = there.hostname.replace(/^\[|\]$/g, "");
  // Its certificate is that of the name, and the connection goes to the address.
  const named = isPlain || isIP(host) !== 0 ? {} : { servername: host };
  const asked = (isPlain ? requestHttp : requestHttps)({
    host: address,
    port: there.port === "" ? (isPlain ? 80 : 443) : Number(there.port),
    ...named,
    method: message.method,
    path: `${there.pathname}${there.search}`,
    headers: { ...headersOut(message.headers, way), host: there.host },
    agent: false,
    timeout: IDLE_MS,
  });
  let isOver = false;
  const end = (cause?: "cut" | Error): void => {
    if (!isOver) call?.ended(cause);
    isOver = true;
  };
  const fail = (error: Error): void => {
    end(error);
    const because = `${there.host} did not answer: ${messageOf(error)}`;
    sayError(response, { status: 502, because, path: there.pathname });
  };
  asked.on("socket", (socket) => void reach.keep(socket));
  asked.on("timeout", () => asked.destroy(new Error(`nothing came for ${IDLE_MS} ms`)));
  asked.on("error", fail);
  asked.on("response", (answered) => {
    const status = answered.statusCode ?? 502;
    if (status >= 300 && status < 400 && status !== 304) {
      fail(new Error(`it answered ${status}, which leads elsewhere`));
      return void asked.destroy();
    }
    call?.answered(status, answered.headers);
    answered.on(
      "data",
      bounded(ANSWER_BYTES, () => answered.destroy(), call),
    );
    answered.on("end", () => end());
    answered.on("close", () => {
      end("cut");
      if (!answered.complete) response.destroy();
    });
    answered.on("error", () => response.destroy());
    response.writeHead(status, withoutHeaders(answered.headers, NOT_INSIDE));
    answered.pipe(response);
  });
  response.on("close", () => {
    end("cut");
    asked.destroy();
  });
  message.on(
    "data",
    bounded(REQUEST_BYTES, () => asked.destroy(new Error("it is too large"))),
  );
  message.pipe(asked);
}

/** Counts what passes; stops it beyond the bound. */
function bounded(most: number, stop: () => void, call?: PassedCall): (chunk: Buffer) => void {
  let bytes = 0;
  return (chunk) => {
    bytes += chunk.length;
    if (bytes > most) stop();
    else call?.passed(chunk);
  };
}

/** Where a path below a base leads; undefined: not below it. Pure. */
export function addressBelow(base: string, rest: string): URL | undefined {
  // A provider may read what is written so in another way than we do.
  if (/%2f|%5c|%2e|\\|\/\/|[\x00-\x20]/i.test(rest.split("?")[0]!)) return undefined;
  if (rest !== "" && !/^[/?]/.test(rest)) return undefined;
  const [wanted, below] = [`${base}${rest}`, new URL(base)];
  if (!URL.canParse(wanted)) return undefined;
  const there = new URL(wanted);
  const root = below.pathname.replace(/\/+$/, "");
  const isBelow = there.pathname === root || there.pathname.startsWith(`${root}/`);
  there.hash = "";

  return there.origin === below.origin && isBelow ? there : undefined;
}

function headersOut(headers: IncomingMessage["headers"], { keys }: ModelWay): OutgoingHttpHeaders {
  const sent = withoutHeaders(headers, NOT_OUTSIDE);
  for (const [name, value] of Object.entries(sent)) {
    if (typeof value === "string") sent[name] = withKey(value, keys);
  }

  // What is packed cannot be read on its way.
  return { ...sent, "accept-encoding": "identity" };
}

/** A header with the key in the place of what stands for it. Pure. */
function withKey(value: string, keys: ModelWay["keys"]): string {
  const [, scheme = "", credential = ""] = /^(Bearer )?(.*)$/s.exec(value) ?? [];
  const key = Object.hasOwn(keys, credential) ? keys[credential] : undefined;

  return key === undefined ? value : `${scheme}${key}`;
}

function withoutHeaders(
  headers: IncomingMessage["headers"],
  left: ReadonlySet<string>,
): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(endToEnd(headers)).filter(([name]) => !left.has(name)));
}

/** An error of ours in the form that clients of the provider read, and do not try again for. */
function sayError(
  response: ServerResponse,
  { status, because, path }: { status: number; because: string; path: string },
): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const message = `dure: ${because}`;
  const isRefused = status < 500;
  const type = status === 402 ? "billing_error" : isRefused ? "permission_error" : "api_error";
  const error = /:\w+Content$/.test(path.split("?")[0]!)
    ? { code: status, message, status: isRefused ? "PERMISSION_DENIED" : "UNAVAILABLE" }
    : { type, message, code: status === 402 ? "insufficient_quota" : type };
  const headers: OutgoingHttpHeaders = { "content-type": "application/json", connection: "close" };
  if (isRefused) headers["x-should-retry"] = "false";
  response.writeHead(status, headers).end(JSON.stringify({ type: "error", error }));
}
