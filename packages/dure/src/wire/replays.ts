import { z } from "zod";
import type { FromWire } from "../kernel/wire.ts";
import { traceAgent } from "./turns.ts";
import { json } from "./shared.ts";

/** What replays of stored turns take and give. Source: docs/spec/platform §3. */

const agentKey = z.string().max(64);
/** Characters of a prompt. Source: docs/guides/limits.md. */
const MAX_PROMPT = 100_000;

export const ReplayBody = z.strictObject({
  model: z.string().max(200).optional().meta({
    description: "`provider:model` for every agent of the turn; absent: as the team has it now",
  }),
  prompts: z
    .array(z.strictObject({ agent: agentKey, prompt: z.string().max(MAX_PROMPT) }))
    .max(20)
    .optional()
    .meta({ description: "Prompts of agents; the others are as the team has them now" }),
  from: z.string().max(100).optional().meta({
    description: "Place of a call of a model in its trace: what stands before it is the record",
  }),
  any_version: z.boolean().optional().meta({
    description: "By the code as it is now, also where the service has another version",
  }),
});

export const ReplayableAnswer = z
  .object({
    turn_id: z.string(),
    session_id: z.string(),
    service: z.string(),
    input: z.string().meta({ description: "What was said to the turn" }),
    message: z.string().meta({ description: "What it answered" }),
    elapsed_ms: z.number(),
    agents: z.array(traceAgent),
    is_other_version: z.boolean().meta({ description: "The service has another version now" }),
    replayed: z
      .array(
        z.object({
          key: agentKey,
          prompt: z.string(),
          model: z.string(),
          is_custom: z.boolean().meta({ description: "Own code: its recorded outcome counts" }),
        }),
      )
      .meta({ description: "Its agents, with prompt and model as the team has them now" }),
  })
  .meta({ id: "ReplayableTurn", description: "A turn that has ended, and what it ran with." });

export const ReplayAnswer = z
  .object({
    message: z.string(),
    elapsed_ms: z.number(),
    agents: z.array(traceAgent),
    calls: z.array(
      z.object({
        agent: agentKey,
        tool: z.string(),
        args: json,
        answer: z.enum(["recorded", "refused"]).meta({
          description:
            "`recorded`: as in the stored turn. `refused`: it has no such call, and none was made.",
        }),
      }),
    ),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    micro_usd: z.int().nullable().meta({ description: "null: a model has no known price" }),
  })
  .meta({ id: "Replay", description: "What a replay came to. Nothing of it is stored." });

/** A turn that has ended, and what it ran with. */
export type ReplayableTurn = FromWire<z.output<typeof ReplayableAnswer>>;
/** What a replay came to. */
export type TurnReplay = FromWire<z.output<typeof ReplayAnswer>>;
/** What is different in a replay. */
export interface ReplayRequest {
  /** `provider:model` for every agent of the turn. */
  readonly model?: string | undefined;
  readonly prompts?: readonly { readonly agent: string; readonly prompt: string }[] | undefined;
  /** Place of a call of a model: what stands before it comes from the record. */
  readonly from?: string | undefined;
  /** By the code as it is now. */
  readonly anyVersion?: boolean | undefined;
}
