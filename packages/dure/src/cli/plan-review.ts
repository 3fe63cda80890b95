import { DureError } from "../kernel/errors.ts";
import type { PortComment } from "../client/index.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import { showDiff, type PlansCommand } from "./plans.ts";
import { namingFindings } from "./plan-leaving.ts";
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
  const { plans: words } = output.words;
  output.table(ports.map(({ id: port, status, title }) => [port, words.portStatus(status), title]));
  const held = ports.find(({ status }) => status === "held");
  output.note(words.review.look(id, held?.id ?? "PORT"));
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
      output.note(output.words.plans.review.send(id, port));
      output.result({ comments });

      return EXIT.ok;
    }
  }
  if (send !== undefined) {
    const text = typeof send === "string" ? send : undefined;
    const sent = await client.plans.review(id, port, { text });

    return told(sent, output, (words, run) => words.reviewed(run, port));
  }

  const comments = await client.plans.comments(id, port);
  const code = await showDiff(id, port, command);
  printComments(comments, output);
  output.note(output.words.plans.review.comment(id, port));

  return code;
}

export async function approvePort(
  id: string,
  port: string,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  return told(await client.plans.approve(id, port), output, (words, run) =>
    words.approved(run, port),
  );
}

/** Agrees that the result of a run is merged: the one that was looked at, else the present one. */
export async function approveRun(
  id: string,
  given: string | undefined,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const commit = given ?? (await client.plans.run(id)).report?.commit;
  if (commit === undefined) {
    throw new DureError("RUN_NO_RESULT", `The run ${id} has no result yet.`, {
      class: "conflict",
      hint: "Wait for its end, or retry what failed.",
    });
  }

  const approved = await client.plans.approveResult(id, commit);
  output.line(output.words.plans.order.approvedResult(id, approved));
  output.result(approved);

  return EXIT.ok;
}

/** Sends the result of a run where its plan says. */
export async function publishRun(
  id: string,
  confirm: string | undefined,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const published = await namingFindings(output, () => client.plans.publish(id, { confirm }));
  const { branch, remote, isNew, pullRequest } = published;
  const { order: words } = output.words.plans;
  output.line(words.published(id, isNew, { branch, remote }));
  if (pullRequest !== undefined) output.line(words.pullRequest(pullRequest));
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
    const { review: words } = output.words.plans;
    const sent = sentTry === null ? words.notSent : words.sent(sentTry);
    output.note(`${place}  ${by} (${sent}): ${text}`);
  }
}
