import { Button, Textarea } from "@mantine/core";
import { IconCheck, IconSend } from "@tabler/icons-react";
import { MAX_NOTE, type PortDetail, type RunDetail } from "dure/client";
import { useState, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { useOrder } from "./run-head.tsx";
import type { Reviewing } from "./patch-view.tsx";

/** Whether a review of the port can be sent, as it and its run stand. Pure. */
export function isReviewable(run: RunDetail, port: Pick<PortDetail, "status">): boolean {
  const isCancelled = run.status === "cancelling" || run.status === "cancelled";
  const isDone = ["held", "succeeded", "failed"].includes(port.status);
  return isDone && !isCancelled && run.cleanedAt === null;
}

/** Ends a review: what waits is sent, or the work is approved. */
export function ReviewBar({
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
          {words.reviewDo(waiting)}
        </Button>
      </div>
      {send.error !== null && <Problem error={send.error} />}
      {approve.error !== null && <Problem error={approve.error} />}
    </section>
  );
}
