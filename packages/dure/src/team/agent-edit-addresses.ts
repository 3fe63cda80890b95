import { isObject } from "../kernel/json.ts";
import { camelCase } from "../kernel/wire.ts";

/** Addresses of models that a card names, in either spelling. Pure. */
export function addressesIn(card: unknown): readonly string[] {
  const found: string[] = [];
  const open: unknown[] = [card];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) open.push(...(value as unknown[]));
    if (!isObject(value)) continue;
    for (const [key, member] of Object.entries(value)) {
      if (camelCase(key) === "baseUrl") found.push(String(member));
      else open.push(member);
    }
  }

  return found;
}
