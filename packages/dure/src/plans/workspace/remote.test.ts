import { FULL } from "../../kernel/test-tiers.ts";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Repository } from "./repository.ts";
import { RunRemote, withoutPassword } from "./remote.ts";
import { gitIn, testGit, TestRepository } from "./test-repository.ts";

const ENV = { PATH: process.env.PATH, HOME: "/nonexistent" };
const open = (folder: string): Promise<Repository> => Repository.open(folder, { git: testGit() });

/** Two machines with clones of one repository, which is bare. */
async function twoMachines(): Promise<{
  origin: string;
  here: Repository;
  there: Repository;
  first: string;
  [Symbol.dispose](): void;
}> {
  const person = new TestRepository();
  const origin = join(person.home, "origin.git");
  gitIn(person.home, "clone", "-q", "--bare", person.folder, origin);
  for (const name of ["here", "there"]) gitIn(person.home, "clone", "-q", origin, name);
  return {
    origin,
    here: await open(join(person.home, "here")),
    there: await open(join(person.home, "there")),
    first: person.git("rev-parse", "HEAD"),
    [Symbol.dispose]: () => person[Symbol.dispose](),
  };
}

function commitOn(repository: Repository, parent: string, message: string): string {
  return gitIn(repository.root, "commit-tree", "-p", parent, "-m", message, `${parent}^{tree}`);
}

test(
  "what one machine pushed of a run another one gets, and nothing of another run; again is nothing",
  FULL,
  async () => {
    using machines = await twoMachines();
    const { here, there, origin, first } = machines;
    const [a, b] = [commitOn(here, first, "a"), commitOn(here, first, "b")];
    await here.pin("run_1", "ports/a/result", a);
    await here.pin("run_2", "ports/b/result", b);
    const push = new RunRemote({ repository: here, remote: "origin", env: ENV });

    await push.push("run_1");
    await push.push("run_1");
    const refs = await new RunRemote({ repository: there, remote: origin, env: ENV }).fetch(
      "run_1",
    );

    expect([...refs]).toEqual([["ports/a/result", a]]);
    expect(gitIn(there.root, "log", "-1", "--format=%s", a)).toBe("a");
    expect(gitIn(origin, "for-each-ref", "--format=%(refname)")).toBe(
      "refs/dure/run_1/ports/a/result\nrefs/heads/main",
    );
  },
);

test(
  "a ref that moved moves there too; a run that was never pushed or is forgotten has none",
  FULL,
  async () => {
    using machines = await twoMachines();
    const { here, there, first } = machines;
    const [old, now] = [commitOn(here, first, "old"), commitOn(here, first, "now")];
    const remote = new RunRemote({ repository: here, remote: "origin", env: ENV });
    const other = new RunRemote({ repository: there, remote: "origin", env: ENV });
    await here.pin("run_1", "result", old);
    await remote.push("run_1");
    gitIn(here.root, "update-ref", "refs/dure/run_1/result", now);
    await remote.push("run_1");

    expect([...(await other.fetch("run_1"))]).toEqual([["result", now]]);
    expect([...(await other.fetch("run_9"))]).toEqual([]);
    await remote.push("run_9");
    await remote.forget("run_1");
    await remote.forget("run_1");
    expect(gitIn(machines.origin, "for-each-ref", "--format=%(refname)")).toBe("refs/heads/main");
  },
);

test("no hook of the repository runs, and no password is asked for or shown", FULL, async () => {
  using machines = await twoMachines();
  const { here, first } = machines;
  execFileSync(
    "sh",
    [
      "-c",
      `printf '#!/bin/sh\\ntouch ran\\nexit 1\\n' > .git/hooks/pre-push && chmod +x .git/hooks/pre-push`,
    ],
    { cwd: here.root },
  );
  await here.pin("run_1", "result", first);

  await new RunRemote({ repository: here, remote: "origin", env: ENV }).push("run_1");
  const refused = await new RunRemote({
    repository: here,
    remote: "https://me:secret@127.0.0.1:1/x.git",
    env: ENV,
  })
    .push("run_1")
    .catch((error: unknown) => error);

  expect(execFileSync("ls", { cwd: here.root, encoding: "utf8" })).not.toContain("ran");
  expect(refused).toMatchObject({ code: "REMOTE_FAILED" });
  expect(String(refused)).not.toContain("secret");
  expect(withoutPassword("ssh://git@example.org/x")).toBe("ssh://example.org/x");
  expect(
    () => new RunRemote({ repository: here, remote: "--upload-pack=touch x", env: ENV }),
  ).toThrow(expect.objectContaining({ code: "REMOTE_INVALID" }));
});
