import type { PlanStep, RunDetail } from "dure/client";
import { useState, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { TranscriptView } from "./transcript-view.tsx";
import { Step } from "./tries.tsx";

/** Stands in the place of a port for the steps of none. */
const ORCHESTRATOR = "orchestrator";

/**
 * What belongs to no port: contracts, files that several ports changed, tests of the merged tree,
 * and what the orchestrator said and did there.
 */
export function Orchestration({ run }: { run: RunDetail }): ReactNode {
  const words = useText().plans.run;
  const steps = run.orchestrator;

  return (
    <section className="run-report card stack loose" aria-label={words.orchestration}>
      <details className="more" open={steps.some(isRunning) || undefined}>
        <summary>{`${words.orchestration} (${steps.length})`}</summary>
        <div className="stack">
          {steps.map((step) => (
            <Step key={step.id} step={step} />
          ))}
        </div>
      </details>
      {steps.some(({ member }) => member !== null) && <OwnTranscript run={run} />}
    </section>
  );
}

/** It is read when it is opened. */
function OwnTranscript({ run }: { run: RunDetail }): ReactNode {
  const { transcript } = useText().plans.port.tabs;
  const [isOpen, setOpen] = useState(false);
  const steps = run.orchestrator;

  return (
    <details className="more" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{transcript}</summary>
      {isOpen && (
        <TranscriptView
          run={run}
          port={{ id: ORCHESTRATOR, steps }}
          isWorkedOn={steps.some(isRunning)}
        />
      )}
    </details>
  );
}

function isRunning({ status }: PlanStep): boolean {
  return status === "running";
}
