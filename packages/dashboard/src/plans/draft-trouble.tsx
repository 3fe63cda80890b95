import { useWords } from "../language.tsx";
import { Button } from "@mantine/core";
import { DureError, type PlanDraft } from "dure/client";
import type { ReactNode } from "react";
import { Problem } from "../problem.tsx";
import { DRAFTS_WORDS } from "words:later/drafts";
import { useDraft } from "./use-drafts.ts";

/** Why a change was refused. Where another person was faster, theirs can be loaded. */
export function DraftTrouble({
  draft,
  error,
}: {
  draft: PlanDraft;
  error: Error | null;
}): ReactNode {
  const words = useWords(DRAFTS_WORDS);
  const { refetch } = useDraft(draft.id);
  if (error === null) return null;
  const isOlder = error instanceof DureError && error.code === "DRAFT_CHANGED";

  return (
    <div className="stack">
      <Problem error={error} />
      {isOlder && (
        <p className="small">
          <Button size="compact-sm" variant="default" onClick={() => void refetch()}>
            {words.newer}
          </Button>{" "}
          {words.newerHint}
        </p>
      )}
    </div>
  );
}
