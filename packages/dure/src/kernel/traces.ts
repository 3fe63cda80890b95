/** Things that begin each other. */
export const TRACE_KINDS = [
  "message",
  "turn",
  "request",
  "job",
  "run",
  "port",
  "escalation",
] as const;

export type TraceKind = (typeof TRACE_KINDS)[number];
