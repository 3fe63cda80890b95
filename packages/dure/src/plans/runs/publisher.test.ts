import { expect, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { aScope, startRun, TestRepository, writeFiles } from "../workspace/test-repository.ts";
import { Publisher } from "./publisher.ts";

const run = "run1";

test("a caller that leaves does not end the publishing of others", async () => {
  using person = new TestRepository();
  const { store, repository, tree, commit } = await startRun(person);
  writeFiles(tree.tree, { "src/a.ts": "a\n" });
  const made = await commit(aScope({ writes: ["src/**"] }), { ref: "ports/a/result" });
  const publisher = new Publisher({
    repository,
    store,
    run,
    clock: systemClock,
    logger: silentLogger,
  });
  const [leaving, staying] = [new AbortController(), new AbortController()];

  const left = publisher.publish(leaving.signal);
  const stayed = publisher.publish(staying.signal);
  leaving.abort(new Error("It was left out."));

  await expect(left).rejects.toThrow("It was left out.");
  await stayed;
  expect(person.git("rev-parse", `refs/dure/${run}/ports/a/result`)).toBe(made.commit);
});

test("a caller that comes when all others have left is published for all the same", async () => {
  using person = new TestRepository();
  const { store, repository, tree, commit } = await startRun(person);
  writeFiles(tree.tree, { "src/a.ts": "a\n" });
  const made = await commit(aScope({ writes: ["src/**"] }), { ref: "ports/a/result" });
  const publisher = new Publisher({
    repository,
    store,
    run,
    clock: systemClock,
    logger: silentLogger,
  });
  const leaving = new AbortController();

  const left = publisher.publish(leaving.signal);
  leaving.abort(new Error("It was left out."));
  const later = publisher.publish(new AbortController().signal);

  await expect(left).rejects.toThrow("It was left out.");
  await later;
  expect(person.git("rev-parse", `refs/dure/${run}/ports/a/result`)).toBe(made.commit);
});
