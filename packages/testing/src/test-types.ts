import path from "node:path";
import ts from "typescript";

/** A value that is held against a type of a package. */
export interface Held {
  /** In the report. */
  readonly what: string;
  /** `api.` is the package. */
  readonly type: string;
  readonly value: unknown;
}

/**
 * What the compiler says of values as types of a package, a line for each. Enums are taken as their
 * numbers and words; numbers are free but for those that say which member of a union is meant.
 *
 * @param isExact a member that the type does not have is a mistake too
 */
export function problemsOf(
  held: readonly Held[],
  from: { readonly package: string; readonly isExact?: boolean },
): readonly string[] {
  const head = [
    `import type * as api from "${from.package}";`,
    "type Kind = 'type' | 'component_type';",
    "type Plain<T, K = ''> = T extends readonly (infer U)[] ? readonly Plain<U>[]",
    "  : T extends number ? (K extends Kind ? T : number)",
    // oxlint-disable-next-line no-template-curly-in-string -- a type of the compiled text
    "  : T extends string ? `${T}`",
    "  : T extends object ? { readonly [M in keyof T]: Plain<T[M], M> } : T;",
    "declare function hold<T>(value: Plain<T>): void;",
  ];
  const lines = held.map(({ type, value }, index) => {
    const text = JSON.stringify(value);
    if (from.isExact === true) return `hold<${type}>(${text});`;

    return `const v${index} = ${text} as const; hold<${type}>(v${index});`;
  });

  return diagnosticsOf([...head, ...lines].join("\n")).map(({ line, text }) => {
    const about = held[line - head.length]?.what ?? "the test itself";
    return `${about}: ${text}`;
  });
}

function diagnosticsOf(source: string): readonly { line: number; text: string }[] {
  const file = path.join(import.meta.dirname, "held-values.ts");
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  };
  const host = ts.createCompilerHost(options);
  const held = ts.createSourceFile(file, source, ts.ScriptTarget.ES2023, true);
  const program = ts.createProgram([file], options, {
    ...host,
    fileExists: (name) => name === file || host.fileExists(name),
    readFile: (name) => (name === file ? source : host.readFile(name)),
    getSourceFile: (name, ...rest) => (name === file ? held : host.getSourceFile(name, ...rest)),
  });

  return ts.getPreEmitDiagnostics(program).map(({ start = 0, messageText }) => ({
    line: held.getLineAndCharacterOfPosition(start).line,
    text: reasonOf(messageText),
  }));
}

/** The innermost reason: the outer ones repeat the whole value. */
function reasonOf(message: string | ts.DiagnosticMessageChain): string {
  if (typeof message === "string") return message;
  const [inner] = message.next ?? [];

  return inner === undefined ? message.messageText : reasonOf(inner);
}
