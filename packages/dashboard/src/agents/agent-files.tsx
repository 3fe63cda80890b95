import { useWords } from "../language.tsx";
import { Button, Loader } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import type { AgentDetail, AgentFiles } from "dure/client";
import { useState, type ReactNode } from "react";
import { Problem, ToldError } from "../problem.tsx";
import { Prose } from "../prose.tsx";
import { AgentHistory } from "./agent-history.tsx";
import { FileEditor } from "./agent-file-editor.tsx";
import { AGENT_WORDS } from "words:later/agent";
import { fileKeys, type ListedAgentFile } from "./use-agent-files.ts";
import { useAsked } from "../asked.ts";

/** Of the whole team: it is no agent's own. */
const TEAM_FILE = "AGENTS.md";

/** What the configuration says goes before these. */
const DECLARING: readonly string[] = ["agent.yaml", "agent.md"];

/** The files that make an agent, to be changed, and how they were changed before. */
export function AgentFilesSection({
  agent,
  files: shown,
}: {
  agent: string;
  files: NonNullable<AgentDetail["files"]>;
}): ReactNode {
  const words = useWords(AGENT_WORDS);
  const read = useAsked(fileKeys(agent).files, (client, signal) =>
    client.agentFiles(agent).read({ signal }),
  );
  const team = shown.find(({ path }) => path === TEAM_FILE);

  return (
    <>
      <section className="card stack" aria-label={words.files}>
        <h2>{words.files}</h2>
        {read.data === undefined && read.error === null && (
          <Loader type="dots" role="status" aria-label={words.loading} />
        )}
        {read.error !== null && <Problem error={read.error} onRetry={() => void read.refetch()} />}
        {read.data !== undefined && <Files agent={agent} read={read.data} />}
        {team !== undefined && <TeamFile text={team.text} />}
      </section>
      {read.data !== undefined && <AgentHistory agent={agent} files={read.data} />}
    </>
  );
}

function Files({ agent, read }: { agent: string; read: AgentFiles }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const { notEditable, configured, files } = read;
  const isEditable = notEditable === null;
  const there = files.filter(({ text, problem }) => isEditable || text !== null || problem);

  return (
    <>
      <p className="soft small">
        <Prose text={isEditable ? words.filesHint : words.notEditable[notEditable]} />
      </p>
      {there.length === 0 && <p className="soft small">{words.noFiles}</p>}
      {there.map((file, index) => (
        <OneFile
          key={file.file}
          {...{ agent, file, isEditable }}
          isOpen={index === 0}
          configured={DECLARING.includes(file.file) ? configured : []}
        />
      ))}
    </>
  );
}

function OneFile(props: {
  agent: string;
  file: ListedAgentFile;
  isEditable: boolean;
  isOpen: boolean;
  configured: readonly string[];
}): ReactNode {
  const { agent, file, isEditable, isOpen, configured } = props;
  const words = useWords(AGENT_WORDS);
  const [isEdited, setEdited] = useState(false);
  const [isSaved, setSaved] = useState(false);
  const leave = (saved: boolean): void => {
    setEdited(false);
    setSaved(saved);
  };

  return (
    <details className="agent-file" open={isOpen || isEdited}>
      <summary className="cluster baseline">
        <code>{file.path}</code>
        {file.text === null && file.problem === null && (
          <span className="soft small">{words.none}</span>
        )}
      </summary>
      {configured.length > 0 && (
        <p className="soft small">{words.configured({ keys: configured.join(", ") })}</p>
      )}
      {file.isFromOutside && <p className="soft small">{words.fromOutside}</p>}
      {isEdited ? <FileEditor {...{ agent, file }} onLeave={leave} /> : <FileText file={file} />}
      {isEditable && !isEdited && file.problem === null && (
        <EditButton file={file} onEdit={() => setEdited(true)} />
      )}
      <p role="status" className="agent-file-saved small good-words">
        {isSaved && !isEdited && words.saved}
      </p>
    </details>
  );
}

function FileText({ file: { path, text, problem } }: { file: ListedAgentFile }): ReactNode {
  const words = useWords(AGENT_WORDS);
  if (problem !== null) {
    return (
      <p className="error-note small">
        <ToldError error={problem} />
      </p>
    );
  }
  if (text === null) return null;
  if (text.trim() === "") return <p className="soft small">{words.empty}</p>;

  return (
    <pre tabIndex={0} aria-label={path}>
      {text}
    </pre>
  );
}

function EditButton({
  file: { path, text },
  onEdit,
}: {
  file: ListedAgentFile;
  onEdit: () => void;
}): ReactNode {
  const words = useWords(AGENT_WORDS);
  const isNew = text === null;
  return (
    <Button
      size="compact-sm"
      variant="default"
      leftSection={<IconPencil size={14} aria-hidden />}
      aria-label={isNew ? words.writeOf({ path }) : words.editOf({ path })}
      onClick={onEdit}
    >
      {isNew ? words.write : words.edit}
    </Button>
  );
}

function TeamFile({ text }: { text: string }): ReactNode {
  const words = useWords(AGENT_WORDS);
  return (
    <details className="agent-file">
      <summary className="cluster baseline">
        <code>{TEAM_FILE}</code>
      </summary>
      <p className="soft small">{words.shared}</p>
      <pre tabIndex={0} aria-label={TEAM_FILE}>
        {text}
      </pre>
    </details>
  );
}
