import {
  ResourceNotFoundError,
  ResourceTemplate,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { cutBytes } from "../kernel/cut-bytes.ts";
import { DureError } from "../kernel/errors.ts";
import { toWire } from "../kernel/wire.ts";
import { asProtocolError } from "./team-tasks.ts";
import type { TeamCall, TeamConnection, ToolGroup } from "./team-tool.ts";

/** Entries that each kind lists, the newest first. */
const LISTED = 50;
/** Characters of an id, as the tools take it. */
const MAX_ID = 200;

/** In the address of a thing: `dure://<kind>/<id>`. */
export type ResourceKind = "rooms" | "jobs" | "runs" | "sessions";

/** What a person can put into the words for a model: a thing of the team by its address. */
interface TeamResourceKind {
  readonly group: ToolGroup;
  readonly kind: ResourceKind;
  readonly title: string;
  readonly list: (call: ResourceReading) => Promise<readonly ListedResource[]>;
  /** What the tool of the same group gives. */
  readonly read: (id: string, call: ResourceReading) => Promise<unknown>;
}

type ResourceReading = Pick<TeamCall, "client" | "rooms" | "signal">;

interface ListedResource {
  readonly id: string;
  readonly title: string;
}

const KINDS: readonly TeamResourceKind[] = [
  {
    group: "rooms",
    kind: "rooms",
    title: "The newest messages of a room",
    list: async ({ rooms, signal }) => {
      const { items } = await rooms.list({ limit: LISTED }, { signal });
      return items.map(({ id, name }) => ({ id, title: name }));
    },
    read: (id, { rooms, signal }) => rooms.messages(id, { limit: LISTED }, { signal }),
  },
  {
    group: "jobs",
    kind: "jobs",
    title: "A job, with what was said in it and its answer",
    list: async ({ client, signal }) => {
      const { items } = await client.jobs.list({ limit: LISTED }, { signal });
      return items.map(({ jobId, requester, target }) => ({
        id: jobId,
        title: `${requester} → ${target}`,
      }));
    },
    read: (id, { client, signal }) => client.jobs.get(id, { signal }),
  },
  {
    group: "plans",
    kind: "runs",
    title: "A run of a plan: its ports and its result",
    list: async ({ client, signal }) => {
      const { items } = await client.plans.runs({ limit: LISTED }, { signal });
      return items.map(({ id, plan, status }) => ({ id, title: `${plan} (${status})` }));
    },
    read: (id, { client, signal }) => client.plans.run(id, { signal }),
  },
  {
    group: "services",
    kind: "sessions",
    title: "What was said in a session",
    list: async ({ client, signal }) => {
      const { items } = await client.sessions({ limit: LISTED }, { signal });
      return items.map(({ sessionId, title }) => ({ id: sessionId, title }));
    },
    read: (id, { client, signal }) => client.session(id, { signal }),
  },
];

interface ResourcesOptions {
  readonly groups: readonly ToolGroup[];
  readonly connect: () => Promise<TeamConnection>;
  /** Its client may listen to changes. */
  readonly subscribes: boolean;
  /** Bytes of one answer. */
  readonly mostBytes: number;
}

/** Offers things of the team as resources, each under the token of who asks. */
export function offerResources(server: McpServer, options: ResourcesOptions): void {
  const kinds = KINDS.filter(({ group }) => options.groups.includes(group));
  if (kinds.length === 0) return;
  const { subscribes: subscribe } = options;
  server.server.registerCapabilities({ resources: { listChanged: false, subscribe } });
  for (const kind of kinds) {
    const template = new ResourceTemplate(`dure://${kind.kind}/{id}`, {
      list: async (context) => ({ resources: await listOf(kind, options, context) }),
    });
    const { title } = kind;
    server.registerResource(kind.kind, template, { title }, async (uri, variables, context) => {
      const text = await textOf(kind, { uri: uri.href, id: variables["id"] }, { options, context });
      return { contents: [{ uri: uri.href, mimeType: "application/json", text }] };
    });
  }
}

/**
 * What a token may not list, or a team does not have, is not there: the other kinds are told in the
 * same list.
 */
async function listOf(
  { kind, list }: TeamResourceKind,
  { connect }: ResourcesOptions,
  { mcpReq }: ServerContext,
): Promise<{ uri: string; name: string }[]> {
  try {
    const listed = await list({ ...(await connect()), signal: mcpReq.signal });
    return listed.map(({ id, title: name }) => ({
      uri: `dure://${kind}/${encodeURIComponent(id)}`,
      name,
    }));
  } catch (error) {
    const isNone = error instanceof DureError && NONE.has(error.class);
    if (isNone) return [];
    throw asProtocolError(error);
  }
}

const NONE: ReadonlySet<string> = new Set(["forbidden", "not-found"]);

async function textOf(
  { read }: TeamResourceKind,
  asked: { readonly uri: string; readonly id: string | readonly string[] | undefined },
  { options, context }: { readonly options: ResourcesOptions; readonly context: ServerContext },
): Promise<string> {
  const id = idIn(asked.id);
  if (id === undefined) throw new ResourceNotFoundError(asked.uri);
  try {
    const { signal } = context.mcpReq;
    const found = await read(id, { ...(await options.connect()), signal });
    return cutBytes(JSON.stringify(toWire(found)), options.mostBytes);
  } catch (error) {
    const isMissing = error instanceof DureError && error.class === "not-found";
    throw isMissing ? new ResourceNotFoundError(asked.uri) : asProtocolError(error);
  }
}

function idIn(variable: string | readonly string[] | undefined): string | undefined {
  if (typeof variable !== "string") return undefined;
  try {
    return decodeURIComponent(variable);
  } catch {
    return undefined;
  }
}

export interface ResourceAddress {
  readonly kind: ResourceKind;
  readonly id: string;
}

/** Undefined for an address that is none of a team. Pure. */
export function readAddress(uri: string): ResourceAddress | undefined {
  const [, name, variable] = /^dure:\/\/([a-z]+)\/([^/]+)$/u.exec(uri) ?? [];
  const kind = KINDS.find((one) => one.kind === name)?.kind;
  const id = idIn(variable);

  return kind !== undefined && id !== undefined && id.length <= MAX_ID ? { kind, id } : undefined;
}

/** Whether the thing exists and the token reads it. */
export async function isReadable(
  uri: string,
  groups: readonly ToolGroup[],
  call: ResourceReading,
): Promise<boolean> {
  const { kind: name, id } = readAddress(uri) ?? {};
  const kind = KINDS.find((one) => one.kind === name && groups.includes(one.group));
  if (!kind || id === undefined) return false;
  try {
    await kind.read(id, call);
    return true;
  } catch (error) {
    const isNone = error instanceof DureError && (NONE.has(error.class) || error.class === "input");
    if (isNone) return false;
    throw error;
  }
}
