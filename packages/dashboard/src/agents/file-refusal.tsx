import { DureError } from "dure/client";
import type { ReactNode } from "react";
import { ErrorWords } from "../problem.tsx";
import { useAgentWords } from "./agent-words.ts";

/** Why nothing was saved, with what stands wrong. */
export function Refusal({ error }: { error: Error }): ReactNode {
  const words = useAgentWords();
  const isInvalid = error instanceof DureError && error.class === "input";

  return (
    <div className="problem" role="alert">
      {isInvalid && <p>{words.invalid}</p>}
      <p>
        <ErrorWords error={error} />
      </p>
    </div>
  );
}
