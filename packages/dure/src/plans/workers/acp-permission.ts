import type { RequestPermissionRequest, ToolCallUpdate } from "@agentclientprotocol/sdk";
import { isObject } from "../../kernel/json.ts";
import type { ScopeDecision, ScopeReason } from "../scope.ts";

/** What the tool call of an agent is about, as far as it says. */
export interface AskedTool {
  readonly kind: string;
  /** As the agent wrote them, in order, each once. */
  readonly paths: readonly string[];
  /** The MCP server whose tool it is, as agents name those. */
  readonly server?: string | undefined;
}

export type PermissionDecision =
  | {
      readonly allowed: true;
      readonly because: "owned" | "readable" | "scratch" | "confined" | "harmless";
    }
  | {
      readonly allowed: false;
      readonly because: "names-no-path" | "not-confined" | "not-allowed-kind";
    }
  /** What the agent wanted is outside of its scope. */
  | {
      readonly allowed: false;
      readonly because: "violation";
      readonly path: string;
      readonly wanted: "read" | "write";
      readonly reason: ScopeReason;
    };

/** How the paths of one assignment are decided. */
export interface PermissionScope {
  /** From the root of the tree; undefined: outside of it. */
  relativePath(path: string): string | undefined;
  decideRead(path: string): ScopeDecision;
  decideWrite(path: string): ScopeDecision;
  /** Whether an absolute path is the worker's own place for temporary files. */
  isScratch(path: string): boolean;
  /** Whether the sandbox holds what runs in it. */
  readonly isConfined: boolean;
  /** MCP servers that the plan gives it. Default none. */
  readonly servers?: readonly string[] | undefined;
}

/** Kinds of tools that change the files they name. */
const WRITING = ["edit", "delete", "move"];
const READING = ["read", "search"];

/**
 * Whether an agent may use a tool that it asks for. Pure; the first rule that applies wins. A
 * command, or a tool of an MCP server that the plan gives, names no files, so it is allowed where the
 * sandbox holds it and refused elsewhere; what cannot be understood is refused. Source: docs/spec/plans §5, §6.
 */
export function decidePermission(asked: AskedTool, scope: PermissionScope): PermissionDecision {
  const { kind, paths } = asked;
  if (kind === "think") return { allowed: true, because: "harmless" };
  if (kind === "execute" || kind === "fetch" || isServed(asked, scope)) {
    return scope.isConfined
      ? { allowed: true, because: "confined" }
      : { allowed: false, because: "not-confined" };
  }

  if (kind === "switch_mode") return { allowed: false, because: "not-allowed-kind" };

  // A kind that is unknown may write, so it is asked for as a write.
  const wanted = READING.includes(kind) ? "read" : "write";
  if (paths.length === 0) {
    return wanted === "read" && scope.isConfined
      ? { allowed: true, because: "confined" }
      : { allowed: false, because: "names-no-path" };
  }

  const inTree = paths.filter((path) => !scope.isScratch(path));
  if (inTree.length === 0) return { allowed: true, because: "scratch" };
  for (const path of inTree) {
    const { allowed, because } = decidePath(path, wanted, scope);
    if (allowed) continue;

    return { allowed: false, because: "violation", reason: because, ...told(path, kind, scope) };
  }

  return { allowed: true, because: wanted === "read" ? "readable" : "owned" };
}

/** What a server does with a path is its own; its program is held as the agent is. */
function isServed({ kind, server }: AskedTool, { servers = [] }: PermissionScope): boolean {
  return kind === "other" && server !== undefined && servers.includes(server);
}

/**
 * What a refused tool wanted, as it is recorded. One of no kind that names a place outside, such as a
 * folder to look into, tells of no write.
 */
function told(
  path: string,
  kind: string,
  scope: PermissionScope,
): { readonly path: string; readonly wanted: "read" | "write" } {
  const relative = scope.relativePath(path);
  const isLook = READING.includes(kind) || (relative === undefined && !WRITING.includes(kind));

  return { path: relative ?? path, wanted: isLook ? "read" : "write" };
}

function decidePath(path: string, wanted: "read" | "write", scope: PermissionScope): ScopeDecision {
  const relative = scope.relativePath(path);
  if (relative === undefined) return { allowed: false, because: "absolute" };

  return wanted === "read" ? scope.decideRead(relative) : scope.decideWrite(relative);
}

/**
 * Which of the offered answers says it; once, never for ever. Undefined: none does, and the request
 * is cancelled. Pure.
 */
export function optionFor(
  options: RequestPermissionRequest["options"],
  allowed: boolean,
): string | undefined {
  const kinds = allowed ? ["allow_once"] : ["reject_once", "reject_always"];
  for (const kind of kinds) {
    const option = options.find((one) => one.kind === kind);
    if (option) return option.optionId;
  }

  return allowed ? optionFor(options, false) : undefined;
}

/** Members of a tool's raw input that hold a path, as agents name them. */
const PATH_KEYS = new Set([
  "path",
  "paths",
  "file",
  "files",
  "file_path",
  "filePath",
  "filepath",
  "abs_path",
  "absolute_path",
  "absolutePath",
  "notebook_path",
  "old_path",
  "oldPath",
  "new_path",
  "newPath",
  "source",
  "destination",
  "target_file",
  "directory",
  "dir",
]);

/** Reads the request: its places, its diffs, its raw input. Pure. */
export function askedTool(call: ToolCallUpdate): AskedTool {
  const diffs = (call.content ?? []).flatMap((part) => (part.type === "diff" ? [part.path] : []));
  const places = (call.locations ?? []).map(({ path }) => path);
  const kind = call.kind ?? (diffs.length > 0 ? "edit" : "other");
  // A diff changes files, whatever the kind says.
  return {
    kind: diffs.length > 0 && !WRITING.includes(kind) ? "edit" : kind,
    paths: [...new Set([...diffs, ...places, ...pathsIn(call.rawInput)])],
    server: serverIn(call),
  };
}

/** `mcp__tickets__find`, or `find (tickets MCP Server)`. */
const SERVER_TOOLS = [/^mcp__(.+?)__/, /\(([^()]+) MCP Server\)/];

/** The server that a tool's name tells of. */
function serverIn({ title, _meta }: ToolCallUpdate): string | undefined {
  const ofClaude = _meta?.["claudeCode"];
  const name = isObject(ofClaude) ? ofClaude["toolName"] : undefined;
  for (const text of [name, title]) {
    if (typeof text !== "string") continue;
    for (const form of SERVER_TOOLS) {
      const server = form.exec(text.slice(0, 500))?.[1];
      if (server !== undefined) return server;
    }
  }

  return undefined;
}

function pathsIn(input: unknown): string[] {
  if (!isObject(input)) return [];
  return Object.entries(input).flatMap(([key, value]) => {
    if (key === "changes" && isObject(value)) return Object.keys(value);
    if (!PATH_KEYS.has(key)) return [];

    return (Array.isArray(value) ? value : [value]).filter(
      (one): one is string => typeof one === "string" && one !== "",
    );
  });
}
