import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { spawnSync } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { openControlGroups } from "./control-groups.ts";

// Folders made by hand, as version 2 shows them: a machine of version 1 has none to try. What the
// kernel does with the files is not tried here; sandbox.test.ts does so where it may make groups.

const BOUNDS = { processes: 100, memoryBytes: 300_000_000, cpus: 1.5 };
/** Which files of a group say what is passed on. */
const PASSED = "cgroup.subtree_control";

function folderOf(groups: Readonly<Record<string, Readonly<Record<string, string>>>>): string {
  const root = mkdtempSync(path.join(tmpdir(), "dure-groups-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [group, files] of Object.entries(groups)) {
    mkdirSync(path.join(root, group), { recursive: true });
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(path.join(root, group, name), text);
    }
  }
  return root;
}

function own(root: string, group: string): { root: string; own: string } {
  const file = path.join(root, "own");
  writeFileSync(file, `0::/${group}\n`);
  return { root, own: file };
}

test("a group of version 2 gets its bounds of processes, memory and CPU, and its command", () => {
  const delegated = { "cgroup.controllers": "cpuset cpu io memory pids\n", [PASSED]: "" };
  const root = folderOf({ service: delegated, "service/main": {} });

  const groups = openControlGroups(own(root, "service/main"));
  const group = groups.open(BOUNDS);
  const { status } = spawnSync(group.enter[0]!, [...group.enter.slice(1), "true"]);

  expect(groups).toMatchObject({ boundsProcesses: true, boundsMemory: true, boundsCpu: true });
  expect(status).toBe(0);
  const name = readdirSync(path.join(root, "service")).find((one) => one.startsWith("dure-"))!;
  const said = (file: string): string =>
    readFileSync(path.join(root, "service", name, file), "utf8").trim();
  expect(said("pids.max")).toBe("102");
  expect([said("memory.max"), said("memory.swap.max")]).toEqual(["300000000", "0"]);
  expect(said("cpu.max")).toBe("150000 100000");
  expect(said("cgroup.procs")).toBe("0");
  expect(readFileSync(path.join(root, "service", PASSED), "utf8")).toBe("+pids +memory +cpu");

  expect(group.hasRunOut()).toBe(false);
  writeFileSync(path.join(root, "service", name, "memory.events"), "oom 1\noom_kill 1\n");
  expect(group.hasRunOut()).toBe(true);
});

test("in a delegated group of its own dure moves to a leaf, since a group with processes has no bounds", () => {
  // As the kernel refuses: a folder in the place of the file takes no word.
  const root = folderOf({
    service: { "cgroup.controllers": "cpu memory pids\n", "cgroup.procs": "4711\n" },
    [`service/${PASSED}`]: {},
  });

  const groups = openControlGroups(own(root, "service"));

  expect(readFileSync(path.join(root, "service/dure/cgroup.procs"), "utf8")).toBe("4711");
  expect(groups).toMatchObject({ boundsProcesses: false, boundsMemory: false, boundsCpu: false });
});

test("only what a group passes on is bounded, and nothing is made where no controller is", () => {
  const some = { "cgroup.controllers": "memory pids\n", [PASSED]: "memory pids\n" };
  const root = folderOf({
    slice: some,
    "slice/unit": {},
    other: { "cgroup.controllers": "hugetlb\n" },
  });

  const groups = openControlGroups(own(root, "slice/unit"));
  const without = openControlGroups(own(root, "other"));

  expect(groups).toMatchObject({ boundsProcesses: true, boundsMemory: true, boundsCpu: false });
  expect(without).toMatchObject({ boundsProcesses: false, boundsMemory: false });
  expect(readdirSync(path.join(root, "other"))).toEqual(["cgroup.controllers"]);
});
