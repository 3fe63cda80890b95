import { expect, test } from "vitest";
import { run } from "./runner.ts";

test("a program that finds the disk full is told as that, with what to do", async () => {
  const said = "echo 'initdb: could not write file: No space left on device' >&2; exit 1";

  await expect(run({ kind: "direct" }, "/bin/sh", ["-c", said])).rejects.toMatchObject({
    code: "DISK_FULL",
    hint: "Make room, or set DURE_HOME to another disk.",
  });
  await expect(run({ kind: "direct" }, "/bin/sh", ["-c", "exit 3"])).rejects.toMatchObject({
    code: "EMBEDDED_FAILED",
  });
});
