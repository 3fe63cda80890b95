import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { INPUT_TABLE, inputTableMarkdown } from "../server/input-table.ts";
import { SERVER_LIMITS } from "../server/limits.ts";
import { SETTINGS } from "./limits.ts";

const GUIDE = new URL("../../../../docs/guides/limits.md", import.meta.url);

test("every limit of the server stands in the table, once", () => {
  expect(INPUT_TABLE.map(({ limit }) => limit).sort()).toEqual(Object.keys(SERVER_LIMITS).sort());
});

test("every limit of the table can be set where it says, and has there its default", () => {
  const known = Object.values(SETTINGS).map((setting) => ({
    path: "path" in setting ? setting.path?.join(".") : undefined,
    fallback: setting.fallback,
  }));

  for (const { setting, limit } of INPUT_TABLE) {
    expect(known).toContainEqual({ path: setting, fallback: SERVER_LIMITS[limit] });
  }
});

test("the guide holds the table", async () => {
  const guide = await readFile(GUIDE, "utf8");

  expect(withoutPadding(guide)).toContain(withoutPadding(inputTableMarkdown()));
});

/** The formatter of the pages pads the cells of a table, and the dashes below its head. */
function withoutPadding(markdown: string): string {
  return markdown.replaceAll(/ *\| */g, "|").replaceAll(/-{3,}/g, "---");
}
