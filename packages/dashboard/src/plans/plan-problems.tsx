import type { PlanProblem } from "dure/client";
import { problemInKorean } from "dure/korean";
import type { ReactNode } from "react";
import { useLanguage } from "../language.tsx";
import { Prose } from "../prose.tsx";

/**
 * What a person has to change in a plan, each by its file and line. `onGo`: the text is at hand,
 * and a place in it can be gone to.
 */
export function PlanProblems({
  problems,
  label,
  onGo,
}: {
  problems: readonly PlanProblem[];
  label: string;
  onGo?: (problem: PlanProblem) => void;
}): ReactNode {
  return (
    <ul className="plan-problems small stack tight ruled" aria-label={label}>
      {problems.map((problem, index) => (
        <ProblemRow key={index} problem={problem} onGo={onGo} />
      ))}
    </ul>
  );
}

function ProblemRow({
  problem,
  onGo,
}: {
  problem: PlanProblem;
  onGo: ((problem: PlanProblem) => void) | undefined;
}): ReactNode {
  const { language, text } = useLanguage();
  const { file, line, column, key } = problem;
  const { message, found, allowed, hint } = language === "ko" ? problemInKorean(problem) : problem;
  const isUnknown = language === "ko" && message === problem.message;
  const place = [file, line, line === undefined ? undefined : column]
    .filter((part) => part !== undefined)
    .join(":");

  return (
    <li>
      {onGo !== undefined && line !== undefined ? (
        <button
          type="button"
          className="plan-place plan-place-go bare"
          title={text.plans.bench.goTo({ line })}
          onClick={() => onGo(problem)}
        >
          <code>{place}</code>
        </button>
      ) : (
        <code className="plan-place">{place}</code>
      )}
      <span>
        {key !== "" && <code>{key}</code>}{" "}
        <span lang={isUnknown ? "en" : undefined}>
          <Prose text={message} />
        </span>
        {found !== undefined && ` · ${text.plans.found}: ${found}`}
        {allowed !== undefined && ` · ${text.plans.allowed}: ${allowed}`}
        {hint !== undefined && (
          <span className="soft">
            {" "}
            — <Prose text={hint} />
          </span>
        )}
      </span>
    </li>
  );
}
