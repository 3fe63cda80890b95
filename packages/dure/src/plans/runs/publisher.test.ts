import { FULL } from "../../kernel/test-tiers.ts";
import { expect, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import { aScope, startRun, TestRepository, writeFiles } from "../workspace/test-repository.ts";
import { Publisher } from "./publisher.ts";

const run = "run1";

/** A run with the result of one port, and what publishes it in the person's repository. */
async function oneResult(person: TestRepository): Promise<{
  readonly publisher: Publisher;
  readonly made: { readonly commit?: string | undefined };
}> {
  const { store, repository, tree, commit } = await startRun(person);
  writeFiles(tree.tree, { "src/a.ts": "a\n" });
  const made = await commit(aScope({ writes: ["src/**"] }), { ref: "ports/a/result" });
  const parts = { repository, store, run, clock: systemClock, logger: silentLogger };
  return { publisher: new Publisher(parts), made };
}

test("a caller that leaves does not end the publishing of others", FULL, async () => {
  using person = new TestRepository();
  const { publisher, made } = await oneResult(person);
  const [leaving, staying] = [new AbortController(), new AbortController()];

  const left = publisher.publish(leaving.signal);
  const stayed = publisher.publish(staying.signal);
  leaving.abort(new Error("It was left out."));

  await expect(left).rejects.toThrow("It was left out.");
  await stayed;
  expect(person.git("rev-parse", `refs/dure/${run}/ports/a/result`)).toBe(made.commit);
});

test(
  "a caller that comes when all others have left is published for all the same",
  FULL,
  async () => {
    using person = new TestRepository();
    const { publisher, made } = await oneResult(person);
    const leaving = new AbortController();

    const left = publisher.publish(leaving.signal);
    leaving.abort(new Error("It was left out."));
    const later = publisher.publish(new AbortController().signal);

    await expect(left).rejects.toThrow("It was left out.");
    await later;
    expect(person.git("rev-parse", `refs/dure/${run}/ports/a/result`)).toBe(made.commit);
  },
);
