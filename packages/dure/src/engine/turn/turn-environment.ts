import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Files } from "../../durable/files/files.ts";
import type { TurnStore } from "../../durable/turns.ts";
import type { Llm } from "../../models/card.ts";
import type { ModelCall } from "../../models/model.ts";
import type { ModelOutages } from "../../models/outages.ts";
import type { PromptOverrides } from "../../models/prompt-files.ts";
import type { AttemptRules } from "../agent/agent-environment.ts";
import type { ApprovalReader } from "../effects/approval-reader.ts";
import type { Budgets } from "../money/budgets.ts";
import type { Replay } from "../replay/replay.ts";
import type { PauseGate } from "./paused.ts";

/** What the run of a turn needs from its engine. */
export interface TurnEnvironment {
  readonly store: TurnStore;
  readonly files: Files;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly devMode: boolean;
  readonly locale: string;
  readonly timeZone: string;
  readonly defaultLlm: Llm;
  readonly everyLlm: Llm | undefined;
  /** The team's prompts in the place of ours. */
  readonly prompts: PromptOverrides | undefined;
  readonly attemptRules: (session: string) => AttemptRules | undefined;
  readonly outages: ModelOutages;
  /** How long a session's turns wait for a model that is away, milliseconds. */
  readonly patienceMs: (session: string) => number;
  readonly limits: { readonly maxFillTurns: number; readonly confirmMs: number };
  /** Aborts when this process may write no more. */
  readonly lease: AbortSignal;
  resolve(llm: Llm | Llm["fallbacks"][number]): ModelCall;
  /** Absent: nothing is limited. */
  readonly budgets: Budgets | undefined;
  /** Absent: no agent is ever paused. */
  readonly pauses: PauseGate | undefined;
  readonly approvals: Pick<ApprovalReader, "find" | "standing">;
  /** The turn is a replay of a stored one. */
  readonly replay?: Replay | undefined;
}
