import { useWords } from "../language.tsx";
import { DureError } from "dure/client";
import type { ReactNode } from "react";
import { ErrorWords } from "../problem.tsx";
import { AGENT_WORDS } from "words:later/agent";

/** Why nothing was saved, with what stands wrong. */
export function Refusal({ error }: { error: Error }): ReactNode {
  const words = useWords(AGENT_WORDS);
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
