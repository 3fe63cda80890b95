import type { z } from "zod";
import { DureError } from "../kernel/errors.ts";
import { compacted, isObject } from "../kernel/json.ts";
import { cardSchema, type Card, type CardInput } from "../models/card.ts";
import { closest } from "../models/spelling.ts";
import {
  chatAgent,
  conversationalAgent,
  customAgent,
  type Agent,
  type AgentOptions,
  type Validator,
} from "./agent.ts";
import { sentence } from "./load-service-schema.ts";
import type { MemoryOptions } from "./memory.ts";
import {
  defineService,
  type CompletedSelector,
  type FlowHandler,
  type HookHandler,
  type Service,
  type ServiceOptions,
  type SessionOptions,
} from "./service.ts";
import type { StateDefinition } from "./state.ts";
import type { AnyTool } from "./tool.ts";

/**
 * What an entry of the class map gets: everything that the files and registries say about the
 * agent.
 */
export interface AgentParts extends AgentOptions {
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

/**
 * Puts a service together step by step; for code that assembles services from parts. What it builds
 * is what `defineService` gives, and nothing can be said here that cannot be said there.
 *
 *     const faq = new ServiceBuilder("faq")
 *       .classes({ FaqAgent })
 *       .schemas({ FaqAnswer })
 *       .agent("faq", { class: "FaqAgent", card: { policy: { schema: "FaqAnswer" } } })
 *       .flow("DEFAULT", answerFaq)
 *       .build();
 *
 * Every step replaces what an earlier one said about the same key and returns the builder.
 */
export class ServiceBuilder {
  #options: { -readonly [Key in keyof ServiceOptions]?: ServiceOptions[Key] } & { name: string };
  readonly #classes = new Map<string, AgentClass>();
  readonly #schemas = new Map<string, z.ZodType>();
  readonly #validators = new Map<string, Validator>();
  readonly #tools = new Map<string, AnyTool>();
  readonly #agents = new Map<string, Agent | AgentSpec>();
  readonly #flows = new Map<string, FlowHandler>();

  constructor(name: string) {
    this.#options = { name };
  }

  /** Title, description, examples, version: what the service says about itself. */
  about({
    title,
    description,
    examples,
    version,
  }: {
    [Key in "title" | "description" | "examples" | "version"]?: ServiceOptions[Key] | undefined;
  }): this {
    Object.assign(this.#options, compacted({ title, description, examples, version }));
    return this;
  }

  /** Agents that specs name by `class`. */
  classes(classes: Readonly<Record<string, AgentClass>>): this {
    return this.#register(this.#classes, classes);
  }

  /** Schemas that cards name by `policy.schema`. */
  schemas(schemas: Readonly<Record<string, z.ZodType>>): this {
    return this.#register(this.#schemas, schemas);
  }

  /** Validators that cards name by `policy.validate`. */
  validators(validators: Readonly<Record<string, Validator>>): this {
    return this.#register(this.#validators, validators);
  }

  /** Tools that cards name in `tools`. */
  tools(tools: Readonly<Record<string, AnyTool>>): this {
    return this.#register(this.#tools, tools);
  }

  agent(key: string, agent: Agent | AgentSpec): this {
    this.#agents.set(key, agent);
    return this;
  }

  /** The first flow is the default one. */
  flow(key: string, handler: FlowHandler): this {
    this.#flows.set(key, handler);
    return this;
  }

  router(router: NonNullable<ServiceOptions["router"]>): this {
    this.#options.router = router;
    return this;
  }

  /** The agent that classifies the scenario. Default: `intent`, if there is one. */
  intent(key: string): this {
    this.#options.intent = key;
    return this;
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- as in ServiceOptions
  state(state: StateDefinition<any>): this {
    this.#options.state = state;
    return this;
  }

  memory(memory: MemoryOptions): this {
    this.#options.memory = { ...this.#options.memory, ...memory };
    return this;
  }

  /**
   * Replaces the prompt of the fold: with `{memory_block}` (the summary so far) and `{dialog}` (the
   * turns to fold).
   */
  memoryPrompts({ summary }: { summary: string }): this {
    return this.memory({ summaryPrompt: summary });
  }

  sessions(sessions: SessionOptions): this {
    this.#options.sessions = sessions;
    return this;
  }

  completed(select: CompletedSelector): this {
    this.#options.completed = select;
    return this;
  }

  hooks(hooks: NonNullable<ServiceOptions["hooks"]>): this {
    this.#options.hooks = { ...this.#options.hooks, ...hooks };
    return this;
  }

  hook(type: string, handler: HookHandler | HookHandler["handle"]): this {
    return this.hooks({ [type]: handler });
  }

  onError(onError: NonNullable<ServiceOptions["onError"]>): this {
    this.#options.onError = onError;
    return this;
  }

  afterTurn(afterTurn: NonNullable<ServiceOptions["afterTurn"]>): this {
    this.#options.afterTurn = afterTurn;
    return this;
  }

  /** Throws `SERVICE_INVALID` with every problem. */
  build(): Service {
    const built = this.assemble();
    if (built.service) return built.service;
    const lines = built.problems.map(({ path, message, allowed, hint }) =>
      [`${path.join(".")}: ${message}`, allowed && `allowed: ${allowed}`, hint]
        .filter(Boolean)
        .join("; "),
    );
    const count = lines.length === 1 ? "a problem" : `${lines.length} problems`;
    const list = lines.map((line) => `  ${line}`).join("\n");
    throw new DureError(
      "SERVICE_INVALID",
      `Service "${this.#options.name}" has ${count}:\n${list}`,
      {
        class: "input",
        hint: "Give what is missing to the builder before build().",
        details: { problems: built.problems },
      },
    );
  }

  /**
   * The service, or all that stands in its way. For `loadService`, which knows the lines of the
   * keys.
   */
  assemble():
    | { service: Service; problems: [] }
    | { service?: undefined; problems: DefinitionProblem[] } {
    const problems: DefinitionProblem[] = [];
    const agents: Record<string, Agent> = {};
    for (const [key, given] of this.#agents) {
      const agent = isAgent(given) ? given : this.#assembleAgent(key, given, problems);
      if (agent) agents[key] = agent;
    }
    if (problems.length > 0) return { problems };
    try {
      return {
        service: defineService({
          ...this.#options,
          agents,
          flows: Object.fromEntries(this.#flows),
          schemas: Object.fromEntries(this.#schemas),
          validators: Object.fromEntries(this.#validators),
        }),
        problems: [],
      };
    } catch (error) {
      return { problems: [{ path: [], message: sentence(error) }] };
    }
  }

  #assembleAgent(key: string, spec: AgentSpec, problems: DefinitionProblem[]): Agent | undefined {
    const path = ["agents", key];
    const card = readCard(spec, path, problems);
    if (!card) return undefined;

    const before = problems.length;
    const find: Find = (kind, map, name, at) => {
      if (name === undefined) return undefined;
      const found = map.get(name);
      if (found === undefined) {
        problems.push(unknownName([...path, ...at], kind, name, [...map.keys()]));
      }
      return found;
    };
    const ready = READY_KINDS.find((kind) => kind === spec.class && !this.#classes.has(kind));
    const made = ready ? undefined : find("class", this.#classes, spec.class, ["class"]);
    const policy = ["card", "policy"];
    const { schema, validate } = card.policy;
    // Absent and not undefined: a class may spread its parts over defaults.
    const optional = compacted({
      card: spec.card,
      prompt: spec.prompt,
      schema: find("schema", this.#schemas, schema, [...policy, "schema"]),
      validate: find("validator", this.#validators, validate, [...policy, "validate"]),
    });
    const tools = this.#toolsOf(card, isAgent(made) ? made.tools : {}, find);
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
  #toolsOf(card: Card, own: Readonly<Record<string, AnyTool>>, find: Find): Agent["tools"] {
    const tools: Record<string, AnyTool> = {};
    for (const [index, name] of card.tools.entries()) {
      const found = own[name] ?? find("tool", this.#tools, name, ["card", "tools", String(index)]);
      if (found) tools[name] = found;
    }
    return tools;
  }

  #register<Value>(map: Map<string, Value>, values: Readonly<Record<string, Value>>): this {
    for (const [name, value] of Object.entries(values)) map.set(name, value);
    return this;
  }
}

/** Looks a name up; notes a problem where nothing has it. */
type Find = <Value>(
  kind: string,
  map: ReadonlyMap<string, Value>,
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
    return {
      ...made,
      prompt: prompt ?? made.prompt,
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

// oxlint-disable-next-line typescript/no-explicit-any -- whatever was exported
function isClass(value: unknown): value is new (...parts: any[]) => Agent | CustomAgent {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}
