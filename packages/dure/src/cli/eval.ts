/** `dure eval`: plays the conversations of `evals/` with the team, and says what came of them. */

import { writeFile } from "node:fs/promises";
import path from "node:path";
import { systemClock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import { silentLogger } from "../kernel/logger.ts";
import { loadTeam } from "../team/config.ts";
import { withOfflineModels } from "../team/offline-models.ts";
import type { Environment } from "../team/environment.ts";
import { evalFilesIn, EVALS_FOLDER, readEval, type Evaluation } from "../team/evals/eval-file.ts";
import {
  EvalRecord,
  findRun,
  recordedRuns,
  type CaseResult,
  type RecordedRun,
} from "../team/evals/eval-record.ts";
import {
  differenceOf,
  isPassed,
  junitOf,
  summariesOf,
  type EvalSummary,
  type RunFigures,
} from "../team/evals/eval-report.ts";
import { casesToPlay, playCases, type CaseToPlay } from "../team/evals/eval-run.ts";
import { recordsOf, startTriedTeam, triedModel, withModel } from "../team/evals/tried-team.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

/** A key of a message holds for 24 h; the last hour is left to the run. Source: docs/spec/conversation §6. */
const RESUMABLE_MS = 23 * 3_600_000;

export interface EvalCommand {
  readonly folder: string;
  readonly environment: Environment;
  readonly output: Output;
  /** Paths of files. Empty: all of `evals/`. */
  readonly files: readonly string[];
  readonly only?: string | undefined;
  readonly repeat?: number | undefined;
  readonly parallel: number;
  readonly model?: string | undefined;
  readonly judge?: string | undefined;
  readonly label?: string | undefined;
  readonly junit?: string | undefined;
  /** 0 to 1, instead of what the files say. */
  readonly threshold?: number | undefined;
  /** Goes on with the newest run that came to no end. */
  readonly resume: boolean;
}

/** Exit code 1 when an evaluation is below its threshold, or was interrupted. */
export async function evaluate(command: EvalCommand): Promise<ExitCode> {
  const { folder, output, label } = command;
  const loaded = { team: await loadTeam(folder), environment: command.environment };
  const { team: named, environment } = withModel(loaded, command.model);
  const team = await withOfflineModels(named, environment);
  const records = recordsOf(team, environment);
  const open = command.resume ? await openRun(records) : undefined;
  const { files, only, repeat } = open ?? { ...command, files: await filesOf(command) };
  const evaluations = await readAll(files, folder);
  const run = open?.run ?? ulid(systemClock.now()).toLowerCase();
  const record = new EvalRecord(records, run);
  if (!open) {
    const model = triedModel(team, environment);
    await record.begin({ run, at: systemClock.now(), label, model, files, only, repeat });
  }
  const results = [...(open?.results ?? [])];
  const cases = casesToPlay(evaluations, { only, repeat }).filter((one) => !isIn(results, one));
  if (cases.length === 0 && results.length === 0) throw noCase(only);

  const interrupt = new AbortController();
  const onSignal = (): void => interrupt.abort(new Error("interrupted"));
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  const { signal } = interrupt;
  output.note(
    output.words.eval.playing({ cases: cases.length, model: triedModel(team, environment) }),
  );
  const options = { judgeModel: command.judge, logger: silentLogger, clock: systemClock, signal };
  try {
    const running = await startTriedTeam(team, environment, options);
    const { engine: conversations } = running;
    const onResult = async (result: CaseResult): Promise<void> => {
      await record.add(result);
      results.push(result);
      tell(result, output);
    };
    const parts = { run, conversations, clock: systemClock, parallel: command.parallel, onResult };
    try {
      await playCases(cases, parts, { signal });
    } finally {
      await running.stop();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
  }
  if (!signal.aborted) await record.end();

  return settle({ command, run, results, evaluations, isOver: !signal.aborted });
}

async function filesOf({ files, folder }: EvalCommand): Promise<readonly string[]> {
  const found =
    files.length > 0 ? files.map((file) => path.resolve(file)) : await evalFilesIn(folder);
  if (found.length > 0) return found.map((file) => path.relative(folder, file));

  throw new DureError("EVAL_NONE", `${path.join(folder, EVALS_FOLDER)} has no evaluation.`, {
    class: "input",
    hint: "Write evals/first.eval.yaml: docs/guides/evals.md.",
  });
}

/** Throws `EVAL_TWICE`: results of two evaluations of one name could not be told apart. */
async function readAll(files: readonly string[], folder: string): Promise<readonly Evaluation[]> {
  const evaluations: Evaluation[] = [];
  for (const file of files) {
    const read = await readEval(path.resolve(folder, file), folder);
    if (evaluations.some(({ name }) => name === read.name)) {
      throw new DureError("EVAL_TWICE", `Two evaluations have the name "${read.name}".`, {
        class: "input",
        hint: `Give ${file} another name.`,
      });
    }
    evaluations.push(read);
  }
  return evaluations;
}

/**
 * A run whose messages still have their keys: an older one would call tools again. Throws
 * `EVAL_RUN_UNKNOWN`.
 */
async function openRun(records: string): Promise<RecordedRun> {
  const since = systemClock.now() - RESUMABLE_MS;
  const found = (await recordedRuns(records)).find(({ isOver, at }) => !isOver && at > since);
  if (found) return found;
  throw new DureError("EVAL_RUN_UNKNOWN", "No run of the last 23 hours is without its end.", {
    class: "not-found",
    hint: "Make another one with: dure eval",
  });
}

function noCase(only: string | undefined): DureError {
  return new DureError("EVAL_NONE", `No case has "${only ?? ""}" in its name.`, {
    class: "input",
    hint: "Look at the names of the cases, or leave --only out.",
  });
}

function isIn(results: readonly CaseResult[], one: CaseToPlay): boolean {
  return results.some(
    (result) =>
      result.evaluation === one.evaluation.name &&
      result.case === one.case.name &&
      result.repetition === one.repetition,
  );
}

function tell(result: CaseResult, output: Output): void {
  const { eval: words, check } = output.words;
  const { green, red, dim } = output.colors;
  const mark = isPassed(result) ? green(check.marks.ok) : red(check.marks.fail);
  output.line(`${mark} ${result.evaluation} · ${result.case}  ${dim(words.seconds(result.ms))}`);
  for (const failure of result.failures) output.line(`     ${words.failure(failure)}`);
}

interface PlayedRun {
  readonly command: EvalCommand;
  readonly run: string;
  readonly results: readonly CaseResult[];
  readonly evaluations: readonly Evaluation[];
  readonly isOver: boolean;
}

async function settle({
  command,
  run,
  results,
  evaluations,
  isOver,
}: PlayedRun): Promise<ExitCode> {
  const { output, junit, threshold } = command;
  const { eval: words } = output.words;
  const thresholds = new Map(evaluations.map((one) => [one.name, threshold ?? one.threshold]));
  const summaries = summariesOf(results, thresholds);
  if (junit !== undefined) await writeFile(junit, junitOf(results, words.failure));
  output.line();
  output.table([words.head, ...summaries.map((one) => rowOf(one, output))]);
  const ok = isOver && summaries.every((summary) => summary.ok);
  output.line(isOver ? words.run(run) : words.interrupted);
  output.result({ run, ok, isOver, evaluations: summaries, results });

  return ok ? EXIT.ok : EXIT.failed;
}

function rowOf(summary: EvalSummary, { colors, words }: Output): readonly string[] {
  const { evaluation, passed, played, score, threshold, ok } = summary;
  const told = words.eval.share(score);
  return [
    evaluation,
    `${passed}/${played}`,
    ok ? colors.green(told) : colors.red(told),
    words.eval.share(threshold),
  ];
}

export interface CompareCommand {
  readonly folder: string;
  readonly environment: Environment;
  readonly output: Output;
  /** Two runs, by id or label. Absent: the two newest. */
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

/** Two runs beside each other, and the cases that differ. */
export async function compare(command: CompareCommand): Promise<ExitCode> {
  const { folder, environment, output } = command;
  const records = recordsOf(await loadTeam(folder), environment);
  const [newest, second] = await recordedRuns(records);
  const name = (given: string | undefined, fallback: RecordedRun | undefined): string =>
    given ?? fallback?.run ?? "last";
  const before = await findRun(records, name(command.before, second));
  const after = await findRun(records, name(command.after, newest));
  const difference = differenceOf(before, after);
  const { eval: words } = output.words;

  output.table([
    words.figures,
    figuresRow(difference.before, words),
    figuresRow(difference.after, words),
  ]);
  output.line();
  for (const one of difference.cases) {
    const [old, now] = [one.before, one.after].map((share) =>
      share === undefined ? "–" : words.share(share),
    );
    output.line(`${one.evaluation} · ${one.case}  ${old} → ${now}`);
  }
  if (difference.cases.length === 0) output.line(words.same);
  output.result(difference);

  return EXIT.ok;
}

function figuresRow(
  { name, model, played, score, ms, tokensIn, tokensOut }: RunFigures,
  words: Output["words"]["eval"],
): readonly string[] {
  return [
    name,
    model,
    String(played),
    words.share(score),
    words.seconds(ms),
    `${tokensIn}`,
    `${tokensOut}`,
  ];
}
