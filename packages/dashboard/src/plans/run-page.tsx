import { IconPlugConnectedX, IconShieldOff } from "@tabler/icons-react";
import { useParams } from "@tanstack/react-router";
import type { RunDetail, PlanStep } from "dure/client";
import { type ReactNode, useState } from "react";
import { useText } from "../language.tsx";
import "../panel/panel.css";
import { MergeReport } from "./merge-report.tsx";
import "./plans.css";
import { PortPanel } from "./port-panel.tsx";
import { RunEscalations } from "./run-escalations.tsx";
import { readRunLooks, type RunLooks } from "./run-filters.ts";
import { RunHead } from "./run-head.tsx";
import { RunPorts } from "./run-ports.tsx";
import { useRun, useSigns } from "./use-plans.ts";
import { TranscriptView } from "./transcript-view.tsx";
import { Step } from "./tries.tsx";
import { Unread, usePageTitle } from "../whole-page.tsx";
import { useAddress } from "../use-address.ts";

/**
 * One run: how it stands, its graph, and beside it (instead of it where there is little room) the
 * port that was picked.
 */
export function RunPage(): ReactNode {
  const { run: id } = useParams({ from: "/plans/runs/$run" });
  return <LoadedRun key={id} id={id} />;
}

function LoadedRun({ id }: { id: string }): ReactNode {
  const text = useText();
  const { run, problem, connection, reload } = useRun(id);
  const isCut = connection === "reconnecting";
  if (run !== undefined) return <OneRun run={run} isCut={isCut} />;

  return (
    <Unread
      error={problem ?? null}
      onRetry={() => void reload()}
      words={text.plans.run}
      reading={text.plans.run.loading}
      failed={text.plans.run.failed}
      to="/plans"
    >
      {text.plans.run.toList}
    </Unread>
  );
}

function OneRun({ run, isCut }: { run: RunDetail; isCut: boolean }): ReactNode {
  const text = useText();
  const { port } = useParams({ strict: false });
  const { chosen: looks } = useAddress(readRunLooks);
  const signs = useSigns(run);
  const picked = run.ports.find(({ id }) => id === port);
  usePageTitle(
    `${[picked?.title, run.plan].filter(Boolean).join(" · ")} · ${text.plans.runStatuses[run.status]}`,
  );

  return (
    <div
      className="run column flush"
      data-picked={port !== undefined || undefined}
      data-wide={isWide(looks) || undefined}
    >
      {run.isolation === "audit" && (
        <p className="run-banner small banner top warns" role="note">
          <IconShieldOff size={18} aria-hidden />
          <span>
            <strong>{text.plans.run.auditTitle}</strong> {text.plans.run.auditText}
          </span>
        </p>
      )}
      {isCut && (
        <p className="run-banner small banner top warns" role="status">
          <IconPlugConnectedX size={18} aria-hidden />
          <span>{text.plans.run.reconnecting}</span>
        </p>
      )}
      <div className="run-parts split grow">
        <div
          className="run-main column scroll wide grow"
          role="region"
          aria-label={run.plan}
          tabIndex={0}
        >
          <RunHead run={run} isHeading={port === undefined} />
          {run.report !== null && <MergeReport run={run} report={run.report} />}
          <div className="run-work column wide">
            <RunEscalations run={run} beside={picked?.id} />
            <RunPorts run={run} signs={signs} picked={port} />
          </div>
          {run.orchestrator.length > 0 && <Orchestration run={run} />}
        </div>
        {port !== undefined && (
          <aside className="run-side aside scroll" aria-label={picked?.title ?? port} tabIndex={0}>
            <PortPanel key={port} run={run} port={port} sign={signs[port]} />
          </aside>
        )}
      </div>
    </div>
  );
}

/** Code and conversations are read beside the run, so they get more of the screen. Pure. */
function isWide({ tab }: RunLooks): boolean {
  return tab === "diff" || tab === "transcript";
}

// --- orchestration

/** Stands in the place of a port for the steps of none. */
const ORCHESTRATOR = "orchestrator";

/**
 * What belongs to no port: contracts, files that several ports changed, tests of the merged tree,
 * and what the orchestrator said and did there.
 */
function Orchestration({ run }: { run: RunDetail }): ReactNode {
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
