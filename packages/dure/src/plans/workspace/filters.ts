import type { Git, GitPlace } from "./git.ts";

/** Settings under which no filter of the repository runs. */
export async function filtersOff(git: Git, at: GitPlace, signal?: AbortSignal): Promise<string[]> {
  const { stdout } = await git.run(
    [
      "config",
      "-z",
      "--name-only",
      "--get-regexp",
      String.raw`^filter\..*\.(clean|smudge|process|required)$`,
    ],
    { at, accept: [0, 1], signal },
  );
  const names = new Set(
    stdout
      .toString()
      .split("\0")
      .filter(Boolean)
      .map((key) => key.slice(0, key.lastIndexOf("."))),
  );
  return [...names].flatMap((name) => [
    `${name}.clean=`,
    `${name}.smudge=`,
    `${name}.process=`,
    `${name}.required=false`,
  ]);
}
