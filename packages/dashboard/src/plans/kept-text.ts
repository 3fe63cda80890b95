import { systemClock, ulid } from "dure/client";

/** A plan that is no file of the team: it waits in this window until it is begun. */
export interface KeptText {
  readonly file: string;
  readonly text: string;
}

const KEPT = "dure.plan-text";

/**
 * Keeps a text for the page that begins it; the one before is forgotten. Returns the key that its
 * address names.
 */
export function keepText({ file, text }: KeptText): string {
  const key = ulid(systemClock.now());
  sessionStorage.setItem(KEPT, JSON.stringify({ key, file, text }));
  return key;
}

/** Undefined: another one was kept since, or this is another window. */
export function textOf(key: string): KeptText | undefined {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}") as Partial<
    KeptText & { readonly key: string }
  >;
  return kept.key === key && kept.file !== undefined && kept.text !== undefined
    ? { file: kept.file, text: kept.text }
    : undefined;
}
