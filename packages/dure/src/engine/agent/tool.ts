import type { z } from "zod";
import { DureError } from "../../kernel/errors.ts";
import { durationMs, type Duration } from "../../kernel/duration.ts";
import { ROLE_NAME, type ApprovalNeeds } from "../../kernel/escalation.ts";
import { compacted, type JsonObject } from "../../kernel/json.ts";
import type { Approver } from "../../models/card.ts";
import { unknownOption, unknownValue } from "../../kernel/known-options.ts";
import { type GivenSchemas, schemaOfInput } from "./input-schema.ts";
import type { TeamToolName } from "./team-tools.ts";

/**
 * What a call does to the outside. `once` effects are in the ledger. Source: docs/spec/conversation
 * §4.
 */
export type EffectKind = "none" | "idempotent" | "once";

/** What the outside says about a key. */
export type ProbeAnswer =
  | "happened"
  | "not_happened"
  | "unknown"
  | { readonly status: "happened"; readonly result: unknown };

/** One call of an effect, for `execute` and `probe`. */
export interface ToolCall {
  /**
   * The same after every crash and for every further call of this effect; give it to the outside.
   */
  readonly key: string;
  /** 1 for the first call of this effect. */
  readonly attempt: number;
}

/** Where and for which effect a tool is called. */
export interface ToolContext extends ToolCall {
  readonly signal: AbortSignal;
  readonly session: string;
  readonly turn: string;
  readonly agent: string;
}

/** A tool as `tool` makes it. */
export interface Tool<Input = unknown, Output = unknown> {
  readonly description: string;
  readonly inputSchema: z.ZodType<Input>;
  readonly execute: (
    input: Input,
    context: ToolContext,
    options: { signal: AbortSignal },
  ) => Promise<Output> | Output;
  readonly effect: EffectKind;
  readonly probe?:
    | ((
        call: ToolCall & { readonly input: Input },
        options: { signal: AbortSignal },
      ) => Promise<ProbeAnswer>)
    | undefined;
  /**
   * What recovery does with a `once` call whose result is not known. Default: `probe` if there is
   * one, else `ask`.
   */
  readonly recover: "probe" | "replay" | "ask";
  /** How long a single call may take, milliseconds. Default 30 000. */
  readonly timeoutMs: number;
  /**
   * How long a request may still travel after its timeout before `not_happened` counts,
   * milliseconds. Default 30 000.
   */
  readonly settleMs: number;
  /** See `ToolOptions.key`. */
  readonly key?: ((input: Input) => readonly (string | number)[]) | undefined;
  /** A tool of the team of this name takes its place when the team starts: see `teamTools`. */
  readonly ofTeam?: TeamToolName | undefined;
  /**
   * Text for an agent with this tool, before the person's message: outcomes of earlier calls.
   * Called once per turn and recorded. When the turn is run again it may be called again and must
   * return the same.
   */
  readonly told?: (
    turn: { readonly session: string; readonly turn: string },
    options: { signal: AbortSignal },
  ) => Promise<string | undefined>;
  /**
   * Whether the model sees this tool in a turn; absent: always. A function of the turn alone, for
   * it is asked again after a crash.
   */
  readonly offered?: ((turn: { readonly session: string }) => boolean) | undefined;
  /** See `ToolOptions.always`. */
  readonly always?: boolean | undefined;
  /**
   * Whether a person must say yes to exactly these arguments, and for how long the question stands.
   */
  readonly approval?: ToolApproval<Input> | undefined;
}

/** The approval that a tool needs. */
export interface ToolApproval<Input> {
  /** Default: always. */
  readonly when?: ((input: Input) => boolean) | undefined;
  /** How long the question stands, milliseconds. */
  readonly expiresMs: number;
  readonly question?: ((input: Input, asked: AskedIn) => string) | undefined;
  readonly by: "operator" | "person";
  /** Absent: one yes of those who answer the inbox. */
  readonly needs?: ApprovalNeeds | undefined;
  readonly standing?: Standing | undefined;
}

/** Later calls that a yes for the rest of the conversation covers. */
export interface Standing {
  readonly same: readonly string[];
  readonly atMost: readonly string[];
  readonly times: number;
  /** Milliseconds. */
  readonly forMs: number;
}

/** How far a yes for the rest of the conversation reaches. Other arguments may differ. */
export interface StandingOptions<Name extends string = string> {
  /** Arguments that stay as they were allowed, such as who is paid. */
  readonly same?: readonly Name[] | undefined;
  /** Numbers that stay between 0 and what was allowed. */
  readonly atMost?: readonly Name[] | undefined;
  /** Later calls, 1 to 1,000. Default 20. */
  readonly times?: number | undefined;
  /** From the answer on. Default 24 hours. */
  readonly for?: Duration | undefined;
}

/** How a question is asked. */
export interface AskedIn {
  /** Language of who is asked, such as `ko`. */
  readonly locale: string;
}

/**
 * Who says the yes. `operator`: who answers the inbox. `person`: the one who talks, in the
 * conversation itself; in a room, who wrote the message that the turn handles; in jobs as `operator`.
 * A role: those alone whose token was made with it, and of rooms those whom `rooms.roles` names.
 */
export type ApprovalBy = "operator" | "person" | { readonly role: string };

// oxlint-disable-next-line typescript/no-explicit-any -- a record of tools has no common input type
export type AnyTool = Tool<any, any>;

/** What a tool does, and how often it may be done. */
export interface ToolOptions<Input, Output> extends GivenSchemas<Input> {
  readonly description: string;
  readonly execute: (
    input: Input,
    context: ToolContext,
    options: { signal: AbortSignal },
  ) => Promise<Output> | Output;
  readonly effect?: EffectKind | undefined;
  /**
   * What a `once` call of a model or a custom agent is about, from its arguments, such as
   * `[orderId]`: in one session the same key is one effect, in any turn; one that has failed may be
   * tried again. Without it, each such call is an effect of its own, the same only after a crash.
   * While it is not known what came of one, the session makes no other call of this tool. Does not
   * count where `turn.call` names the key, or a person's approval is the key.
   */
  readonly key?: ((input: Input) => string | number | readonly (string | number)[]) | undefined;
  readonly probe?: Tool<Input, Output>["probe"] | undefined;
  readonly recover?: "probe" | "replay" | "ask" | undefined;
  readonly timeout?: Duration | undefined;
  readonly settle?: Duration | undefined;
  readonly offered?: Tool["offered"] | undefined;
  /**
   * Whether the model sees this tool at once where its agent has too many to see them all. Default
   * false: then it is found by `find_tools`.
   */
  readonly always?: boolean | undefined;
  readonly approval?:
    | boolean
    | {
        when?: (input: Input) => boolean;
        expires?: Duration;
        question?: (input: Input, asked: AskedIn) => string;
        /** Default `operator`. */
        by?: ApprovalBy;
        /** The call is made after the yes of two people, with what both were shown. */
        two?: boolean;
        /**
         * The operator may also allow such calls for the rest of the conversation. Default: each
         * is asked for. At least one of `same` and `atMost` names an argument.
         */
        standing?: StandingOptions<Extract<keyof Input, string>>;
      };
}

/**
 * A tool that an agent may call, in the shape of the AI SDK plus what it does to the outside:
 *
 *     const openTicket = tool({
 *       description: "Opens a support ticket.",
 *       inputSchema: z.object({ subject: z.string().min(3) }),
 *       effect: "once",
 *       execute: ({ subject }, { key, signal }) => desk.open({ subject, key }, { signal }),
 *       probe: ({ key }, { signal }) => desk.find(key, { signal }),
 *     });
 *
 * `inputSchema` is of zod or of any library that speaks Standard Schema; `jsonSchema` stands in its
 * place, or beside it where the library writes none.
 *
 * An error thrown by `execute` with `sent: false` (refused before it was sent, or a definite
 * refusal: see `NotSentError`) means that nothing happened. So does a refused connection, unless
 * the error says `sent: true`: an `execute` that makes several requests says it of those after the
 * one that counts. Any other error of a `once` tool leaves its outcome unknown, and the rule
 * decides. So does "not sent" where an earlier call under the key may have arrived.
 */
export function tool<Input = JsonObject, Output = unknown>(
  options: ToolOptions<Input, Output> & SomeSchema,
): Tool<Input, Output> {
  assertKnown(options);
  const effect = options.effect ?? "none";
  const recover = options.recover ?? (options.probe ? "probe" : "ask");
  assertKept(options, effect, recover);
  const { description, execute, key, probe, offered, always } = options;
  return {
    description,
    inputSchema: schemaOfInput(description, options),
    execute,
    effect,
    recover,
    timeoutMs: durationMs(options.timeout ?? "30s"),
    settleMs: durationMs(options.settle ?? "30s"),
    key: key && ((input: Input) => [key(input)].flat()),
    probe,
    offered,
    always,
    approval: approvalOf(options.approval),
  };
}

type SomeSchema = { readonly inputSchema: object } | { readonly jsonSchema: object };

const OPTIONS = {
  description: true,
  inputSchema: true,
  jsonSchema: true,
  execute: true,
  effect: true,
  key: true,
  probe: true,
  recover: true,
  timeout: true,
  settle: true,
  offered: true,
  always: true,
  approval: true,
} satisfies Record<keyof ToolOptions<unknown, unknown>, true>;
const APPROVAL_OPTIONS = {
  ...{ when: true, expires: true, question: true },
  ...{ by: true, two: true, standing: true },
};
const STANDING_OPTIONS = { same: true, atMost: true, times: true, for: true };
const APPROVERS = ["operator", "person"] as const;
const EFFECTS = ["none", "idempotent", "once"] as const satisfies readonly EffectKind[];
const RECOVERIES = ["probe", "replay", "ask"] as const satisfies readonly Tool["recover"][];

/** Throws where an option is misspelt: as the default it would do something else. */
function assertKnown<Input, Output>(options: ToolOptions<Input, Output>): void {
  const { description, effect, recover, approval } = options;
  const wrong =
    unknownOption(options, OPTIONS) ??
    unknownValue("effect", effect, EFFECTS) ??
    unknownValue("recover", recover, RECOVERIES) ??
    (typeof approval === "object"
      ? (unknownOption(approval, APPROVAL_OPTIONS) ??
        wrongApprover(approval) ??
        wrongStanding(approval))
      : undefined);
  if (wrong === undefined) return;

  throw new DureError("TOOL_INVALID", `Tool "${description}": ${wrong.message}`, {
    class: "input",
    hint: wrong.hint,
  });
}

const LEDGER_HINT =
  'Declare effect: "once": the ledger sees to it that a yes is used for one call.';

/** What is wrong with an option, and what to write. */
interface Wrong {
  readonly message: string;
  readonly hint: string;
}

/** Why no one could say the yes, or one alone. Pure. */
function wrongApprover({ by, two }: { by?: ApprovalBy; two?: boolean }): Wrong | undefined {
  if (by === "person" && two === true) {
    const hint =
      "One person talks. Let two of those who answer the inbox decide, or leave two out.";
    return { message: "approval.two does not go with by: person.", hint };
  }
  if (typeof by !== "object") return unknownValue("approval.by", by, APPROVERS);
  if (ROLE_NAME.test(by.role)) return unknownOption(by, { role: true });
  const hint = "Roles have small letters, digits and hyphens, such as treasury; at most 40.";
  return { message: `approval.by names the role "${by.role}".`, hint };
}

/** Why a standing approval would allow more than was meant, or nothing. Pure. */
function wrongStanding({
  by,
  two,
  standing,
}: {
  by?: ApprovalBy;
  two?: boolean;
  standing?: StandingOptions;
}): Wrong | undefined {
  if (standing === undefined) return undefined;
  if (two === true) {
    const hint = "Two people decide each call. Leave standing or two out.";
    return { message: "approval.standing does not go with two.", hint };
  }
  const { same = [], atMost = [], times = STANDING_TIMES } = standing;
  if (same.length + atMost.length === 0) {
    const hint = 'Say what stays as it was allowed, such as standing: { same: ["to"] }.';
    return { message: "approval.standing names no argument.", hint };
  }
  if (!Number.isInteger(times) || times < 1 || times > 1_000) {
    const hint = "Say how many later calls it covers, 1 to 1,000.";
    return { message: `approval.standing.times is ${times}.`, hint };
  }
  if (by === "person") {
    const hint = "The one who talks is asked for each call. Leave standing or by out.";
    return { message: "approval.standing does not go with by: person.", hint };
  }
  return unknownOption(standing, STANDING_OPTIONS);
}

/** Throws where the ledger could not keep what the tool promises. */
function assertKept<Input, Output>(
  options: ToolOptions<Input, Output>,
  effect: EffectKind,
  recover: Tool["recover"],
): void {
  if (recover === "probe" && !options.probe && effect === "once") {
    throw new DureError("TOOL_PROBE_MISSING", "A tool that recovers by probe has no probe.", {
      class: "input",
      hint: 'Give it probe({ key }), or recover: "replay" if the outside keeps keys, or "ask".',
    });
  }
  if (options.approval && effect !== "once") {
    throw new DureError(
      "TOOL_APPROVAL_WITHOUT_LEDGER",
      "A tool that needs a person's yes must be a once effect.",
      { class: "input", hint: LEDGER_HINT },
    );
  }
}

/**
 * The tool, of which each call needs a yes: also one that asks by itself in some cases. A role and
 * a second person that the tool asks for stay. Throws `TOOL_APPROVAL_WITHOUT_LEDGER`,
 * `TOOL_INVALID`.
 */
export function withApproval(name: string, tool: AnyTool, by: Approver): AnyTool {
  if (tool.effect !== "once") {
    throw new DureError(
      "TOOL_APPROVAL_WITHOUT_LEDGER",
      `The tool ${name}, which needs a person's yes, must be a once effect.`,
      { class: "input", hint: LEDGER_HINT },
    );
  }
  const { expiresMs, question, needs } = tool.approval ?? approvalOf<unknown>(true)!;
  if (needs && by === "person") {
    throw new DureError(
      "TOOL_INVALID",
      `The tool ${name} asks for a role or for two people; a card cannot let the person answer.`,
      { class: "input", hint: `Write approvals: [${name}], or change the tool.` },
    );
  }
  const asked = typeof by === "object" ? needsOf(by) : undefined;
  if (needs?.role !== undefined && asked?.role !== undefined && needs.role !== asked.role) {
    throw new DureError(
      "TOOL_INVALID",
      `The tool ${name} asks for the role ${needs.role}; a card cannot name ${asked.role} instead.`,
      { class: "input", hint: `Write approvals: [${name}], or change the tool.` },
    );
  }
  const both = needs || asked ? { ...needs, ...asked } : undefined;
  const answers = by === "person" ? by : "operator";
  return { ...tool, approval: { expiresMs, question, by: answers, needs: both } };
}

function approvalOf<Input>(
  given: ToolOptions<Input, unknown>["approval"],
): ToolApproval<Input> | undefined {
  if (!given) return undefined;
  const options = given === true ? {} : given;
  const { expires = "24h", when, question, by = "operator", two, standing } = options;
  return {
    expiresMs: durationMs(expires),
    when,
    question,
    by: by === "person" ? by : "operator",
    needs: needsOf({ role: typeof by === "object" ? by.role : undefined, two }),
    standing: standing && {
      same: standing.same ?? [],
      atMost: standing.atMost ?? [],
      times: standing.times ?? STANDING_TIMES,
      forMs: durationMs(standing.for ?? "24h"),
    },
  };
}

function needsOf({ role, two }: Exclude<Approver, string>): ApprovalNeeds | undefined {
  if (role === undefined && two !== true) return undefined;
  return compacted({ role, two: two === true ? two : undefined });
}

/** A loop of a model stops asking people, and here it stops. */
const STANDING_TIMES = 20;

/**
 * Thrown by a tool that knows that nothing happened: refused before it was sent, or refused with a
 * definite answer. `definite`: the outside keeps keys, and says that nothing happens under this
 * one; that holds for earlier calls too.
 */
export class NotSentError extends Error {
  readonly sent = false as const;
  readonly code: string;
  readonly definite: boolean;
  constructor(
    code: string,
    message: string,
    { definite = false, ...options }: { cause?: unknown; definite?: boolean } = {},
  ) {
    super(message, options);
    this.code = code;
    this.definite = definite;
  }
}
