import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { brief } from "../assign/brief.ts";
import { scopeOf } from "../port/member-scope.ts";
import type { PlanRun } from "../rows/run.ts";
import { isFor, subjectOf } from "./document-topics.ts";
import { SHOP, SHOP_PLAN } from "./test-shop.ts";

const GUIDE = new URL("../../../../../docs/guides/plans.md", import.meta.url);

interface Row {
  readonly role: string;
  readonly documents: readonly string[];
  readonly code: readonly string[];
  readonly tokens: number;
  readonly unfiltered: number;
  readonly saved: number;
}

async function rowOf(role: string): Promise<Row> {
  const port = SHOP_PLAN.ports.find(({ id }) => id === role)!;
  const { manifest } = await brief(
    {
      run: { plan: SHOP_PLAN } as PlanRun,
      port,
      member: "implementer",
      scope: scopeOf(SHOP_PLAN, port, "implementer"),
      try: 1,
      triesMost: 3,
    },
    SHOP,
  );
  const shown = manifest.blocks.flatMap(({ name, path }) =>
    name === "references" && path ? [path] : [],
  );
  const { total, fullContext, saved } = manifest;
  const isDocument = (path: string): boolean => path.endsWith(".md");
  return {
    role,
    documents: shown
      .filter(isDocument)
      .map((path) => path.replace(/^docs\/|\.md$/gu, ""))
      .toSorted(),
    code: [
      ...new Set(
        shown.filter((path) => !isDocument(path)).map((path) => path.replace(/\/[^/]+$/u, "")),
      ),
    ],
    tokens: total,
    unfiltered: fullContext,
    saved,
  };
}

/** As the guide shows it. */
function tableOf(rows: readonly Row[]): string {
  return rows
    .map(({ role, documents, code, tokens, unfiltered, saved }) =>
      [
        "",
        role,
        documents.join(", "),
        code.map((folder) => `\`${folder}\``).join(", ") || "–",
        tokens.toLocaleString("en"),
        unfiltered.toLocaleString("en"),
        `${Math.round(saved * 100)} %`,
        "",
      ]
        .join(" | ")
        .trim(),
    )
    .join("\n");
}

test("each role is given its documents and its part of the shop, at least 30 % less than all of it", async () => {
  const rows = await Promise.all(["domain", "infrastructure", "api", "test"].map(rowOf));

  expect(rows.map(({ role, documents }) => [role, documents])).toEqual([
    ["domain", ["README", "business-rules", "code-style", "domain-model", "money", "requirements"]],
    [
      "infrastructure",
      ["db-schema", "deployment", "jooq-queries", "partner-integration", "timeouts"],
    ],
    ["api", ["auth", "rest-api", "timeouts"]],
    ["test", ["business-rules", "money", "testing-guide"]],
  ]);
  expect(rows.filter(({ saved }) => saved < 0.3).map(({ role, saved }) => [role, saved])).toEqual(
    [],
  );
  const guide = (await readFile(GUIDE, "utf8")).replaceAll(/ +/gu, " ");
  expect(guide).toContain(tableOf(rows));
});

test("front matter says for whom a document is before its name does, and a broken one says nothing", () => {
  const api = { role: "api", topics: ["api", "auth"], getsOthers: false } as const;
  const is = (path: string, text: string): boolean => isFor(subjectOf(path, text), api);

  expect(is("docs/schema.md", "---\nroles: [api]\n---\n# x")).toBe(true);
  expect(is("docs/api.md", "---\nroles: domain, test\n---\n# x")).toBe(false);
  expect(is("docs/x.md", "---\r\ntags: [OAuth]\r\n---\r\n# x")).toBe(true);
  expect(is("docs/인증.md".normalize("NFD"), "# x")).toBe(true);
  expect(is("docs/api.md", "---\nroles: [&a [*a]]\n: {\n---\n# x")).toBe(true);
  expect(is("docs/rapid-capital.md", "# x")).toBe(false);
});
