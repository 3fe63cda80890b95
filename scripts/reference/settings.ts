/**
 * The settings of a team, read from the source of their schema: names, comments and what is
 * allowed. It only parses.
 */

import ts from "typescript";

/** A setting that may stand in dure.config.ts. */
export interface KnownSetting {
  /** `limits.thread.messages`; a name that the team chooses is `<name>`. */
  readonly path: string;
  readonly about: string;
  readonly allowed: string;
}

/** What these schemas allow, where no message of theirs says it. */
const KINDS: Readonly<Record<string, string>> = {
  llm: "`provider:model`, `offline`, or a list of them with settings",
  card: "a card: docs/guides/models.md",
  budgetLimit: "`20 USD`, `50000 tokens`, or `{ tokens, usd }`",
  patterns: "a list of names, such as `read_*`",
  text: "a text",
  texts: "texts by name",
  name: "a text of at most 100 characters",
  ownWorker: "a function that makes a worker",
};

/** What may follow a group without changing what stands in it. */
const PASSED_ON = /^(?:optional|default|refine)$/;

/** Reads `teamSchema` of the first file; constants may stand in the others; the first of a name counts. Pure. */
export function settingsIn(texts: readonly string[]): readonly KnownSetting[] {
  const schemas = new Schemas(texts);
  return schemas.under("", schemas.named("teamSchema")!);
}

class Schemas {
  readonly #constants = new Map<string, ts.Expression>();

  constructor(texts: readonly string[]) {
    for (const text of texts) {
      const file = ts.createSourceFile("schema.ts", text, ts.ScriptTarget.ESNext, true);
      const statements = file.statements.filter(ts.isVariableStatement);
      for (const { name, initializer } of statements.flatMap(
        ({ declarationList }) => declarationList.declarations,
      )) {
        const isKnown = this.#constants.has(name.getText());
        if (initializer !== undefined && !isKnown) this.#constants.set(name.getText(), initializer);
      }
    }
  }

  named(name: string): ts.Expression | undefined {
    return this.#constants.get(name);
  }

  /** The settings below an expression that is a group; of another one nothing. */
  under(path: string, expression: ts.Expression): readonly KnownSetting[] {
    const group = this.#groupOf(expression);
    if (group === undefined) return [];
    const below = group.isNamed ? `${path}.<name>` : path;
    return group.members.flatMap((member) => this.#settingOf(below, member));
  }

  #settingOf(path: string, member: ts.PropertyAssignment): readonly KnownSetting[] {
    const own = [path, member.name.getText()].filter(Boolean).join(".");
    const inner = this.under(own, member.initializer);
    const about = commentOf(member);
    if (inner.length === 0) {
      return [{ path: own, about, allowed: this.allowedBy(member.initializer) }];
    }
    return about === "" ? inner : [{ path: own, about, allowed: "" }, ...inner];
  }

  /** `settings({…})`, also of a record, a constant, or with `.optional()` behind it. */
  #groupOf(
    expression: ts.Expression,
  ): { isNamed: boolean; members: readonly ts.PropertyAssignment[] } | undefined {
    if (ts.isIdentifier(expression)) {
      const constant = this.named(expression.text);
      return constant && this.#groupOf(constant);
    }
    if (!ts.isCallExpression(expression)) return undefined;
    const called = expression.expression;
    const name = called.getText().replaceAll(/\s/g, "");
    const [first, second] = expression.arguments;
    if (name === "settings" && first && ts.isObjectLiteralExpression(first)) {
      return { isNamed: false, members: first.properties.filter(ts.isPropertyAssignment) };
    }
    if (name === "z.record" && second) {
      const value = this.#groupOf(second);
      return value && { ...value, isNamed: true };
    }
    const isSame = ts.isPropertyAccessExpression(called) && PASSED_ON.test(called.name.text);
    return isSame ? this.#groupOf(called.expression) : undefined;
  }

  /** What may stand there, in words: those of its refusal, without "must be". */
  allowedBy(expression: ts.Expression): string {
    const text = expression.getText();
    const known = KINDS[/^\w+/.exec(text)?.[0] ?? ""];
    if (known !== undefined) return known;
    const range = /\b(wholeNumber|duration)\(([^)]*)\)/.exec(text);
    if (range !== null) {
      const [from, to] = range[2]!.replaceAll('"', "").replaceAll("_", "").split(/,\s*/);
      return `a ${range[1] === "duration" ? "duration" : "whole number"} from ${from} to ${to}`;
    }
    const words = /\boneOf\((?:\[([^\]]*)\]|(\w+))/.exec(text);
    if (words !== null) return wordsIn(words[1] ?? this.named(words[2]!)?.getText() ?? "");
    if (/^z\s*\.number\(/.test(text)) return "a number that is not negative";
    if (text.includes("yesOrNo")) return "`true` or `false`";
    const refusal = /error:\s*(?:"must be ([^"]*)"|'must be ([^']*)')/.exec(text);
    if (refusal !== null) return (refusal[1] ?? refusal[2]!).replaceAll(/\s+/g, " ");
    return this.#allowedByName(expression);
  }

  #allowedByName(expression: ts.Expression): string {
    const name = /^[A-Za-z]\w*/.exec(expression.getText())?.[0] ?? "";
    const constant = name === "z" ? undefined : this.named(name);
    return constant === undefined ? "" : this.allowedBy(constant);
  }
}

/** The quoted words of a list, as code. */
function wordsIn(list: string): string {
  return [...list.matchAll(/"([^"]*)"/g)].map(([, word]) => `\`${word}\``).join(", ");
}

function commentOf(member: ts.PropertyAssignment): string {
  const [comment] = ts.getJSDocCommentsAndTags(member);
  return ts.getTextOfJSDocComment(comment?.comment)?.replaceAll(/\s*\n\s*/g, " ") ?? "";
}
