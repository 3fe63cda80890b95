import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { DureClient, PlanDraft, PlanView } from "../client/index.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";
import { planProblemText } from "./plan-check.ts";
import type { CliWords } from "./words/words.ts";

/** What is asked for, and where its file goes. */
export interface PlanFrom {
  readonly goal: string;
  readonly repository: string | undefined;
  /** Of the team: the file goes into its folder `plans`. */
  readonly folder: string;
  /** Undefined: named after the plan. */
  readonly out: string | undefined;
}

/** The other end of the command. */
export interface FromParts {
  readonly client: Pick<DureClient, "plans">;
  readonly output: Output;
  /** Undefined: no person is there. The answer is undefined where the input has ended. */
  readonly ask: ((question: string) => Promise<string | undefined>) | undefined;
  /** Begins a run of the file and follows it. */
  readonly start: (file: string, text: string) => Promise<ExitCode>;
}

/** Files with the same name that are counted on. */
const MOST_FILES = 99;

/**
 * From words to a plan: lets a model draft it, asks what it left to a person, writes its file and
 * shows it as a graph, to be edited before it starts. 1: it has problems.
 */
export async function planFrom(wanted: PlanFrom, parts: FromParts): Promise<ExitCode> {
  const { client, output, ask } = parts;
  const { goal, repository } = wanted;
  const { draft: words } = output.words.plans;
  output.note(words.begins);

  const first = await client.plans.drafts.make({ goal, repository });

  const answers = ask ? await answersTo(first, ask, words) : [];

  const draft = answers.length === 0 ? first : await client.plans.drafts.answer(first, answers);

  const file = await writeDraft(draft, wanted);
  const shown = path.relative(process.cwd(), file) || file;
  await showDraft(draft, { shown, repository }, parts);
  output.result({ ...draft, file });

  if (ask) return beforeStart(file, { shown, repository }, { ...parts, ask });
  output.note(words.edit(shown));

  return draft.problemCount === 0 ? EXIT.ok : EXIT.failed;
}

/** A person's answers; what they leave empty stays as the draft assumed it. */
async function answersTo(
  { questions }: PlanDraft,
  ask: NonNullable<FromParts["ask"]>,
  words: CliWords["plans"]["draft"],
): Promise<readonly { readonly question: string; readonly answer: string }[]> {
  const answers: { question: string; answer: string }[] = [];
  for (const { question } of questions) {
    const answer = await ask(words.asAssumed(question));
    if (answer === undefined) break;
    if (answer.trim() !== "") answers.push({ question, answer: answer.trim().slice(0, 2_000) });
  }

  return answers;
}

/** Never over a file that is there: the next free name is taken. */
async function writeDraft(
  draft: PlanDraft,
  { folder, out, repository }: Pick<PlanFrom, "folder" | "out" | "repository">,
): Promise<string> {
  const text = inRepository(draft.text, repository);
  const plans = path.join(folder, "plans");
  const wanted = out === undefined ? path.join(plans, `${nameIn(text)}.yaml`) : path.resolve(out);

  const { dir, name, ext } = path.parse(wanted);

  await mkdir(dir, { recursive: true });
  for (let count = 1; count <= MOST_FILES; count++) {
    const file = path.join(dir, `${name}${count === 1 ? "" : `-${count}`}${ext}`);
    try {
      await writeFile(file, text, { flag: "wx" });
      return file;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw unwritten(file, error);
    }
  }
  throw unwritten(wanted, new Error(`${MOST_FILES} files of this name are there`));
}

/** The text with the repository that it was drafted for, so that it runs there again. Pure. */
export function inRepository(text: string, repository: string | undefined): string {
  if (repository === undefined || /^repository:/m.test(text)) return text;
  return text.replace(/^plan:.*$/m, (line) => `${line}\nrepository: ${JSON.stringify(repository)}`);
}

/** The name that a text of a plan gives itself, as a file may be called. Pure. */
export function nameIn(text: string): string {
  return /^plan:[ \t]*["']?([A-Za-z0-9][\w-]{0,99})/m.exec(text)?.[1] ?? "draft";
}

function unwritten(file: string, cause: unknown): DureError {
  return new DureError("FILE_UNWRITABLE", `${file} cannot be written: ${messageOf(cause)}`, {
    class: "input",
    hint: "Name another file: --out FILE",
    cause,
  });
}

/** What a plan is called on the screen, and where it works. */
interface ShownPlan {
  readonly shown: string;
  readonly repository: string | undefined;
}

async function showDraft(draft: PlanDraft, about: ShownPlan, parts: FromParts): Promise<void> {
  const { output } = parts;

  const { yellow, green } = output.colors;
  const { draft: words } = output.words.plans;
  output.line(`${green(words.marks.wrote)} ${about.shown}`);
  for (const problem of draft.problems) output.line(output.words.said(planProblemText(problem)));
  if (draft.problemCount === 0) await showGraph(draft.text, about, parts);
  for (const open of draft.open) output.line(`${yellow(words.marks.open)} ${open}`);
  output.note(words.page(`/plans/drafts/${draft.id}`));
  if (parts.ask) return;
  for (const { question, answer } of draft.questions) {
    if (answer === null) output.line(`${yellow(words.marks.asks)} ${question}`);
  }
}

/** What would be done, as the server says it. What it says against it ends nothing here. */
async function showGraph(
  text: string,
  { shown, repository }: ShownPlan,
  { client, output }: Pick<FromParts, "client" | "output">,
): Promise<void> {
  try {
    const view = await client.plans.dryRun({ file: path.basename(shown), text, repository });
    const { plans: words, said } = output.words;
    for (const line of graphLines(view, words)) output.line(line);
    output.line(words.view.mode(view.mode.mode, said(view.mode.because)));

    const workers = view.workers.map(({ role, kind }) => `${role} ${kind}`);
    output.line(words.view.workers(workers.join(", ")));
    for (const { message } of view.warnings) {
      output.line(`${output.colors.yellow(words.draft.marks.look)} ${said(message)}`);
    }
  } catch (error) {
    if (!(error instanceof DureError)) throw error;
    output.error(error);
  }
}

/** Lets a person edit the file, look again, and start it. */
async function beforeStart(
  file: string,
  about: ShownPlan,
  parts: FromParts & { readonly ask: NonNullable<FromParts["ask"]> },
): Promise<ExitCode> {
  const { output, ask, start } = parts;
  const { draft: words } = output.words.plans;
  for (;;) {
    const said = await ask(words.choose(about.shown));
    if (said === undefined || /^\s*q/i.test(said)) break;
    const text = await readFile(file, "utf8");

    if (/^\s*s/i.test(said)) return start(path.basename(file), text);
    await showGraph(text, about, parts);
  }
  output.note(words.later(about.shown));

  return EXIT.ok;
}

// --- plan graph

/** Patterns of one port that are shown. */
const PATTERNS = 3;

/**
 * The ports of a plan as a graph in lines: what needs nothing first, each with what it needs. Pure.
 */
export function graphLines(
  { ports, levels }: Pick<PlanView, "ports" | "levels">,
  words: CliWords["plans"],
): string[] {
  const { graph } = words.view;
  const someIn = (patterns: readonly string[]): string => someOf(patterns, words);
  const byId = new Map(ports.map((port) => [port.id, port]));
  const widest = Math.max(0, ...ports.map(({ id }) => id.length));

  return levels.flatMap((level, depth) =>
    level.flatMap((id) => {
      const port = byId.get(id);
      if (port === undefined) return [];
      const arrow = depth === 0 ? "●" : `${"│ ".repeat(depth - 1)}└▶`;
      const needs = port.dependsOn.length === 0 ? "" : `  ← ${port.dependsOn.join(", ")}`;
      const indent = " ".repeat(arrow.length + 1);
      const tests = port.tests.length === 0 ? [] : [`${indent}${graph.tests}${someIn(port.tests)}`];

      return [
        `${arrow} ${id.padEnd(widest)}  ${port.title === id ? "" : port.title}${needs}`.trimEnd(),
        `${indent}${graph.owns}${someIn(port.owns)}`,
        ...tests,
        `${indent}${graph.passes}${port.acceptance}`,
      ];
    }),
  );
}

function someOf(patterns: readonly string[], { andMore }: CliWords["plans"]): string {
  const left = patterns.length - PATTERNS;
  const shown = patterns.slice(0, PATTERNS).join(", ");

  return left > 0 ? andMore(shown, left) : shown;
}
