import { Button, Textarea, TextInput } from "@mantine/core";
import { IconSparkles } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type FormEvent, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { Problem } from "../problem.tsx";

/** Longest goal of a draft, characters. Source: the server's own bound. */
const MAX_GOAL = 8_000;

/** Lets the team's model propose a plan, which has a page of its own then. */
export function PlanDraft(): ReactNode {
  const words = useText().plans.bench;
  const { client } = useParts();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [goal, setGoal] = useState("");
  const [repository, setRepository] = useState("");

  const draft = useMutation({
    mutationFn: () =>
      client.plans.drafts.make({
        goal: goal.trim(),
        repository: repository.trim() === "" ? undefined : repository.trim(),
      }),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ["plans", "drafts"] });
      await navigate({ to: "/plans/drafts/$draft", params: { draft: id } });
    },
  });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (goal.trim() !== "") draft.mutate();
  };

  return (
    <details className="more">
      <summary>{words.draftTitle}</summary>
      <form className="stack" onSubmit={submit}>
        <GoalField goal={goal} onGoal={setGoal} />
        <TextInput
          size="sm"
          maxLength={1_000}
          label={words.repository}
          description={words.repositoryHint}
          value={repository}
          onChange={(event) => setRepository(event.currentTarget.value)}
        />
        <div className="toolbar">
          <Button
            type="submit"
            size="compact-sm"
            disabled={goal.trim() === ""}
            loading={draft.isPending}
            leftSection={<IconSparkles size={15} />}
          >
            {words.draft}
          </Button>
        </div>
        {draft.isPending && (
          <p className="soft small" role="status">
            {words.drafting}
          </p>
        )}
        {draft.error !== null && <Problem error={draft.error} />}
      </form>
    </details>
  );
}

function GoalField({ goal, onGoal }: { goal: string; onGoal: (goal: string) => void }): ReactNode {
  const words = useText().plans.bench;
  return (
    <Textarea
      size="sm"
      autosize
      minRows={2}
      maxRows={8}
      maxLength={MAX_GOAL}
      label={words.goal}
      description={words.goalHint}
      value={goal}
      onChange={(event) => onGoal(event.currentTarget.value)}
    />
  );
}
