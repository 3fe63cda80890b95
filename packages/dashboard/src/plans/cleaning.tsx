import type { Because } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";
import { BecauseFacts, BecauseWords } from "./because-words.tsx";

/**
 * Reasons that a person may overrule: what would be lost is known. Source: docs/spec/plans §5,
 * "Nothing is lost".
 */
const FORCEABLE: ReadonlySet<string> = new Set([
  "RUN_UNMERGED",
  "TREE_NOT_SAFE",
  "REPOSITORY_GONE",
]);

/** Whether what keeps a run may be given up. Pure. */
export function canForce(because: Because | undefined): boolean {
  return because !== undefined && FORCEABLE.has(because.code);
}

/** Why a run is kept, and where a person may give it up, what is lost then. */
export function WhyKept({ because }: { because: Because }): ReactNode {
  const says = useText().plans.clean.why[because.code];
  if (says === undefined) return <BecauseWords because={because} />;

  return (
    <span>
      <span>{says}</span> {canForce(because) && <BecauseFacts message={because.message} />}
    </span>
  );
}
