import { DureError } from "../../kernel/errors.ts";
import type { JsonObject } from "../../kernel/json.ts";
import {
  TOOL_CALL_VIEWS,
  type NextAction,
  type ToolCallView,
  type TurnEvent,
  type UiHint,
} from "../../kernel/turn-events.ts";
import { unknownOption, unknownValue, type OptionProblem } from "../../kernel/known-options.ts";
import type { z } from "zod";
import type { BusyPolicy } from "../../durable/turns.ts";
import type { Agent, Validator } from "../agent/agent.ts";
import { type MemoryOptions, summaryLlm } from "../agent/memory.ts";
import {
  mcpProblems,
  mcpServers,
  type McpServersInput,
  type McpServersSettings,
} from "../files/mcp-settings.ts";
import type { HandedCalls } from "../caller/handed-out.ts";
import type { QuestionDetails } from "../turn/question.ts";
import type { StateDefinition } from "../turn/state.ts";
import type { TurnContext } from "../turn/turn-context.ts";

/**
 * What a handler says at the end of its flow. The engine adds the snapshot, hooks and the trace.
 */
export interface DonePayload {
  readonly message: string;
  /** Default `ASK`. */
  readonly nextAction?: NextAction | undefined;
  readonly uiHint?: UiHint | undefined;
  /** Of `CONFIRM` and `ASK_CONTINUE`: what is stored as shown, and what a yes leads to. */
  readonly question?: QuestionDetails | undefined;
  readonly slotsCard?: unknown;
  readonly receipt?: unknown;
  readonly receipts?: readonly unknown[] | undefined;
  /** Delivered at least once, in order, after `DONE` is stored. */
  readonly hooks?: readonly { readonly type: string; readonly data: unknown }[] | undefined;
  /** Of an agent that has called tools of the caller (`AgentOutcome.handedCalls`). */
  readonly handedCalls?: HandedCalls | undefined;
  /**
   * Added to the session's finished flows, instead of the entry that a terminal stage adds by
   * itself.
   */
  readonly completed?:
    | { readonly flow: string; readonly stage: string; readonly data: unknown }
    | undefined;
  /** For a turn that did not do what it was asked; the text is already in `message`. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /**
   * The state to show in `DONE` when it is not the one that is stored (a finished flow shows what
   * was executed).
   */
  readonly stateSnapshot?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The only place that decides which agent runs when: yields the turn's events and returns what
 * `DONE` says.
 */
export type FlowHandler = (turn: TurnContext) => AsyncGenerator<TurnEvent, DonePayload | void>;

/** The second face of a flow handler: an async function; events leave by themselves. */
export function flow(work: (turn: TurnContext) => Promise<DonePayload>): FlowHandler {
  // Its agents' events leave through the turn itself, so there is nothing to yield.
  // oxlint-disable-next-line require-yield
  return async function* (turn) {
    return await work(turn);
  };
}

/**
 * What is kept of a finished flow; undefined keeps nothing beyond what the engine keeps. Runs in
 * the turn: no outside, no clock.
 */
export type CompletedSelector = (
  done: DonePayload,
  flow: string,
  turn: TurnContext,
) => DonePayload["completed"] | undefined;

export type { BusyPolicy } from "../../durable/turns.ts";

/** How sessions of a service behave. */
export interface SessionOptions {
  /** Default `queue`. */
  readonly busy?: BusyPolicy | undefined;
}

/**
 * Runs once per key; a handler with `transactional: true` writes through the `tx` that it is given,
 * and is then once.
 */
export interface HookHandler {
  readonly handle: (data: unknown, context: HookContext) => Promise<void>;
  readonly transactional?: boolean | undefined;
}

/** What a hook handler is given beside its data. */
export interface HookContext {
  /** `<turn_id>.<index>`, the same for every delivery. */
  readonly key: string;
  readonly turn: string;
  readonly session: string;
  readonly signal: AbortSignal;
  /** SQL in the transaction that marks the hook as done; only for `transactional` handlers. */
  readonly tx?:
    | { query(text: string, values?: readonly unknown[]): Promise<unknown[]> }
    | undefined;
}

/** What a turn that ended with an error leaves. */
export interface ErrorFacts {
  /** The state that is stored with its `DONE`. */
  readonly state: JsonObject;
  /**
   * Whether an effect was settled in it: something has happened outside, although the turn did not
   * go on.
   */
  readonly settled: boolean;
}

/** What a page shows of a service. */
export interface ServiceWords {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** First messages that a page may offer. */
  readonly examples?: readonly string[] | undefined;
}

/** What a service is made of. Only `name`, `agents` and `flows` have to be there. */
export interface ServiceOptions {
  readonly name: string;
  /** Raised by a release that changes the order of steps in a handler. Default `"1"`. */
  readonly version?: string | undefined;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** First messages that a page may offer. */
  readonly examples?: readonly string[] | undefined;
  /** The same words in other languages, such as `en`. What is left out stays as it is above. */
  readonly translations?: Readonly<Record<string, ServiceWords>> | undefined;
  readonly agents: Readonly<Record<string, Agent>>;
  /** The first one is the default flow. */
  readonly flows: Readonly<Record<string, FlowHandler>>;
  /**
   * Names the agent (a key of `agents`) that classifies the scenario. Default: `intent`, if there
   * is one.
   */
  readonly intent?: string | undefined;
  /**
   * Scenario to flow key; an unknown key falls to the default flow. Default: the scenario is the
   * key.
   */
  readonly router?: ((scenario: string, turn: { readonly message: string }) => string) | undefined;
  // oxlint-disable-next-line typescript/no-explicit-any -- services with different states live in one list
  readonly state?: StateDefinition<any> | undefined;
  readonly memory?: MemoryOptions | undefined;
  readonly sessions?: SessionOptions | undefined;
  /**
   * What readers of a turn's stream see of calls of tools: `none`, their `names`, or `full` with
   * arguments and results. Who has the scope `admin` sees all. Default `names`.
   */
  readonly toolCalls?: ToolCallView | undefined;
  /**
   * Whether requests may bring tools of their own (`TurnRequest.callerTools`): the handler gives
   * them to an agent and passes its `handedCalls` on. Default false.
   */
  readonly callerTools?: boolean | undefined;
  /**
   * MCP servers of this service alone, by the name that cards of its agents use in `mcp`. They go
   * before servers of the team with that name. The settings are those of the team's `mcp`.
   */
  readonly mcp?: McpServersInput | undefined;
  /** Says what the end of a flow adds to the finished flows when its handler does not. */
  readonly completed?: CompletedSelector | undefined;
  /** What cards name as `policy.validate`. */
  readonly validators?: Readonly<Record<string, Validator>> | undefined;
  /** What cards name as `policy.schema`. */
  readonly schemas?: Readonly<Record<string, z.ZodType>> | undefined;
  readonly hooks?: Readonly<Record<string, HookHandler | HookHandler["handle"]>> | undefined;
  /** The person's text for an error; undefined keeps the engine's text. */
  readonly onError?: (
    error: { code: string; message: string },
    locale: string,
    turn: ErrorFacts,
  ) => string | undefined;
  /** Runs after `DONE` is stored, at least once, like a hook. */
  readonly afterTurn?: (
    turn: { session: string; turn: string; message: string },
    context: HookContext,
  ) => Promise<void>;
}

/** One conversational application, checked and ready: the names in its cards are resolved. */
export interface Service extends Omit<
  ServiceOptions,
  "completed" | "validators" | "schemas" | "mcp"
> {
  readonly mcp?: McpServersSettings | undefined;
  readonly kind: "service";
  readonly version: string;
  readonly defaultFlow: string;
}

/** Checks a definition. Throws `SERVICE_INVALID` that names the service and the key. */
export function defineService(options: ServiceOptions): Service {
  const refuse = (what: string, hint: string): never => {
    throw new DureError("SERVICE_INVALID", `Service "${options.name}": ${what}`, {
      class: "input",
      hint,
    });
  };
  if (!/^[\p{L}\p{N}_-]{1,64}$/u.test(options.name)) {
    refuse("the name cannot be used.", "Use 1 to 64 letters, digits, _ or -.");
  }
  const wrong = optionProblem(options);
  if (wrong) refuse(wrong.message, wrong.hint);
  const defaultFlow =
    Object.keys(options.flows)[0] ??
    refuse("flows is empty.", "Give it at least one flow: flows: { DEFAULT: flow(…) }.");
  assertTools(options, refuse);
  if (options.memory?.summaryModel) summaryLlm(options.memory.summaryModel);
  const agents = Object.fromEntries(
    Object.entries(options.agents).map(([key, agent]) => [
      key,
      withNamed(agent, options, (what, hint) => refuse(`agents.${key}: ${what}`, hint)),
    ]),
  );
  if (mergesCallerTools(options)) {
    refuse("callerTools is for one message, and merged ones are several.", 'Use busy: "queue".');
  }
  const intent = options.intent ?? ("intent" in options.agents ? "intent" : undefined);
  if (intent !== undefined && !(intent in options.agents)) {
    refuse(
      `intent names the agent "${intent}", which is not among agents.`,
      `Agents are: ${Object.keys(options.agents).join(", ")}.`,
    );
  }
  const mcp = mcpOf(options.mcp, refuse);
  const { completed, validators: _validators, schemas: _schemas, ...rest } = options;
  const flows = completed
    ? Object.fromEntries(
        Object.entries(options.flows).map(([key, handler]) => [
          key,
          keeping(handler, key, completed),
        ]),
      )
    : options.flows;
  return {
    ...rest,
    mcp,
    agents,
    flows,
    kind: "service",
    version: options.version ?? "1",
    defaultFlow,
    intent,
  };
}

const OPTIONS = {
  name: true,
  version: true,
  title: true,
  description: true,
  examples: true,
  translations: true,
  agents: true,
  flows: true,
  intent: true,
  router: true,
  state: true,
  memory: true,
  sessions: true,
  toolCalls: true,
  callerTools: true,
  mcp: true,
  completed: true,
  validators: true,
  schemas: true,
  hooks: true,
  onError: true,
  afterTurn: true,
} satisfies Record<keyof ServiceOptions, true>;
/** Of a service that is made of another one: `defineService({ ...faq, name: "faq-2" })`. */
const MADE = { kind: true, defaultFlow: true };
const BUSY = ["queue", "reject", "interrupt", "merge"] as const satisfies readonly BusyPolicy[];

/** A misspelt option would be passed over in silence. Pure. */
function optionProblem(options: ServiceOptions): OptionProblem | undefined {
  return (
    unknownOption(options, { ...OPTIONS, ...MADE }) ??
    unknownValue("sessions.busy", options.sessions?.busy, BUSY) ??
    unknownValue("toolCalls", options.toolCalls, TOOL_CALL_VIEWS)
  );
}

function mergesCallerTools({ callerTools, sessions }: ServiceOptions): boolean {
  return callerTools === true && sessions?.busy === "merge";
}

type Refuse = (what: string, hint: string) => never;

/** Every tool that a card names is there. */
function assertTools(options: ServiceOptions, refuse: Refuse): void {
  for (const [key, agent] of Object.entries(options.agents)) {
    for (const name of agent.card.tools) {
      if (!(name in agent.tools)) {
        refuse(
          `agents.${key}: the card names the tool "${name}", which the agent does not have.`,
          `Its tools are: ${Object.keys(agent.tools).join(", ") || "none"}.`,
        );
      }
    }
  }
}

/** The settings of its MCP servers, read and checked. */
function mcpOf(given: McpServersInput | undefined, refuse: Refuse): McpServersSettings | undefined {
  if (given === undefined) return undefined;
  const read = mcpServers.safeParse(given);
  if (!read.success) {
    const [issue] = read.error.issues;
    return refuse(`mcp.${issue!.path.join(".")}: ${issue!.message}.`, "See docs/guides/mcp.md.");
  }
  for (const [name, server] of Object.entries(read.data)) {
    for (const { path, wrong, allowed } of mcpProblems(server)) {
      refuse(`mcp.${[name, ...path].join(".")} ${wrong}.`, `Allowed is: ${allowed}.`);
    }
  }

  return read.data;
}

/**
 * The agent with the schema and the validator that its card names; what it was given in code goes
 * first.
 */
function withNamed(
  agent: Agent,
  { schemas = {}, validators = {} }: ServiceOptions,
  refuse: (what: string, hint: string) => never,
): Agent {
  const { schema: schemaName, validate: validatorName } = agent.card.policy;
  const find = <Value>(kind: string, map: Readonly<Record<string, Value>>, name: string): Value =>
    map[name] ??
    refuse(
      `the card names the ${kind} "${name}", which the service does not have.`,
      `Its ${kind}s are: ${Object.keys(map).join(", ") || "none"}.`,
    );
  const schema =
    agent.schema ?? (schemaName === undefined ? undefined : find("schema", schemas, schemaName));
  const validate =
    agent.validate ??
    (validatorName === undefined ? undefined : find("validator", validators, validatorName));
  if (schema === agent.schema && validate === agent.validate) return agent;

  return {
    ...agent,
    kind: schema && agent.kind === "chat" ? "conversational" : agent.kind,
    schema,
    validate,
  };
}

/** The handler, with what `select` keeps of its end. The handler's own word goes first. */
function keeping(handler: FlowHandler, key: string, select: CompletedSelector): FlowHandler {
  return async function* (turn) {
    const done = yield* handler(turn);
    if (!done || done.completed) return done;
    const completed = select(done, key, turn);

    return completed ? { ...done, completed } : done;
  };
}
