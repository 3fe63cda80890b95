import { Button, Textarea } from "@mantine/core";
import type { PortComment, CommentRequest } from "dure/client";
import { useState, type KeyboardEvent, type ReactNode, type FormEvent } from "react";
import { useText } from "../language.tsx";
import type { FilePatch, PatchLine } from "./patch.ts";
import "./patch.css";
import { actorOf } from "../actor.ts";
import { useParts } from "../app-parts.tsx";
import { Problem } from "../problem.tsx";
import { useCommenting } from "./use-plans.ts";

/** Lines of one file that are shown before the rest is asked for. */
const LINES_SHOWN = 400;
/** Characters of a line that are kept with a comment. Source: the server's own bound. */
const MAX_QUOTE = 500;

const MARKS = { added: "+", removed: "−", same: " ", meta: " " } as const satisfies Record<
  PatchLine["kind"],
  string
>;

/** Where comments go; `comments`: those of this port. */
export interface Reviewing {
  readonly run: string;
  readonly port: string;
  readonly comments: readonly PortComment[];
  /** Its work has ended, and the caller may say something. */
  readonly mayWrite: boolean;
}

/** One file of a patch, line by line; with `review` each line can be commented on. */
export function PatchView({
  patch,
  isOpen,
  review,
}: {
  patch: FilePatch;
  isOpen: boolean;
  review?: Reviewing | undefined;
}): ReactNode {
  const words = useText().plans.port;
  const said = review?.comments.filter(({ path }) => path === patch.path) ?? [];

  return (
    <details className="patch card" open={isOpen || said.length > 0}>
      <summary className="row small">
        <code>{patch.path}</code>
        {said.length > 0 && (
          <span className="rigid good-words">{words.commentCount({ count: said.length })}</span>
        )}
        <span className="soft rigid">
          +{patch.added} −{patch.removed}
        </span>
      </summary>
      <PatchLines patch={patch} said={said} review={review} />
      {review && <OfFile patch={patch} said={said} review={review} />}
    </details>
  );
}

function PatchLines({
  patch,
  said,
  review,
}: {
  patch: FilePatch;
  said: readonly PortComment[];
  review: Reviewing | undefined;
}): ReactNode {
  const words = useText().plans.port;
  const [isWhole, setWhole] = useState(false);
  const [writing, setWriting] = useState<number>();
  // What is said of a line stays in sight.
  const lastSaid = patch.lines.findLastIndex((line) => commentsAt(line, said).length > 0);
  const most = isWhole ? Infinity : Math.max(LINES_SHOWN, lastSaid + 1);
  const shown = patch.lines.slice(0, most);
  const first = shown.findIndex(({ line }) => line !== undefined);
  const leave = (): void => setWriting(undefined);

  return (
    <>
      <div
        className="patch-lines"
        role="group"
        aria-label={words.patchOf({ path: patch.path })}
        tabIndex={0}
      >
        {shown.map((line, index) => (
          <Line
            key={index}
            line={line}
            isFirst={index === first}
            onComment={review?.mayWrite === true ? () => setWriting(index) : undefined}
          >
            {review && <Comments review={review} comments={commentsAt(line, said)} />}
            {review && writing === index && (
              <CommentForm review={review} at={placeOf(patch.path, line)} onLeave={leave} />
            )}
          </Line>
        ))}
      </div>
      {shown.length < patch.lines.length && (
        <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setWhole(true)}>
          {words.diffMore({ count: patch.lines.length - shown.length })}
        </Button>
      )}
    </>
  );
}

/** What is said of the file, and of lines that are not shown. */
function OfFile({
  patch: { path, lines },
  said,
  review,
}: {
  patch: FilePatch;
  said: readonly PortComment[];
  review: Reviewing;
}): ReactNode {
  const words = useText().plans.port;
  const [isWriting, setWriting] = useState(false);
  const ofFile = said.filter((one) => !lines.some((line) => isAt(line, one)));

  return (
    <>
      <Comments review={review} comments={ofFile} />
      {isWriting && <CommentForm review={review} at={{ path }} onLeave={() => setWriting(false)} />}
      {review.mayWrite && !isWriting && (
        <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setWriting(true)}>
          {words.commentFile}
        </Button>
      )}
    </>
  );
}

function Line({
  line,
  isFirst,
  onComment,
  children,
}: {
  line: PatchLine;
  isFirst: boolean;
  onComment: (() => void) | undefined;
  children: ReactNode;
}): ReactNode {
  const words = useText().plans.port;
  const { kind, text, line: number } = line;

  return (
    <>
      <div data-kind={kind}>
        {onComment !== undefined && number !== undefined ? (
          <button
            type="button"
            className="patch-number bare soft"
            tabIndex={isFirst ? 0 : -1}
            onKeyDown={walkLines}
            onClick={onComment}
          >
            {number}
            <span className="hidden-words"> {words.commentHere}</span>
          </button>
        ) : (
          <span className="patch-number soft">{number}</span>
        )}
        <span className="patch-mark soft" aria-hidden>
          {MARKS[kind]}
        </span>
        {(kind === "added" || kind === "removed") && (
          <span className="hidden-words">{words[kind]} </span>
        )}
        <code>{text === "" ? " " : text}</code>
      </div>
      {children}
    </>
  );
}

/** The arrow keys walk over the lines: one stop of Tab for a file, however long it is. */
function walkLines(event: KeyboardEvent<HTMLButtonElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const file = event.currentTarget.closest(".patch-lines");
  if (step === undefined || file === null) return;
  event.preventDefault();
  const lines = [...file.querySelectorAll<HTMLElement>("button.patch-number")];
  const now = lines.indexOf(event.currentTarget);
  lines[Math.min(lines.length - 1, Math.max(0, now + step))]?.focus();
}

function sideOf({ kind }: PatchLine): "old" | "new" {
  return kind === "removed" ? "old" : "new";
}

function isAt(line: PatchLine, { line: number, side }: PortComment): boolean {
  return line.line !== undefined && line.line === number && sideOf(line) === side;
}

function commentsAt(line: PatchLine, said: readonly PortComment[]): readonly PortComment[] {
  return said.filter((comment) => isAt(line, comment));
}

function placeOf(path: string, line: PatchLine) {
  return { path, line: line.line, side: sideOf(line), quote: line.text.slice(0, MAX_QUOTE) };
}

// --- port comments

/** Longest comment, characters. Source: the server's own bound. */
const MAX_COMMENT = 2_000;

/** What was said at one place; what was not sent yet can be taken back. */
function Comments({
  review,
  comments,
}: {
  review: Reviewing;
  comments: readonly PortComment[];
}): ReactNode {
  const allText = useText();
  const words = allText.plans.port;
  const { drop } = useCommenting(review.run, review.port);
  if (comments.length === 0) return null;

  return (
    <ul className="patch-comments patch-aside small stack">
      {comments.map(({ id, by, text, sentTry }) => (
        <li key={id} data-sent={sentTry !== null || undefined}>
          <p className="toolbar baseline">
            <strong>{actorOf(by, { text: allText, nameOf: (agent) => agent })}</strong>
            <span className="soft">
              {sentTry === null ? words.commentWaits : words.commentSent({ number: sentTry })}
            </span>
            {sentTry === null && review.mayWrite && (
              <Button
                size="compact-xs"
                variant="subtle"
                color="gray"
                loading={drop.isPending}
                onClick={() => drop.mutate(id)}
              >
                {words.commentDrop}
              </Button>
            )}
          </p>
          <p className="verbatim">{text}</p>
        </li>
      ))}
      {drop.error !== null && <Problem error={drop.error} />}
    </ul>
  );
}

/** A comment is written. What is written outlives a reload of the page in this tab. */
function CommentForm({
  review: { run, port },
  at,
  onLeave,
}: {
  review: Reviewing;
  at: Omit<CommentRequest, "text">;
  onLeave: () => void;
}): ReactNode {
  const words = useText().plans.port;
  const place = ["comment", run, port, at.path, at.side, at.line].join(" ");
  const [text, keep] = useDraft(place);
  const { add } = useCommenting(run, port);
  const isReady = text.trim() !== "" && !add.isPending;

  const send = (): void => {
    if (!isReady) return;
    const onSuccess = (): void => {
      keep("");
      onLeave();
    };
    add.mutate({ ...at, text: text.trim() }, { onSuccess });
  };

  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    send();
  };

  return (
    <form className="patch-aside small stack" onSubmit={onSubmit}>
      <Textarea
        autoFocus
        autosize
        minRows={2}
        maxRows={8}
        size="sm"
        label={
          at.line === undefined ? words.commentFile : words.commentLine({ line: at.line ?? 0 })
        }
        maxLength={MAX_COMMENT}
        value={text}
        onChange={(event) => keep(event.currentTarget.value)}
        onKeyDown={(event) => onKeys(event, { send, leave: onLeave })}
      />
      <div className="toolbar">
        <Button type="submit" size="compact-sm" loading={add.isPending} disabled={!isReady}>
          {words.commentDo}
        </Button>
        <Button size="compact-sm" variant="default" onClick={onLeave}>
          {words.back}
        </Button>
      </div>
      {add.error !== null && <Problem error={add.error} />}
    </form>
  );
}

/** Ctrl or ⌘ with Enter sends, Escape leaves. */
function onKeys(
  event: KeyboardEvent,
  { send, leave }: { send: () => void; leave: () => void },
): void {
  if (event.nativeEvent.isComposing) return;
  if (event.key === "Escape") leave();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
}

function useDraft(place: string): [text: string, keep: (text: string) => void] {
  const { drafts } = useParts();
  const [text, setText] = useState(() => drafts.of(place));
  const keep = (written: string): void => {
    setText(written);
    drafts.keep(place, written);
  };
  return [text, keep];
}
