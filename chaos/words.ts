/**
 * The words of the load. What a message is about stands in it as `[[nonce]]`; an answer says
 * `[[>nonce]]`, so that answers can be told apart from outside: `p7` is a payment, `r1-4` the
 * fourth message of room 1, `j3.2` what follows turn 2 of a job.
 */

const QUESTION = /\[\[([a-z][\w.-]*)\]\]/g;
const ANSWER = /\[\[>([a-z][\w.-]*)\]\]/g;

/** The newest nonce of a text; empty when there is none. */
export function nonceOf(text: string): string {
  return [...text.matchAll(QUESTION)].at(-1)?.[1] ?? "";
}

/** The nonces that a text answers, in its order. */
export function answeredIn(text: string): readonly string[] {
  return [...text.matchAll(ANSWER)].map(([, nonce]) => nonce!);
}

/** Every third message of a room is passed on to the second agent. */
export function isPassedOn(nonce: string): boolean {
  const number = /^r\d+-(\d+)$/.exec(nonce)?.[1];
  return number !== undefined && Number(number) % 3 === 0;
}

/** How the exchange of a job ends when only the words of its agents decide. */
export interface JobScript {
  readonly status: "COMPLETED";
  readonly outcome: "max_turns" | "minimal_content";
  readonly turns: number;
}

/** Turns that the load asks for: long enough that a fault meets most jobs in the middle. */
export const JOB_TURNS = 8;

/** Every fourth job is short: its requester has nothing to add to the first answer. */
export function scriptOf(job: string): JobScript {
  return isShort(job)
    ? { status: "COMPLETED", outcome: "minimal_content", turns: 2 }
    : { status: "COMPLETED", outcome: "max_turns", turns: JOB_TURNS };
}

function isShort(job: string): boolean {
  return Number(job.slice(1)) % 4 === 0;
}

/** What the model of an agent says to a message. */
export function answerOf(agent: string, message: string): string {
  const nonce = nonceOf(message);
  const exchange = /^(j\d+)\.(\d+)$/.exec(nonce);
  if (exchange && isShort(exchange[1]!) && exchange[2] === "1") return `[[>${nonce}]] Fine.`;
  if (exchange) {
    const part = Number(exchange[2]) + 1;
    const items = ["a", "b", "c"].map((letter) => `item ${part}${letter}`).join(", ");
    return (
      `[[>${nonce}]] Part ${part} has ${items}. What about part ${part + 1}? ` +
      `[[${exchange[1]}.${part}]]`
    );
  }
  if (agent === "receipt") return `[[>${nonce}]] ${RECEIPT}`;
  if (agent === "ara" && isPassedOn(nonce)) {
    return `[[>${nonce}]] @bora please look at this too: [[${nonce}b]]`;
  }
  return `[[>${nonce}]] Understood: ${message.length} characters from you.`;
}

/** Long enough for several stored chunks. */
const RECEIPT = Array.from({ length: 8 }, (_, index) => `line ${index + 1} of the receipt`).join(
  ", ",
);
