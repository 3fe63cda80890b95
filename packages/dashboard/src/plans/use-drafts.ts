import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { DraftChange, PlanDraft, PlanProblem } from "dure/client";
import { useParts } from "../app-parts.tsx";
import { useAsked } from "../asked.ts";

const LIST = ["plans", "drafts"];
const keyOf = (id: string): readonly string[] => ["plans", "draft", id];

export function useDrafts() {
  return useAsked(LIST, (client, signal) => client.plans.drafts.list({ signal }));
}

export function useDraft(id: string) {
  return useAsked(keyOf(id), (client, signal) => client.plans.drafts.get(id, { signal }));
}

/** Changes a draft upon the version that is shown; what is shown then is what came of it. */
export function useDraftChange(draft: PlanDraft) {
  const { client } = useParts();
  return useDraftOrder(draft, (wanted: { text: string } | { change: DraftChange }) =>
    client.plans.drafts.save(draft, wanted),
  );
}

export function useDraftAnswer(draft: PlanDraft) {
  const { client } = useParts();
  return useDraftOrder(draft, (answers: readonly { question: string; answer: string }[]) =>
    client.plans.drafts.answer(draft, answers),
  );
}

function useDraftOrder<Wanted>({ id }: PlanDraft, order: (wanted: Wanted) => Promise<PlanDraft>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: order,
    onSuccess: (after) => {
      queries.setQueryData(keyOf(id), after);
      return queries.invalidateQueries({ queryKey: LIST });
    },
  });
}

/** Problems by the place of their port in the plan; `undefined`: of the plan as a whole. Pure. */
export function problemsByPort(
  problems: readonly PlanProblem[],
): ReadonlyMap<number | undefined, readonly PlanProblem[]> {
  return Map.groupBy(problems, ({ key }) => {
    const place = /^ports\.(\d+)(?:\.|$)/.exec(key)?.[1];
    return place === undefined ? undefined : Number(place);
  });
}
