import type { DureClient, Escalation } from "../client/index.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

interface Command {
  readonly client: DureClient;
  readonly output: Output;
}

/** What waits for a person, the most severe first; with `status` also what was answered. */
export async function listEscalations(status: Escalation["status"], { client, output }: Command): Promise<ExitCode> {
  const items = [...(await client.escalations({ status, limit: 200 }))].sort((a, b) => RANK[a.severity] - RANK[b.severity]);
  for (const item of items) {
    const answers = item.status === "open" ? item.options.map(({ value, label }) => `${value} (${label})`).join(", ") : `${item.answer ?? item.status}${item.answeredBy ? ` by ${item.answeredBy}` : ""}`;
    output.line(`${item.id}  ${item.severity}  ${new Date(item.createdAt).toISOString().slice(0, 19)}\n  ${item.question}\n  ${item.status === "open" ? "answers" : "answered"}: ${answers}`);
  }
  if (items.length === 0) output.line(status === "open" ? "nothing waits for a person" : `there is none that is ${status}`);
  output.result({ items });
  return EXIT.ok;
}

const RANK = { critical: 0, warning: 1, info: 2 } as const satisfies Record<Escalation["severity"], number>;

export async function answerEscalation(id: string, value: string, { client, output }: Command): Promise<ExitCode> {
  const turnId = await client.answerEscalation(id, value);
  output.line(`${id}: ${value}${turnId === null ? "" : `; turn ${turnId} goes on`}`);
  output.result({ id, value, turn_id: turnId });
  return EXIT.ok;
}
