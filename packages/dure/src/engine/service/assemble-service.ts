import type { z } from "zod";
import { DureError } from "../../kernel/errors.ts";
import { compacted, isObject } from "../../kernel/json.ts";
import { cardSchema, type Card, type CardInput } from "../../models/card.ts";
import { closest } from "../../kernel/closest.ts";
import {
  assertToolNames,
  chatAgent,
  conversationalAgent,
  customAgent,
  type Agent,
  type AgentOptions,
  type Validator,
} from "../agent/agent.ts";
import { sentence } from "../files/load-service-schema.ts";
import { defineService, type FlowHandler, type Service, type ServiceOptions } from "./service.ts";
import type { AnyTool } from "../agent/tool.ts";

/**
 * What an entry of the class map gets: everything that the files and registries say about the
 * agent.
 */
export interface AgentParts extends Omit<AgentOptions, "prompt"> {
  readonly prompt?: string | undefined;
  readonly schema?: z.ZodType | undefined;
}

/**
 * An agent as it is, a function that makes one, or a class whose instances have `run(context)` or
 * `stream(context)`.
 */
export type AgentClass =
  | Agent
  | ((parts: AgentParts) => Agent | CustomAgent)
  | (new (parts: AgentParts) => Agent | CustomAgent);
export type CustomAgent = Pick<Agent, "run"> | Pick<Agent, "stream">;

/** How an agent is put together: a class by name, and what may change without code. */
export interface AgentSpec {
  /**
   * A name of the class map, or `chat`, `conversational`. Default: `conversational` if the card
   * names a schema, else `chat`.
   */
  readonly class?: string | undefined;
  readonly card?: CardInput | undefined;
  readonly prompt?: string | undefined;
  /**
   * `true`: must be able to give its text as it comes; `false`: a custom agent gives it whole.
   * Default: as its class is.
   */
  readonly stream?: boolean | undefined;
}

/** A complaint about one key of a definition. */
export interface DefinitionProblem {
  readonly path: readonly string[];
  readonly message: string;
  readonly allowed?: string | undefined;
  readonly hint?: string | undefined;
}

const READY_KINDS = ["chat", "conversational"] as const;

/** What a service is put together from: names of cards and specs are looked up in the registries. */
export interface ServiceParts extends Omit<ServiceOptions, "agents" | "flows"> {
  readonly agents: Readonly<Record<string, Agent | AgentSpec>>;
  /** The first flow is the default one. */
  readonly flows: Readonly<Record<string, FlowHandler>>;
  /** Agents that specs name by `class`. */
  readonly classes?: Readonly<Record<string, AgentClass>> | undefined;
  /** Tools that cards name in `tools`. */
  readonly tools?: Readonly<Record<string, AnyTool>> | undefined;
}

export type Assembled =
  | { readonly service: Service; readonly problems: readonly [] }
  | { readonly service?: undefined; readonly problems: readonly DefinitionProblem[] };

/** The service that the parts make, or all that stands in its way. */
export function assembleService({ classes = {}, tools = {}, ...parts }: ServiceParts): Assembled {
  const { schemas = {}, validators = {} } = parts;
  const registries = { classes, tools, schemas, validators };
  const problems: DefinitionProblem[] = [];
  const agents: Record<string, Agent> = {};
  for (const [key, given] of Object.entries(parts.agents)) {
    const agent = isAgent(given) ? given : assembleAgent(key, given, { registries, problems });
    if (agent) agents[key] = agent;
  }
  if (problems.length > 0) return { problems };
  try {
    return { service: defineService({ ...parts, agents }), problems: [] };
  } catch (error) {
    return { problems: [{ path: [], message: sentence(error) }] };
  }
}

interface Registries {
  readonly classes: Readonly<Record<string, AgentClass>>;
  readonly tools: Readonly<Record<string, AnyTool>>;
  readonly schemas: Readonly<Record<string, z.ZodType>>;
  readonly validators: Readonly<Record<string, Validator>>;
}

function assembleAgent(
  key: string,
  spec: AgentSpec,
  { registries, problems }: { registries: Registries; problems: DefinitionProblem[] },
): Agent | undefined {
  const path = ["agents", key];
  const card = readCard(spec, path, problems);
  if (!card) return undefined;

  const before = problems.length;
  const find: Find = (kind, known, name, at) => {
    if (name === undefined) return undefined;
    if (Object.hasOwn(known, name)) return known[name];
    problems.push(unknownName([...path, ...at], kind, name, Object.keys(known)));
    return undefined;
  };
  const { classes } = registries;
  const ready = READY_KINDS.find((kind) => kind === spec.class && !Object.hasOwn(classes, kind));
  const made = ready ? undefined : find("class", classes, spec.class, ["class"]);
  const policy = ["card", "policy"];
  const { schema, validate } = card.policy;
  // Absent and not undefined: a class may spread its parts over defaults.
  const optional = compacted({
    card: spec.card,
    prompt: spec.prompt,
    schema: find("schema", registries.schemas, schema, [...policy, "schema"]),
    validate: find("validator", registries.validators, validate, [...policy, "validate"]),
  });
  const tools = toolsOf(card, { own: isAgent(made) ? made.tools : {}, registries, find });
  const parts: AgentParts = { name: key, tools, ...optional };
  if (problems.length > before) return undefined;

  try {
    const agent = make(made, ready, parts, spec.card === undefined ? undefined : card);
    return streaming(agent, spec.stream, path, problems);
  } catch (error) {
    problems.push({ path: [...path, "class"], message: sentence(error) });
    return undefined;
  }
}

/** The tools that a card names; `own` are those of the agent itself. */
function toolsOf(
  card: Card,
  {
    own,
    registries,
    find,
  }: { own: Readonly<Record<string, AnyTool>>; registries: Registries; find: Find },
): Agent["tools"] {
  const tools: Record<string, AnyTool> = {};
  for (const [index, name] of card.tools.entries()) {
    const at = ["card", "tools", String(index)];
    const found = own[name] ?? find("tool", registries.tools, name, at);
    if (found) tools[name] = found;
  }
  return tools;
}

/** Looks a name up; notes a problem where nothing has it. */
type Find = <Value>(
  kind: string,
  known: Readonly<Record<string, Value>>,
  name: string | undefined,
  at: readonly string[],
) => Value | undefined;

function readCard(
  spec: AgentSpec,
  path: readonly string[],
  problems: DefinitionProblem[],
): Card | undefined {
  const read = cardSchema.safeParse(spec.card ?? {});
  if (read.success) return read.data;
  for (const issue of read.error.issues) {
    problems.push({
      path: [...path, "card", ...issue.path.map(String)],
      message: issue.message.replace(/\.$/, ""),
    });
  }
  return undefined;
}

export function isAgent(value: unknown): value is Agent {
  return (
    isObject(value) &&
    ["chat", "conversational", "custom"].includes(String(value.kind)) &&
    typeof value.name === "string" &&
    isObject(value.card)
  );
}

function make(
  made: AgentClass | undefined,
  ready: (typeof READY_KINDS)[number] | undefined,
  parts: AgentParts,
  card: Card | undefined,
): Agent {
  if (made === undefined) {
    if (ready !== "chat" && parts.schema) {
      return conversationalAgent({ ...parts, schema: parts.schema });
    }
    if (ready === "conversational") {
      throw new DureError("AGENT_SCHEMA_MISSING", "a conversational agent needs a schema.", {
        class: "input",
        hint: "Name one in its card: policy.schema.",
      });
    }
    return chatAgent(parts);
  }
  if (isAgent(made)) {
    const { prompt, schema, validate, tools } = parts;
    assertToolNames(tools, parts.name);
    return {
      ...made,
      prompt: prompt ?? made.prompt,
      prompts: prompt === undefined ? made.prompts : undefined,
      card: card ?? made.card,
      schema: schema ?? made.schema,
      validate: validate ?? made.validate,
      tools: { ...made.tools, ...tools },
    };
  }
  const product = isClass(made)
    ? new made(parts)
    : (made as (parts: AgentParts) => Agent | CustomAgent)(parts);
  if (isAgent(product)) return product;
  const { run, stream } = product as Partial<Agent>;
  return customAgent({ ...parts, run: run?.bind(product), stream: stream?.bind(product) });
}

function streaming(
  agent: Agent,
  stream: boolean | undefined,
  path: readonly string[],
  problems: DefinitionProblem[],
): Agent | undefined {
  if (stream === true && agent.kind === "custom" && !agent.stream) {
    problems.push({
      path: [...path, "stream"],
      message: "its class gives no text as it comes",
      hint: "Give the class stream(context), or write stream: false",
    });
    return undefined;
  }
  if (stream === false && agent.kind === "custom" && agent.stream) {
    if (!agent.run) {
      problems.push({
        path: [...path, "stream"],
        message: "its class only streams",
        hint: "Give the class run(context), or write stream: true",
      });
      return undefined;
    }
    const { stream: _dropped, ...whole } = agent;
    return whole;
  }
  return agent;
}

export function unknownName(
  path: readonly string[],
  kind: string,
  name: string,
  known: readonly string[],
): DefinitionProblem {
  const meant = closest(name, known);
  return {
    path,
    message: `names the ${kind} "${name}", which no file exports`,
    allowed: known.length > 0 ? known.join(", ") : undefined,
    hint: meant ? `did you mean "${meant}"?` : `Export a ${kind} named ${name}`,
  };
}

/** Whether an export is a class, which is made with `new`. */
// oxlint-disable-next-line typescript/no-explicit-any -- whatever was exported
export function isClass(value: unknown): value is new (...parts: any[]) => Agent | CustomAgent {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}
