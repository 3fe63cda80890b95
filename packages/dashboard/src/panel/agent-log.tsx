import { IconAlertTriangle, IconCheck, IconPlayerStop } from "@tabler/icons-react";
import { systemClock, type AgentRun, type Trace, type TurnView } from "dure/client";
import { useEffect, useState, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { spanOf } from "../when.ts";

/** How often a running time is drawn, milliseconds. */
const TICK_MS = 100;

/** What each agent of the turn does. After a reload the stored trace stands in for what was not seen. */
export function AgentLog({ view, trace }: { view: TurnView; trace: Trace | undefined }): ReactNode {
  const text = useText();
  const runs = view.runs.length > 0 ? view.runs : runsOf(trace);
  if (runs.length === 0) return <p className="panel-empty">{text.panel.noAgents}</p>;
  return (
    <ol className="agent-log">
      {runs.map((run, index) => (
        <AgentLine key={index} run={run} />
      ))}
    </ol>
  );
}

function AgentLine({ run }: { run: AgentRun }): ReactNode {
  const text = useText();
  const facts = [
    run.agent,
    run.status === "running" && run.attempt > 1 ? text.panel.attempt(run.attempt) : run.retries > 0 ? text.panel.retries(run.retries) : undefined,
    run.restarted ? text.panel.restarted : undefined,
    run.stage === undefined ? undefined : `→ ${run.stage}`,
  ].filter((fact) => fact !== undefined && fact !== run.label);
  return (
    <li className="agent-line" data-status={run.status}>
      <span className="agent-mark">
        <StatusMark status={run.status} />
        <span className="hidden-words">{text.panel.status[run.status]}</span>
      </span>
      <div className="agent-words">
        <span className="agent-label">{run.label}</span>
        <span className="agent-facts">{facts.join(" · ")}</span>
        {run.error !== undefined && <span className="error-note">{run.error}</span>}
      </div>
      <span className="agent-time">{run.elapsedMs !== undefined ? spanOf(run.elapsedMs) : run.status === "running" ? <Elapsed since={run.startedAt} /> : ""}</span>
    </li>
  );
}

function StatusMark({ status }: { status: AgentRun["status"] }): ReactNode {
  switch (status) {
    case "running":
      return <span className="pulse" />;
    case "done":
      return <IconCheck size={15} stroke={2.2} />;
    case "failed":
      return <IconAlertTriangle size={15} />;
    case "stopped":
      return <IconPlayerStop size={15} />;
    default:
      status satisfies never;
      return null;
  }
}

function Elapsed({ since }: { since: number }): ReactNode {
  const [now, setNow] = useState(() => systemClock.now());
  useEffect(() => systemClock.every(TICK_MS, () => setNow(systemClock.now())), []);
  return spanOf(Math.max(0, now - since));
}

function runsOf(trace: Trace | undefined): AgentRun[] {
  return (trace?.agents ?? []).map(({ agent, success, retries, elapsedMs, error }) => ({
    agent,
    label: agent,
    status: success ? "done" : "failed",
    attempt: retries + 1,
    retries,
    restarted: false,
    startedAt: 0,
    elapsedMs,
    text: "",
    ...(error === null || error === undefined ? {} : { error }),
  }));
}
