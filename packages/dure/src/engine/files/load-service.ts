import { calculator, clockTool } from "../agent/builtin-tools.ts";
import { teamTools } from "../agent/team-tools.ts";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type { z } from "zod";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { compacted, isObject } from "../../kernel/json.ts";
import type { CardInput } from "../../models/card.ts";
import {
  exportedName,
  importProblem,
  isSchema,
  moduleAt,
  readExports,
  type FolderExports,
  type ManagerExport,
  type FolderRouter,
} from "./folder-exports.ts";
import { importModule } from "./import-module.ts";
import { serviceSchema } from "./service-schema.ts";
import {
  problemAt,
  problemsError,
  problemsOf,
  readYaml,
  shower,
  type Problem,
  type SettingsDocument,
} from "./load-service-document.ts";
import {
  assembleService,
  unknownName,
  type AgentSpec,
  type DefinitionProblem,
  type ServiceParts,
} from "../service/assemble-service.ts";
import type { CompletedSelector, FlowHandler, Service } from "../service/service.ts";
import type { MemoryOptions } from "../agent/memory.ts";
import { defineState, type StateDefinition } from "../turn/state.ts";
import type { AnyTool } from "../agent/tool.ts";
import type { Validator } from "../agent/agent.ts";

/**
 * Reads a service from its folder. Throws `SERVICE_INVALID` with every problem at its file and
 * line, or `SERVICE_MISSING`.
 *
 *     service.yaml                 (or project.yaml) names agents, flows, state;
 *                                  without it service.ts exports the service
 *     agents/<key>/card.json       (or card.yaml) model, policy, tools, budget
 *     agents/<key>/prompt.md       the prompt
 *     agents.ts, flows.ts, …       modules whose named exports service.yaml speaks of;
 *                                  with an index.ts, only its exports, and modules that are
 *                                  named with an export: flows.router.chooseFlow
 */
export async function loadService(folder: string): Promise<Service> {
  const { service, problems, file } = await readService(folder);
  if (problems.length > 0 || !service) throw problemsError("SERVICE_INVALID", file, problems);

  return service;
}

/** What was read, and all that is wrong with it. Throws only `SERVICE_MISSING`. */
export interface ServiceReading {
  readonly service: Service | undefined;
  readonly problems: readonly Problem[];
  /** The definition: service.yaml or service.ts. */
  readonly file: string;
  readonly document?: SettingsDocument;
}

const DEFINITIONS = ["service.yaml", "service.yml", "project.yaml", "project.yml"] as const;

/** Reads the definition, and all that it names. */
export async function readService(folder: string): Promise<ServiceReading> {
  const root = path.resolve(folder);
  const definitions = DEFINITIONS.filter((file) => existsSync(path.join(root, file)));
  const [first, second] = definitions;
  if (first === undefined) return readModule(root);

  const show = shower(root);
  const file = show(path.join(root, first));
  if (second !== undefined) {
    return {
      service: undefined,
      file,
      problems: [
        {
          file,
          key: "",
          message: `stands beside ${second}; a service has one definition`,
          hint: `Delete or rename ${second}`,
        },
      ],
    };
  }
  const { document, problems } = readYaml(file, await readFile(path.join(root, first), "utf8"));
  if (problems.length > 0) return { service: undefined, file, problems, document };

  const read = serviceSchema.safeParse(document.value);
  if (!read.success) {
    return { service: undefined, file, problems: problemsOf(read.error, document), document };
  }

  return { ...(await assemble(root, read.data, document)), file, document };
}

/** Tools of dure that files may name. */
export const READY_TOOLS: Readonly<Record<string, AnyTool>> = { calculator, clock: clockTool };

type ServiceFile = z.output<typeof serviceSchema>;

/** A service on its way from its folder. */
interface FileReading {
  readonly root: string;
  readonly file: ServiceFile;
  readonly document: SettingsDocument;
  readonly exports: FolderExports;
  readonly problems: Problem[];
}

async function assemble(
  root: string,
  file: ServiceFile,
  document: SettingsDocument,
): Promise<{ service: Service | undefined; problems: Problem[] }> {
  const problems: Problem[] = [];
  const exports = await readExports(root, namesIn(file), problems);
  const reading: FileReading = { root, file, document, exports, problems };
  const { agents, cards } = await readAgents(reading);
  const { title, description, examples, translations, version, memory, sessions } = file;
  const { toolCalls, mcp } = file;
  const built = assembleService({
    name: file.name,
    ...compacted({ title, description, examples, translations, version, sessions, toolCalls, mcp }),
    ...compacted({ memory: memory as MemoryOptions | undefined }),
    ...readFlows(reading),
    ...readState(reading),
    agents,
    tools: { ...READY_TOOLS, ...teamTools, ...exports.tools() },
    schemas: exports.schemas(),
    validators: exports.functions<Validator>(),
    classes: exports.classes(),
  });
  // Where exports are missing the service is not whole, and defineService would only repeat it.
  const whole = problems.length === 0;
  for (const problem of built.problems) {
    if (whole || problem.path.length > 0) problems.push(placed(problem, document, cards));
  }

  return { service: problems.length === 0 ? built.service : undefined, problems };
}

/** The agents, and their cards by the same keys. */
async function readAgents(reading: FileReading): Promise<{
  agents: Readonly<Record<string, AgentSpec>>;
  cards: ReadonlyMap<string, CardFile>;
}> {
  const agents: Record<string, AgentSpec> = {};
  const cards = new Map<string, CardFile>();
  for (const [key, { class: name, card, stream }] of Object.entries(reading.file.agents)) {
    const found = await readCardFile(reading, key, card);
    cards.set(key, found);
    const prompt = await readPrompt(reading, key, found);
    const named = name === undefined ? undefined : exportedName(name);
    agents[key] = { class: named, card: found.value as CardInput | undefined, prompt, stream };
  }

  return { agents, cards };
}

/** All names of exports, as they are written. */
function namesIn({ agents, flows, state, completed }: ServiceFile): readonly string[] {
  const classes = Object.values(agents).map((agent) => agent.class);
  const router = typeof flows.router === "string" ? flows.router : undefined;
  const names = [...classes, router, ...Object.values(flows.handlers), completed];

  return [...names, state?.model, state?.manager].filter((name) => name !== undefined);
}

function readFlows(reading: FileReading): Pick<ServiceParts, "flows" | "router" | "completed"> {
  const { file, exports } = reading;
  const flows: Record<string, FlowHandler> = {};
  for (const [flow, name] of Object.entries(file.flows.handlers)) {
    const wanted = { kind: "flow handler", name, at: ["flows", "handlers", flow] };
    const handler = made(reading, wanted, exports.handlers());
    if (handler) flows[flow] = handler;
  }
  const completed = pick(
    reading,
    { kind: "function", name: file.completed, at: ["completed"] },
    exports.functions<CompletedSelector>(),
  );

  return { flows, ...compacted({ router: readRouter(reading), completed }) };
}

function readRouter(reading: FileReading): FolderRouter | undefined {
  const { router } = reading.file.flows;
  if (typeof router === "object") return routerOf(router, reading);

  const wanted = { kind: "router", name: router, at: ["flows", "router"] };
  return made(reading, wanted, reading.exports.routers());
}

/** By a table: a scenario that is not in it names its flow itself. */
function routerOf(
  table: Readonly<Record<string, string>>,
  { file, document, problems }: FileReading,
): FolderRouter {
  const known = Object.keys(file.flows.handlers);
  for (const [scenario, flow] of Object.entries(table)) {
    if (known.includes(flow)) continue;
    const at = ["flows", "router", scenario];
    problems.push(problemAt(document, at, "names no flow", { allowed: known.join(", ") }));
  }
  const flows = new Map(Object.entries(table));

  return (scenario) => flows.get(scenario) ?? scenario;
}

function readState(reading: FileReading): Pick<ServiceParts, "state"> {
  const { file, exports } = reading;
  if (!file.state) return {};
  const { model: name, manager: managerName } = file.state;
  const model = pick(reading, { kind: "state", name, at: ["state", "model"] }, exports.states());
  const manager = pick(
    reading,
    { kind: "state manager", name: managerName, at: ["state", "manager"] },
    exports.managers(),
  );

  return model ? { state: stateOf(model, manager) } : {};
}

interface WantedService {
  /** In words, such as `flow handler`. */
  readonly kind: string;
  readonly name: string | undefined;
  readonly at: readonly string[];
}

/** The function that a key names; a class may refuse to be made. */
function made<Value>(
  reading: FileReading,
  wanted: WantedService,
  makers: Readonly<Record<string, () => Value>>,
): Value | undefined {
  const make = pick(reading, wanted, makers);
  try {
    return make?.();
  } catch (cause) {
    const message = `cannot be made: ${messageOf(cause)}`.replace(/\.$/, "");
    reading.problems.push(problemAt(reading.document, wanted.at, message));
    return undefined;
  }
}

/** The export that a key of service.yaml names; notes a problem where it is none of `known`. */
function pick<Value>(
  { document, exports, problems }: FileReading,
  { kind, name: written, at }: WantedService,
  known: Readonly<Record<string, Value>>,
): Value | undefined {
  if (written === undefined) return undefined;
  const name = exportedName(written);
  const value = known[name];
  if (value !== undefined) return value;
  const other = exports.all.get(name);
  const unknown = unknownName(at, kind, name, Object.keys(known));
  const message = other
    ? `names the export "${name}" of ${other.file}, which is no ${kind}`
    : unknown.message;
  problems.push(problemAt(document, at, message, unknown));

  return undefined;
}

/** The problem at the key of service.yaml, or at the key of the card's own file. */
function placed(
  { path: at, message, allowed, hint }: DefinitionProblem,
  document: SettingsDocument,
  cards: ReadonlyMap<string, CardFile>,
): Problem {
  const [group, key, member, ...rest] = at;
  const card = group === "agents" && member === "card" ? cards.get(key!)?.document : undefined;

  return card
    ? problemAt(card, rest, message, { allowed, hint })
    : problemAt(document, at, message, { allowed, hint });
}

// --- cards and prompts

interface CardFile {
  readonly value: unknown;
  /** Absent for a card that stands in service.yaml itself, or nowhere. */
  readonly document?: SettingsDocument;
  readonly file?: string;
}

const CARD_ENDINGS = [".json", ".yaml", ".yml"] as const;

/** Files beside service.yaml itself belong to its only agent. */
function isOnlyAgent({ file }: FileReading): boolean {
  return Object.keys(file.agents).length === 1;
}

async function readCardFile(reading: FileReading, key: string, card: unknown): Promise<CardFile> {
  const { root, document, problems } = reading;
  if (card !== undefined && typeof card !== "string") return { value: card };
  const candidates =
    card !== undefined
      ? [card]
      : [`agents/${key}/card`, `cards/${key}`, ...(isOnlyAgent(reading) ? ["card"] : [])].flatMap(
          (stem) => CARD_ENDINGS.map((ending) => stem + ending),
        );
  const found = candidates.filter((candidate) => existsSync(path.join(root, candidate)));
  if (card !== undefined && found.length === 0) {
    problems.push(
      problemAt(document, ["agents", key, "card"], "names a file that does not exist", {
        allowed: "a card.json or card.yaml, relative to the service's folder",
      }),
    );
  }
  if (found.length > 1) {
    problems.push(
      problemAt(document, ["agents", key], `has the cards ${found.join(" and ")}`, {
        hint: "Keep one of them",
      }),
    );
  }
  if (found[0] === undefined) return { value: undefined };

  const file = path.join(root, found[0]);
  const read = readYaml(shower(root)(file), await readFile(file, "utf8"));
  problems.push(...read.problems);

  return { value: read.document.value ?? {}, document: read.document, file };
}

async function readPrompt(
  reading: FileReading,
  key: string,
  card: CardFile,
): Promise<string | undefined> {
  const { root, document, problems } = reading;
  const beside =
    card.file !== undefined && path.dirname(card.file) !== root
      ? [path.relative(root, path.join(path.dirname(card.file), "prompt.md"))]
      : [];
  const candidates = new Set(
    [
      `agents/${key}/prompt.md`,
      `prompts/${key}.md`,
      ...beside,
      ...(isOnlyAgent(reading) ? ["prompt.md"] : []),
    ].map((file) => path.normalize(file)),
  );
  const found = [...candidates].filter((candidate) => existsSync(path.join(root, candidate)));
  if (found.length > 1) {
    problems.push(
      problemAt(document, ["agents", key], `has the prompts ${found.join(" and ")}`, {
        hint: "Keep one of them",
      }),
    );
  }

  return found[0] === undefined
    ? undefined
    : (await readFile(path.join(root, found[0]), "utf8")).trim();
}

// --- a service in code

async function readModule(root: string): Promise<ServiceReading> {
  const found = ["service", "index"]
    .map((stem) => moduleAt(path.join(root, stem)))
    .find((file) => file !== undefined);
  if (found === undefined) {
    throw new DureError("SERVICE_MISSING", `${root} has no service.yaml and no service.ts.`, {
      class: "not-found",
      hint: "Name the folder of a service, or make one: dure new service my-service",
    });
  }
  const file = shower(root)(found);
  try {
    const exports = await importModule(found);
    const service = [exports.default, ...Object.values(exports)].find(isService);
    if (service) return { service, problems: [], file };

    return {
      service: undefined,
      file,
      problems: [
        {
          file,
          key: "",
          message: "exports no service",
          hint: "Write: export default defineService({ … })",
        },
      ],
    };
  } catch (cause) {
    return { service: undefined, file, problems: [importProblem(file, cause)] };
  }
}

export function isService(value: unknown): value is Service {
  return isObject(value) && value.kind === "service" && typeof value.name === "string";
}

// --- state

function stateOf(
  model: z.ZodType | StateDefinition,
  manager: ManagerExport | undefined,
): StateDefinition {
  const machine = manager && "transitions" in manager ? { stages: manager } : manager;
  if (!isSchema(model)) return { ...model, ...machine };
  const schema = model as z.ZodType<Record<string, unknown>>;
  const stage = machine?.stages?.initial;

  return defineState({
    initial: () => schema.parse(stage === undefined ? {} : { stage }),
    ...machine,
    schema,
  });
}
