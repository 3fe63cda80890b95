import { isObject, type Escalation } from "dure/client";

const RANK = { critical: 0, warning: 1, info: 2 } as const satisfies Record<Escalation["severity"], number>;

/** What waits, the gravest first and of these the longest waiting; then what is closed, newest first. Pure. */
export function inboxOf(all: readonly Escalation[]): { readonly open: readonly Escalation[]; readonly closed: readonly Escalation[] } {
  return {
    open: all.filter(({ status }) => status === "open").toSorted((a, b) => RANK[a.severity] - RANK[b.severity] || a.createdAt - b.createdAt),
    closed: all.filter(({ status }) => status !== "open").toSorted((a, b) => closedAt(b) - closedAt(a)),
  };
}

/** What it is about, in the words of whoever raised it: a call's arguments stand for themselves, keys of ledgers stay out. Pure. */
export function aboutOf({ context }: Escalation): Escalation["context"] {
  const { input, key: _key, ...rest } = context;
  return isObject(input) ? { ...rest, ...input } : context;
}

function closedAt({ answeredAt, expiresAt, createdAt }: Escalation): number {
  return answeredAt ?? expiresAt ?? createdAt;
}
