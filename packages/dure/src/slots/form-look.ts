import type { TurnContext } from "../engine/turn/turn-context.ts";
import { withoutWrong, type FormContext } from "./entries.ts";
import type { SlotForm } from "./form.ts";
import type { FormState } from "./form-state.ts";

/** What a look before the question came to. */
export interface Looked {
  /** Without the values that the outside would refuse. */
  readonly state: FormState;
  /** The look gave no answer, and the question says so. */
  readonly isUnchecked: boolean;
}

/** Asks the outside, by the form's look, before a person is asked for a yes. */
export async function lookBefore(
  turn: TurnContext,
  look: SlotForm["look"],
  state: FormState,
  { specs }: Pick<FormContext, "specs">,
): Promise<Looked> {
  if (!look) return { state, isUnchecked: false };
  const { slots } = state;
  const seen = await turn.read(look.call, look.tool, look.input(slots));
  if (seen.status === "failed") return { state, isUnchecked: true };
  const errors = look.errors(seen.result, slots);
  return { state: withoutWrong(state, errors, { specs }), isUnchecked: false };
}
