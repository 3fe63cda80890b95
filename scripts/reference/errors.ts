/**
 * The reference of error codes: every `new DureError("CODE", …)` of the sources with its status,
 * its message and what it says to do. A code that a variable holds is found where it is written.
 */

import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import ts from "typescript";
import { DureError, type ErrorClass } from "../../packages/dure/src/kernel/errors.ts";
import { statusOf } from "../../packages/dure/src/server/problem.ts";
import { root } from "../processes.ts";
import { codeOf, MADE, plain, tableOf } from "./markdown.ts";

/** An error as the sources make it. */
export interface KnownError {
  readonly code: string;
  readonly class: ErrorClass;
  /** With `…` where a value stands. */
  readonly message: string;
  readonly hint: string;
}

const SOURCES = path.join(root, "packages/dure/src");

/** The page `errors.md`. */
export async function errorsPage(): Promise<string> {
  const errors = await readErrors();
  const codes = [...new Set(errors.map(({ code }) => code))].toSorted();
  const rows = codes.map((code) => rowOf(errors.filter((one) => one.code === code)));

  return `${[
    "# Errors",
    MADE,
    "Over HTTP an error is a problem (RFC 9457) with `code`, `status`, `detail` and, where there is " +
      "something to do, `hint`. The command line says the same in words. A code is stable, a message " +
      "is not. `…` stands for a value. Codes that come from a model's provider, from a remote " +
      "service or from the team's own code are passed on, and are not in this table.",
    tableOf(["code", "status", "says", "what to do"], rows),
  ].join("\n\n")}\n`;
}

/** One row of a code; of several messages the first is shown. */
function rowOf(same: readonly KnownError[]): readonly string[] {
  const { code, message } = same[0]!;
  const statuses = new Set(same.map((one) => statusOf(asError(one))));
  const hint = same.map((one) => one.hint).find((text) => text !== "") ?? "";
  return [
    codeOf(code),
    [...statuses].toSorted((a, b) => a - b).join(", "),
    plain(message),
    plain(hint),
  ];
}

function asError({ code, message, class: errorClass }: KnownError): DureError {
  return new DureError(code, message, { class: errorClass });
}

/** Every error that the sources of the library make with a literal code, in their order. */
async function readErrors(folder: string = SOURCES): Promise<readonly KnownError[]> {
  const names = await readdir(folder, { recursive: true });
  const sources = names.filter(
    (name) => name.endsWith(".ts") && !/\.test\.ts$|(^|\/)test-/.test(name),
  );
  const errors: KnownError[] = [];
  for (const name of sources.toSorted()) {
    const text = await readFile(path.join(folder, name), "utf8");
    if (/(?:Dure|Process)Error/.test(text)) errors.push(...errorsIn(name, text));
  }
  return errors;
}

/** Pure. */
export function errorsIn(name: string, text: string): readonly KnownError[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.ESNext, true);
  const found: KnownError[] = [];
  const look = (node: ts.Node): void => {
    const error = ts.isNewExpression(node) ? errorOf(node) : undefined;
    if (error !== undefined) found.push(error);
    ts.forEachChild(node, look);
  };
  look(file);
  return found;
}

function errorOf({ expression, arguments: given }: ts.NewExpression): KnownError | undefined {
  const [code, message, options] = given ?? [];
  if (!/^(?:Dure|Process)Error$/.test(expression.getText())) return undefined;
  if (code === undefined || message === undefined || !ts.isStringLiteral(code)) return undefined;

  return {
    code: code.text,
    class: (wordOf(options, "class") || "internal") as ErrorClass,
    message: wordsOf(message),
    hint: wordOf(options, "hint"),
  };
}

/** What a member of an object literal says; empty: it is not there, or is not written out. */
function wordOf(options: ts.Expression | undefined, name: string): string {
  if (options === undefined || !ts.isObjectLiteralExpression(options)) return "";
  const member = options.properties.find((one) => one.name?.getText() === name);
  return member && ts.isPropertyAssignment(member) ? wordsOf(member.initializer, "") : "";
}

/** Literal text with `…` for each value; joined with `+` too. */
export function wordsOf(node: ts.Expression, otherwise = "…"): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isParenthesizedExpression(node)) return wordsOf(node.expression, otherwise);
  if (ts.isTemplateExpression(node)) {
    return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("…");
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    return wordsOf(node.left) + wordsOf(node.right);
  }
  return otherwise;
}
