import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import { openPullRequest } from "./pull-request.ts";

/** Lists nothing (as JSON of an empty Go list) until a merge request was made. */
const GLAB = `#!/bin/sh
echo "$@" >> "$GITLAB_STATE/calls"
echo "token=$GITLAB_TOKEN secret=$DATABASE_URL" >> "$GITLAB_STATE/seen"
case "$2" in
  list) cat "$GITLAB_STATE/mrs" 2>/dev/null || echo null ;;
  create)
    if [ -f "$GITLAB_STATE/refuse" ]; then echo "401 Unauthorized" >&2; exit 1; fi
    echo '[{ "iid": 7, "web_url": "https://gitlab.example/a/b/-/merge_requests/7" }]' > "$GITLAB_STATE/mrs"
    ;;
esac
`;
const REQUEST = { branch: "dure/both", base: "main", title: "both", body: "- a: Make a" };

async function openPlace() {
  const state = await mkdtemp(join(tmpdir(), "dure-glab-"));
  onTestFinished(() => rm(state, { recursive: true, force: true }));
  await writeFile(join(state, "glab"), GLAB, { mode: 0o755 });
  const env = {
    PATH: `${state}:${process.env["PATH"]}`,
    GITLAB_STATE: state,
    GITLAB_TOKEN: "theirs",
    DATABASE_URL: "postgres://secret",
  };
  const place = { cwd: state, env, signal: new AbortController().signal };
  const read = (name: string): Promise<string> => readFile(join(state, name), "utf8");

  return { state, place, read };
}

test("glab opens one merge request, with its login and no secret of dure", FULL, async () => {
  const { place, read } = await openPlace();

  const first = await openPullRequest("glab", REQUEST, place);
  const second = await openPullRequest("glab", REQUEST, place);

  expect(first).toBe("https://gitlab.example/a/b/-/merge_requests/7");
  expect(second).toBe(first);
  const made = (await read("calls")).split("\n").filter((line) => line.startsWith("mr create"));
  expect(made).toEqual([
    "mr create --source-branch dure/both --target-branch main " +
      "--title both --description - a: Make a --yes",
  ]);
  expect(new Set((await read("seen")).trim().split("\n"))).toEqual(
    new Set(["token=theirs secret="]),
  );
});

test("a merge request that glab refuses says why, and what to do", FULL, async () => {
  const { state, place } = await openPlace();
  await writeFile(join(state, "refuse"), "");

  await expect(openPullRequest("glab", REQUEST, place)).rejects.toMatchObject({
    code: "PULL_REQUEST_FAILED",
    message: expect.stringContaining("401 Unauthorized") as string,
    hint: expect.stringContaining("Try glab by hand") as string,
  });
});
