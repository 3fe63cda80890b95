import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";
import { signaturesOf } from "./signatures.ts";
import { FULL } from "../../kernel/test-tiers.ts";

const SOURCE = `import type { Clock } from "./clock.ts";

// A note on its own.

/** How a session is found. */
export interface Sessions {
  find(id: string): Promise<Session | undefined>;
}

type Session = { readonly id: string; readonly at: number };

/** Makes it. */
export async function open(options: { clock: Clock; retry?: () => { wait: number } }): Promise<{ sessions: Sessions }> {
  const text = \`a { brace \${options.clock ? "}" : '{'} in a template\`;
  if (/[{"'\`]/.test(text)) throw new Error("no");
  return { sessions: null as never };
}

function hidden(): void {
  console.log("secret body");
}

export class Store<T extends { id: string }> implements Sessions {
  /** Bytes. */
  readonly size: number = 10;
  #secret = new Map<string, { a: 1 }>();
  private also = () => { return 1; };
  static { hidden(); }
  constructor(options: { clock: Clock }) { void options; }
  async find(id: string): Promise<Session | undefined> { return this.#secret.get(id) as never; }
  get count(): number { return 4 / 2 / 1; }
  #inner(): void { hidden(); }
}

export const LIMITS = { tries: 5, minutes: 30 } as const;
export const table: Readonly<Record<string, readonly { name: string; value: number }[]>> = { a: [{ name: "some long name", value: 1 }], b: [{ name: "some long name that makes it longer than what is shown whole", value: 2 }], c: [] };
export const arrow = (value: number, other: { deep: string }): string => { return String(value) + other.deep + "and a long body that is here to make this constant longer than what is shown as a whole, which is some two hundred characters"; };
export { hidden as shown };
`;

test("types stand whole, values as signatures, what is not exported not at all", () => {
  const { text, form } = signaturesOf("src/ports/sessions.ts", SOURCE);

  expect(form).toBe("signatures");
  expect(text).toBe(`import type { Clock } from "./clock.ts";

/** How a session is found. */
export interface Sessions {
  find(id: string): Promise<Session | undefined>;
}

type Session = { readonly id: string; readonly at: number };

/** Makes it. */
export declare function open(options: { clock: Clock; retry?: () => { wait: number } }): Promise<{ sessions: Sessions }>;

export declare class Store<T extends { id: string }> implements Sessions {
  readonly size: number;
  constructor(options: { clock: Clock });
  find(id: string): Promise<Session | undefined>;
  get count(): number;
}

export const LIMITS = { tries: 5, minutes: 30 } as const;

export declare const table: Readonly<Record<string, readonly { name: string; value: number }[]>>;

export const arrow = (value: number, other: { deep: string }): string => undefined as never; // …

export { hidden as shown };
`);
});

test("another language, a short file and one that does not come out even are shown whole", () => {
  expect(signaturesOf("schema.sql", SOURCE).form).toBe("whole");
  expect(signaturesOf("a.ts", "export const a = 1;").form).toBe("whole");
  expect(signaturesOf("a.ts", SOURCE.replace("minutes: 30 }", "minutes: 30 ")).form).toBe("whole");
  expect(signaturesOf("a.ts", `${SOURCE}\nconst x = "not closed`)).toEqual({
    text: `${SOURCE}\nconst x = "not closed`,
    form: "whole",
  });
});

test("templates that stand a hundred thousand deep in each other are shown whole", () => {
  const text = "`${".repeat(100_000);

  expect(signaturesOf("a.ts", text)).toEqual({ text, form: "whole" });
});

/** Every file of these layers, as a stock of real TypeScript. */
const FOLDERS = ["kernel", "models", "plans", "engine", "rooms"].map((name) =>
  fileURLToPath(new URL(`../../${name}`, import.meta.url)),
);
const FILES = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
    .map((name) => join(folder, name)),
);

test(
  "signatures of real sources are TypeScript with the same exports, as the compiler reads them",
  FULL,
  () => {
    const problems: string[] = [];
    let shortened = 0;
    for (const path of FILES) {
      const source = readFileSync(path, "utf8");
      const { text, form } = signaturesOf(path, source);
      if (form === "whole") continue;
      shortened++;
      const read = ts.createSourceFile(
        path,
        text,
        ts.ScriptTarget.Latest,
        true,
      ) as ts.SourceFile & {
        parseDiagnostics: readonly ts.Diagnostic[];
      };
      const [first] = read.parseDiagnostics;
      if (first) {
        problems.push(
          `${path}: ${ts.flattenDiagnosticMessageText(first.messageText, " ")} at ${text.slice(first.start).slice(0, 80)}`,
        );
      }
      const missing = exportsOf(
        ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true),
      ).filter(
        (name) => !exportsOf(read).includes(name) && !text.includes(`/* export const ${name}`),
      );
      if (missing.length > 0) problems.push(`${path}: ${missing.join(", ")} is missing`);
    }

    expect(problems).toEqual([]);
    expect(shortened).toBeGreaterThan(50);
  },
);

function exportsOf(file: ts.SourceFile): string[] {
  return file.statements.flatMap((statement) => {
    if (
      !ts.canHaveModifiers(statement) ||
      !ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    ) {
      return [];
    }
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.map(({ name }) => name.getText(file));
    }
    return "name" in statement && statement.name ? [(statement.name as ts.Identifier).text] : [];
  });
}
