import { Button, Loader } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { AgentEditDetail, AgentEditEntry, AgentFiles } from "dure/client";
import { useState, type ReactNode } from "react";
import { actorOf } from "../actor.ts";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useWords } from "../language.tsx";
import { filesOf } from "../plans/patch.ts";
import { PatchView } from "../plans/patch-view.tsx";
import { Problem } from "../problem.tsx";
import { momentOf, whenOf } from "../when.ts";
import { AGENT_WORDS } from "words:later/agent";
import { Refusal } from "./file-refusal.tsx";
import { fileKeys, useReadAgain } from "./use-agent-files.ts";
import { useAsked, usePages } from "../asked.ts";

/** Who changed what, and when; each text can be brought back. */
export function AgentHistory({ agent, files }: { agent: string; files: AgentFiles }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const edits = usePages(fileKeys(agent).edits, (client, cursor, signal) =>
    client.agentFiles(agent).edits(cursor, { signal }),
  );
  const all = edits.data?.pages.flatMap(({ items }) => items) ?? [];

  return (
    <section className="card stack" aria-label={words.history}>
      <h2>{words.history}</h2>
      <p className="soft small">
        {edits.isSuccess && all.length === 0 ? words.noHistory : words.historyHint}
      </p>
      {edits.error !== null && <Problem error={edits.error} onRetry={() => void edits.refetch()} />}
      <ol className="stack flush divided" reversed>
        {all.map((edit) => (
          <li key={edit.id}>
            <Edit agent={agent} edit={edit} files={files} />
          </li>
        ))}
      </ol>
      {edits.hasNextPage && (
        <Button
          size="compact-sm"
          variant="default"
          loading={edits.isFetchingNextPage}
          onClick={() => void edits.fetchNextPage()}
        >
          {words.moreHistory}
        </Button>
      )}
    </section>
  );
}

function Edit(props: { agent: string; edit: AgentEditEntry; files: AgentFiles }): ReactNode {
  const { agent, edit, files } = props;
  const [isOpen, setOpen] = useState(false);

  return (
    <details className="agent-edit" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="cluster baseline">
        <EditHead edit={edit} />
      </summary>
      {isOpen && <EditBody agent={agent} edit={edit} files={files} />}
    </details>
  );
}

function EditHead({ edit }: { edit: AgentEditEntry }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const { text, language } = useLanguage();
  const { file, at, by, person, added, removed, outcome, restores, isFromOutside } = edit;
  const who = person ?? actorOf(by, { text, nameOf: (id) => id });
  const notes = [
    outcome !== "done" && words.outcomesOfEdit[outcome ?? "open"],
    restores !== null && words.restored,
    isFromOutside && words.outsideBefore,
  ].filter((note) => note !== false);

  return (
    <>
      <strong>{file}</strong>
      <span className="small soft">
        +{added} −{removed}
      </span>
      <span className="soft small">
        {who} ·{" "}
        <time dateTime={new Date(at).toISOString()} title={momentOf(at, language)}>
          {whenOf(at, language)}
        </time>
      </span>
      {notes.map((note) => (
        <span key={note} className="badge good">
          {note}
        </span>
      ))}
    </>
  );
}

function EditBody(props: { agent: string; edit: AgentEditEntry; files: AgentFiles }): ReactNode {
  const { agent, edit, files } = props;
  const words = useWords(AGENT_WORDS);
  const detail = useAsked([...fileKeys(agent).edits, edit.id, edit.outcome], (client, signal) =>
    client.agentFiles(agent).edit(edit.id, { signal }),
  );
  if (detail.error !== null) {
    return <Problem error={detail.error} onRetry={() => void detail.refetch()} />;
  }
  if (detail.data === undefined) {
    return <Loader type="dots" role="status" aria-label={words.loading} />;
  }

  return (
    <div className="agent-edit-body stack">
      {filesOf(detail.data.patch).map((patch) => (
        <PatchView key={patch.path} patch={patch} isOpen />
      ))}
      <Restore agent={agent} edit={detail.data} files={files} />
    </div>
  );
}

function Restore(props: { agent: string; edit: AgentEditDetail; files: AgentFiles }): ReactNode {
  const { agent, edit, files } = props;
  const words = useWords(AGENT_WORDS);
  const { client } = useParts();
  const readAgain = useReadAgain(agent);
  const now = files.files.find(({ file }) => file === edit.file);
  const restore = useMutation({
    mutationFn: (side: "before" | "after") =>
      client.agentFiles(agent).restore(edit.id, { side, version: now?.version ?? null }),
    onSettled: readAgain,
  });
  if (files.notEditable !== null || now === undefined) return null;
  const sides = (["after", "before"] as const).filter(
    (side) => edit[side] !== null && edit[side] !== now.text,
  );

  return (
    <>
      {edit.after === now.text && <p className="soft small">{words.sameNow}</p>}
      {restore.error !== null && <Refusal error={restore.error} />}
      <div className="toolbar">
        {sides.map((side) => (
          <Button
            key={side}
            size="compact-sm"
            variant="default"
            loading={restore.isPending && restore.variables === side}
            onClick={() => restore.mutate(side)}
          >
            {side === "after" ? words.restoreAfter : words.restoreBefore}
          </Button>
        ))}
      </div>
    </>
  );
}
