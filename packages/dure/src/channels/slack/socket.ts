import { withTimeout, type Clock } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import { fetchAtOrigin } from "../../kernel/fetch-at-origin.ts";
import { isObject } from "../../kernel/json.ts";
import type { Logger } from "../../kernel/logger.ts";
import { failureOf } from "./errors.ts";
import { SLACK_API, slackLogger, type SlackPackages } from "./packages.ts";
import { envelope } from "./wire.ts";

/** Why a connection ended. */
export type SocketEnd =
  | { readonly end: "stopped" }
  | { readonly end: "refused"; readonly detail: string }
  /** The platform asked for a new one: it does so every few hours. */
  | { readonly end: "refresh" }
  | { readonly end: "failed"; readonly detail: string };

export interface SocketParts {
  readonly packages: SlackPackages;
  readonly appToken: string;
  readonly apiUrl: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whose it is, for the log. */
  readonly name: string;
  /** For the address and the platform's first word, milliseconds. */
  readonly timeoutMs: number;
  readonly listener: SocketListener;
}

export interface SocketListener {
  /** The platform has said hello. */
  readonly connected: () => void;
  /** `acknowledge` tells the platform that it is stored; without that it comes again. */
  readonly heard: (told: SocketEnvelope) => void;
}

/** What an envelope holds. */
export interface SocketEnvelope {
  readonly type: string;
  readonly payload: unknown;
  readonly acknowledge: () => Promise<void>;
}

/** How long the end of a connection is waited for, milliseconds. */
const CLOSE_MS = 2000;

/**
 * One connection of Socket Mode by the official client, until it ends. It does not reconnect by
 * itself: its own reconnection rejects a promise that none of us holds, which ends the process.
 */
export async function runSocket(parts: SocketParts, signal: AbortSignal): Promise<SocketEnd> {
  const over = new AbortController();
  const ended = Promise.withResolvers<void>();
  let refreshed = false;
  const client = guardedClient(parts, {
    signal: AbortSignal.any([signal, over.signal]),
    refresh: () => (refreshed = true),
  });
  client.on("disconnected", () => ended.resolve());
  client.on("envelope", (event: unknown) => tell(parts, event));
  const abort = (): void => ended.resolve();
  signal.addEventListener("abort", abort, { once: true });
  try {
    const late = (): Error => new Error(`Slack said no hello in ${parts.timeoutMs / 1000} s`);
    await withTimeout(parts.clock, { ms: parts.timeoutMs, signal }, late, () => client.start());
    parts.listener.connected();
    await ended.promise;
    if (signal.aborted) return { end: "stopped" };
    return refreshed ? { end: "refresh" } : { end: "failed", detail: "the connection was cut" };
  } catch (error) {
    return signal.aborted ? { end: "stopped" } : endOf(error);
  } finally {
    signal.removeEventListener("abort", abort);
    over.abort(new Error("The connection is over."));
    await close(client, parts.clock);
  }
}

type Client = InstanceType<SlackPackages["SocketModeClient"]>;

/**
 * The official client reads `payload.event.type` of whatever comes and emits an event of that name,
 * also of the names that it uses itself. So everything is parsed here first, and handed to it under
 * one name.
 */
function guardedClient(
  { packages, appToken, apiUrl, logger, name }: SocketParts,
  on: { signal: AbortSignal; refresh: () => void },
): Client {
  class GuardedClient extends packages.SocketModeClient {
    protected override async onWebSocketMessage(
      data: string | ArrayBuffer,
      isBinary: boolean,
    ): Promise<void> {
      const said = isBinary || typeof data !== "string" ? undefined : envelopeOf(data);
      if (said === undefined) {
        logger.warn({ account: name }, `${name} was sent something by Slack that is no envelope`);
        return;
      }
      if (said.type === "disconnect" && said.reason !== "link_disabled") on.refresh();
      if (said.type === "hello" || said.type === "disconnect") {
        return super.onWebSocketMessage(JSON.stringify(said), false);
      }
      const told = {
        type: "envelope",
        envelope_id: said.envelope_id,
        payload: { type: said.type, payload: said.payload },
      };
      return super.onWebSocketMessage(JSON.stringify(told), false);
    }
  }
  return new GuardedClient({
    appToken,
    autoReconnectEnabled: false,
    logger: slackLogger((line) => logger.debug({ account: name }, `Slack's client: ${line}`)),
    clientOptions: {
      slackApiUrl: apiUrl ?? SLACK_API,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      fetch: (url, init) => fetchAtOrigin(url, { ...init, signal: on.signal }),
    },
  });
}

function envelopeOf(data: string): ReturnType<typeof envelope.parse> | undefined {
  try {
    const parsed = envelope.safeParse(JSON.parse(data));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined; // no JSON
  }
}

function tell({ listener, logger, name }: SocketParts, event: unknown): void {
  const { ack, body } = event as {
    ack: () => Promise<void>;
    body: { type: string; payload: unknown };
  };
  const acknowledge = async (): Promise<void> => {
    try {
      await ack();
    } catch (error) {
      // The connection is gone: the platform tells it again, and it is known by its id.
      logger.debug({ account: name }, `${name} could not acknowledge: ${messageOf(error)}`);
    }
  };
  listener.heard({ ...body, acknowledge });
}

function endOf(error: unknown): SocketEnd {
  const data = isObject(error) || error instanceof Error ? (error as { data?: unknown }).data : "";
  const word = isObject(data) ? String(data["error"]) : undefined;
  if (word !== undefined && failureOf(word) === "credential") {
    return { end: "refused", detail: `Slack does not accept the app-level token (${word}).` };
  }
  if (word === "missing_scope") {
    return { end: "refused", detail: "The app-level token lacks the scope connections:write." };
  }
  return { end: "failed", detail: error === undefined ? "it was closed" : messageOf(error) };
}

async function close(client: Client, clock: Clock): Promise<void> {
  const late = (): Error => new Error("still closing");
  await withTimeout(clock, CLOSE_MS, late, () => client.disconnect()).catch(() => {});
  client.removeAllListeners();
}
