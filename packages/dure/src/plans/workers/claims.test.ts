import { expect, test } from "vitest";
import { compareClaim } from "./claims.ts";

const changes = (...paths: string[]): { path: string }[] => paths.map((path) => ({ path }));

test("what a worker says it changed is compared with what git found", () => {
  expect(
    compareClaim(
      "acp",
      { claimedFiles: ["./src/a.ts", "src/b.ts"] },
      changes("src/c.ts", "src/a.ts"),
    ),
  ).toEqual({ failedFiles: ["src/b.ts"], unclaimedFiles: ["src/c.ts"] });
  expect(compareClaim("model", { claimedFiles: ["src/a.ts"] }, changes("src/a.ts"))).toEqual({
    failedFiles: [],
    unclaimedFiles: [],
  });
});

test("a program claims nothing, nor does a worker that failed before its end", () => {
  expect(compareClaim("command", { claimedFiles: [] }, changes("src/a.ts"))).toBeUndefined();
  expect(
    compareClaim("acp", { claimedFiles: [], error: { code: "WORKER_DIED" } }, changes("src/a.ts")),
  ).toBeUndefined();
});
