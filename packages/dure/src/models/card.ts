import { z } from "zod";
import { durationMs } from "../kernel/duration.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { ROLE_NAME, ROLE_NAME_RULE } from "../kernel/escalation.ts";
import { type LlmRef, MAX_CALL_SEC, type ProviderName } from "./model.ts";
import {
  areProviderOptions,
  type ModelSettings,
  READABLE_KINDS,
  REASONING_EFFORTS,
  SERVICE_TIERS,
  settingsFault,
  VERBOSITIES,
} from "./asking.ts";
import {
  looksLikeModelObject,
  MODEL_OBJECT,
  modelObjectFault,
  namesOfObject,
  type ModelObject,
} from "./model-object.ts";
import { PROVIDER_NAMES } from "./providers.ts";
import { closest } from "../kernel/closest.ts";
import { fileObject } from "./spelling.ts";
import { isObject, onlyDefined } from "../kernel/json.ts";

/**
 * What an agent may use and how it behaves when things go wrong. Read from `card.json` or given in
 * code.
 */
export interface Card {
  /** Absent: the team's model. */
  readonly llm?: Llm;
  /**
   * How freely the model answers, 0–2, whichever model it is. 0 for an agent that decides. Absent:
   * that of `llm`.
   */
  readonly temperature?: number | undefined;
  readonly policy: Policy;
  /** Names of tools, each of which the service knows. */
  readonly tools: readonly string[];
  /**
   * MCP servers of the team whose tools the agent has: `files`, or only some: `files/read_*`. Absent:
   * none.
   */
  readonly mcp?: readonly string[] | undefined;
  /** Knowledge bases of the team that the agent searches before it answers. Absent: none. */
  readonly knowledge?: readonly string[] | undefined;
  /**
   * Skills of the team that the agent may load. Absent: all of them for an agent that answers for
   * itself, none for one of a service.
   */
  readonly skills?: readonly string[] | undefined;
  /** Tools of the agent of which each call needs a yes, and who says it. */
  readonly approvals?: Readonly<Record<string, Approver>> | undefined;
  readonly budget: Budget;
  /**
   * Of a channel: whether all that is said to the agent stands in one line (`place`), or what each
   * person says in a line of its own (`person`). Absent: `place`. Source: docs/spec/collaboration §2.
   */
  readonly line?: AnswerLine | undefined;
  /**
   * Of a platform whose threads one joins: whether the agent hears those alone that concern it
   * (`own`), or all of its channels (`all`). Absent: `own`. Source: docs/spec/collaboration §9.
   */
  readonly threads?: HeardThreads | undefined;
}

/** Who says yes to a call: see `ApprovalBy` of tools. */
export type Approver =
  | "operator"
  | "person"
  /** Those alone who have the role, by token or `rooms.roles`; two: two people, each by token. */
  | { readonly role?: string | undefined; readonly two?: boolean | undefined };

/** The threads that an agent joins. */
export type HeardThreads = "own" | "all";

/** Which messages of a channel wait for each other. */
export type AnswerLine = "place" | "person";

export interface Llm extends LlmRef {
  /** Asked in order when the attempts with the one before are used up. See `runAttempts`. */
  readonly fallbacks: readonly LlmRef[];
}

export interface Policy {
  /**
   * Calls of one model in one run of the agent, the first included, 1–20. `max_retry: n` is
   * `maxAttempts: n + 1`. Default 3.
   */
  readonly maxAttempts: number;
  /**
   * Before attempt n + 1 the wait is `backoffSec × n` seconds. Default 1. Source of
   * the rule: docs/spec/conversation §4.
   */
  readonly backoffSec: number;
  /**
   * After this many seconds a call is interrupted and counts as failed, at most {@link
   * MAX_CALL_SEC}. Default 60.
   */
  readonly timeoutSec: number;
  /**
   * After this many seconds without any sign of the provider a call is interrupted and counts as
   * failed, at most {@link MAX_CALL_SEC}. Absent: no such bound, but 30 in the turns of a job.
   * Source: docs/spec/jobs §4.
   */
  readonly idleTimeoutSec?: number;
  /** Name of a validator that the service knows; runs after the schema. */
  readonly validate?: string;
  /** Name of a schema that the service knows; the answer is JSON of this shape. */
  readonly schema?: string;
  /** Rounds of tool calls in one run, 0–64. Default 8. Source: docs/spec/conversation §4. */
  readonly maxToolRounds: number;
  /**
   * An agent with more tools than this is offered few of them and finds the others by `find_tools`,
   * 1–200. Default 40. Source: code.claude.com, "Tool search" (models choose worse of more than 30
   * to 50 tools).
   */
  readonly maxTools: number;
  /**
   * Of a longer result of a tool the model is shown the beginning and the end, and reads the rest by
   * `read_result`; bytes, 10 000–65 536. Default 40 000: about the 10 000 tokens from which on a
   * result is called large by code.claude.com, "MCP", "MCP output limits and warnings".
   */
  readonly maxResultBytes: number;
  /**
   * Tokens of a request with its answer; what would be more is made shorter before it is sent.
   * Default: the window of the model, where it is known.
   */
  readonly contextTokens?: number | undefined;
}

/** Upper bounds; an absent one is no bound. Over one of them → `BUDGET_EXCEEDED`, no call. */
export interface Budget {
  readonly turn?: BudgetLimit;
  readonly session?: BudgetLimit;
  /** In the team's time zone. */
  readonly day?: BudgetLimit;
}

/**
 * Both may be set; whichever is reached first counts. A model without a price is counted in tokens
 * only.
 */
export interface BudgetLimit {
  readonly tokens?: number;
  /** Millionths of a US dollar. */
  readonly microUsd?: number;
}

/** What may stand in a card. Files may spell every key in snake_case too. */
export interface CardInput {
  readonly llm?: LlmInput;
  /** The same as `llm`. */
  readonly model?: LlmInput;
  readonly temperature?: number;
  readonly policy?: {
    readonly maxAttempts?: number;
    /** Attempts after the first; instead of `maxAttempts`. */
    readonly maxRetry?: number;
    readonly backoffSec?: SecondsInput;
    readonly timeoutSec?: SecondsInput;
    readonly idleTimeoutSec?: SecondsInput;
    readonly validate?: string;
    readonly schema?: string;
    readonly maxToolRounds?: number;
    readonly maxTools?: number;
    readonly maxResultBytes?: number;
    readonly contextTokens?: number;
  };
  readonly tools?: readonly string[];
  readonly mcp?: readonly string[];
  readonly knowledge?: readonly string[];
  readonly skills?: readonly string[];
  /** A list of tools is asked of the operator. */
  readonly approvals?: readonly string[] | Readonly<Record<string, Approver>>;
  readonly budget?: {
    readonly turn?: BudgetLimitInput;
    readonly session?: BudgetLimitInput;
    readonly day?: BudgetLimitInput;
  };
  readonly line?: AnswerLine;
  readonly threads?: HeardThreads;
}

/**
 * `"openai:gpt-…"`, or the long form. Of several, in a list or a text with commas, the next one is
 * asked where those before it are away.
 */
export type LlmInput =
  | OneModel
  | ((LlmRef | OwnModel) & { readonly fallbacks?: readonly OneModel[] })
  | readonly OneModel[];

/** A model by its name, in the long form, or as an object of the AI SDK. */
export type OneModel = string | LlmRef | ModelObject | OwnModel;

/** An object of the AI SDK and how it is asked. */
export type OwnModel = Pick<LlmRef, "temperature" | "maxOutputTokens" | keyof ModelSettings> & {
  readonly model: ModelObject;
};

/** Seconds, or a duration with its unit such as `"1.5s"` or `"2m"`. */
export type SecondsInput = number | string;

/** `"20 USD"`, `"50000 tokens"`, or both in an object. */
export type BudgetLimitInput = string | { readonly tokens?: number; readonly usd?: number };

/**
 * Reads a card. Throws `CARD_INVALID` with every problem. @param where the file or agent, for the
 * message.
 */
export function parseCard(input: unknown, where = "card"): Card {
  const result = cardSchema.safeParse(input ?? {});
  if (result.success) return result.data;

  const problems = result.error.issues.map(
    (issue) => `${issue.path.join(".") || "card"}: ${issue.message}`,
  );

  throw new DureError(
    "CARD_INVALID",
    `${where} has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}: ${problems.join("; ")}.`,
    {
      class: "input",
      hint:
        "Keys of a card are llm (or model), temperature, policy, tools, mcp, knowledge, skills, approvals, " +
        "budget, line and threads.",
      details: { problems },
    },
  );
}

/**
 * `provider:model`, split at the first colon (`openai-compatible:llama3.2:3b` is model `llama3.2:3b`); `offline` alone is `offline:echo`.
 * Throws `MODEL_NAME_INVALID`.
 */
export function parseModelName(name: string): LlmRef {
  const colon = name.indexOf(":");
  const provider = (colon < 0 ? name : name.slice(0, colon)).trim();
  const model = colon < 0 ? "" : name.slice(colon + 1).trim();
  if (provider === "offline") return { provider, model: model || "echo" };
  if (!isProviderName(provider)) throw unknownProvider(name, provider);

  if (model === "") {
    throw new DureError(
      "MODEL_NAME_INVALID",
      `"${name}" names the provider ${provider} but no model.`,
      {
        class: "input",
        hint: `Write ${provider}:<model>.`,
      },
    );
  }

  return { provider, model };
}

/**
 * One or more names with commas between them: `openai:gpt-…, anthropic:claude-…`. Throws
 * `MODEL_NAME_INVALID`.
 */
export function parseModelNames(names: string): Llm {
  const [first, ...fallbacks] = names.split(",").map(parseModelName);
  return { ...first!, fallbacks };
}

/** The names that `parseModelNames` reads, the one that is asked first before the others. */
export function modelNames({ fallbacks, ...first }: Llm): string {
  return [first, ...fallbacks].map(modelName).join(", ");
}

/** The short form that `parseModelName` reads. */
export function modelName(llm: LlmRef): string {
  return `${llm.provider}:${llm.model}`;
}

/** `"20 USD"`, `"0.5 usd"`, `"50000 tokens"`, or `{tokens, usd}`. Throws `BUDGET_INVALID`. */
export function parseBudgetLimit(input: BudgetLimitInput): BudgetLimit {
  if (typeof input === "object") {
    const { tokens, usd } = input;
    return onlyDefined({ tokens, microUsd: usd === undefined ? undefined : microUsd(usd) });
  }

  const match = /^\s*(\d[\d,_]*(?:\.\d+)?)\s*(usd|tokens?)\s*$/i.exec(input);
  const amount = match ? Number(match[1]!.replace(/[,_]/g, "")) : Number.NaN;
  const isMoney = match?.[2]?.toLowerCase() === "usd";

  if (!match || (!isMoney && !Number.isInteger(amount))) {
    throw new DureError("BUDGET_INVALID", `"${input}" is no budget.`, {
      class: "input",
      hint: 'Write an amount with its unit, such as "20 USD" or "50000 tokens".',
    });
  }

  return isMoney ? { microUsd: microUsd(amount) } : { tokens: amount };
}

function microUsd(usd: number): number {
  return Math.round(usd * 1_000_000);
}

function isProviderName(name: string): name is ProviderName {
  return (PROVIDER_NAMES as readonly string[]).includes(name);
}

function unknownProvider(name: string, provider: string): DureError {
  const meant = closest(provider, PROVIDER_NAMES);
  return new DureError("MODEL_NAME_INVALID", `"${name}" names no provider that is known.`, {
    class: "input",
    hint: meant
      ? `Did you mean "${meant}:…"?`
      : `Write provider:model; providers are ${PROVIDER_NAMES.join(", ")}.`,
  });
}

const seconds = z.union([z.number(), z.string()]).transform((value, context) => {
  if (typeof value === "number") return value;
  return attempt(context, () => durationMs(value) / 1_000);
});

const providerName = z.string().transform((value, context) =>
  attempt(context, () => {
    if (!isProviderName(value)) throw unknownProvider(value, value);
    return value;
  }),
);

/** Models that are asked after the first one. */
const MAX_FALLBACKS = 8;

const llmRefShape = {
  provider: providerName,
  model: z.string().min(1),
  temperature: z.number().min(0).max(2).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  baseUrl: z.url({ protocol: /^https?$/ }).optional(),
  reasoningEffort: z.enum(REASONING_EFFORTS).optional(),
  verbosity: z.enum(VERBOSITIES).optional(),
  serviceTier: z.enum(SERVICE_TIERS).optional(),
  reads: z.array(z.enum(READABLE_KINDS)).max(READABLE_KINDS.length).optional(),
  providerOptions: z
    .custom<ModelSettings["providerOptions"]>(areProviderOptions, {
      error: "must be options by the name of a provider",
    })
    .optional(),
};
const shortName = z
  .string()
  .transform((name, context) => attempt(context, () => parseModelName(name)));
const llmRef = fromText(shortName, withModelObject(fileObject(llmRefShape)));
const llmNames = z
  .string()
  .transform((names, context) => attempt(context, () => parseModelNames(names)));
const llmList = z
  .array(llmRef)
  .min(1)
  .max(MAX_FALLBACKS + 1)
  .transform(([first, ...fallbacks]) => ({ ...first!, fallbacks }));
const llmObject = withModelObject(
  fileObject({ ...llmRefShape, fallbacks: z.array(llmRef).max(MAX_FALLBACKS).default([]) }),
);
const llm = fromText(llmNames, fromList(llmList, llmObject));

const policy = fileObject({
  maxAttempts: z.int().min(1).max(20).optional(),
  maxRetry: z.int().min(0).max(19).optional(),
  backoffSec: seconds.pipe(z.number().min(0).max(600)).default(1),
  timeoutSec: seconds.pipe(z.number().positive().max(MAX_CALL_SEC)).default(60),
  idleTimeoutSec: seconds.pipe(z.number().positive().max(MAX_CALL_SEC)).optional(),
  validate: z.string().min(1).optional(),
  schema: z.string().min(1).optional(),
  maxToolRounds: z.int().min(0).max(64).default(8),
  maxTools: z.int().min(1).max(200).default(40),
  maxResultBytes: z.int().min(10_000).max(65_536).default(40_000),
  contextTokens: z.int().min(1_000).max(100_000_000).optional(),
}).transform(({ maxAttempts, maxRetry, ...rest }, context) => {
  if (maxAttempts !== undefined && maxRetry !== undefined) {
    context.addIssue({
      code: "custom",
      path: ["maxRetry"],
      message: '"maxAttempts" and "maxRetry" are one setting; keep one of them',
    });
  }
  return { ...rest, maxAttempts: maxAttempts ?? (maxRetry === undefined ? 3 : maxRetry + 1) };
});

const limit = fromText(
  z.string().transform((text, context) => attempt(context, () => parseBudgetLimit(text))),
  fileObject({ tokens: z.int().min(0).optional(), usd: z.number().min(0).optional() }).transform(
    parseBudgetLimitObject,
  ),
);
const budget = fileObject({
  turn: limit.optional(),
  session: limit.optional(),
  day: limit.optional(),
});

const APPROVALS =
  'must be a list of tools, or "operator", "person", or { role, two } by tool, such as ' +
  "{ pay: { role: treasury, two: true } }";
const approver = z.union([
  z.enum(["operator", "person"]),
  fileObject({
    role: z.string().regex(ROLE_NAME, { error: ROLE_NAME_RULE }).optional(),
    two: z.boolean().optional(),
  }),
]);

/** Who says yes to calls of tools: by name, or by pattern. A list leaves them to the operator. */
export function approversBy<Name extends z.ZodString>(name: Name, most: number) {
  return z
    .union([z.array(name).max(most), z.record(name, approver)], { error: APPROVALS })
    .transform((given): Record<string, Approver> =>
      Array.isArray(given)
        ? Object.fromEntries(given.map((one) => [one, "operator" as const]))
        : given,
    );
}

/** The keys of a card. */
export const cardShape = {
  llm: llm.optional(),
  temperature: z.number().min(0).max(2).optional(),
  policy: policy.prefault({}),
  tools: z.array(z.string().min(1)).default([]),
  mcp: z
    .array(
      z.string().regex(/^[A-Za-z0-9_-]{1,32}(\/.{1,100})?$/, {
        error: "must name an MCP server, or some of its tools, such as files/read_*",
      }),
    )
    .max(20)
    .optional(),
  knowledge: z.array(z.string().min(1).max(64)).max(10).optional(),
  skills: z.array(z.string().min(1).max(64)).max(100).optional(),
  approvals: approversBy(z.string().min(1).max(64), 50).optional(),
  budget: budget.prefault({}),
  line: z.enum(["place", "person"]).optional(),
  threads: z.enum(["own", "all"]).optional(),
};

/** Accepts {@link CardInput} in either spelling; gives a {@link Card} with its defaults. */
export const cardSchema = fileObject(cardShape, { model: "llm" }) as unknown as z.ZodType<
  Card,
  CardInput
>;

function parseBudgetLimitObject(value: {
  tokens?: number | undefined;
  usd?: number | undefined;
}): BudgetLimit {
  return parseBudgetLimit(value as BudgetLimitInput);
}

/**
 * Text is read by one schema, everything else by the other, so that errors match the input's kind.
 */
function fromText<Text extends z.ZodType, Long extends z.ZodType>(text: Text, long: Long) {
  return fromKind(text, long, (value) => typeof value === "string");
}

function fromList<List extends z.ZodType, Long extends z.ZodType>(list: List, long: Long) {
  return fromKind(list, long, Array.isArray);
}

function fromKind<One extends z.ZodType, Other extends z.ZodType>(
  one: One,
  other: Other,
  isOne: (value: unknown) => boolean,
) {
  return z.unknown().transform((value, context): z.output<One> | z.output<Other> => {
    const result = (isOne(value) ? one : other).safeParse(value);
    if (result.success) return result.data;

    for (const issue of result.error.issues) {
      context.addIssue({ code: "custom", path: issue.path, message: issue.message });
    }

    return z.NEVER;
  });
}

/** Also an object of the AI SDK, alone or as `model` of the long form. */
function withModelObject<Long extends z.ZodType<LlmRef>>(long: Long) {
  return z.unknown().transform((value, context): z.output<Long> => {
    const object = objectIn(value);
    const objectFault = object && modelObjectFault(object);
    const settings = object === value ? undefined : value;
    const written = object ? { ...(settings as object), ...namesOfObject(object) } : value;
    const result = long.safeParse(written);
    const fault =
      objectFault ??
      (result.success ? settingsFault({ ...result.data, [MODEL_OBJECT]: object }) : undefined);
    if (result.success && fault === undefined) {
      return object ? { ...result.data, [MODEL_OBJECT]: object } : result.data;
    }
    if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
    for (const issue of result.error?.issues ?? []) {
      context.addIssue({ code: "custom", path: issue.path, message: issue.message });
    }

    return z.NEVER;
  });
}

function objectIn(value: unknown): ModelObject | undefined {
  if (looksLikeModelObject(value)) return value;
  if (!isObject(value)) return undefined;
  const { model, [MODEL_OBJECT]: kept } = value as { model?: unknown; [MODEL_OBJECT]?: unknown };
  return [model, kept].find(looksLikeModelObject);
}

function attempt<T>(context: z.core.$RefinementCtx, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const hint = error instanceof DureError && error.hint ? ` ${error.hint}` : "";
    context.addIssue({ code: "custom", message: `${messageOf(error)}${hint}` });
    return z.NEVER;
  }
}
