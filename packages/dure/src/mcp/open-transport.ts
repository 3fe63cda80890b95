import path from "node:path";
import type { Readable } from "node:stream";
import {
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import type { Clock } from "../kernel/clock.ts";
import { fetchAtOrigin } from "../kernel/fetch-at-origin.ts";
import { onlyDefined } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import type { LoginStore } from "./login-store.ts";
import { PersonLogin } from "./person-login.ts";
import {
  filledIn,
  isLocal,
  type McpServerSpec,
  type PersonLoginSpec,
  type RemoteServer,
  type ServerLogin,
} from "./server-spec.ts";
import { markerOf } from "./strays.ts";

/** Where a server is opened. */
export interface Surroundings {
  /** The team's. */
  readonly folder: string;
  /** That of dure; a server gets what its settings name. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Where people's logins are kept. */
  readonly logins: LoginStore;
  /** Stands before names of servers where people read them: the service that has them alone. */
  readonly prefix?: string | undefined;
}

/** Bytes of one message of a local server; a longer one ends its connection. */
const MAX_MESSAGE = 4_194_304;
/** Lines of a server's standard error that are logged in one life of it, and characters of each. */
const MAX_LINES = 100;
const MAX_LINE = 500;

/** A way to the server that is not started yet. Throws `MCP_ENVIRONMENT_MISSING`. */
export function openTransport(
  name: string,
  spec: McpServerSpec,
  surroundings: Surroundings,
): Transport {
  const { folder, environment, logger } = surroundings;
  if (!isLocal(spec)) {
    const headers = filledIn(spec.headers ?? {}, environment);
    const person = personLoginOf(name, spec, surroundings);
    const authProvider = person ?? (spec.oauth && loginOf(spec.oauth, environment));
    const options = onlyDefined({
      requestInit: { headers },
      authProvider,
      fetch: person?.fetch ?? fetchAtOrigin,
    });
    return new StreamableHTTPClientTransport(new URL(spec.url), options);
  }

  const transport = new StdioClientTransport({
    command: spec.command,
    args: [...(spec.args ?? [])],
    env: {
      ...getDefaultEnvironment(),
      ...filledIn(spec.env ?? {}, environment),
      ...markerOf(name),
    },
    cwd: path.resolve(folder, spec.cwd ?? "."),
    stderr: "pipe",
    maxBufferSize: MAX_MESSAGE,
  });
  logLines(transport.stderr as Readable | null, name, logger);
  return transport;
}

function personLoginOf(
  name: string,
  { url, login }: RemoteServer,
  { prefix = "", logins: store, environment, clock }: Surroundings,
): PersonLogin | undefined {
  if (login === undefined) return undefined;
  const clientSecret = clientSecretOf(login, environment);
  const named = `${prefix}${name}`;

  return new PersonLogin({ name: named, url, spec: login, clientSecret, store, clock });
}

/** Throws `MCP_ENVIRONMENT_MISSING`. */
export function clientSecretOf(
  { clientSecret }: PersonLoginSpec,
  environment: Surroundings["environment"],
): string | undefined {
  if (clientSecret === undefined) return undefined;
  return filledIn({ clientSecret }, environment)["clientSecret"];
}

function loginOf(
  { issuer, clientId, clientSecret, scope }: ServerLogin,
  environment: Surroundings["environment"],
): ClientCredentialsProvider {
  const filled = filledIn({ clientId, clientSecret }, environment);
  return new ClientCredentialsProvider({
    clientId: filled["clientId"]!,
    clientSecret: filled["clientSecret"]!,
    clientName: "dure",
    expectedIssuer: issuer,
    ...onlyDefined({ scope }),
  });
}

/** Everything is read, so that the server never waits; the first lines are logged. */
function logLines(stream: Readable | null, server: string, logger: Logger): void {
  let left = MAX_LINES;
  stream?.on("data", (chunk: Buffer) => {
    if (left === 0) return;
    for (const line of chunk.toString().split("\n").filter(Boolean).slice(0, left)) {
      left -= 1;
      logger.debug({ mcp: server }, `${server}: ${line.slice(0, MAX_LINE)}`);
    }
    if (left === 0) logger.debug({ mcp: server }, `${server}: what it says further is left out`);
  });
}
