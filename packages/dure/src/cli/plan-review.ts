import { DureError } from "../kernel/errors.ts";
import type { PortComment } from "../client/index.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import { showDiff, type PlansCommand } from "./plans.ts";
import { told } from "./plan-orders.ts";

/** What a person does with the work of a port; nothing given: they look at it. */
export interface ReviewWish {
  /** `src/a.ts:12`, or a file. */
  readonly at: string | undefined;
  readonly say: string | undefined;
  /** Sends what waits. With a text: said before the comments. */
  readonly send: boolean | string | undefined;
}

/** Ports whose work can be looked at: with `dure plan review RUN PORT`. */
export async function reviewRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  const { ports } = await client.plans.run(id);
  output.table(ports.map(({ id: port, status, title }) => [port, status, title]));
  const held = ports.find(({ status }) => status === "held");
  output.note(`Look at what one of them changed: dure plan review ${id} ${held?.id ?? "PORT"}`);
  output.result({ ports: ports.map(({ id: port, status }) => ({ port, status })) });

  return EXIT.ok;
}

export async function reviewPort(
  id: string,
  port: string,
  { at, say, send }: ReviewWish,
  command: PlansCommand,
): Promise<ExitCode> {
  const { client, output } = command;
  if (at !== undefined || say !== undefined) {
    const comments = await client.plans.comment(id, port, commentOf(at, say));
    if (send === undefined) {
      printComments(comments, output);
      output.note(`Send it with: dure plan review ${id} ${port} --send`);
      output.result({ comments });

      return EXIT.ok;
    }
  }
  if (send !== undefined) {
    const text = typeof send === "string" ? send : undefined;
    const sent = await client.plans.review(id, port, { text });

    return told(sent, `goes on with another try of ${port}, which is told the review`, output);
  }

  const comments = await client.plans.comments(id, port);
  const code = await showDiff(id, port, command);
  printComments(comments, output);
  output.note(`Comment: dure plan review ${id} ${port} --at FILE:LINE --say "…"`);

  return code;
}

export async function approvePort(
  id: string,
  port: string,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  return told(await client.plans.approve(id, port), `goes on: ${port} is approved`, output);
}

/** Sends the result of a run where its plan says. */
export async function publishRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  const published = await client.plans.publish(id);
  const { branch, remote, isNew, pullRequest } = published;
  output.line(`${id} ${isNew ? "is pushed to" : "was there already:"} ${branch} at ${remote}`);
  if (pullRequest !== undefined) output.line(`pull request: ${pullRequest}`);
  output.result(published);

  return EXIT.ok;
}

/** Throws `USAGE`. Pure. */
function commentOf(at = "", text = ""): { path: string; line: number | undefined; text: string } {
  if (at === "" || text === "") {
    throw new DureError("USAGE", "A comment has a place and a text.", {
      class: "input",
      hint: 'dure plan review RUN PORT --at src/a.ts:12 --say "…"',
    });
  }
  const [, path = at, line] = /^(.+):(\d+)$/.exec(at) ?? [];

  return { path, line: line === undefined ? undefined : Number(line), text };
}

function printComments(comments: readonly PortComment[], output: Output): void {
  for (const { path, line, by, text, sentTry } of comments) {
    const place = line === null ? path : `${path}:${line}`;
    const sent = sentTry === null ? "not sent yet" : `sent after try ${sentTry}`;
    output.note(`${place}  ${by} (${sent}): ${text}`);
  }
}
