import { Button } from "@mantine/core";
import { reviewNeeded, type ResultFinding, type ReviewNeeded } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { Prose } from "../prose.tsx";
import { useFindingWords } from "./finding-words.ts";
import { useMayConfirm } from "./use-plans.ts";

interface ShownLeaving {
  readonly error: Error;
  readonly isPending: boolean;
  /** Says yes to exactly what is shown. */
  readonly onConfirm: (confirm: string) => void;
}

/** Why a result did not leave its run; where a person is to look first, what at, and their yes. */
export function LeavingReview({ error, isPending, onConfirm }: ShownLeaving): ReactNode {
  const { leaving: words } = useText().plans;
  const mayConfirm = useMayConfirm();
  const review = reviewNeeded(error);
  if (review === undefined) return <Problem error={error} />;

  return (
    <div className="problem" role="alert">
      <p>{words.ask({ count: review.count })}</p>
      <Findings review={review} />
      <div className="toolbar">
        {mayConfirm ? (
          <Button
            size="compact-sm"
            color="red"
            loading={isPending}
            onClick={() => onConfirm(review.confirm)}
          >
            {words.confirm}
          </Button>
        ) : (
          <p className="small">
            <Prose text={words.notYours} />
          </p>
        )}
      </div>
    </div>
  );
}

export function Findings({ review }: { review: ReviewNeeded }): ReactNode {
  const { leaving: words } = useText().plans;
  const hidden = review.count - review.findings.length;

  return (
    <>
      <ul className="stack tight">
        {review.findings.map((finding) => (
          <Finding key={JSON.stringify(finding)} finding={finding} />
        ))}
      </ul>
      {hidden > 0 && <p>{words.more({ count: hidden })}</p>}
    </>
  );
}

function Finding({ finding }: { finding: ResultFinding }): ReactNode {
  const { inHistory } = useText().plans.leaving;
  const rules = useFindingWords();
  const { rule, path, line, excerpt, commit } = finding;
  const place = line === null ? path : `${path}:${line}`;

  return (
    <li>
      <strong>{rules[rule] ?? rule}</strong> <code>{place}</code>{" "}
      {excerpt !== null && <code>{excerpt}</code>}{" "}
      <span className="soft small">{inHistory({ commit: commit.slice(0, 10) })}</span>
    </li>
  );
}
