import { Button } from "@mantine/core";
import {
  IconBulb,
  IconCircleCheck,
  IconCircleX,
  IconCoin,
  IconFileDiff,
  IconFlag,
  IconHandStop,
  IconHelpCircle,
  IconLoader2,
  IconMessage2,
  IconMessages,
  IconNotes,
  IconTerminal2,
  IconTool,
  type Icon,
} from "@tabler/icons-react";
import type { TranscriptLine } from "dure/client";
import { memo, useState, type ReactNode } from "react";
import { Markdown } from "../chat/markdown.tsx";
import { useLanguage, useText } from "../language.tsx";
import { clockOf, momentOf } from "../when.ts";
import { endOf, excerptOf, inputOf, piecesOf, type TranscriptBlock } from "./transcript-lines.ts";

type LineKind = TranscriptLine["kind"];

const ICONS = {
  prompt: IconNotes,
  session: IconMessages,
  thought: IconBulb,
  message: IconMessage2,
  tool: IconTool,
  result: IconTool,
  diff: IconFileDiff,
  stdout: IconTerminal2,
  stderr: IconTerminal2,
  refused: IconHandStop,
  asked: IconHelpCircle,
  heard: IconMessage2,
  cost: IconCoin,
  end: IconFlag,
} as const satisfies Record<LineKind, Icon>;

interface BlockProps {
  readonly block: TranscriptBlock;
  /** Words that are looked for. */
  readonly search: string;
  /** Its step is still at work. */
  readonly isLive: boolean;
}

/** One thing that a worker thought, said or did, with what came of it. */
export const BlockView = memo(
  function BlockView({ block: { line, parts }, search, isLive }: BlockProps): ReactNode {
    switch (line.kind) {
      case "prompt":
      case "thought":
        return <Folded line={line} search={search} />;
      case "tool":
        return <Call line={line} parts={parts} search={search} isLive={isLive} />;
      case "message":
        return (
          <>
            <Head line={line} />
            {search === "" ? (
              <Markdown>{line.text}</Markdown>
            ) : (
              <Excerpt line={line} search={search} />
            )}
          </>
        );
      case "diff":
        return <Change line={line} search={search} />;
      case "end":
        return <End line={line} search={search} />;
      case "heard":
        return <Heard line={line} search={search} />;
      case "session":
      case "refused":
      case "asked":
        return <Told line={line} search={search} />;
      default: // what was printed, and what a call gave that is not known
        return (
          <>
            <Head line={line} title={line.title} search={search} status={line.status} />
            <Excerpt line={line} search={search} />
          </>
        );
    }
  },
  // Blocks are made anew with each look; their lines are not.
  (one, other) =>
    one.search === other.search &&
    one.isLive === other.isLive &&
    one.block.line.text === other.block.line.text &&
    one.block.line.id === other.block.line.id &&
    one.block.parts.length === other.block.parts.length,
);

function Head({
  line,
  title = "",
  search = "",
  status,
}: {
  line: TranscriptLine;
  title?: string | undefined;
  search?: string | undefined;
  status?: string | undefined;
}): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.transcript;
  const Icon = ICONS[line.kind];

  return (
    <p className="small cluster">
      <Icon size={15} stroke={1.8} aria-hidden />
      <strong>{words.kinds[line.kind]}</strong>
      {title !== "" && (
        <code>
          <Marked text={title} search={search} />
        </code>
      )}
      <StatusMark status={status} />
      <time
        className="end meta"
        dateTime={new Date(line.at).toISOString()}
        title={momentOf(line.at, language)}
      >
        {clockOf(line.at).slice(0, 8)}
      </time>
    </p>
  );
}

const STATUSES = {
  completed: { Icon: IconCircleCheck, tone: "good" },
  failed: { Icon: IconCircleX, tone: "bad" },
  running: { Icon: IconLoader2, tone: "now" },
} as const;

function StatusMark({ status }: { status: string | undefined }): ReactNode {
  const words = useText().plans.transcript.statuses;
  if (status !== "completed" && status !== "failed" && status !== "running") return null;
  const { Icon, tone } = STATUSES[status];

  return (
    <span className="plan-mark badge" data-tone={tone}>
      <Icon
        size={14}
        stroke={2}
        aria-hidden
        className={status === "running" ? "plan-turning" : undefined}
      />
      {words[status]}
    </span>
  );
}

/** Long and seldom read: its first words, and all of it when it is opened. */
function Folded({ line, search }: { line: TranscriptLine; search: string }): ReactNode {
  const words = useText().plans.transcript;
  const Icon = ICONS[line.kind];
  const [isOpen, setOpen] = useState(search !== "");

  return (
    <details
      className="transcript-folded"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className="row small">
        <Icon size={15} stroke={1.8} aria-hidden />
        <strong className="rigid">{words.kinds[line.kind]}</strong>
        {!isOpen && <span className="soft clip">{line.text.trim().slice(0, 160)}</span>}
      </summary>
      {isOpen && <Excerpt line={line} search={search} />}
    </details>
  );
}

/** A tool's call: its input, what it changed, what it gave. */
function Call({
  line,
  parts,
  search,
  isLive,
}: {
  line: TranscriptLine;
  parts: readonly TranscriptLine[];
  search: string;
  isLive: boolean;
}): ReactNode {
  const words = useText().plans.transcript;
  const ended = parts.findLast(({ status }) => status === "completed" || status === "failed");
  const input = inputOf(line.text);

  return (
    <>
      <Head
        line={line}
        title={line.title}
        search={search}
        status={ended?.status ?? (isLive ? "running" : undefined)}
      />
      {input !== "" && (
        <Excerpt line={{ ...line, text: input }} label={words.input} search={search} />
      )}
      {parts.map((part) =>
        part.kind === "diff" ? (
          <ChangedLines key={part.id} line={part} search={search} isNamed />
        ) : (
          part.text !== "" && (
            <Excerpt key={part.id} line={part} label={words.kinds[part.kind]} search={search} />
          )
        ),
      )}
    </>
  );
}

function Change({ line, search }: { line: TranscriptLine; search: string }): ReactNode {
  return (
    <>
      <Head line={line} title={line.title} search={search} />
      <ChangedLines line={line} search={search} />
    </>
  );
}

const MARKS = { added: "+", removed: "−", same: " " } as const;

/** Removed and added lines, coloured; the first ones, and all of them when they are asked for. */
function ChangedLines({
  line,
  search,
  isNamed = false,
}: {
  line: TranscriptLine;
  search: string;
  isNamed?: boolean;
}): ReactNode {
  const words = useText().plans.port;
  const [isWhole, setWhole] = useState(false);
  const excerpt = excerptOf(line.text, search);
  const shown = (isWhole ? line.text : excerpt.text).split("\n");

  return (
    <div className="transcript-text stack tight">
      {isNamed && <code className="meta">{line.title}</code>}
      <div
        className="patch-lines"
        role="group"
        aria-label={words.patchOf({ path: line.title })}
        tabIndex={0}
      >
        {shown.map((text, index) => {
          const kind = kindOf(text);
          return (
            <div key={index} data-kind={kind}>
              <span aria-hidden>{MARKS[kind]}</span>
              {kind !== "same" && <span className="hidden-words">{words[kind]} </span>}
              <code>
                <Marked
                  text={kind === "same" ? text.replace(/^ /, "") : text.slice(1) || " "}
                  search={search}
                />
              </code>
            </div>
          );
        })}
      </div>
      {!isWhole && <More left={excerpt.left} onMore={() => setWhole(true)} />}
    </div>
  );
}

function kindOf(text: string): keyof typeof MARKS {
  if (text.startsWith("+")) return "added";
  return text.startsWith("-") ? "removed" : "same";
}

/** What was refused or asked for, and how a conversation began: codes of the server in our words. */
function Told({ line, search }: { line: TranscriptLine; search: string }): ReactNode {
  const { transcript: words, port } = useText().plans;
  if (line.kind === "session") {
    return (
      <>
        <Head line={line} />
        <p className="soft">{words.sessions[line.title] ?? line.title}</p>
      </>
    );
  }
  const [, wants = "", path = line.title] = /^(read|own|write) ([^]*)$/.exec(line.title) ?? [];
  const [code = "", ...detail] = line.text.split("\n");

  return (
    <>
      <Head line={line} title={port.members[path] ?? path} search={search} />
      <p>
        {[port.wants[wants] ?? wants, port.reasons[code] ?? words.answers[code] ?? code]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {detail.length > 0 && <Excerpt line={{ ...line, text: detail.join("\n") }} search={search} />}
    </>
  );
}

/** Words of a person, or of the other member. */
function Heard({ line, search }: { line: TranscriptLine; search: string }): ReactNode {
  const { members } = useText().plans.port;
  return (
    <>
      <Head line={line} title={members[line.title] ?? line.title} search={search} />
      <Excerpt line={line} search={search} />
    </>
  );
}

function End({ line, search }: { line: TranscriptLine; search: string }): ReactNode {
  const { transcript: words, port } = useText().plans;
  if (line.title === "cut") return <p className="warn">{words.cut}</p>;
  const { words: said, tokens } = endOf(line.text);

  return (
    <>
      <Head line={line} />
      <p>
        <strong>{port.results[line.title] ?? line.title}</strong>
        {tokens !== undefined && (
          <span className="soft small">
            {" "}
            · {port.tokensInOut({ input: tokens.input, output: tokens.output, cached: 0 })}
          </span>
        )}
      </p>
      {said !== "" && <Excerpt line={{ ...line, text: said }} search={search} />}
    </>
  );
}

/** A text as it was printed: its first lines, and all of it when it is asked for. */
function Excerpt({
  line,
  label,
  search,
}: {
  line: TranscriptLine;
  label?: string | undefined;
  search: string;
}): ReactNode {
  const words = useText().plans.transcript;
  const [isWhole, setWhole] = useState(false);
  const excerpt = excerptOf(line.text, search);
  const shown = <Marked text={isWhole ? line.text : excerpt.text} search={search} />;
  if (line.text.trim() === "") return null;

  return (
    <div className="transcript-text stack tight" data-kind={line.kind}>
      {label !== undefined && <span className="meta">{label}</span>}
      {isWhole ? (
        <pre
          tabIndex={0}
          role="group"
          aria-label={words.outputOf({ what: label ?? words.kinds[line.kind] ?? line.kind })}
          data-whole
        >
          {shown}
        </pre>
      ) : (
        <pre>{shown}</pre>
      )}
      {!isWhole && <More left={excerpt.left} onMore={() => setWhole(true)} />}
    </div>
  );
}

function More({ left, onMore }: { left: number; onMore: () => void }): ReactNode {
  const words = useText().plans.port;
  if (left === 0) return null;
  return (
    <Button size="compact-xs" variant="subtle" color="gray" onClick={onMore}>
      {words.diffMore({ count: left })}
    </Button>
  );
}

function Marked({ text, search }: { text: string; search: string }): ReactNode {
  if (search === "") return text;
  return piecesOf(text, search).map((piece, index) =>
    index % 2 === 1 ? <mark key={index}>{piece}</mark> : piece,
  );
}
