import { expect, test } from "vitest";
import { TestClock } from "../../kernel/test-clock.ts";
import { RefusedHosts, refusedWords } from "./refused-hosts.ts";

/** A tree that prints as much as `printed` says, and is watched. */
function watched(rule: ConstructorParameters<typeof RefusedHosts>[0]) {
  const clock = new TestClock();
  const hosts = new RefusedHosts(rule);
  const tree = { printed: 0 };
  let ended = 0;
  const onOver = (): void => void (ended += 1);
  const cancel = hosts.watch({ printed: () => tree.printed }, { clock, onOver });

  return { clock, hosts, tree, cancel, ended: () => ended };
}

test("a tree that was refused a host is ended 3 s later, once", async () => {
  const { clock, hosts, ended } = watched("end");

  hosts.note("a.example");
  await clock.pass(2_999);
  hosts.note("b.example");
  const before = ended();
  await clock.pass(10_000);

  expect([before, ended(), hosts.list]).toEqual([0, 1, ["a.example", "b.example"]]);
});

test("tests that go on printing are not ended, and are once they are silent", async () => {
  const { clock, hosts, tree, ended } = watched("end-silent");

  hosts.note("a.example");
  tree.printed = 10;
  await clock.pass(3_000);
  tree.printed = 20;
  await clock.pass(3_000);
  const before = ended();
  await clock.pass(3_000);

  expect([before, ended()]).toEqual([0, 1]);
});

test("a worker is told of each host once, and is not ended", async () => {
  const told: string[] = [];
  const { clock, hosts, ended } = watched((host) => told.push(host));

  for (const host of ["a.example", "a.example", "b.example"]) hosts.note(host);
  await clock.pass(60_000);

  expect([told, ended()]).toEqual([["a.example", "b.example"], 0]);
});

test("a tree that ends by itself is left alone, and no more than 10 hosts are named", async () => {
  const { clock, hosts, cancel, ended } = watched("end");

  for (let index = 0; index < 50; index++) hosts.note(`${index}.example`);
  cancel();
  await clock.pass(60_000);

  expect([ended(), hosts.list!.length]).toEqual([0, 10]);
  expect(refusedWords({ refused: ["a.example"] })).toBe(" It may not reach a.example.");
});
