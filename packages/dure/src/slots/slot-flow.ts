import {
  flow,
  type ErrorFacts,
  type FlowHandler,
  type ServiceOptions,
} from "../engine/service/service.ts";
import { assertForm } from "./form-check.ts";
import { FormTurn } from "./form-turn.ts";
import type { SlotForm } from "./form.ts";
import { formStateOf, type FormResult, type FormState, type SlotValues } from "./form-state.ts";

/** What `slotFlow` gives a service; spread it into `defineService`. */
export type SlotFlowParts = Pick<ServiceOptions, "state" | "router" | "flows" | "onError">;

/**
 * A service that fills slots, asks for a yes, and does one thing exactly once:
 *
 *     const parts = slotFlow({ flow: "BOOKING", slots, deed, texts });
 *     const agents = { intent, ...slotAgents(slots, prompts) };
 *     defineService({ name: "rooms", agents, ...parts });
 *
 * It asks three agents of the service: `intent` for `{scenario}` (the flow's key, or anything
 * else), `slots` for a `SlotReading`, `interaction` for `{message}`. Words outside of the flow go to
 * `interaction` too. Throws `FORM_INVALID` for an option that does not exist, and for a slot that
 * has no name in `texts`.
 */
export function slotFlow<Values = SlotValues>(typed: SlotForm<Values>): SlotFlowParts {
  // Values are checked by the slots' schemas before they are stored; the code in between is the
  // same for every form.
  const form = typed as unknown as SlotForm;
  assertForm(form);
  const chat: FlowHandler = flow((turn) => new FormTurn(turn, form).chat());
  const fill: FlowHandler = flow((turn) => new FormTurn(turn, form).run());
  return {
    state: formStateOf(form.slots, {
      ko: form.texts.ko.slotNames,
      en: form.texts.en.slotNames,
    }),
    router: (scenario) => (scenario === form.flow ? form.flow : "DEFAULT"),
    flows: { DEFAULT: chat, [form.flow]: fill },
    onError: ({ code }, locale, facts) => errorText(form, code, locale, facts),
  };
}

/** What a turn that failed says where something may have happened. */
function errorText(
  form: SlotForm,
  code: string,
  locale: string,
  { state, settled }: ErrorFacts,
): string | undefined {
  const texts = form.texts[locale.startsWith("en") ? "en" : "ko"];
  const { slots, results } = state as unknown as Partial<FormState>;
  if (code === "EFFECT_UNKNOWN") return texts.effectUnknown(slots ?? {});
  const last: FormResult | undefined = results?.at(-1);
  return settled && last ? texts.stoppedTooLate(last) : undefined;
}
