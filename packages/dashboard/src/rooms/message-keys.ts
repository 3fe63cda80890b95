import { useEffect, useEffectEvent, type RefObject } from "react";
import { isWriting } from "../shell/find-keys.ts";

/** What a key does with the messages of a room. */
type MessageDeed = "next" | "previous" | "reply" | "edit" | "thread" | "leave";

const DEEDS: Readonly<Record<string, MessageDeed>> = {
  j: "next",
  k: "previous",
  r: "reply",
  e: "edit",
  t: "thread",
  Escape: "leave",
};

/** What a page does with a message that has the focus. */
interface MessageDeeds {
  readonly reply: (message: string) => void;
  readonly edit: (message: string) => void;
  readonly thread: (message: string) => void;
  /** Closes what is open; false: nothing was. */
  readonly leave: () => boolean;
}

/** Goes through the messages of a log by keys that write nothing. */
export function useMessageKeys(log: RefObject<HTMLElement | null>, deeds: MessageDeeds): void {
  const onKey = useEffectEvent((event: KeyboardEvent): void => {
    const deed = deedOf(event);
    if (deed === undefined || log.current === null || isBehindWindow(log.current)) return;
    const { message, isOurs } = focusIn(log.current);
    if (!isOurs) return;

    if (deed === "leave") {
      if (!deeds.leave()) message?.blur();
      return;
    }
    if (deed === "next" || deed === "previous") focusBeside(log.current, message, deed);
    else if (message === undefined) return;
    else deeds[deed](message.id);
    event.preventDefault();
  });

  useEffect(() => {
    const leaving = new AbortController();
    window.addEventListener("keydown", (event) => onKey(event), { signal: leaving.signal });
    return () => leaving.abort();
  }, []);
}

/** The message that has the focus, and whether this log has the key: of two logs one has it. */
function focusIn(log: HTMLElement): { message: HTMLElement | undefined; isOurs: boolean } {
  const at = document.activeElement?.closest<HTMLElement>("li[id]") ?? null;
  if (at !== null) return { message: at, isOurs: log.contains(at) };
  return { message: undefined, isOurs: document.querySelector('[role="log"]') === log };
}

/** Undefined where a text is written, or the key is another one's. Pure. */
function deedOf(event: KeyboardEvent): MessageDeed | undefined {
  const { key, altKey, ctrlKey, metaKey, isComposing, defaultPrevented } = event;
  if (altKey || ctrlKey || metaKey || isComposing || defaultPrevented) return undefined;
  return isWriting(event.target) ? undefined : DEEDS[key];
}

/** A window over the page has the keys. */
function isBehindWindow(log: HTMLElement): boolean {
  const shown = document.querySelector('dialog[open], [role="dialog"]');
  return shown !== null && !shown.contains(log);
}

/** The message beside the one that has the focus; at first the last one that is in sight. */
function focusBeside(
  log: HTMLElement,
  at: HTMLElement | undefined,
  deed: "next" | "previous",
): void {
  const all = [...log.querySelectorAll<HTMLElement>("li[id]")];
  const { bottom } = log.getBoundingClientRect();
  const step = deed === "next" ? 1 : -1;
  const goal =
    at === undefined
      ? all.findLast((one) => one.getBoundingClientRect().top < bottom)
      : all[all.indexOf(at) + step];
  goal?.focus({ preventScroll: true });
  goal?.scrollIntoView({ block: "nearest" });
}
