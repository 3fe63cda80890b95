import type { JobPayload } from "./payloads.ts";
import type { JobIntent } from "../kernel/jobs.ts";

/** Exchange turns of an intent; `configured` is the team's maximum for a collaboration. */
const TURNS = {
  notification: 0,
  urgent_escalation: 0,
  result_report: 1,
  question: 1,
  request: 3,
  collaboration: "configured",
} as const satisfies Record<JobIntent, number | "configured">;

/** What the caller wants of the exchange, as far as it says so. */
export interface IntentFacts {
  readonly message: string;
  readonly payload?: JobPayload | undefined;
}

/** Marks at the beginning of a message, in Korean and English; never a word inside of another. */
const MARKS: readonly (readonly [JobIntent, RegExp])[] = [
  ["urgent_escalation", /^\s*(\[(urgent|긴급)\]|(urgent|긴급)\s*[:!：])/iu],
  [
    "notification",
    /^\s*(\[(fyi|notice|알림|공지|참고)\]|(fyi|for your information|notice|알림|공지|참고)\s*[:：])/iu,
  ],
  [
    "result_report",
    /^\s*(\[(report|result|보고|결과)\]|(report|result|status report|보고|결과|결과 보고)\s*[:：])/iu,
  ],
  [
    "collaboration",
    /^\s*(\[(collaborate|discussion|협업|논의|토론)\]|(collaborate|discussion|let'?s discuss|협업|논의|토론)\s*[:：])/iu,
  ],
];

/** Asks for something to be done, however politely; a question mark behind it is courtesy. */
const REQUEST =
  /(해\s?(줘|주세요|주시|줄래|주겠|달라|달래)|부탁|바랍니다|하세요|\b(please|could you|can you|would you)\b)/iu;

export interface DecidedIntent {
  readonly intent: JobIntent;
  readonly because: string;
}

const INTENT_OF_PAYLOAD = {
  status_report: "result_report",
  answer: "result_report",
  question: "question",
  task_delegation: "request",
} as const satisfies Record<JobPayload["kind"], JobIntent>;

/**
 * What a request is for: by the payload's kind, then by its mark, then by its form. Pure; the first
 * rule that applies wins.
 */
export function decideIntent({ message, payload }: IntentFacts): DecidedIntent {
  if (payload?.kind === "status_report" && payload.urgent) {
    return { intent: "urgent_escalation", because: "payload-urgent" };
  }
  if (payload) return { intent: INTENT_OF_PAYLOAD[payload.kind], because: "payload-kind" };

  for (const [intent, mark] of MARKS) if (mark.test(message)) return { intent, because: "mark" };
  if (REQUEST.test(message)) return { intent: "request", because: "asks-to-do" };
  if (/[?？]\s*$/u.test(message)) return { intent: "question", because: "question-mark" };
  return { intent: "request", because: "default" };
}

/**
 * Exchange turns at most: what the caller said goes first. Pure. @param collaborationTurns the
 * team's maximum.
 */
export function turnsOf(
  intent: JobIntent,
  asked: number | undefined,
  collaborationTurns: number,
): number {
  const turns = TURNS[intent];
  return asked ?? (turns === "configured" ? collaborationTurns : turns);
}
