import { Button, Textarea } from "@mantine/core";
import type { CommentRequest, PortComment } from "dure/client";
import { useState, type FormEvent, type KeyboardEvent, type ReactNode } from "react";
import { actorOf } from "../actor.ts";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { Problem } from "../problem.tsx";
import type { Reviewing } from "./patch-view.tsx";
import { useCommenting } from "./use-plans.ts";

/** Longest comment, characters. Source: the server's own bound. */
const MAX_COMMENT = 2_000;

/** What was said at one place; what was not sent yet can be taken back. */
export function Comments({
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
              {sentTry === null ? words.commentWaits : words.commentSent(sentTry)}
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
export function CommentForm({
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
        label={at.line === undefined ? words.commentFile : words.commentLine(at.line ?? 0)}
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
