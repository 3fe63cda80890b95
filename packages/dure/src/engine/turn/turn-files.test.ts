import { expect, test } from "vitest";
import type { FileRef } from "../../kernel/files.ts";
import { TurnFiles } from "./turn-files.ts";

const fileOf = (id: string): FileRef => ({ id, name: `${id}.png`, type: "image/png", bytes: 1 });
const brought = fileOf("brought");
const made = fileOf("made");

test.each([
  ["what came with a notice and what its tools made", "system", "It is drawn.", [brought, made]],
  ["nothing that came with a notice of which it says nothing", "system", "", [made]],
  ["nothing of what a person has sent", "person", "I see it.", [made]],
] as const)("an end shows %s", (_, author, message, shown) => {
  const files = new TurnFiles({} as never);
  files.note({ status: "done", result: null, files: { kept: [made], refused: [] } });

  expect(files.shownWith(message, { author, files: [brought] })).toEqual(shown);
});
