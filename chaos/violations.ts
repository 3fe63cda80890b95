/** What must hold. The meaning of each stands in docs/reliability.md. */
export const INVARIANTS = [
  "answered-once",
  "order",
  "booked",
  "stream",
  "events",
  "paid-once",
  "job",
  "plan",
  "stuck",
  "http",
  "exit",
  "drain",
] as const;
export type Invariant = (typeof INVARIANTS)[number];

export interface Violation {
  readonly invariant: Invariant;
  /** What happened, in one sentence. */
  readonly text: string;
  /** Ids that lines of its story name: sessions, turns, nonces, jobs. */
  readonly ids: readonly string[];
}
