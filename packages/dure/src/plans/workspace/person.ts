import { AUTHOR } from "./commit-writer.ts";
import type { CommitIdentity } from "./git.ts";
import type { Repository } from "./repository.ts";

/**
 * Who the person is in whose repository dure works, by git's own settings there (`user.name` and
 * `user.email`); dure itself where they say nothing. What git would refuse in a commit is left out.
 */
export async function personOf(
  { git, at }: Repository,
  env: Readonly<Record<string, string | undefined>>,
  { now, signal }: { now: number; signal: AbortSignal | undefined },
): Promise<CommitIdentity> {
  const said = async (key: string): Promise<string> => {
    const call = { at, network: env, accept: [0, 1], signal };
    const { stdout } = await git.run(["config", "--get", key], call);

    return stdout
      .toString()
      .replace(/[<>\n\0]/g, "")
      .trim();
  };
  const name = await said("user.name");
  const email = await said("user.email");
  const isKnown = name !== "" && email !== "";

  return isKnown ? { name, email, at: now } : { ...AUTHOR, at: now };
}

/**
 * One commit upon another that holds the files of a third. The same for the same arguments, so that
 * a second call makes no second commit.
 */
export async function squash(
  { git, at }: Repository,
  commit: string,
  {
    onto,
    message,
    identity,
    signal,
  }: {
    onto: string;
    message: string;
    identity: CommitIdentity;
    signal: AbortSignal | undefined;
  },
): Promise<string> {
  return git.text(["commit-tree", `${commit}^{tree}`, "-p", onto, "-F", "-"], {
    at,
    identity,
    input: message,
    signal,
  });
}
