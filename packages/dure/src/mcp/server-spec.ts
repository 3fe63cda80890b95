import { DureError } from "../kernel/errors.ts";
import type { EffectKind } from "../engine/agent/tool.ts";
import type { Approver } from "../models/card.ts";

/** An MCP server of a team: how it is reached, and what its tools may do. */
export type McpServerSpec = (LocalServer | RemoteServer) & ToolRules;

/** A program that is started here and speaks over its standard input and output. */
export interface LocalServer {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /**
   * Its environment beside PATH, HOME and the like. `${NAME}` stands for a value of dure's own
   * environment; nothing else of that is passed on.
   */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Relative to the team's folder. Absent: that folder. */
  readonly cwd?: string | undefined;
}

/** A server at an address, over streamable HTTP. */
export interface RemoteServer {
  readonly url: string;
  /** `${NAME}` stands for a value of dure's environment. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly oauth?: ServerLogin | undefined;
  /** A person logs in, by `dure mcp login`. */
  readonly login?: PersonLoginSpec | undefined;
}

/** How a person logs in at a server: OAuth 2.1 with authorization code. */
export interface PersonLoginSpec {
  /** Of the authorization server. Absent: the one that the server names when the person logs in. */
  readonly issuer?: string | undefined;
  /** Absent: dure registers itself there. */
  readonly clientId?: string | undefined;
  /**
   * An https address of a document that names the client (`dure mcp document`), for servers that take
   * one; at others dure registers itself.
   */
  readonly clientDocument?: string | undefined;
  /** `${NAME}` stands for a value of dure's environment. */
  readonly clientSecret?: string | undefined;
  /** With spaces between scopes. Absent: those that the server asks for. */
  readonly scope?: string | undefined;
}

/** How dure logs in at a server, as itself: OAuth 2 with client credentials. */
export interface ServerLogin {
  /** Of the authorization server; the secret goes to no other one. */
  readonly issuer: string;
  readonly clientId: string;
  /** `${NAME}` stands for a value of dure's environment. */
  readonly clientSecret: string;
  /** With spaces between scopes. */
  readonly scope?: string | undefined;
}

/** What dure does with the tools of a server. Patterns are names in which `*` stands for anything. */
export interface ToolRules {
  /** Patterns of the tools that agents may see. Absent: all. */
  readonly tools?: readonly string[] | undefined;
  /**
   * What a tool does to the outside, by pattern; the first that fits counts. Absent: `none` for a
   * tool that calls itself read-only, else `once`.
   */
  readonly effects?: Readonly<Record<string, EffectKind>> | undefined;
  /**
   * Who says yes to each call of a tool, by pattern; the first that fits counts. Such tools are
   * `once`.
   */
  readonly approval?: Readonly<Record<string, Approver>> | undefined;
  /**
   * What the server is answered that asks something in the middle of a call: with the defaults that it
   * gives itself. Absent: it is told that it cannot ask.
   */
  readonly questions?: "defaults" | undefined;
  /** How long one call may take, milliseconds. Absent: 60,000. */
  readonly timeoutMs?: number | undefined;
}

export function isLocal(spec: McpServerSpec): spec is LocalServer & ToolRules {
  return "command" in spec;
}

/** Whether a tool's name fits one of the patterns. Pure. */
export function fitsAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => fits(name, pattern));
}

/** Whether a name fits a pattern in which `*` stands for any text. Pure; linear in both. */
export function fits(name: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (!name.startsWith(first)) return false;
  const last = rest.pop();
  if (last === undefined) return name === first;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

/**
 * The texts with `${NAME}` replaced by values of the environment. Throws `MCP_ENVIRONMENT_MISSING`
 * with the names that have none.
 */
export function filledIn(
  texts: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const missing = new Set<string>();
  const filled = Object.entries(texts).map(([key, text]): [string, string] => [
    key,
    text.replaceAll(/\$\{([A-Za-z_]\w*)\}/g, (whole, name: string) => {
      const value = environment[name];
      if (value === undefined) missing.add(name);
      return value ?? whole;
    }),
  ]);
  if (missing.size === 0) return Object.fromEntries(filled);
  throw new DureError(
    "MCP_ENVIRONMENT_MISSING",
    `The environment lacks ${[...missing].join(", ")}.`,
    { class: "input", hint: "Set it in .env beside the configuration, or take ${…} out of `mcp`." },
  );
}
