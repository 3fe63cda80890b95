import type { z } from "zod";
import type { Agent, Validator } from "../engine/agent/agent.ts";
import {
  assembleService,
  type AgentClass,
  type AgentSpec,
  type ServiceParts,
} from "../engine/service/assemble-service.ts";
import type { MemoryOptions } from "../engine/agent/memory.ts";
import type {
  CompletedSelector,
  FlowHandler,
  HookHandler,
  Service,
  ServiceOptions,
  SessionOptions,
} from "../engine/service/service.ts";
import type { StateDefinition } from "../engine/turn/state.ts";
import type { AnyTool } from "../engine/agent/tool.ts";
import { DureError } from "../kernel/errors.ts";
import { compacted } from "../kernel/json.ts";

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
  readonly #parts: { -readonly [Key in keyof ServiceParts]: ServiceParts[Key] };

  constructor(name: string) {
    this.#parts = { name, agents: {}, flows: {} };
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
    Object.assign(this.#parts, compacted({ title, description, examples, version }));
    return this;
  }

  /** Agents that specs name by `class`. */
  classes(classes: Readonly<Record<string, AgentClass>>): this {
    return this.#add("classes", classes);
  }

  /** Schemas that cards name by `policy.schema`. */
  schemas(schemas: Readonly<Record<string, z.ZodType>>): this {
    return this.#add("schemas", schemas);
  }

  /** Validators that cards name by `policy.validate`. */
  validators(validators: Readonly<Record<string, Validator>>): this {
    return this.#add("validators", validators);
  }

  /** Tools that cards name in `tools`. */
  tools(tools: Readonly<Record<string, AnyTool>>): this {
    return this.#add("tools", tools);
  }

  agent(key: string, agent: Agent | AgentSpec): this {
    return this.#add("agents", { [key]: agent });
  }

  /** The first flow is the default one. */
  flow(key: string, handler: FlowHandler): this {
    return this.#add("flows", { [key]: handler });
  }

  router(router: NonNullable<ServiceOptions["router"]>): this {
    this.#parts.router = router;
    return this;
  }

  /** The agent that classifies the scenario. Default: `intent`, if there is one. */
  intent(key: string): this {
    this.#parts.intent = key;
    return this;
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- as in ServiceOptions
  state(state: StateDefinition<any>): this {
    this.#parts.state = state;
    return this;
  }

  memory(memory: MemoryOptions): this {
    this.#parts.memory = { ...this.#parts.memory, ...memory };
    return this;
  }

  /**
   * Replaces the prompts of summaries: `summary` has `{memory_block}` (the summary so far) and
   * `{dialog}` (the turns to fold). `first` begins a summary; without it `summary` does that too.
   */
  memoryPrompts({ first, summary }: { first?: string | undefined; summary: string }): this {
    return this.memory({ summaryPrompt: first === undefined ? summary : { first, fold: summary } });
  }

  sessions(sessions: SessionOptions): this {
    this.#parts.sessions = sessions;
    return this;
  }

  completed(select: CompletedSelector): this {
    this.#parts.completed = select;
    return this;
  }

  hooks(hooks: NonNullable<ServiceOptions["hooks"]>): this {
    this.#parts.hooks = { ...this.#parts.hooks, ...hooks };
    return this;
  }

  hook(type: string, handler: HookHandler | HookHandler["handle"]): this {
    return this.hooks({ [type]: handler });
  }

  onError(onError: NonNullable<ServiceOptions["onError"]>): this {
    this.#parts.onError = onError;
    return this;
  }

  afterTurn(afterTurn: NonNullable<ServiceOptions["afterTurn"]>): this {
    this.#parts.afterTurn = afterTurn;
    return this;
  }

  /** Throws `SERVICE_INVALID` with every problem. */
  build(): Service {
    const built = assembleService(this.#parts);
    if (built.service) return built.service;
    const lines = built.problems.map(({ path, message, allowed, hint }) =>
      [`${path.join(".")}: ${message}`, allowed && `allowed: ${allowed}`, hint]
        .filter(Boolean)
        .join("; "),
    );
    const count = lines.length === 1 ? "a problem" : `${lines.length} problems`;
    const list = lines.map((line) => `  ${line}`).join("\n");
    throw new DureError("SERVICE_INVALID", `Service "${this.#parts.name}" has ${count}:\n${list}`, {
      class: "input",
      hint: "Give what is missing to the builder before build().",
      details: { problems: built.problems },
    });
  }

  #add<Key extends "agents" | "classes" | "flows" | "schemas" | "tools" | "validators">(
    key: Key,
    values: ServiceParts[Key],
  ): this {
    this.#parts[key] = { ...this.#parts[key], ...values };
    return this;
  }
}
