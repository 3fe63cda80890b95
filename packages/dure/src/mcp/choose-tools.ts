import type { Tool as Definition } from "@modelcontextprotocol/client";
import { modelNameOf } from "./mcp-tool.ts";
import { fitsAny } from "./server-spec.ts";
import { faultOf } from "./sound-tools.ts";

/** A tool of a server that agents do not get; with `count`, so many of them. */
export interface LeftOutTool {
  readonly name: string;
  readonly because: string;
  readonly count?: number | undefined;
}

interface ChosenTools {
  readonly tools: readonly Definition[];
  readonly leftOut: readonly LeftOutTool[];
}

/** Tools of one server; a model finds them by `find_tools`. Source: docs/spec/interop §1. */
const MAX_TOOLS = 1_000;
/** Faulty tools that are shown one by one; a server may list any number. */
const MAX_SHOWN = 50;

/**
 * Of what a server lists, the tools that agents get: those that the settings name, can be read, and
 * have a name of their own; of these the first 1,000. Pure.
 */
export function chooseTools(
  server: string,
  definitions: readonly Definition[],
  patterns: readonly string[],
): ChosenTools {
  const named = definitions.filter(({ name }) => fitsAny(name, patterns));
  const owners = ownersOf(
    server,
    named.filter((one) => faultOf(one) === undefined),
  );
  const tools: Definition[] = [];
  const faults = new Map<string, LeftOutTool>();
  for (const definition of named) {
    const because =
      faultOf(definition) ??
      nameFault(definition, owners.get(modelNameOf(server, definition.name))!);
    if (because === undefined) tools.push(definition);
    else {
      const fault = { name: definition.name, because };
      faults.set(faultKey(fault), fault);
    }
  }

  return {
    tools: tools.slice(0, MAX_TOOLS),
    leftOut: [
      ...[...faults.values()].slice(0, MAX_SHOWN),
      ...more(faults.size - MAX_SHOWN, "more cannot be used"),
      ...more(
        tools.length - MAX_TOOLS,
        `of ${tools.length} tools the first ${MAX_TOOLS} are offered`,
      ),
    ],
  };
}

function more(count: number, because: string): readonly LeftOutTool[] {
  return count > 0 ? [{ name: `${count} tools`, because, count }] : [];
}

/**
 * Which definition has a name that models call: one that is written so, else the first by name, so
 * that the name calls the same tool whatever the order of the list.
 */
function ownersOf(
  server: string,
  definitions: readonly Definition[],
): ReadonlyMap<string, Definition> {
  const owners = new Map<string, Definition>();
  for (const one of definitions) {
    const called = modelNameOf(server, one.name);
    const owner = owners.get(called);
    const isExact = (name: string): boolean => called === `${server}__${name}`;
    const isBefore =
      owner === undefined || (!isExact(owner.name) && (isExact(one.name) || one.name < owner.name));
    if (isBefore) owners.set(called, one);
  }

  return owners;
}

function nameFault(definition: Definition, owner: Definition): string | undefined {
  if (owner === definition) return undefined;
  if (owner.name === definition.name) return "the list has a tool of this name before it";
  return `models would call it as they call ${owner.name}`;
}

/** The same while nothing changes about it. */
export function faultKey({ name, because }: LeftOutTool): string {
  return JSON.stringify([name, because]);
}

/** What to do about it. `server` as people read it. */
export function nextStepOf(server: string, { count }: LeftOutTool): string {
  const [service, own] = server.split("/");
  const settings = own === undefined ? `mcp.${server}` : `mcp.${own} of the service ${service}`;
  return count === undefined
    ? `Tell the author of the server, or take it out by \`tools\` of ${settings}.`
    : `Name the tools that agents need in \`tools\` of ${settings}.`;
}
