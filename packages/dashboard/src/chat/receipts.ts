import { isObject, type Done, type JsonObject } from "dure/client";
import type { Entry } from "dure/react";

/**
 * The receipts that each answer shows, by the entry's key. The last answer of a batch repeats the
 * receipts of all its transfers; here each is shown once, under the answer that first brought it.
 * Pure.
 */
export function receiptsByEntry(
  entries: readonly Entry[],
): ReadonlyMap<string, readonly JsonObject[]> {
  const shown = new Set<string>();
  const byEntry = new Map<string, JsonObject[]>();

  for (const entry of entries) {
    for (const receipt of receiptsOf(entry.done)) {
      const name = nameOf(receipt);
      if (shown.has(name)) continue;
      shown.add(name);
      byEntry.set(entry.key, [...(byEntry.get(entry.key) ?? []), receipt]);
    }
  }

  return byEntry;
}

function receiptsOf(done: Done | undefined): JsonObject[] {
  return [done?.receipt, ...(done?.receipts ?? [])].filter((receipt): receipt is JsonObject =>
    isObject(receipt),
  );
}

/** Two receipts are one when their numbers are; without a number, when they say the same. */
function nameOf(receipt: JsonObject): string {
  const number = receipt["transaction_id"];
  return typeof number === "string"
    ? number
    : JSON.stringify(Object.entries(receipt).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
