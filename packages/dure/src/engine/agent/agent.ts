import type { Locale } from "../../kernel/locales.ts";
import type { z } from "zod";
import type { Card, CardInput, LlmInput } from "../../models/card.ts";
import { parseCard } from "../../models/card.ts";
import { DureError } from "../../kernel/errors.ts";
import { onlyDefined } from "../../kernel/json.ts";
import type { AgentContext } from "./agent-context.ts";
import type { AnyTool } from "./tool.ts";
import type { ToolSet } from "./tool-set.ts";

/** How an agent ended, short of throwing. Source: docs/spec/conversation §4. */
export type AgentResult<Data = unknown> =
  | { readonly status: "success"; readonly data: Data }
  | { readonly status: "need_info"; readonly missing: readonly string[]; readonly message: string }
  | { readonly status: "cannot_handle"; readonly reason: string }
  | { readonly status: "partial"; readonly data: Data; readonly reason: string };

export const AgentResult = {
  success: <Data>(data: Data): AgentResult<Data> => ({ status: "success", data }),
  needInfo: (missing: readonly string[], message: string): AgentResult<never> => ({
    status: "need_info",
    missing,
    message,
  }),
  cannotHandle: (reason: string): AgentResult<never> => ({ status: "cannot_handle", reason }),
  partial: <Data>(data: Data, reason: string): AgentResult<Data> => ({
    status: "partial",
    data,
    reason,
  }),
};

/** Finds passages for a question; they go into the agent's context block as quoted data. */
export interface Retriever {
  /** At most 8 passages are used, in the order given. */
  search(query: string, options: { signal: AbortSignal }): Promise<readonly string[]>;
  /** Whether passages begin with their source, which an answer should name. Default false. */
  readonly citesSources?: boolean | undefined;
}

/**
 * Checks an agent's parsed output. A string is the complaint: it is sent back to the model as a
 * retryable error.
 */
export type Validator = (output: unknown) => string | undefined;

/**
 * Something that answers. Made by `chatAgent`, `conversationalAgent`, `customAgent`; all of them
 * are `defineAgent`.
 */
export interface Agent {
  readonly name: string;
  readonly kind: "chat" | "conversational" | "custom";
  readonly prompt: string;
  /** The same in each language, for an agent that follows the session's. */
  readonly prompts?: PromptsByLanguage | undefined;
  readonly card: Card;
  readonly tools: Readonly<Record<string, AnyTool>>;
  /** Those of MCP servers that its card names; given by the team when it starts. */
  readonly toolSets?: readonly ToolSet[] | undefined;
  /** The skills that it may load; given by the team when it starts. */
  readonly skills?: readonly SkillAbout[] | undefined;
  readonly schema?: z.ZodType | undefined;
  /** Said when no attempt gave readable output; absent: the turn ends with the error's text. */
  readonly fallbackMessage?: string | undefined;
  /**
   * Whether an answer counts of which only a part fits the schema: after the last attempt the result
   * is `partial`, its data without what does not fit, its reason naming that. The validator does not
   * see it. Default false: such an answer is none.
   */
  readonly partialOutput?: boolean | undefined;
  readonly validate?: Validator | undefined;
  readonly retriever?: Retriever | undefined;
  /** Custom agents: the whole work, with journaled model and tool calls on the context. */
  readonly run?: ((context: AgentContext) => Promise<AgentResult>) | undefined;
  /** Custom agents: yields the text as it comes and returns the result. */
  readonly stream?: ((context: AgentContext) => AsyncGenerator<string, AgentResult>) | undefined;
}

/** What an agent is told of a skill before it loads it. */
export interface SkillAbout {
  readonly name: string;
  readonly description: string;
}

/** One prompt, said in each language. */
export type PromptsByLanguage = Readonly<Record<Locale, string>>;

/** What every agent has. Without a card it uses the team's model and the defaults of a card. */
export interface AgentOptions {
  readonly name: string;
  /** By language: the session's is taken. */
  readonly prompt?: string | PromptsByLanguage | undefined;
  /** Before the team's; instead of `llm` of the card. Of a list the next is asked where one is away. */
  readonly model?: LlmInput | undefined;
  readonly card?: CardInput | undefined;
  readonly tools?: Readonly<Record<string, AnyTool>> | undefined;
  readonly validate?: Validator | undefined;
  readonly retriever?: Retriever | undefined;
}

/** Plain text; tokens leave as they come. */
export function chatAgent(options: AgentOptions): Agent {
  return defineAgent({ ...options, kind: "chat" });
}

/**
 * JSON `{action, message, …}` against a zod schema; `message` is streamed while the JSON is still
 * incomplete. After the last attempt without readable output the result is `partial` with the
 * `fallbackMessage`, if there is one.
 */
export function conversationalAgent(
  options: AgentOptions & {
    schema: z.ZodType;
    fallbackMessage?: string;
    partialOutput?: boolean | undefined;
  },
): Agent {
  return defineAgent({ ...options, kind: "conversational" });
}

/**
 * Own code: model and tool calls made through its context are journaled like those of any agent.
 */
export function customAgent(
  options: AgentOptions & {
    schema?: z.ZodType | undefined;
    run?: ((context: AgentContext) => Promise<AgentResult>) | undefined;
    stream?: ((context: AgentContext) => AsyncGenerator<string, AgentResult>) | undefined;
  },
): Agent {
  return defineAgent({ ...options, kind: "custom" });
}

/**
 * An agent of any kind. Without `kind`: custom with `run` or `stream`, conversational with `schema`,
 * else chat. Throws `AGENT_NAME_INVALID` (1 to 64 letters, digits, `_`, `-`), `AGENT_EMPTY`,
 * `AGENT_SCHEMA_MISSING`, `TOOL_NAME_INVALID`, and `CARD_INVALID`.
 */
export function defineAgent(
  options: AgentOptions &
    Partial<
      Pick<Agent, "kind" | "schema" | "fallbackMessage" | "partialOutput" | "run" | "stream">
    >,
): Agent {
  const kind =
    options.kind ??
    (options.run || options.stream ? "custom" : options.schema ? "conversational" : "chat");
  if (!/^[\p{L}\p{N}_-]{1,64}$/u.test(options.name)) {
    throw new DureError("AGENT_NAME_INVALID", `"${options.name}" cannot be an agent's name.`, {
      class: "input",
      hint: "Use 1 to 64 letters, digits, _ or -.",
    });
  }
  if (kind === "custom" && !options.run && !options.stream) {
    throw new DureError(
      "AGENT_EMPTY",
      `The custom agent "${options.name}" has neither run nor stream.`,
      {
        class: "input",
        hint: "Give it run(context) or stream(context), or use chatAgent or conversationalAgent.",
      },
    );
  }
  if (kind === "conversational" && !options.schema) {
    throw new DureError(
      "AGENT_SCHEMA_MISSING",
      `The conversational agent "${options.name}" has no schema.`,
      {
        class: "input",
        hint: "Give it a zod schema of its answer: z.object({ action: …, message: z.string() }).",
      },
    );
  }
  const { card, model, tools = {}, prompt, ...rest } = options;
  assertToolNames(tools, options.name);
  return {
    ...rest,
    kind,
    ...promptsOf(prompt),
    card: parseCard({ ...card, ...onlyDefined({ model }) }, `agent ${options.name}`),
    tools,
  };
}

/**
 * What every provider takes. Sources: platform.openai.com, "Function calling" (`function.name`);
 * docs.claude.com, "Tool use" (`name`).
 */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** @throws DureError `TOOL_NAME_INVALID` for a name that providers refuse. */
export function assertToolNames(tools: Agent["tools"] | undefined, agent: string): void {
  const refused = Object.keys(tools ?? {}).find((name) => !TOOL_NAME.test(name));
  if (refused === undefined) return;
  throw new DureError(
    "TOOL_NAME_INVALID",
    `The agent "${agent}" cannot offer a tool "${refused}".`,
    {
      class: "input",
      hint: "Providers take 1 to 64 letters of a-z and A-Z, digits, _ and - as the name of a tool.",
    },
  );
}

function promptsOf(prompt: AgentOptions["prompt"] = ""): Pick<Agent, "prompt" | "prompts"> {
  if (typeof prompt === "string") return { prompt };
  return { prompt: prompt.ko, prompts: prompt };
}
