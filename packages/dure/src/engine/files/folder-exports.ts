import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import path from "node:path";
import type { z } from "zod";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import type { AnyTool } from "../agent/tool.ts";
import { isAgent, isClass, type AgentClass } from "../service/assemble-service.ts";
import type { FlowHandler, ServiceOptions } from "../service/service.ts";
import type { StageMachine, StateDefinition } from "../turn/state.ts";
import { placeOfError } from "./error-place.ts";
import { importModule } from "./import-module.ts";
import { shower, type Problem } from "./load-service-document.ts";

/**
 * What the modules of a service's folder export, for the names in service.yaml. A name may stand
 * behind its module: `flows.router.chooseFlow` is `chooseFlow` of `flows/router.ts`.
 */

const MODULE_ENDINGS = [".ts", ".mts", ".js", ".mjs"] as const;
/**
 * Modules whose exports service.yaml may name, where there is no index. Others (a server, a script)
 * are never run by reading.
 */
const MODULES = [
  "agents",
  "flows",
  "handlers",
  "router",
  "state",
  "schemas",
  "validators",
  "tools",
  "completed",
] as const;

/** Chooses the flow. */
export type FolderRouter = NonNullable<ServiceOptions["router"]>;

/** One named export, and the module that has it. */
interface Exported {
  readonly value: unknown;
  readonly file: string;
}

/** Whether an export is what `tool` makes. */
export function isTool(value: unknown): value is AnyTool {
  return isObject(value) && typeof value.execute === "function" && "inputSchema" in value;
}

/** The named exports of the folder's modules, by what they can be used for. */
export class FolderExports {
  readonly all: ReadonlyMap<string, Exported>;

  constructor(all: ReadonlyMap<string, Exported>) {
    this.all = all;
  }

  classes(): Record<string, AgentClass> {
    return this.#those((value): value is AgentClass => isAgent(value) || isFunction(value));
  }

  tools(): Record<string, AnyTool> {
    return this.#those(isTool);
  }

  schemas(): Record<string, z.ZodType> {
    return this.#those(isSchema);
  }

  functions<Value>(): Record<string, Value> {
    return this.#those((value): value is Value => isFunction(value) && !isClass(value));
  }

  /** What makes the handler of a flow: a function itself, or a class that has `run`. */
  handlers(): Record<string, () => FlowHandler> {
    return this.#makers("run") as Record<string, () => FlowHandler>;
  }

  /** What makes a router: a function itself, or a class that has `route`. */
  routers(): Record<string, () => FolderRouter> {
    return this.#makers("route") as Record<string, () => FolderRouter>;
  }

  states(): Record<string, z.ZodType | StateDefinition> {
    return this.#those(
      (value): value is z.ZodType | StateDefinition =>
        isSchema(value) ||
        (isObject(value) && isSchema(value.schema) && typeof value.initial === "function"),
    );
  }

  managers(): Record<string, ManagerExport> {
    return this.#those(
      (value): value is ManagerExport =>
        isObject(value) &&
        !isSchema(value) &&
        (isObject(value.stages) ||
          isObject(value.transitions) ||
          typeof value.initial === "function"),
    );
  }

  #makers(method: string): Record<string, () => object> {
    const found = this.#those(
      (value): value is object =>
        isFunction(value) && (!isClass(value) || hasMethod(value, method)),
    );
    const makers = Object.entries(found).map(([name, value]) => [
      name,
      () => asFunction(value, method),
    ]);

    return Object.fromEntries(makers) as Record<string, () => object>;
  }

  #those<Value>(fits: (value: unknown) => value is Value): Record<string, Value> {
    const found: Record<string, Value> = {};
    for (const [name, { value }] of this.all) if (fits(value)) found[name] = value;

    return found;
  }
}

/**
 * What `state.manager` may name: how the state begins and which stage may follow which; or the
 * stage machine alone.
 */
export type ManagerExport =
  | Partial<Pick<StateDefinition, "initial" | "stages" | "slots">>
  | StageMachine;

/** Reads the folder's modules, and those that `names` speak of. Notes what cannot be loaded. */
export async function readExports(
  root: string,
  names: readonly string[],
  problems: Problem[],
): Promise<FolderExports> {
  const show = shower(root);
  const all = new Map<string, Exported>();
  for (const file of new Set([...(await moduleFiles(root)), ...namedModules(root, names)])) {
    const shown = show(file);
    try {
      for (const [name, value] of Object.entries(await importModule(file))) {
        const earlier = all.get(name);
        if (name === "default" || earlier?.value === value) continue;
        if (earlier) {
          problems.push({
            file: shown,
            key: name,
            message: `is exported by ${earlier.file} too`,
            hint: "Rename one of them, or add an index.ts that exports what is meant",
          });
        }
        all.set(name, { value, file: shown });
      }
    } catch (cause) {
      problems.push(importProblem(shown, cause));
    }
  }

  return new FolderExports(all);
}

async function moduleFiles(root: string): Promise<string[]> {
  const index = moduleAt(path.join(root, "index"));
  if (index) return [index];
  const agents = existsSync(path.join(root, "agents"))
    ? await readdir(path.join(root, "agents"), { withFileTypes: true })
    : [];
  const stems = [
    ...MODULES.map((name) => path.join(root, name)),
    ...agents
      .filter((entry) => entry.isDirectory())
      .map((entry) => path.join(root, "agents", entry.name, "agent")),
  ];

  return stems.flatMap((stem) => moduleAt(stem) ?? []);
}

/** Of names behind a module, where the folder has it; else the export is looked for by its name. */
function namedModules(root: string, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const folders = name.split(".").slice(0, -1);
    if (folders.length === 0) return [];
    const stem = path.join(root, ...folders);

    return moduleAt(stem) ?? moduleAt(path.join(stem, "index")) ?? [];
  });
}

/** The export's own name, without its module. Pure. */
export function exportedName(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** A function as it is; of a class, which is made without arguments, its `method`. */
function asFunction(found: object, method: string): object {
  if (!isClass(found)) return found;
  const made = new found() as Record<string, (...given: readonly unknown[]) => unknown>;

  return (...given: readonly unknown[]) => made[method]!(...given);
}

function isFunction(value: unknown): value is (...given: readonly unknown[]) => unknown {
  return typeof value === "function";
}

function hasMethod(made: object, method: string): boolean {
  const prototype: unknown = Reflect.get(made, "prototype");
  return isObject(prototype) && isFunction(prototype[method]);
}

/** The module of this path without its ending. */
export function moduleAt(stem: string): string | undefined {
  return MODULE_ENDINGS.map((ending) => stem + ending).find((file) => existsSync(file));
}

/** Why a module cannot be loaded, at its line where the error is in it. */
export function importProblem(file: string, cause: unknown): Problem {
  const place = placeOfError(cause);
  const isHere = place !== undefined && path.basename(place.file) === path.basename(file);
  const hint = cause instanceof DureError ? cause.hint : undefined;

  return {
    file,
    line: isHere ? place.line : undefined,
    key: "",
    message: `cannot be loaded: ${messageOf(cause)}`.replace(/\.$/, ""),
    hint,
  };
}

/** Whether an export is a schema of zod. */
export function isSchema(value: unknown): value is z.ZodType {
  return (
    typeof value === "object" &&
    value !== null &&
    "safeParse" in value &&
    typeof value.safeParse === "function"
  );
}
