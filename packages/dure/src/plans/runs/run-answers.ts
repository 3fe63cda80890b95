import type { Transaction } from "../../durable/database.ts";
import type { Answerer, Inbox } from "../../escalations/inbox.ts";
import type { RunRecords } from "../rows/records.ts";
import { commentsOf } from "../rows/comment-rows.ts";
import type { RunOrder } from "../rows/run.ts";
import { orderOf, pathsIn } from "../ask/triggers.ts";

type OnResolved = Parameters<Inbox["onResolved"]>[1];
type Answered = Parameters<OnResolved>[1];

/** Makes orders of answers to escalations of runs; `onOrder` is called when one is stored. */
export function answerRuns(inbox: Inbox, records: RunRecords, onOrder: () => void): void {
  inbox.onResolved({ source: "run" }, async (tx, escalation) => {
    const { run } = escalation.source;
    if (run === undefined || escalation.status !== "resolved") return;
    const order = await orderFrom(escalation, run, records, tx);
    if (!order) return;
    await records.orders.give(tx, run, order, escalation.resolvedBy ?? "operator");

    return onOrder;
  });
}

/** An answer after which less is done than before: every caller who may answer may give it. */
const STOP = "cancel";

/**
 * Refuses answers by which work goes on in a repository that the caller may not have any more.
 * `mayGoOn` throws then.
 */
export function checkAnswers(
  inbox: Pick<Inbox, "onAnswer">,
  mayGoOn: (run: string, by: Pick<Answerer, "tenant">) => Promise<void>,
): void {
  inbox.onAnswer({ source: "run" }, async ({ source }, { value }, by) => {
    if (source.run !== undefined && value !== STOP) await mayGoOn(source.run, by);
  });
}

/** Undefined: the answer orders nothing, or the run was removed meanwhile. */
async function orderFrom(
  { source, resolution, resolvedBy, resolvedByPerson, context }: Answered,
  run: string,
  records: RunRecords,
  tx: Transaction,
): Promise<RunOrder | undefined> {
  if (!resolution) return undefined;
  const asking = await records.run(run, tx);
  if (!asking) return undefined;
  const { port } = source;
  const paths = pathsIn(context);
  const unit = context["unit"] === "calls" ? "calls" : "tokens";
  const ofRun = { runTokensMost: asking.tokensMost, runCallsMost: asking.callsMost, unit } as const;
  if (port === undefined) return orderOf(resolution, { ...ofRun, paths });

  const found = await records.port(run, port, tx);
  const pairTries = await records.steps.pairTries(run, port, tx);
  const { timeMs, tokensMost } = found ?? {};
  const written = await commentsOf(tx, run, port);
  const comments = written.filter(({ sentTry }) => sentTry === null);
  const by = resolvedByPerson ?? resolvedBy ?? undefined;
  const about = { ...ofRun, port, pairTries, timeMs, tokensMost, paths, by, comments };

  return orderOf(resolution, about);
}
