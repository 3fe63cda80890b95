import type { CleanRequest, RetryRequest, RunCleaned, RunOrdered } from "../client/index.ts";
import { DureError } from "../kernel/errors.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import type { PlansCommand } from "./plans.ts";

export async function pauseRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  return told(
    await client.plans.pause(id),
    "is paused: what works goes on, nothing starts",
    output,
  );
}

export async function resumeRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  return told(await client.plans.resume(id), "goes on", output);
}

export async function cancelRun(id: string, { client, output }: PlansCommand): Promise<ExitCode> {
  return told(await client.plans.cancel(id), "is cancelled; what was made is kept", output);
}

export async function retryPort(
  id: string,
  port: string,
  request: RetryRequest,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  return told(
    await client.plans.retry(id, port, request),
    `goes on with another try of ${port}`,
    output,
  );
}

/** What a run as a whole can be given: more tokens or calls, or its merge again. */
export async function retryRun(
  id: string,
  {
    tokens,
    calls,
    ...ofPorts
  }: {
    tokens: number | undefined;
    calls: number | undefined;
    hint: string | undefined;
    tries: string | undefined;
    by: string | undefined;
    time: string | undefined;
  },
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const [option] = Object.entries(ofPorts).find(([, value]) => value !== undefined) ?? [];
  if (option !== undefined) {
    throw new DureError("USAGE", `--${option} is for a port, and none is named.`, {
      class: "input",
      hint: `dure plan retry ${id} PORT --${option} …`,
    });
  }

  if (tokens !== undefined || calls !== undefined) {
    const more = [
      ...(tokens === undefined ? [] : [`${tokens} tokens`]),
      ...(calls === undefined ? [] : [`${calls} calls`]),
    ];
    const extended = await client.plans.extend(id, { tokens, calls });

    return told(extended, `has ${more.join(" and ")} more`, output);
  }

  return told(await client.plans.again(id), "is merged again", output);
}

export async function skipPort(
  id: string,
  port: string,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  return told(await client.plans.skip(id, port), `goes on without ${port}`, output);
}

export function told(ordered: RunOrdered, what: string, output: Output): ExitCode {
  output.line(
    ordered.carriedOut
      ? `${ordered.run.id} ${what}`
      : `${ordered.run.id}: the order is stored; the run's leader carries it out as soon as it can`,
  );

  output.result(ordered);
  return EXIT.ok;
}

/** Cleans page by page; 1 when a run that was named is kept. */
export async function cleanRuns(
  request: CleanRequest,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  const items: RunCleaned[] = [];
  for (let after: number | undefined; ;) {
    const page = await client.plans.clean({ ...request, after });
    items.push(...page.items);
    if (page.next === null) break;
    after = page.next;
  }

  const kept = items.filter(({ outcome }) => outcome === "kept");
  const word = request.dryRun === true ? "would be cleaned" : "cleaned";

  if (items.length > 0) {
    output.table(
      items.map(({ run, plan, outcome, because }) => [
        run,
        plan,
        outcome === "kept" ? "kept" : word,
        because?.message ?? "",
      ]),
    );
  } else output.note("There is no run that ended so long ago.");

  if (
    kept.some(
      ({ because }) => because?.code === "RUN_UNMERGED" || because?.code === "TREE_NOT_SAFE",
    )
  ) {
    output.note(
      "What was kept is on no branch or in no commit: merge it, or clean it with --force.",
    );
  }

  output.result({ items });

  return request.run !== undefined && kept.length > 0 ? EXIT.failed : EXIT.ok;
}

export async function mergeRun(
  id: string,
  into: string | undefined,
  { client, output }: PlansCommand,
): Promise<ExitCode> {
  let isTold = false;
  const onTrying = (): void => {
    if (!isTold) output.note("The branch has moved: the tests run on the merged tree first.");
    isTold = true;
  };
  const merged = await client.plans.merge(id, { into }, { onTrying });
  const words = {
    merged: "merged",
    "fast-forward": "merged (fast-forward)",
    already: "there already",
  }[merged.kind];

  const commit = merged.commit.slice(0, 12);
  const files = merged.updated === null ? "" : `; the files in ${merged.updated} came along`;
  output.line(`${id} is ${words} in ${merged.target}, which is now at ${commit}${files}`);
  output.result(merged);

  return EXIT.ok;
}
