import { Button } from "@mantine/core";
import { reviewNeeded, type ResultFinding } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";
import { Problem } from "../problem.tsx";

interface Leaving {
  readonly error: Error;
  readonly isPending: boolean;
  /** Says yes to exactly what is shown. */
  readonly onConfirm: (confirm: string) => void;
}

/** Why a result did not leave its run; where a person is to look first, what at, and their yes. */
export function LeavingReview({ error, isPending, onConfirm }: Leaving): ReactNode {
  const { leaving: words } = useText().plans;
  const review = reviewNeeded(error);
  if (review === undefined) return <Problem error={error} />;
  const hidden = review.count - review.findings.length;

  return (
    <div className="problem leaving-review" role="alert">
      <p>{words.ask(review.count)}</p>
      <ul>
        {review.findings.map((finding) => (
          <Finding key={JSON.stringify(finding)} finding={finding} />
        ))}
      </ul>
      {hidden > 0 && <p>{words.more(hidden)}</p>}
      <div className="problem-actions">
        <Button
          size="compact-sm"
          color="red"
          loading={isPending}
          onClick={() => onConfirm(review.confirm)}
        >
          {words.confirm}
        </Button>
      </div>
    </div>
  );
}

function Finding({ finding }: { finding: ResultFinding }): ReactNode {
  const { rules, inHistory } = useText().plans.leaving;
  const { rule, path, line, excerpt, commit } = finding;
  const place = line === null ? path : `${path}:${line}`;

  return (
    <li>
      <strong>{rules[rule] ?? rule}</strong> <code>{place}</code>{" "}
      {excerpt !== null && <code>{excerpt}</code>}{" "}
      <span className="soft small">{inHistory(commit.slice(0, 10))}</span>
    </li>
  );
}
