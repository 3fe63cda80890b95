import { FULL } from "../../src/kernel/test-tiers.ts";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const PLATFORMS = ["web", "discord", "slack"] as const;
const SPEC = path.resolve(import.meta.dirname, "../../../../docs/spec/collaboration.md");

test(
  "every scenario of the specification is the title of a test that runs on web rooms, Discord and Slack",
  FULL,
  async () => {
    const ids = scenarioIds(await readFile(SPEC, "utf8"));
    const shown = await titledIds();

    expect(ids.length).toBeGreaterThan(45);
    const missing = (platform: string): readonly string[] =>
      ids.filter((id) => !shown.get(id)?.has(platform));
    expect(Object.fromEntries(PLATFORMS.map((name) => [name, missing(name)]))).toEqual({
      web: [],
      discord: [],
      slack: [],
    });
  },
);

/** What names places, or has none, on each pair of platforms. */
const OF_PAIRS = ["C1", "C2", "C3", "C4", "C5", "S1", "S2", "S3", "S4", "D"];

test("every scenario that names places runs on each pair of platforms", FULL, async () => {
  const shown = await titledIds();

  expect(OF_PAIRS.filter((id) => !shown.get(id)?.has("pairs"))).toEqual([]);
});

/**
 * `H1`, `P1, P2`, `S1–S4`, wherever the specification names them, and the stories `A` to `E` of
 * §10. Pure.
 */
function scenarioIds(spec: string): readonly string[] {
  const ids = new Set<string>();
  for (const [, letter, first, last] of spec.matchAll(
    /\b([ACEHLMOPRST])([1-9])(?:–\1([1-9]))?\b/g,
  )) {
    for (let nr = Number(first); nr <= Number(last ?? first); nr++) ids.add(`${letter}${nr}`);
  }
  for (const [, story] of spec.split("## 10.")[1]!.matchAll(/^\| ([A-E]) +\|/gm)) ids.add(story!);
  return [...ids];
}

/** Ids at the beginning of titles, with the platforms that their tests run on. */
async function titledIds(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const found = new Map<string, Set<string>>();
  for (const file of (await readdir(import.meta.dirname)).filter((name) =>
    name.endsWith(".test.ts"),
  )) {
    const source = ts.createSourceFile(
      file,
      await readFile(path.join(import.meta.dirname, file), "utf8"),
      ts.ScriptTarget.Latest,
      true,
    );
    const visit = (node: ts.Node, platforms: readonly string[]): void => {
      const call = ts.isCallExpression(node) ? testCall(node, source) : undefined;
      const within = call?.platforms ?? platforms;
      if (call?.what === "test") {
        const title = call.title.split(" ");
        const ids = title.slice(
          0,
          title.findIndex((word) => !/^[A-Z][1-9]?$/.test(word)),
        );
        for (const id of ids) {
          found.set(id, new Set([...(found.get(id) ?? []), ...platformsOf(call.title, within)]));
        }
      }
      node.forEachChild((child) => visit(child, within));
    };
    visit(source, [PLATFORMS.find((name) => file.includes(name)) ?? "web"]);
  }
  return found;
}

/**
 * `test("…")`, `describe.each(…)("…")`: what it is, its title, and the platforms that it is
 * repeated for.
 */
function testCall(
  node: ts.CallExpression,
  source: ts.SourceFile,
): { what: string; title: string; platforms: readonly string[] | undefined } | undefined {
  const [title] = node.arguments;
  const each = ts.isCallExpression(node.expression) ? node.expression : undefined;
  const [what] = (each ?? node).expression.getText(source).split(".");
  if ((what !== "test" && what !== "describe") || !title || !ts.isStringLiteral(title)) {
    return undefined;
  }
  const rows = each?.arguments[0]?.getText(source) ?? "";
  if (rows === "PAIR.rows") return { what, title: title.text, platforms: ["pairs"] };
  const isTable = rows === "PLATFORMS" || rows === "PLATFORM.rows";
  const named = PLATFORMS.filter((name) => isTable || rows.includes(`"${name}"`));
  return { what, title: title.text, platforms: named.length > 1 ? named : undefined };
}

function platformsOf(title: string, within: readonly string[]): readonly string[] {
  if (title.includes("on Discord")) return ["discord"];
  return title.includes("on Slack") ? ["slack"] : within;
}
