/** What a key shows over the page. */
export type OverPageKind = "palette" | "keys";

/** A question mark is a key of ours only where nothing is written. */
export function shownBy(event: KeyboardEvent): OverPageKind | undefined {
  const { key, target } = event;
  if ((event.metaKey || event.ctrlKey) && key.toLowerCase() === "k") return "palette";
  return key === "?" && !isWriting(target) ? "keys" : undefined;
}

/** Whether a key that goes there writes something. */
export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/u.test(target.tagName))
  );
}
