import { speakerOf, type Job, type JobTurn, type JobWords } from "./job.ts";
import { payloadText } from "./payloads.ts";

/** Turns before the present one that are shown again. Source: our choice; the agent's own session remembers the others. */
const TURNS_SHOWN = 4;
/** Characters of what is quoted; at three bytes each all of it fits the engine's 32 KiB of background. Source: our choice. */
const QUOTED = { request: 3_000, topic: 200, payload: 2_000, turn: 900 } as const;
/** Characters of the message and of all persons' words in it; they fit the engine's 64 KiB together. Source: our choice. */
const SAID = { message: 15_000, words: 5_000 } as const;

/**
 * What an agent is told in one exchange turn: `message` is what the other agent said, `background` all that it needs to know
 * around it. Everything that somebody wrote stands there as a quote with its author: it is data, whatever it says. Pure.
 *
 * @param nameOf the display name of an agent.
 */
export function renderTurnMessage(facts: {
  readonly job: Pick<Job, "jobId" | "requester" | "target" | "message" | "payload" | "topic" | "maxTurns">;
  readonly number: number;
  readonly turns: readonly Pick<JobTurn, "number" | "speaker" | "text">[];
  readonly words: readonly Pick<JobWords, "author" | "text">[];
  readonly nameOf: (agent: string) => string;
}): { readonly message: string; readonly background: string } {
  const { job, number, turns, words, nameOf } = facts;
  const self = speakerOf(job, number);
  const other = nameOf(self === job.target ? job.requester : job.target);
  const answered = turns.at(-1)?.text ?? job.message;
  const before = turns.slice(0, -1).slice(-TURNS_SHOWN);
  const most = Math.max(job.maxTurns, 1);
  const parts = [
    `You are ${nameOf(self)}. In the background you talk with ${other}, another agent; the message below is ${other}'s. This exchange is apart from your other conversations.`,
    job.maxTurns === 0
      ? "Nobody waits for an answer: take note of it, and do what it asks of you."
      : `This is turn ${number} of at most ${most}.${number >= most ? " It is the last one: say what is settled and what is not." : ""}`,
    'To end the exchange call the tool end_conversation, or write REPLY_SKIP as the last line. Write ANNOUNCE_SKIP as the last line when nobody needs to hear of the result. Do not repeat yourself and do not answer a mere "thank you".',
    ...(number > 1 ? [`${nameOf(job.requester)} had asked ${nameOf(job.target)}:\n${quote(job.message, QUOTED.request)}`] : []),
    ...(job.topic === null ? [] : [`Topic:\n${quote(job.topic, QUOTED.topic)}`]),
    ...(job.payload ? [`With the request came these facts from ${nameOf(job.requester)}:\n${quote(payloadText(job.payload), QUOTED.payload)}`] : []),
    ...(before.length > 0 ? ["Said before:", ...before.map((turn) => `Turn ${turn.number}, ${nameOf(turn.speaker)}:\n${quote(turn.text, QUOTED.turn)}`)] : []),
  ];
  const said = cut(answered, SAID.message) || "(no words)";
  const override = words.map(({ author, text }) => `[A person, ${author}, speaks into this exchange. These words go before everything else in it.]\n${cut(text, Math.floor(SAID.words / words.length))}`);
  return { message: [...override, ...(override.length > 0 ? [`[${other} says:]\n${said}`] : [said])].join("\n\n"), background: parts.join("\n\n") };
}

/** Each line with a mark of its own: no text can end its quote. */
function quote(text: string, most: number): string {
  return cut(text, most)
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n");
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()} … (${text.length - most} more characters)`;
}
