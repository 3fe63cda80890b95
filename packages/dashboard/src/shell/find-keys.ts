/** What a key shows over the page. */
export type OverPageKind = "palette" | "keys";

/** A question mark is a key of ours only where nothing is written. */
export function shownBy(event: KeyboardEvent): OverPageKind | undefined {
  const { key, target } = event;
  if ((event.metaKey || event.ctrlKey) && key.toLowerCase() === "k") return "palette";
  const isWriting =
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/u.test(target.tagName));
  return key === "?" && !isWriting ? "keys" : undefined;
}
