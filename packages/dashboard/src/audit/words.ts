import type { AuditEntry } from "dure/client";
import type { AUDIT_WORDS } from "words:later/audit";
import { actorOf } from "../actor.ts";
import type { Text } from "../language.tsx";

type AuditWords = (typeof AUDIT_WORDS)["ko"];

/** Kinds of deeds that can be asked for alone, in the order of the menu. */
export const DEED_KINDS = [
  "escalation",
  "run",
  "plan",
  "job",
  "thread",
  "agent",
  "session",
  "turn",
  "token",
  "team",
] as const;

/** What was done, in words. The answers to escalations are their raisers' own. Pure. */
export function deedOf(what: string, words: AuditWords): string {
  const known: Readonly<Record<string, string>> = words.deeds;
  const answer = /^escalation\.(.+)$/u.exec(what)?.[1];

  return (
    (Object.hasOwn(known, what) ? known[what] : undefined) ??
    (answer === undefined ? what : words.answered({ value: answer }))
  );
}

/** Who it was: the person of a token, its id, an agent, or the person at the machine. Pure. */
export function whoOf(
  { person, name }: Pick<AuditEntry, "person" | "name">,
  { text, nameOf }: { readonly text: Text; readonly nameOf: (agent: string) => string },
): string {
  if (person !== null) return person;
  return name.startsWith("token_") ? name : actorOf(name, { text, nameOf });
}

/** How it ended. Pure. */
export function endOf(outcome: string | null): "done" | "refused" | "unknown" {
  if (outcome === null) return "unknown";
  return outcome === "done" ? "done" : "refused";
}

/** The page of what it was done to, where there is one. Pure. */
export function pageOf(subject: string): { to: "job" | "run" | "place"; id: string } | undefined {
  const [id = ""] = subject.split("/", 1);
  if (id.startsWith("job_")) return { to: "job", id };
  if (id.startsWith("run_")) return { to: "run", id };

  return id.startsWith("thread_") ? { to: "place", id } : undefined;
}
