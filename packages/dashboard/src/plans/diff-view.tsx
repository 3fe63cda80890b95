import { Loader, Button, Textarea } from "@mantine/core";
import { DureError, type PortDetail, type RunDetail, type TreeDiff, MAX_NOTE } from "dure/client";
import { useMemo, type ReactNode, useState } from "react";
import { Problem } from "../problem.tsx";
import { useText } from "../language.tsx";
import { filesOf } from "./patch.ts";
import { PatchView, type Reviewing } from "./patch-view.tsx";
import { useComments, useDiff, useMayRun } from "./use-plans.ts";
import { IconCheck, IconSend } from "@tabler/icons-react";
import { useParts } from "../app-parts.tsx";
import { useOrder } from "./run-head.tsx";

/** Files that are open at first. */
const OPEN_AT_FIRST = 6;
/**
 * What a port, or without one the whole run, has changed: the files, and the changes line by line.
 */
export function DiffView({
  run,
  port,
}: {
  run: RunDetail;
  port?: PortDetail | undefined;
}): ReactNode {
  const text = useText();
  const diff = useDiff(run.id, port?.id);
  const review = useReview(run, port);
  if (diff.data !== undefined) {
    return (
      <Diff diff={diff.data} review={review}>
        {port !== undefined && review?.mayWrite === true && (
          <ReviewBar run={run} port={port} review={review} />
        )}
      </Diff>
    );
  }

  if (diff.error instanceof DureError && diff.error.class === "not-found") {
    return (
      <div className="port-part stack loose">
        <p>{text.plans.port.noDiff}</p>
        <p className="soft small">{text.plans.port.noDiffHint}</p>
      </div>
    );
  }

  return (
    <div className="port-part stack loose">
      {diff.error === null ? (
        <Loader type="dots" role="status" aria-label={text.plans.loading} />
      ) : (
        <Problem error={diff.error} onRetry={() => void diff.refetch()} />
      )}
    </div>
  );
}

/** Undefined: of the whole run, whose changes are reviewed port by port. */
function useReview(run: RunDetail, port: PortDetail | undefined): Reviewing | undefined {
  const mayRun = useMayRun();
  const comments = useComments(run.id, port?.id);
  if (port === undefined) return undefined;
  const mayWrite = mayRun && isReviewable(run, port);
  return { run: run.id, port: port.id, comments: comments.data ?? [], mayWrite };
}

function Diff({
  diff,
  review,
  children,
}: {
  diff: TreeDiff;
  review: Reviewing | undefined;
  children: ReactNode;
}): ReactNode {
  const words = useText().plans.port;
  const patches = useMemo(() => filesOf(diff.patch), [diff.patch]);

  return (
    <div className="port-part stack loose">
      <h2>{words.diffFiles({ count: diff.changes.length })}</h2>
      <ul className="small stack tight">
        {diff.changes.map(({ path, kind }) => (
          <li key={path}>
            <code>{path}</code> <span className="soft">{words.changes[kind] ?? kind}</span>
          </li>
        ))}
      </ul>
      {diff.isCut && <p className="warn small">{words.diffCut}</p>}
      {patches.map((patch, index) => (
        <PatchView
          key={`${patch.path}-${index}`}
          patch={patch}
          isOpen={index < OPEN_AT_FIRST}
          review={review}
        />
      ))}
      {children}
    </div>
  );
}

// --- review bar

/** Whether a review of the port can be sent, as it and its run stand. Pure. */
function isReviewable(run: RunDetail, port: Pick<PortDetail, "status">): boolean {
  const isCancelled = run.status === "cancelling" || run.status === "cancelled";
  const isDone = ["held", "succeeded", "failed"].includes(port.status);
  return isDone && !isCancelled && run.cleanedAt === null;
}

/** Ends a review: what waits is sent, or the work is approved. */
function ReviewBar({
  run,
  port,
  review,
}: {
  run: RunDetail;
  port: PortDetail;
  review: Reviewing;
}): ReactNode {
  const words = useText().plans.port;
  const { client } = useParts();
  const [text, setText] = useState("");
  const waiting = review.comments.filter(({ sentTry }) => sentTry === null).length;
  const said = text.trim();
  const request = { text: said === "" ? undefined : said };
  const send = useOrder(run.id, () => client.plans.review(run.id, port.id, request));
  const approve = useOrder(run.id, () => client.plans.approve(run.id, port.id));
  const isHeld = port.status === "held";

  return (
    <section className="card stack" aria-label={words.review}>
      <p className="small">{isHeld ? words.reviewHeld : words.reviewHint}</p>
      <Textarea
        autosize
        minRows={1}
        maxRows={6}
        size="sm"
        label={words.reviewText}
        maxLength={MAX_NOTE}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <div className="toolbar">
        {isHeld && (
          <Button
            size="compact-sm"
            leftSection={<IconCheck size={15} />}
            loading={approve.isPending}
            onClick={() => approve.mutate()}
          >
            {words.approve}
          </Button>
        )}
        <Button
          size="compact-sm"
          variant={isHeld ? "default" : "filled"}
          leftSection={<IconSend size={15} />}
          loading={send.isPending}
          disabled={waiting === 0 && said === ""}
          onClick={() => send.mutate(undefined, { onSuccess: () => setText("") })}
        >
          {words.reviewDo({ count: waiting })}
        </Button>
      </div>
      {send.error !== null && <Problem error={send.error} />}
      {approve.error !== null && <Problem error={approve.error} />}
    </section>
  );
}
