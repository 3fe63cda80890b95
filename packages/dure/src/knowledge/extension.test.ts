import { describe, expect, test } from "vitest";
import { decideSearch, type FoundExtension } from "./pgvector.ts";

describe("what is done about the extension", () => {
  const found: FoundExtension = {
    available: "0.8.6",
    installed: "0.8.6",
    schema: "public",
    usable: true,
    home: "public",
  };

  test.each([
    ["is not there", undefined, "exact", "the server has no pgvector"],
    ["is there", found, "pgvector", "pgvector 0.8.6"],
    [
      "can be created",
      { ...found, installed: null },
      "create",
      "pgvector 0.8.6 is created at the start",
    ],
    [
      "is too old",
      { ...found, available: "0.4.4", installed: null },
      "exact",
      "pgvector 0.4.4 is older than 0.7",
    ],
    [
      "was created when it was old",
      { ...found, installed: "0.6.2" },
      "exact",
      "pgvector 0.6.2 is older than 0.7: alter extension vector update",
    ],
    [
      "stands where the role may not look",
      { ...found, schema: "own", usable: false },
      "exact",
      "pgvector stands in schema own, which this role may not use",
    ],
    ["has lost its files", { ...found, available: null }, "exact", "the server has no pgvector"],
  ] as const)("one that %s", (_, extension, by, because) => {
    expect(decideSearch(extension)).toMatchObject({ by, because });
  });
});
