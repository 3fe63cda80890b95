import { expect, test } from "vitest";
import { buildNode, operatorNode, workerNode } from "./tree.ts";

test("a worker stands under the operator, and that under the build; each names the way to it", () => {
  const worker = workerNode("run_1", { port: "api", try: 2, kind: "implement" });

  expect(buildNode("run_1")).toEqual({
    id: "run_1",
    parent: null,
    root: "run_1",
    path: ["run_1"],
    depth: 0,
  });
  expect(operatorNode("run_1")).toEqual({
    id: "run_1/operator",
    parent: "run_1",
    root: "run_1",
    path: ["run_1", "run_1/operator"],
    depth: 1,
  });
  expect(worker).toEqual({
    id: "run_1/api/2/implement",
    parent: "run_1/operator",
    root: "run_1",
    path: ["run_1", "run_1/operator", "run_1/api/2/implement"],
    depth: 2,
  });
  expect(workerNode("run_1", { port: "api", try: 2, kind: "test" }).id).not.toBe(worker.id);
});
