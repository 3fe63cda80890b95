import { z } from "zod";
import { oneOf, sentence, settings } from "../engine/files/load-service-schema.ts";
import { WORKER_KINDS } from "../kernel/plans.ts";
import { parseModelNames } from "../models/card.ts";
import { AGENT_WAYS, AGENTS } from "./agents/presets.ts";
import { type NetworkPolicy, parseHost } from "./sandbox/network.ts";
import type { WorkerSpec } from "./plan.ts";
import { PATH_REASONS, pathProblem } from "./scope.ts";
import { id, line } from "./schema-words.ts";

const program = z
  .array(
    z.string({ error: "must be a text" }).min(1, { error: "must be a text that is not empty" }),
    { error: "must be a program and its arguments as a list, such as [claude-agent-acp]" },
  )
  .min(1, { error: "must be a program and its arguments as a list, such as [claude-agent-acp]" })
  .max(200, { error: "must be a program and at most 199 arguments" });

const modelText = z
  .string({
    error: "must be offline, or provider:model; a worker is a program, which gets no object",
  })
  .superRefine((written, context) => {
    try {
      parseModelNames(written);
    } catch (error) {
      context.addIssue({ code: "custom", message: sentence(error) });
    }
  });

const ENV_WORDS =
  "must be a list of names of variables, or NAME=value, such as [ANTHROPIC_API_KEY, CI=1]";
/**
 * What a loader or runtime obeys before the program's own first line, and what dure sets itself.
 */
const ENV_REFUSED = /^(?:LD_|DYLD_)|^(?:NODE_OPTIONS|BASH_ENV|ENV|TMPDIR|PWD|HOME)$/;
const envNames = z
  .array(
    z
      .string({ error: ENV_WORDS })
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}(?:=[^\0]{0,4000})?$/, {
        error: "must be the name of a variable (Latin letters, digits and _), or NAME=value",
      })
      .refine((entry) => !ENV_REFUSED.test(entry.split("=")[0]!), {
        error: "is a variable that dure sets or keeps away from workers",
      }),
    { error: ENV_WORDS },
  )
  .max(100, { error: "must be at most 100 names" });

const OUTSIDE_WORDS = "must be a path that begins with / or ~/, without . and .. in it";
const hasPlainSegments = (path: string): boolean =>
  !/[\x00-\x1f\x7f]/.test(path) &&
  path.split("/").every((segment) => !["", ".", "..", "~"].includes(segment));
const outsidePath = z
  .string({ error: OUTSIDE_WORDS })
  .max(1_024, { error: OUTSIDE_WORDS })
  .refine((path) => /^~?\//.test(path) && hasPlainSegments(path.replace(/^~?\//, "")), {
    error: OUTSIDE_WORDS,
  });
const HOME_WORDS = "must be a path below the home folder, such as .claude";
const homePath = z
  .string({ error: HOME_WORDS })
  .max(1_024, { error: HOME_WORDS })
  .refine(hasPlainSegments, { error: HOME_WORDS });
/** Below the folder of the plan, so that a plan can be moved with its scripts. */
const scriptPath = z
  .string({ error: "must be the path of a YAML or JSON file, from the folder of the plan" })
  .superRefine((written, context) => {
    const problem = pathProblem(written);
    if (problem) {
      context.addIssue({
        code: "custom",
        message: `${PATH_REASONS[problem]}; write the path of a script, from the folder of the plan`,
      });
    }
  });

const HOST_WORDS = "must be a host such as api.example.org, *.example.org or 10.0.0.7:8080";
/** A longer list is a network that is open and does not say so. */
const MAX_HOSTS = 50;
export const hosts = z
  .array(
    z
      .string({ error: HOST_WORDS })
      .max(300, { error: HOST_WORDS })
      .refine((host) => parseHost(host) !== undefined, { error: HOST_WORDS }),
  )
  .min(1, { error: "must name at least one host" })
  .max(MAX_HOSTS, { error: `must be at most ${MAX_HOSTS} hosts` });
/** A list stands for `provider` with these hosts. */
export const policy = (value: "none" | "provider" | "open" | string[]): NetworkPolicy =>
  Array.isArray(value) ? { kind: "provider", hosts: value } : { kind: value, hosts: [] };
export const workerNetwork = z
  .union([z.enum(["none", "provider", "open"]), hosts], {
    error: "must be none, provider, open, or a list of hosts",
  })
  .transform(policy);

/** Which keys a kind of worker takes beside `kind`. Source: docs/spec/plans §6. */
const WORKER_KEYS = {
  acp: ["command", "mode"],
  model: ["model"],
  command: ["command", "prompt"],
  offline: ["script"],
  own: ["name"],
} as const satisfies Record<WorkerSpec["kind"], readonly WorkerKey[]>;
type WorkerKey = (typeof KEYS_OF_KINDS)[number];
const KEYS_OF_KINDS = ["command", "mode", "model", "name", "prompt", "script"] as const;
const NEEDED_KEYS = {
  acp: ["command"],
  model: ["model"],
  command: ["command"],
  offline: [],
  own: ["name"],
} as const satisfies Record<WorkerSpec["kind"], readonly WorkerKey[]>;

/** Which keys an agent's preset takes. */
const PRESET_KEYS: readonly string[] = ["command", "mode"];

const speaksProtocol = (spec: {
  kind?: string | undefined;
  agent?: string | undefined;
  via?: string | undefined;
}): boolean => spec.kind === "acp" || (spec.agent !== undefined && spec.via !== "exec");

/** Agents whose settings are known where they are started as programs. */
const SERVED_PROGRAMS: readonly string[] = ["claude", "codex"];

const refuseServers = (
  spec: Parameters<typeof speaksProtocol>[0] & {
    mcp?: Readonly<Record<string, { readonly type?: string | undefined }>> | undefined;
    mcpServers?: readonly { readonly name: string }[] | undefined;
  },
  refuse: (key: string, message: string) => void,
): void => {
  const { agent = "", mcp = {}, mcpServers = [] } = spec;
  const key = spec.mcp === undefined ? "mcpServers" : "mcp";
  const names = [...Object.keys(mcp), ...mcpServers.map(({ name }) => name)];
  if (names.length === 0) return;
  if (new Set(names).size < names.length) refuse(key, "names a server twice");
  if (names.length > MAX_SERVERS) refuse(key, `must be at most ${MAX_SERVERS} servers`);
  if (speaksProtocol(spec)) return;
  if (spec.agent === undefined) {
    return refuse(key, "is for agents: agent, or kind acp");
  }
  if (!SERVED_PROGRAMS.includes(agent)) {
    return refuse(key, `is not known for ${agent} as a program; leave out via: exec`);
  }
  if (agent === "codex" && Object.values(mcp).some(({ type }) => type === "sse")) {
    refuse(key, "has a server of type sse, which codex does not reach as a program");
  }
};

/** MCP servers of one worker. */
const MAX_SERVERS = 20;
const SERVER_WORDS = "must be { command: [program, …], env? } or { url, type?, headers? }";
const givenTexts = (words: string, key: RegExp) =>
  z.record(
    z.string().regex(key, { error: words }),
    z
      .string({ error: words })
      .max(4_000, { error: words })
      .regex(/^[^\0\r\n]*$/, { error: words }),
    { error: words },
  );
const mcpServer = settings({
  command: program.optional(),
  env: givenTexts(
    'must be variables with their values, such as { TOKEN: "${TICKETS_TOKEN}" }',
    /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
  ).optional(),
  url: z
    .url({ protocol: /^https?$/, error: "must be an address that begins with https:// or http://" })
    .max(2_000, { error: "must be an address of at most 2000 characters" })
    .optional(),
  type: oneOf(["http", "sse"]).optional(),
  headers: givenTexts(
    'must be headers with their values, such as { Authorization: "Bearer ${TICKETS_TOKEN}" }',
    /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$/,
  ).optional(),
}).superRefine((server, context) => {
  const { command, env, url, type, headers } = server;
  const isLocal = command !== undefined && url === undefined && !type && !headers;
  const isRemote = url !== undefined && command === undefined && !env;
  if (!isLocal && !isRemote) context.addIssue({ code: "custom", message: SERVER_WORDS });
});

export const worker = settings({
  kind: oneOf(WORKER_KINDS).optional(),
  /** A preset, instead of `kind`. */
  agent: oneOf(AGENTS).optional(),
  /** Of a preset. Default `acp`. */
  via: oneOf(AGENT_WAYS).optional(),
  command: program.optional(),
  /** Of the session of an agent that speaks the protocol. */
  mode: line(100, "the name of a mode of its sessions").optional(),
  model: modelText.optional(),
  /** How a `command` gets its prompt. Default `stdin`. */
  prompt: oneOf(["stdin", "file"]).optional(),
  script: scriptPath.optional(),
  /** Of a worker of the team's own, as its configuration names it. */
  name: id.optional(),
  env: envNames.optional(),
  writable: z
    .array(outsidePath, { error: "must be a list of paths such as [~/.claude]" })
    .max(100, { error: "must be at most 100 paths" })
    .optional(),
  network: workerNetwork.optional(),
  allowHome: z
    .array(homePath, { error: "must be a list of paths below the home folder such as [.claude]" })
    .max(100, { error: "must be at most 100 paths" })
    .optional(),
  readsHome: z
    .array(homePath, { error: "must be a list of paths below the home folder such as [datasets]" })
    .max(100, { error: "must be at most 100 paths" })
    .optional(),
  copyHome: z
    .array(homePath, {
      error: "must be a list of paths below the home folder such as [.claude/settings.json]",
    })
    .max(100, { error: "must be at most 100 paths" })
    .optional(),
  /** MCP servers of an agent, by name. */
  mcp: z
    .record(id, mcpServer, { error: `must be servers by name; each ${SERVER_WORDS}` })
    .optional(),
  /** The same as a list, of programs alone. */
  mcpServers: z
    .array(settings({ name: id, command: program }), {
      error: "must be a list such as [{ name: tickets, command: [node, tools/tickets.mjs] }]",
    })
    .optional(),
}).superRefine((spec, context) => {
  const refuse = (key: string, message: string): void =>
    context.addIssue({ code: "custom", path: [key], message });
  refuseServers(spec, refuse);
  const { kind, agent } = spec;
  if (kind !== undefined && agent !== undefined) {
    return refuse("kind", `cannot stand beside agent: ${agent}, which says it already`);
  }
  if (agent === undefined && spec.via !== undefined) {
    refuse("via", "belongs to agent, which is missing");
  }
  if (kind === undefined && agent === undefined) {
    return refuse(
      "kind",
      `is missing; must be one of ${WORKER_KINDS.join(", ")}, or agent one of ${AGENTS.join(", ")}`,
    );
  }
  const needed = kind === undefined ? [] : NEEDED_KEYS[kind];
  for (const key of needed) {
    if (spec[key] === undefined) {
      refuse(key, `is missing; a worker of kind ${kind} needs it`);
    }
  }
  const known: readonly string[] = kind === undefined ? PRESET_KEYS : WORKER_KEYS[kind];
  const owner = kind === undefined ? `agent: ${agent}` : `a worker of kind ${kind}`;
  for (const key of KEYS_OF_KINDS) {
    if (spec[key] !== undefined && !known.includes(key)) refuse(key, `is no key of ${owner}`);
  }
});
