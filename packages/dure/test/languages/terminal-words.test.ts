// @module-tag slow
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { beforeAll, expect, test } from "vitest";
import { errorsIn, wordsOf } from "../../../../scripts/reference/errors.ts";
import { describeProgram } from "../../src/cli/program.ts";
import { HELP_KO } from "../../src/cli/words/help.ko.ts";
import { TERMINAL_FORMS_KO, TERMINAL_KOREAN } from "../../src/korean/terminal-korean.ts";

const SOURCES = fileURLToPath(new URL("../../src", import.meta.url));

/** Refusals that no command and no start shows to a person, or that are made of others' words. */
const NOT_SHOWN =
  /^(TASKS?_|PUSH|RPC_|METHOD_UNKNOWN|VERSION_NOT|STOP_UNAVAILABLE|CARD_NOT|DISCORD_(ACCOUNT|NOT)|SLACK_NOT|TRANSACTION_OVER|MIGRATIONS_MIS|PROCESS_(NAME|ID)|RETENTION_(FAILED|INVALID)|CALLER_TOOLS|NOT_SPOKEN|TOOL_(NAME_TAKEN|CALL|RESULT)|JOBS_NOT|CONTENT_TYPE|EXPECTATION|HTTP_INVALID|HOOK_(REFUSED|BODY|UNAVAILABLE|SECRET)|NAME_INVALID|PORT_IN_USE)/;

/** Refusals whose sentence has no words between its values; tried by the commands themselves. */
const MADE_WHERE_THROWN: ReadonlySet<string> = new Set([
  ...["BACKUP_UNREADABLE", "CONFIG_TWICE", "ENVIRONMENT_INVALID", "TOKEN_NEEDED"],
]);

/** Sentences that the sources put together from shorter parts. */
const MADE_OF_PARTS: ReadonlySet<string> = new Set([
  ...["The environment has a problem:", "{0} has a problem:", "{0}, no services"],
  ...["{0} message waits to leave", "{0} messages wait to leave"],
  ...["not “{0}” ({1})", "between the bounds: not “{0}” ({1})"],
  ...['slot.{0}: unknown option "{1}".', "slot.{0}: its options are {1}."],
  ...['lexiconWith: unknown option "{0}".'],
  ...["{0} holds settings of programs (~/{1}), which run for you afterwards"],
  ...["names no service of this team", "names no channel of this team"],
]);

/** Findings whose values are sentences too; a form for each way stands in `doctor.ko.ts`. */
const MADE_OF_FACTS: ReadonlySet<string> = new Set([
  ...["workers of plans run in …: …", "no agent has its tools. …"],
  "See …; agents go without its tools until it is there.",
]);

/** What commander says to a wrong command line. */
const COMMANDERS =
  /^(unknown |missing |option '|required |command-argument|too many |\{0\} cannot be used with)/;

let sources: readonly { readonly name: string; readonly text: string }[] = [];

beforeAll(async () => {
  const names = (await readdir(SOURCES, { recursive: true })).filter(
    (name) => name.endsWith(".ts") && !/\.test\.ts$|(^|\/)test-|^korean\//.test(name),
  );
  sources = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(join(SOURCES, name), "utf8") })),
  );
});

test("every refusal that a terminal can show has Korean words", () => {
  const refusals = sources
    .filter(({ text }) => /new (?:Dure|Process)Error/.test(text))
    .flatMap(({ name, text }) => errorsIn(name, text))
    .filter(({ code, message }) => !NOT_SHOWN.test(code) && /[a-z]{2}/.test(message));
  const silent = refusals.filter(({ code, message }) => refusalOf({ code, message }) === undefined);

  expect(refusals.length).toBeGreaterThan(400);
  expect(silent.filter(({ code }) => !MADE_WHERE_THROWN.has(code))).toEqual([]);
});

test("every hint of the command line itself is Korean", () => {
  const hints = sources
    .filter(({ name }) => name.startsWith("cli/"))
    .flatMap(({ name, text }) => errorsIn(name, text))
    .map(({ hint }) => hint)
    .filter((hint) => /[a-z]{2}/.test(hint));

  expect(hints.length).toBeGreaterThan(25);
  expect(hints.filter((hint) => saidOf(hint) === undefined)).toEqual([]);
});

test("what doctor finds, and says to do, is Korean", () => {
  const findings = sources
    .filter(({ name }) => /^cli\/doctor\/|^channels\/[a-z]+\/check\.ts/.test(name))
    .flatMap(({ name, text }) => membersIn(name, text, ["detail", "hint", "what"]))
    .filter((words) => /[a-z]{3,}.* [a-z]{2,}/.test(words) && !/^…|^[^a-z]*…: …$/.test(words));

  expect(findings.length).toBeGreaterThan(30);
  expect(
    findings.filter((words) => saidOf(words) === undefined && !MADE_OF_FACTS.has(words)),
  ).toEqual([]);
});

test("every sentence of help is Korean, and none is left over", () => {
  const said = new Set(commandsOf(describeProgram()).flatMap(sentencesOf));
  const commanders = ["Usage:", "Arguments:", "Options:", "Commands:"];
  commanders.push("display help for command", "show the help of a command");

  expect([...said].filter((sentence) => !Object.hasOwn(HELP_KO, sentence))).toEqual([]);
  expect(Object.keys(HELP_KO).filter((one) => !said.has(one) && !commanders.includes(one))).toEqual(
    [],
  );
});

test("every sentence that a terminal translates is one of dure's", () => {
  const all = sources
    .map(({ text }) => text)
    .join("\n")
    .replaceAll(/["`'] ?\+\s*["`']|["`'],\s*["`']/g, " ")
    .replaceAll(/\s+/g, " ");
  const unsaid = TERMINAL_FORMS_KO.map(([form]) => form).filter(
    (form) => !MADE_OF_PARTS.has(form) && !COMMANDERS.test(form) && !isSaid(form, all),
  );

  expect(unsaid).toEqual([]);
});

test("no line mixes the languages, whatever stands inside a sentence", () => {
  const failed = TERMINAL_KOREAN.text(
    'dure.yaml has 2 problems:\n  dure.yaml:3:1 port: cannot be used; found "x"; allowed: a number\n  dure.yaml:4:1 it is new here',
  );

  expect(failed?.split("\n")).toEqual([
    "dure.yaml 파일에 고칠 곳이 2군데 있어요:",
    '  dure.yaml:3:1 port: 쓸 수 없는 값이에요. 적힌 값: "x". 쓸 수 있는 값: 수',
    "  dure.yaml:4:1 it is new here",
  ]);
  expect(
    TERMINAL_KOREAN.text(
      "dure.yaml has a problem:\n  desk.yaml:3:1 memory.summaryModel: cannot be used; found 5; allowed: offline, or provider:model; an object stands in the memory of a service",
    ),
  ).toMatch(/객체는 서비스의 `memory`에 적어 주세요$/);
  expect(
    TERMINAL_KOREAN.text("a.ts cannot be loaded: Unexpected token in the last line")?.split("\n"),
  ).toEqual(["a.ts 파일을 불러오지 못했어요", "  Unexpected token in the last line"]);
});

test("a refusal without words stays English as a whole", () => {
  expect(
    TERMINAL_KOREAN.refusal({ code: "NEW", message: "It is new.", hint: "Read {0}." }),
  ).toBeUndefined();
});

test("the form with more words of its own goes before one that takes anything", () => {
  const hint =
    "Go to its folder or name it with --dir, or say where a server runs: --url or DURE_URL.";

  expect(TERMINAL_KOREAN.text(hint)).toMatch(/^팀의 폴더로 가거나/);
});

function refusalOf({ code, message }: { code: string; message: string }) {
  return (
    TERMINAL_KOREAN.refusal({ code, message }) ??
    TERMINAL_KOREAN.refusal({ code, message: filled(message) })
  );
}

type Command = ReturnType<typeof describeProgram>;

function commandsOf(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap((one) => commandsOf(one))];
}

function sentencesOf(command: Command): readonly string[] {
  const described = [...command.options, ...command.registeredArguments];
  const sentences = [command.description(), ...described.map(({ description }) => description)];
  return sentences.filter((sentence) => sentence !== "");
}

/** With a value where `…` stands, or with the sign as people read it. */
function saidOf(words: string): string | undefined {
  return TERMINAL_KOREAN.text(words) ?? TERMINAL_KOREAN.text(filled(words));
}

function filled(words: string): string {
  return words.replaceAll("…", "x");
}

/** Texts that stand at these keys of object literals, or in variables of these names. */
function membersIn(name: string, text: string, keys: readonly string[]): string[] {
  const found: string[] = [];
  const look = (node: ts.Node): void => {
    const isMember = ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node);
    if (isMember && node.initializer && keys.includes(node.name.getText())) {
      found.push(wordsOf(node.initializer));
    }
    ts.forEachChild(node, look);
  };
  look(ts.createSourceFile(name, text, ts.ScriptTarget.ESNext, true));
  return found;
}

/** Some words of its longest part, where no value stands. */
function isSaid(form: string, all: string): boolean {
  const longest = form.split(/\{\d\}/).toSorted((one, other) => other.length - one.length)[0]!;
  const words = longest.trim().replace(/[.:]$/, "").split(/\s+/);
  if (words.length <= 4) return all.includes(words.join(" "));

  const runs = words.slice(3).map((_, index) => words.slice(index, index + 4).join(" "));
  return runs.some((run) => all.includes(run));
}
