import { Button, Loader } from "@mantine/core";
import { DureError, type TreeDiff } from "dure/client";
import { useMemo, useState, type ReactNode } from "react";
import { Problem } from "../problem.tsx";
import { useText } from "../language.tsx";
import { filesOf, type FilePatch, type PatchLine } from "./patch.ts";
import { useDiff } from "./use-plans.ts";

/** Lines of one file that are shown before the rest is asked for; files that are open at first. */
const LINES_SHOWN = 400;
const OPEN_AT_FIRST = 6;
const MARKS = { added: "+", removed: "−", same: " ", meta: " " } as const satisfies Record<
  PatchLine["kind"],
  string
>;

/**
 * What a port, or without one the whole run, has changed: the files, and the changes line by line.
 */
export function DiffView({ run, port }: { run: string; port?: string }): ReactNode {
  const text = useText();
  const diff = useDiff(run, port);
  if (diff.data !== undefined) return <Diff diff={diff.data} />;

  if (diff.error instanceof DureError && diff.error.class === "not-found") {
    return (
      <div className="port-part">
        <p>{text.plans.port.noDiff}</p>
        <p className="soft small">{text.plans.port.noDiffHint}</p>
      </div>
    );
  }

  return (
    <div className="port-part">
      {diff.error === null ? (
        <Loader type="dots" role="status" aria-label={text.plans.loading} />
      ) : (
        <Problem error={diff.error} onRetry={() => void diff.refetch()} />
      )}
    </div>
  );
}

function Diff({ diff }: { diff: TreeDiff }): ReactNode {
  const words = useText().plans.port;
  const patches = useMemo(() => filesOf(diff.patch), [diff.patch]);

  return (
    <div className="port-part">
      <h2>{words.diffFiles(diff.changes.length)}</h2>
      <ul className="path-list">
        {diff.changes.map(({ path, kind }) => (
          <li key={path}>
            <code>{path}</code> <span className="soft">{words.changes[kind] ?? kind}</span>
          </li>
        ))}
      </ul>
      {diff.isCut && <p className="warn small">{words.diffCut}</p>}
      {patches.map((patch, index) => (
        <Patch key={`${patch.path}-${index}`} patch={patch} isOpen={index < OPEN_AT_FIRST} />
      ))}
    </div>
  );
}

function Patch({ patch, isOpen }: { patch: FilePatch; isOpen: boolean }): ReactNode {
  const words = useText().plans.port;
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? patch.lines : patch.lines.slice(0, LINES_SHOWN);

  return (
    <details className="patch" open={isOpen}>
      <summary>
        <code>{patch.path}</code>
        <span className="patch-counts">
          +{patch.added} −{patch.removed}
        </span>
      </summary>
      <div className="patch-lines" role="group" aria-label={words.patchOf(patch.path)} tabIndex={0}>
        {shown.map((line, index) => (
          <div key={index} data-kind={line.kind}>
            <span aria-hidden>{MARKS[line.kind]}</span>
            {(line.kind === "added" || line.kind === "removed") && (
              <span className="hidden-words">{words[line.kind]} </span>
            )}
            <code>{line.text === "" ? " " : line.text}</code>
          </div>
        ))}
      </div>
      {shown.length < patch.lines.length && (
        <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setWhole(true)}>
          {words.diffMore(patch.lines.length - shown.length)}
        </Button>
      )}
    </details>
  );
}
