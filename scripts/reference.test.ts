import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { exportsWithoutDoc, pageOf, readDoor, type DoorContent } from "./reference.ts";

const SOURCES = {
  "index.ts": `// The door of the toy.

// Greetings
export { greet, Greeter } from "./greet.ts";
export type { Greeting } from "./words.ts";
`,
  "greet.ts": `/** Greets; at most 20 characters. @throws NAME_MISSING */
export async function greet(name: string): Promise<string> {
  return \`hello \${name}\`;
}

/** Greets again and again. See {@link greet}. */
export class Greeter {
  readonly #name: string;
  constructor(name: string) {
    this.#name = name;
  }
  /** Once more. */
  again(): string {
    return this.#name;
  }
  private hidden(): void {}
}
`,
  "words.ts": `import { z } from "zod";
const greeting = z.object({
  /** Seconds. */
  after: z.number(),
});
/** What is said. */
export type Greeting = z.infer<typeof greeting>;
`,
};

async function pageOfToy(sources: Readonly<Record<string, string>> = SOURCES): Promise<string> {
  return pageOf("toy", await readToy(sources));
}

async function readToy(sources: Readonly<Record<string, string>>): Promise<DoorContent> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-reference-"));
  try {
    for (const [name, text] of Object.entries(sources)) {
      await writeFile(path.join(folder, name), text);
    }
    return readDoor(path.join(folder, "index.ts"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test("a page has the intro, the groups, and each export with docstring and signature", async () => {
  const page = await pageOfToy();

  expect(page).toContain("The door of the toy.\n\nValues: `greet`, `Greeter`.");
  expect(page).toContain("## Greetings\n\n### greet\n\nGreets; at most 20 characters. Throws NAME");
  expect(page).toContain("function greet(name: string): Promise<string>;");
  expect(page).toContain("See `greet`.");
});

test("a page has no body and nothing that is private", async () => {
  const page = await pageOfToy();

  expect(page).toContain(
    "  constructor(name: string);\n  /** Once more. */\n  again(): string;\n}",
  );
  for (const inside of ["hello", "#name", "hidden"]) expect(page).not.toContain(inside);
});

test("a value and a type without a docstring are named", async () => {
  const greet = "export function greet(): void {}\nexport class Greeter {}\n";
  const words = SOURCES["words.ts"].replace("/** What is said. */\n", "");

  expect(exportsWithoutDoc(await readToy(SOURCES))).toEqual([]);
  expect(
    exportsWithoutDoc(await readToy({ ...SOURCES, "greet.ts": greet, "words.ts": words })),
  ).toEqual(["greet", "Greeter", "Greeting"]);
});

test("a type that comes from a schema shows the schema", async () => {
  expect(await pageOfToy()).toContain("/** Seconds. */\n  after: z.number(),");
});

test("an export that is not found is an error, as are exports without names", async () => {
  await expect(pageOfToy({ ...SOURCES, "words.ts": "" })).rejects.toThrow("Greeting");
  await expect(
    pageOfToy({ ...SOURCES, "index.ts": 'export * from "./greet.ts";\n' }),
  ).rejects.toThrow("must name each export");
});
