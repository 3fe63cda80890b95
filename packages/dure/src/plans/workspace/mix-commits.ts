import { AUTHOR, CommitWriter } from "./commit-writer.ts";
import { textOf } from "./paths.ts";
import type { RunStore } from "./store.ts";

/** Two commits of which a third one is made. */
interface Mix {
  readonly base: string;
  readonly other: string;
  /** Of which paths the other one's files are taken. */
  readonly takes: (path: string) => boolean;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly signal: AbortSignal | undefined;
}

/** The files of one commit, with some of another: to be looked at, not built on. No ref is written. */
export async function mixCommits(store: RunStore, mix: Mix): Promise<string> {
  const { base, other, takes, message, at, signal } = mix;
  const [before, after] = [
    await store.listing(base, { signal }),
    await store.listing(other, { signal }),
  ];
  const keys = new Set([...before.keys(), ...after.keys()]);
  const changed = [...keys].filter((key) => {
    const [old, now] = [before.get(key), after.get(key)];
    return (old?.id !== now?.id || old?.mode !== now?.mode) && takes(textOf(key));
  });
  if (changed.length === 0) return base;

  const { git, folder } = store;
  const commits = new CommitWriter({ git, folder, author: AUTHOR });
  const changes = changed.map((key) => ({ key, entry: after.get(key) }));
  const commit = await commits.write(base, changes, { parents: [base], message, at, signal });
  await commits.own([commit], [base, other], signal);
  return commit;
}
