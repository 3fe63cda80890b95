import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { checkBounds, diskFinding } from "./machine.ts";

test.each([
  [20 * 2 ** 20, "fail", "20 MiB free at /data"],
  [500 * 2 ** 20, "warn", "500 MiB free at /data"],
  [56.9 * 2 ** 30, "ok", "56.9 GiB free at /data"],
])("with %i bytes free, the disk is a %s", (free, status, detail) => {
  expect(diskFinding(free, "/data")).toMatchObject({ status, detail });
});

test.each([
  [true, ["bounded by a control group", "bounded by a control group"]],
  [false, ["watched by dure", "workers yield to all others"]],
])("doctor says who bounds a worker; by control groups: %s", (isBound, words) => {
  const groups = { boundsMemory: isBound, boundsCpu: isBound };

  const findings = checkBounds({ memoryBytes: 2 ** 30, diskBytes: 2 ** 31 }, tmpdir(), groups);

  const said = findings.map(({ name, detail }) => `${name}: ${detail}`);
  expect(said).toEqual([
    expect.stringMatching(new RegExp(`^worker memory: 1 GiB .*${words[0]}`)),
    expect.stringMatching(new RegExp(`^worker CPU: .*${words[1]}`)),
    expect.stringMatching(/^worker disk: 2 GiB more .*watched by dure$/),
  ]);
});
