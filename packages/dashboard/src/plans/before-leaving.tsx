import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Approvals, RunDetail, RunLeaving } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { useFindingWords } from "./finding-words.ts";
import { Prose } from "../prose.tsx";
import { useParts } from "../app-parts.tsx";
import { Findings } from "./leaving-review.tsx";
import { PLAN_KEYS, useMayMerge } from "./use-plans.ts";
import { Button } from "@mantine/core";
import { useAsked } from "../asked.ts";

/** What is known of a result before it leaves its run: shown beside its files. */
export function BeforeLeaving({ run }: { run: RunDetail }): ReactNode {
  const { leaving: words } = useText().plans;
  const leaving = useLeaving(run);
  const { data, error, refetch } = leaving;

  return (
    <div className="report-part stack tight">
      <h3>{words.title}</h3>
      {data === undefined && error === null && <p className="soft small">{words.looking}</p>}
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <Known run={run} leaving={data} />}
    </div>
  );
}

function Known({ run, leaving }: { run: RunDetail; leaving: RunLeaving }): ReactNode {
  const { leaving: words } = useText().plans;
  const { target, review, allowed, gate, mayConfirm } = leaving;
  const branch = target ?? run.definition.base;

  return (
    <>
      {review === null && <p>{words.nothingFound({ branch })}</p>}
      {review !== null && (
        <>
          <p className="warn">{words.found({ count: review.count, branch })}</p>
          <Findings review={review} />
          {!mayConfirm && (
            <p className="soft small">
              <Prose text={words.notYours} />
            </p>
          )}
        </>
      )}
      {allowed.length > 0 && <Allowed allowed={allowed} />}
      {gate.needed > 0 && <Gate run={run} gate={gate} />}
    </>
  );
}

/** What leaves without a question, because an operator has said so. */
function Allowed({ allowed }: Pick<RunLeaving, "allowed">): ReactNode {
  const { leaving: words } = useText().plans;
  const rules = useFindingWords();
  return (
    <>
      <p className="soft small">{words.allowed}</p>
      <ul className="stack tight">
        {allowed.map(({ rule, path, by }) => (
          <li key={`${by} ${rule} ${path}`}>
            <span>{rules[rule] ?? rule}</span> <code>{path}</code>{" "}
            <span className="soft small">{words.allowedBy[by]}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** How many people agree before the result leaves, who did, and who may not. */
export function Gate({ run, gate }: { run: RunDetail; gate: Approvals }): ReactNode {
  const { leaving: words } = useText().plans;
  const mayMerge = useMayMerge();
  const { needed, counted, approvals, not, author } = gate;
  const people = [...new Set(approvals.map(({ person }) => person))];

  return (
    <>
      <p className={counted < needed ? "warn small" : "small"}>
        {words.approvals({ counted, needed, isEnough: counted >= needed })}
      </p>
      {people.length > 0 && (
        <p className="small">{words.approvedBy({ people: people.join(", ") })}</p>
      )}
      {not !== null && (
        <p className="soft small">
          {author === null ? words.noAuthor : words.notAuthor({ author })}
        </p>
      )}
      {mayMerge && counted < needed && (
        <div>
          <ApproveResult run={run} />
        </div>
      )}
    </>
  );
}

/** Of the branch that the run began from. */
export function useLeaving(run: RunDetail) {
  const commit = run.report?.commit;
  return useAsked(
    PLAN_KEYS.leaving(run.id, commit ?? ""),
    (client, signal) => client.plans.leaving(run.id, {}, { signal }),
    {
      enabled: commit !== undefined && run.cleanedAt === null,
      staleTime: 10_000,
    },
  );
}

// --- approve result

/** Agrees that the result leaves its run: the very commit that this page shows. */
function ApproveResult({ run }: { run: RunDetail }): ReactNode {
  const words = useText().plans.run;
  const { client } = useParts();
  const queries = useQueryClient();
  const commit = run.report?.commit;
  const approve = useMutation({
    mutationFn: (seen: string) => client.plans.approveResult(run.id, seen),
    onSettled: () =>
      queries.invalidateQueries({ queryKey: PLAN_KEYS.leaving(run.id, commit ?? "") }),
  });
  if (commit === undefined) return null;
  if (approve.data !== undefined) {
    return (
      <p role="status">
        {words.approved({ counted: approve.data.counted, needed: approve.data.needed })}
      </p>
    );
  }

  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        loading={approve.isPending}
        onClick={() => approve.mutate(commit)}
      >
        {words.approveResult({ commit: commit.slice(0, 10) })}
      </Button>
      {approve.error !== null && <Problem error={approve.error} />}
    </>
  );
}
