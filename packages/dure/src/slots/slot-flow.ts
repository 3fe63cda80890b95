import {
  flow,
  type ErrorFacts,
  type FlowHandler,
  type ServiceOptions,
} from "../engine/service/service.ts";
import { specsOf } from "./deeds.ts";
import { assertForm } from "./form-check.ts";
import { FormTurn } from "./form-turn.ts";
import type { SlotForm } from "./form.ts";
import { formStateOf, type FormResult, type FormState, type SlotValues } from "./form-state.ts";
import { LEXICON, lexiconWith } from "../parse/lexicon/index.ts";
import { spokenLocale } from "./languages.ts";

/** What `slotFlow` gives a service; spread it into `defineService`. */
export type SlotFlowParts = Pick<ServiceOptions, "state" | "router" | "flows" | "onError">;

/**
 * A service that fills slots, asks for a yes, and does one thing exactly once:
 *
 *     const parts = slotFlow({ flow: "BOOKING", slots, deed, texts });
 *     const agents = { intent, ...slotAgents(slots, prompts) };
 *     defineService({ name: "rooms", agents, ...parts });
 *
 * With `deeds` it can do several things with its slots, such as to book, to move and to cancel;
 * `slotAgents` takes the whole form then.
 *
 * It asks three agents of the service: `intent` for `{scenario}` (the flow's key, or anything
 * else), `slots` for a `SlotReading`, `interaction` for `{message}`. Words outside of the flow go to
 * `interaction` too. Throws `FORM_INVALID` for an option that does not exist, for a slot that has no
 * name in `texts`, and for one that can never be filled; `LEXICON_INVALID` for `words` that mean two
 * things.
 */
export function slotFlow<Values = SlotValues>(typed: SlotForm<Values>): SlotFlowParts {
  // Values are checked by the slots' schemas before they are stored; the code in between is the
  // same for every form.
  const form = typed as unknown as SlotForm;
  assertForm(form);
  const lexicon = form.words ? lexiconWith(form.words) : LEXICON;
  const chat: FlowHandler = flow((turn) => new FormTurn(turn, form, lexicon).chat());
  const fill: FlowHandler = flow((turn) => new FormTurn(turn, form, lexicon).run());
  return {
    state: formStateOf(specsOf(form), {
      ko: form.texts.ko?.slotNames,
      en: form.texts.en?.slotNames,
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
  const texts = form.texts[spokenLocale(locale, form.texts)]!;
  const { slots, results } = state as unknown as Partial<FormState>;
  if (code === "EFFECT_UNKNOWN") return texts.effectUnknown(slots ?? {});
  const last: FormResult | undefined = results?.at(-1);
  return settled && last ? texts.stoppedTooLate(last) : undefined;
}
