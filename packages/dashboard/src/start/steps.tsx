import { IconArrowRight, IconCircle, IconCircleCheckFilled } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { systemClock } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";
import { Prose } from "../prose.tsx";
import {
  failedOf,
  firstStepsOf,
  nextStepsOf,
  type FirstStep,
  type NextStep,
  type Told,
} from "./overview.ts";

/** A new team's checklist, and after it what is worth doing next. */
export function Steps({ told }: { told: Told }): ReactNode {
  const steps = firstStepsOf(told);
  if (steps === undefined) return null;
  if (steps.some(({ isDone }) => !isDone)) return <FirstSteps steps={steps} />;

  const now = systemClock.now();
  const failed = failedOf(told, now)[0];
  return <NextSteps steps={nextStepsOf(told, now)} hasFailedRun={failed?.kind === "run"} />;
}

function FirstSteps({ steps }: { steps: NonNullable<ReturnType<typeof firstStepsOf>> }): ReactNode {
  const words = useText().start.first;
  const hasAgents = steps.some(({ id, isDone }) => id === "agent" && isDone);
  const done = steps.filter(({ isDone }) => isDone).length;

  return (
    <section className="stack start-first" aria-labelledby="start-first">
      <h2 id="start-first">{words.title}</h2>
      <p className="soft small">
        {words.doneOf(done, steps.length)}. {words.lead}
      </p>
      <ol className="start-steps card stack loose">
        {steps.map(({ id, isDone }) => (
          <li key={id} data-done={isDone}>
            <Step id={id} isDone={isDone} hasAgents={hasAgents} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Step({
  id,
  isDone,
  hasAgents,
}: {
  id: FirstStep;
  isDone: boolean;
  /** Without agents there is no room. */
  hasAgents: boolean;
}): ReactNode {
  const words = useText().start.first;
  const Icon = isDone ? IconCircleCheckFilled : IconCircle;

  return (
    <>
      <Icon size={20} stroke={1.6} role="img" aria-label={isDone ? words.done : words.open} />
      <div>
        <strong>{words.names[id]}</strong>
        {!isDone && (
          <p className="soft small">
            <Prose text={words.hints[id]} />
          </p>
        )}
        {!isDone && id === "room" && hasAgents && <Link to="/rooms">{words.go.room}</Link>}
        {!isDone && id === "plan" && <Link to="/plans">{words.go.plan}</Link>}
      </div>
    </>
  );
}

const WAYS = {
  decide: "/escalations",
  look: "/jobs",
  budget: "/costs",
  talk: "/chat",
} as const satisfies Record<NextStep, string>;

function NextSteps({
  steps,
  hasFailedRun,
}: {
  steps: readonly NextStep[];
  /** Whether the newest failure is a run, not a job. */
  hasFailedRun: boolean;
}): ReactNode {
  const words = useText().start.next;
  return (
    <section className="stack" aria-labelledby="start-next">
      <h2 id="start-next">{words.title}</h2>
      <ul className="start-list card divided">
        {steps.map((step) => (
          <li key={step}>
            <Link
              to={step === "look" && hasFailedRun ? "/plans" : WAYS[step]}
              className="start-row plain stack tight start-next-row"
            >
              <span className="stack tight">
                <strong>{words[step]}</strong>
                {step === "budget" && (
                  <span className="soft small">
                    <Prose text={words.budgetHint} />
                  </span>
                )}
              </span>
              <IconArrowRight size={16} aria-hidden />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
