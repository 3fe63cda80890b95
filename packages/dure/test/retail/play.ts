import type { JsonObject } from "../../src/kernel/json.ts";
import { Customer, type Answer, type Said } from "./customer.ts";
import type { Kills, Mortal } from "./steps.ts";
import type { Task } from "./tasks.ts";
import type { Town } from "./town.ts";

/** A message of a customer; the same key is the same message. */
export interface Message {
  readonly session: string;
  readonly text: string;
  readonly key: string;
  /** The question whose button is pressed. */
  readonly confirmId: string | undefined;
}

/** Where tasks are played: the shops, and the process that serves their customers. */
export interface Host extends Mortal {
  readonly town: Town;
  /** Says it until it has an answer, through whatever processes live. */
  say(message: Message): Promise<{ readonly turn: string; readonly done: Answer }>;
}

/** More messages than any customer needs. */
const MOST_MESSAGES = 40;

export interface Play {
  readonly task: Task;
  readonly session: string;
  readonly random: () => number;
  readonly kills: Kills;
}

/** Plays one task to its end. Gives what is wrong. */
export async function playTask(
  host: Host,
  { task, session, random, kills }: Play,
): Promise<string[]> {
  host.kills = kills;
  const customer = new Customer(task, random);
  const lines: string[] = [];
  let said: Said | undefined = customer.open();
  let question: string | undefined;
  for (let number = 1; said; number++) {
    lines.push(`> ${said.text}`);
    if (number > MOST_MESSAGES) return [`${session} goes on for ever:`, ...lines];
    const confirmId = said.presses ? question : undefined;
    const key = `${number}`;
    const { turn, done } = await host.say({ session, text: said.text, key, confirmId });
    question = turn;
    lines.push(done.message);
    if (done.error) return [`${session} ends with ${done.error.code}:`, ...lines];
    if (kills.isDue("told", turn)) await host.kill();
    said = customer.answer(done);
    if (said?.agrees) agree(host.town, session, done);
  }
  const told = lines.filter((line) => !line.startsWith("> ")).join("\n");
  const problems = host.town.problems(session, task, told);
  return problems.length === 0 ? [] : [`${session}:`, ...problems, ...lines];
}

function agree(town: Town, session: string, { approvals = [] }: Answer): void {
  for (const { tool, args } of approvals) {
    town.agree({ session, name: tool, input: args as JsonObject });
  }
}
