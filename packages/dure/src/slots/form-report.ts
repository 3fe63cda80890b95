import type { JsonObject } from "../kernel/json.ts";
import { countResults } from "./batch.ts";
import { isNeeded } from "./entries.ts";
import type { FormTexts, SlotSpecs } from "./form.ts";
import type { FormResult, FormState } from "./form-state.ts";

/** How an entry ended, in words. */
export function endingText(result: FormResult, before: FormState, texts: FormTexts): string {
  const { index, total } = before;
  const progress = { index, total };
  const place = (text: string): string =>
    [texts.progress(progress), text].filter(Boolean).join(" ");
  switch (result.outcome) {
    case "done":
      return texts.receipt(result.slots, result, progress);
    case "failed":
      return place(texts.failed(result.code, result.slots));
    case "cancelled":
      return total > 1 ? place(texts.cancelledOne) : texts.cancelled;
    case "unsupported":
      return place(texts.unsupported);
  }
  return result.outcome satisfies never;
}

/** All entries of a flow and their counts, at its end. */
export function summaryText(results: readonly FormResult[], texts: FormTexts): string {
  const lines = results.map((one) => texts.result(one));
  return [...lines, texts.batchSummary(countResults(results))].join("\n");
}

export function receiptOf({ slots, index: _i, outcome: _o, ...details }: FormResult): JsonObject {
  return { status: "booked", ...(details as JsonObject), ...slots };
}

/** Of all that were done; nothing where none was. */
export function receiptsOf(results: readonly FormResult[]): { receipts?: JsonObject[] } {
  const receipts = results.filter(({ outcome }) => outcome === "done").map(receiptOf);
  return receipts.length > 0 ? { receipts } : {};
}

/** The slots with their names, for a page that shows or edits them. */
export function cardOf(
  { slots, meta, index, total }: FormState,
  { editable, specs, texts }: { editable: boolean; specs: SlotSpecs; texts: FormTexts },
): JsonObject {
  return {
    editable,
    index,
    total,
    slots: Object.entries(specs).map(([name, spec]) => {
      const error = meta.slot_errors[name];
      return {
        name,
        label: texts.slotNames[name] ?? name,
        required: isNeeded(spec, slots),
        value: slots[name] ?? null,
        error: error && texts.slotError(error, name),
      };
    }),
  };
}
