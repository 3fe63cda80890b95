/** What a process is started with: databases of one server, and where its effects are kept. */
export interface MemberSettings {
  readonly url: Readonly<Record<"jobs" | "rooms" | "runs", string>>;
  /** A file with a line for each effect: kind, number, key. */
  readonly effects: string;
}

/** Kinds of work; `give` says one with a number to a process. */
export const KINDS = ["job", "turn", "message", "entry", "run"] as const;
export type Kind = (typeof KINDS)[number];

/** Of jobs and direct turns, in this order; three are an exchange. */
export const WORDS = [
  "The form sends its fields twice, because two listeners are bound to it.",
  "A session cookie without SameSite is what the browser drops in the frame.",
  "Then I would first write down which of the three screens fails, and when.",
] as const;
