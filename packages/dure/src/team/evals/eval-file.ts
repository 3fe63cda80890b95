/** An evaluation as it stands in `evals/`: conversations, and what has to come of them. */

import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { importModule } from "../../engine/files/import-module.ts";
import {
  codeDocument,
  problemAt,
  problemsError,
  problemsOf,
  readYaml,
  type SettingsDocument,
} from "../../engine/files/load-service-document.ts";
import {
  duration,
  oneOf,
  settings,
  text,
  wholeNumber,
} from "../../engine/files/load-service-schema.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { NEXT_ACTIONS } from "../../kernel/turn-events.ts";
import type { HeardTurn } from "./expectation.ts";

/** Where evaluations stand, from the folder of the team. */
export const EVALS_FOLDER = "evals";
const EVAL_FILE = /^(.+)\.eval\.(?:ya?ml|ts|mts|js|mjs)$/;

/** Cases of one file, and turns of one case. */
const MOST_CASES = 5_000;
const MOST_TURNS = 50;
/** Turns of a simulated person where its case names no number. */
const USER_TURNS = 8;

/** A part of an answer in any case of letters, or `/pattern/flags`. */
const matcher = text.max(2_000).refine(isMatcher, { error: "must be a text or /a pattern/" });
const matchers = z
  .union([matcher, z.array(matcher).min(1).max(50)], {
    error: "must be a text, /a pattern/, or a list of them",
  })
  .transform((one) => (typeof one === "string" ? [one] : one));

const values = z.record(z.string(), z.unknown(), { error: "must be values by name" });
const toolName = text.max(100);
const call = z
  .union([toolName, settings({ tool: toolName, with: values.optional() })], {
    error: "must be the name of a tool, or { tool, with }",
  })
  .transform((one) => (typeof one === "string" ? { tool: one } : one));

/** A check in code. It gives, or throws, what is wrong; nothing means that all is well. */
export type EvalCheck = (
  turn: HeardTurn,
  conversation: readonly HeardTurn[],
) => string | undefined | void | Promise<string | undefined | void>;

const check = z.custom<EvalCheck>((value) => typeof value === "function", {
  error: "must be a function; only a file of code can have one",
});

const expectation = settings({
  /** Parts that the answer has, each of them. */
  says: matchers.optional(),
  /** Parts that it must not have. */
  neverSays: matchers.optional(),
  /** Tools that were called and ended well, with at least these arguments. */
  calls: z.array(call, { error: "must be a list of tools" }).max(50).optional(),
  /** Tools that were not called, with whatever arguments. */
  neverCalls: z.array(toolName, { error: "must be a list of tools" }).max(50).optional(),
  /** Values that the state of the session has, at least. */
  state: values.optional(),
  /** What the service expects next. */
  next: oneOf(NEXT_ACTIONS).optional(),
  /** Types of the hooks of the turn, at least. */
  hooks: z.array(text, { error: "must be a list of types" }).max(50).optional(),
  /** JSON Schema that the answer, read as JSON, fits. */
  schema: values.optional(),
  /** Code of the error that the turn ends with. Absent: any error fails the case. */
  error: text.max(100).optional(),
  /** What a model has to find true of the whole conversation, in words. */
  judge: text.max(8_000).optional(),
  check: check.optional(),
});

const turn = settings({
  /** What the person writes. */
  say: text.max(65_536).optional(),
  /** Or the label of a button of the last answer. */
  press: text.max(200).optional(),
  expect: expectation.optional(),
});

const simulatedUser = settings({
  /** What it wants, in words. */
  goal: text.max(4_000),
  /** How it writes. */
  persona: text.max(4_000).optional(),
  /** Messages that it writes at most. Default 8. */
  turns: wholeNumber(1, MOST_TURNS).default(USER_TURNS),
});

const evalCase = settings({
  /** Unique in its file. Default: `case 1` and so on. */
  name: text.max(100).optional(),
  /** One message; for more see `turns`. */
  say: text.max(65_536).optional(),
  turns: z.array(turn, { error: "must be a list of turns" }).min(1).max(MOST_TURNS).optional(),
  /** Or a model writes the person's messages, each repetition with another seed. */
  user: simulatedUser.optional(),
  /** Of the last answer; calls and `judge` of the whole conversation. */
  expect: expectation.optional(),
  /** Default: that of the file. */
  service: text.max(200).optional(),
  locale: oneOf(["en", "ko"]).optional(),
});

const evalSchema = settings({
  /** Default: the name of its file. */
  name: text.max(100).optional(),
  /** Default: the first service of the team. */
  service: text.max(200).optional(),
  /** Share of the cases that have to pass, 0 to 1. Default 1. */
  threshold: z.number().min(0).max(1).default(1),
  /** How often each case is played. Default 1. */
  repeat: wholeNumber(1, 100).default(1),
  /** Longest wait for one answer. Default 2 min. */
  timeout: duration("1s", "30m").default(120_000),
  cases: z
    .array(evalCase, { error: "must be a list of cases" })
    .min(1, { error: "must be a list of at least one case" })
    .max(MOST_CASES, { error: `must be a list of at most ${MOST_CASES} cases` }),
});

/** What is given to `defineEval`, or stands in a YAML file. */
export interface EvalOptions extends z.input<typeof evalSchema> {}
export type Expectation = z.output<typeof expectation>;
export type EvalTurn = z.output<typeof turn>;

export interface EvalCase extends Omit<z.output<typeof evalCase>, "say" | "turns" | "name"> {
  readonly name: string;
  /** None where a simulated person writes. */
  readonly turns: readonly EvalTurn[];
}

export interface Evaluation extends Omit<z.output<typeof evalSchema>, "cases" | "name"> {
  readonly name: string;
  readonly cases: readonly EvalCase[];
}

/**
 * An evaluation in code: gives back what it gets, typed.
 *
 *     export default defineEval({ cases: [{ say: "hello", expect: { says: "hello" } }] });
 */
export function defineEval(options: EvalOptions): EvalOptions {
  return options;
}

/** Files of a team's evaluations, absolute, in the order of their names. */
export async function evalFilesIn(folder: string): Promise<readonly string[]> {
  const at = path.join(folder, EVALS_FOLDER);
  const names = await readdir(at).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  return names
    .filter((name) => EVAL_FILE.test(name))
    .toSorted()
    .map((name) => path.join(at, name));
}

/** Reads one file. Throws `EVAL_INVALID` with every problem that was found. */
export async function readEval(file: string, folder: string): Promise<Evaluation> {
  const shown = path.relative(folder, file);
  const document = await readDocument(file, shown);
  const read = evalSchema.safeParse(document.value);
  if (!read.success) {
    throw problemsError("EVAL_INVALID", shown, problemsOf(read.error, document));
  }
  const cases = read.data.cases.map((one, index) => caseOf(one, index));
  const problems = cases.flatMap((one, index) => {
    const why = problemOf(one, cases.slice(0, index), read.data.cases[index]!);
    return why === undefined ? [] : [problemAt(document, ["cases", index], why)];
  });
  if (problems.length > 0) throw problemsError("EVAL_INVALID", shown, problems);
  const { name = EVAL_FILE.exec(path.basename(file))?.[1] ?? shown } = read.data;

  return { ...read.data, name, cases };
}

async function readDocument(file: string, shown: string): Promise<SettingsDocument> {
  const source = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new DureError("EVAL_UNREADABLE", `${shown} cannot be read: ${messageOf(cause)}`, {
      class: "input",
      hint: "Name a file of evals/, such as evals/faq.eval.yaml.",
      cause,
    });
  });
  if (/\.ya?ml$/.test(file)) {
    const { document, problems } = readYaml(shown, source);
    if (problems.length > 0) throw problemsError("EVAL_INVALID", shown, problems);
    return document;
  }
  const { default: value } = await importModule(file).catch((cause: unknown) => {
    throw new DureError("EVAL_UNREADABLE", `${shown} cannot be loaded: ${messageOf(cause)}`, {
      class: "input",
      hint: `Run it alone to see where it fails: node ${shown}`,
      cause,
    });
  });
  if (isObject(value)) return codeDocument(shown, value, source);

  throw new DureError("EVAL_INVALID", `${shown} has no evaluation as its default export.`, {
    class: "input",
    hint: "Write: export default defineEval({ cases: [ … ] })",
  });
}

function caseOf(one: z.output<typeof evalCase>, index: number): EvalCase {
  const { say, turns = [], name = `case ${index + 1}`, ...rest } = one;
  return { ...rest, name, turns: say === undefined ? turns : [{ say }, ...turns] };
}

/** What is wrong with a case beside its values. Pure. */
function problemOf(
  one: EvalCase,
  earlier: readonly EvalCase[],
  given: z.output<typeof evalCase>,
): string | undefined {
  const ways = [given.say, given.turns, given.user].filter((way) => way !== undefined).length;
  if (ways !== 1) return "needs say, turns or user, and one of them alone";
  const unclear = one.turns.findIndex(({ say, press }) => (say === undefined) === !press);
  if (unclear >= 0) return `turns.${unclear} needs say or press, and one of them alone`;
  if (one.turns[0]?.press !== undefined) return "begins with a button, and nothing was shown yet";
  if (earlier.some(({ name }) => name === one.name)) {
    return `has the name "${one.name}" of a case above`;
  }
  if (one.expect === undefined && one.turns.every(({ expect }) => expect === undefined)) {
    return "expects nothing, so it could not fail";
  }
  return undefined;
}

function isMatcher(given: string): boolean {
  try {
    return patternOf(given) !== null;
  } catch {
    return false;
  }
}

/** The pattern of a matcher; undefined: it is a plain text. Pure. */
export function patternOf(matcher: string): RegExp | undefined {
  const [, source, flags] = /^\/(.+)\/([dimsuvy]*)$/s.exec(matcher) ?? [];
  return source === undefined ? undefined : new RegExp(source, flags);
}
