import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { RunDetail } from "dure/client";
import type { ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { PLAN_KEYS } from "./use-plans.ts";

/** Agrees that the result leaves its run: the very commit that this page shows. */
export function ApproveResult({ run }: { run: RunDetail }): ReactNode {
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
    return <p role="status">{words.approved(approve.data.counted, approve.data.needed)}</p>;
  }

  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        loading={approve.isPending}
        onClick={() => approve.mutate(commit)}
      >
        {words.approveResult(commit.slice(0, 10))}
      </Button>
      {approve.error !== null && <Problem error={approve.error} />}
    </>
  );
}
