import { Button, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { DureError } from "dure/client";
import { useState, type FormEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useWords } from "../language.tsx";
import { Prose } from "../prose.tsx";
import { AGENT_WORDS } from "words:later/agent";
import type { AgentWords } from "words:later/agent";
import { Refusal } from "./file-refusal.tsx";
import { useReadAgain, type ListedAgentFile } from "./use-agent-files.ts";

/** Characters that the server keeps. Source: docs/guides/limits.md. */
const MOST = 20_000;

/** A text that is being changed, and the version that it was made upon. */
interface WrittenFile {
  readonly text: string;
  readonly version: string | null;
}

/** Changes one file. What is written outlives a reload, with the version it was made upon. */
export function FileEditor({
  agent,
  file,
  onLeave,
}: {
  agent: string;
  file: ListedAgentFile;
  onLeave: (isSaved: boolean) => void;
}): ReactNode {
  const words = useWords(AGENT_WORDS);
  const readAgain = useReadAgain(agent);
  const { client } = useParts();
  const draft = useDraft(agent, file);
  const { text, version } = draft.written;
  const save = useMutation({
    mutationFn: (upon: string | null) =>
      client.agentFiles(agent).save(file.file, { text, version: upon }),
    onSuccess: () => {
      draft.forget();
      onLeave(true);
    },
    onSettled: readAgain,
  });
  const isStale = isChanged(save.error);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(isStale ? file.version : version);
  };

  return (
    <form className="agent-editor stack" onSubmit={submit}>
      <Textarea
        aria-label={file.path}
        value={text}
        onChange={(event) => draft.write(event.currentTarget.value)}
        autosize
        minRows={6}
        maxRows={24}
        spellCheck={false}
        data-autofocus
        classNames={{ input: "small mono" }}
      />
      <Length count={text.length} />
      <MayHold file={file.file} />
      {save.error !== null && <Refusal error={save.error} />}
      {isStale && <NowThere file={file} />}
      <Buttons
        save={isStale ? words.saveOver : words.save}
        isSaving={save.isPending}
        onCancel={() => {
          draft.forget();
          onLeave(false);
        }}
      />
    </form>
  );
}

function Buttons(props: { save: string; isSaving: boolean; onCancel: () => void }): ReactNode {
  const words = useWords(AGENT_WORDS);
  return (
    <div className="toolbar">
      <Button type="submit" size="compact-md" loading={props.isSaving}>
        {props.save}
      </Button>
      <Button size="compact-md" variant="default" onClick={props.onCancel}>
        {words.cancel}
      </Button>
    </div>
  );
}

function isChanged(error: Error | null): boolean {
  return error instanceof DureError && error.code === "AGENT_FILE_CHANGED";
}

function useDraft(agent: string, { file, text, version }: ListedAgentFile) {
  const { drafts } = useParts();
  const place = `agent-file:${agent}/${file}`;
  const [written, setWritten] = useState(
    (): WrittenFile => readDraft(drafts.of(place)) ?? { text: text ?? "", version },
  );

  return {
    written,
    write: (changed: string): void => {
      const next = { ...written, text: changed };
      setWritten(next);
      drafts.keep(place, `${next.version ?? ""}\n${changed}`);
    },
    forget: (): void => drafts.keep(place, ""),
  };
}

function readDraft(kept: string): WrittenFile | undefined {
  const end = kept.indexOf("\n");
  if (end === -1) return undefined;
  return { version: kept.slice(0, end) || null, text: kept.slice(end + 1) };
}

function Length({ count }: { count: number }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const { language } = useLanguage();
  const [now, most] = [count, MOST].map((number) => number.toLocaleString(language));
  return (
    <p className="soft small" data-bad={count > MOST || undefined}>
      {words.length({ count: now!, most: most! })}
    </p>
  );
}

/** Keys that a file of settings may have, and what each is for; of other files none. */
function keysOf(file: string, { keys, headKeys }: AgentWords): Readonly<Record<string, string>> {
  if (file === "agent.yaml") return keys;
  if (file !== "agent.md") return {};
  const { displayName, "card.llm": model, ...ofCard } = keys;
  const card = Object.entries(ofCard).map(([key, what]) => [key.replace(/^card\./, ""), what]);
  return { name: displayName, ...headKeys, model, ...Object.fromEntries(card) };
}

function MayHold({ file }: { file: string }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const keys = Object.entries(keysOf(file, words));
  if (keys.length === 0) return null;
  return (
    <details className="agent-may-hold">
      <summary className="small cluster baseline">{words.mayHold({ file })}</summary>
      <dl className="stack">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <code>{key}</code>
            </dt>
            <dd className="soft small">
              <Prose text={what} />
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function NowThere({ file: { path, text } }: { file: ListedAgentFile }): ReactNode {
  const words = useWords(AGENT_WORDS);
  return (
    <details className="agent-file" open>
      <summary className="small cluster baseline">{words.nowThere}</summary>
      {text === null ? (
        <p className="soft small">{words.none}</p>
      ) : (
        <pre tabIndex={0} aria-label={`${words.nowThere}: ${path}`}>
          {text}
        </pre>
      )}
    </details>
  );
}
