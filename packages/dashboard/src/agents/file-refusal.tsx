import { DureError } from "dure/client";
import type { ReactNode } from "react";
import { ErrorWords } from "../problem.tsx";
import { Prose } from "../prose.tsx";
import { useAgentWords } from "./agent-words.ts";

/** Why nothing was saved: the page's words, else the server's with what stands wrong. */
export function Refusal({ error }: { error: Error }): ReactNode {
  const words = useAgentWords();
  const code = error instanceof DureError ? error.code : "";
  const known = Object.hasOwn(words.refusals, code) ? words.refusals[code] : undefined;
  const isInvalid = error instanceof DureError && error.class === "input" && known === undefined;

  return (
    <div className="problem" role="alert">
      {isInvalid && <p>{words.invalid}</p>}
      <p>{known === undefined ? <ErrorWords error={error} /> : <Prose text={known} />}</p>
    </div>
  );
}
