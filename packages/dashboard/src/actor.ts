import type { Text } from "./language.tsx";

/** Addresses, as a server writes them: IPv4, or IPv6 with perhaps an IPv4 address in it. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\da-f]*:[\da-f:.]*:[\da-f.]*)$/iu;

/** Whether it was the person at the server's own machine, who has no name. Pure. */
export function isAtMachine(by: string): boolean {
  return ADDRESS.test(by) || by === "operator";
}

/**
 * Who did something, in words: the name of a person or an agent, never an address; empty where that
 * is not known. Pure.
 */
export function actorOf(
  by: string | null | undefined,
  { text, nameOf }: { readonly text: Text; readonly nameOf: (agent: string) => string },
): string {
  if (by === null || by === undefined || by === "") return "";
  if (isAtMachine(by)) return text.common.actors.atMachine;
  if (by.startsWith("agent:")) return nameOf(by.slice("agent:".length));
  const [, own] = /^(?:cli|machine):(.+)$/u.exec(by) ?? [];
  if (own !== undefined) return own;

  return by.startsWith("token_") ? text.common.actors.withToken : by;
}
