import { IconChevronRight } from "@tabler/icons-react";
import { systemClock, type AgentRun } from "dure/client";
import { useEffect, useState, type ReactNode } from "react";
import type { ConversationView } from "dure/react";
import { useLanguage, useText } from "../language.tsx";
import { StatusMark } from "./status-mark.tsx";
import { spanOf, whenOf } from "../when.ts";
import { ToolLines } from "./tool-lines.tsx";
import { turnLogs, type TurnLog } from "./turn-logs.ts";

/** How often a running time is drawn, milliseconds. */
const TICK_MS = 100;

/** What the agents of each turn did: the newest turn open, earlier ones a click away. */
export function AgentLog({ view }: { view: ConversationView }): ReactNode {
  const text = useText();
  const [newest, ...earlier] = turnLogs(view);
  if (newest === undefined) return <p className="panel-empty">{text.panel.noAgents}</p>;

  return (
    <div className="panel-sections stack wide">
      <section aria-label={text.panel.newestTurn}>
        <TurnTitle log={newest} />
        <Runs log={newest} />
      </section>
      {earlier.length > 0 && (
        <section>
          <h2 className="panel-title small soft strong">{text.panel.earlierTurns}</h2>
          {earlier.map((log) => (
            <details key={log.turnId} className="turn-log">
              <summary className="row">
                <IconChevronRight size={14} aria-hidden />
                <TurnTitle log={log} />
              </summary>
              <Runs log={log} />
            </details>
          ))}
        </section>
      )}
    </div>
  );
}

function TurnTitle({ log }: { log: TurnLog }): ReactNode {
  const { text, language } = useLanguage();
  return (
    <span className="turn-title row loose baseline between grow">
      <span className="clip strong">{log.title === "" ? text.panel.systemTurn : log.title}</span>
      <span className="meta rigid">
        {log.at === undefined ? text.panel.status.running : whenOf(log.at, language)}
      </span>
    </span>
  );
}

function Runs({ log }: { log: TurnLog }): ReactNode {
  return (
    <>
      <Agents log={log} />
      <ToolLines turnId={log.turnId} tools={log.tools} />
    </>
  );
}

function Agents({ log }: { log: TurnLog }): ReactNode {
  const text = useText();
  if (log.runs.length === 0) {
    return (
      <p className="panel-empty">
        {log.at === undefined ? text.chat.thinking : text.panel.codeDecided}
      </p>
    );
  }

  return (
    <ol className="stack tight">
      {log.runs.map((run, index) => (
        <AgentLine key={index} run={run} />
      ))}
    </ol>
  );
}

function AgentLine({ run }: { run: AgentRun }): ReactNode {
  const { text, language } = useLanguage();
  const facts = [
    run.agent,
    run.status === "running" && run.attempt > 1
      ? text.panel.attempt(run.attempt)
      : run.retries > 0
        ? text.panel.retries(run.retries)
        : undefined,
    run.restarted ? text.panel.restarted : undefined,
    run.stage === undefined ? undefined : `→ ${run.stage}`,
  ].filter((fact) => fact !== undefined && fact !== run.label);

  return (
    <li className="agent-line" data-status={run.status}>
      <span className="mark">
        <StatusMark status={run.status} />
        <span className="hidden-words">{text.panel.status[run.status]}</span>
      </span>
      <div className="stack tight">
        <span className="strong">{run.label}</span>
        <span className="meta">{facts.join(" · ")}</span>
        {run.error !== undefined && <span className="error-note meta">{run.error}</span>}
      </div>
      <span className="meta">
        {run.elapsedMs !== undefined ? (
          spanOf(run.elapsedMs, language)
        ) : run.status === "running" ? (
          <Elapsed since={run.startedAt} />
        ) : (
          ""
        )}
      </span>
    </li>
  );
}

function Elapsed({ since }: { since: number }): ReactNode {
  const { language } = useLanguage();
  const [now, setNow] = useState(() => systemClock.now());
  useEffect(() => systemClock.every(TICK_MS, () => setNow(systemClock.now())), []);
  return spanOf(Math.max(0, now - since), language);
}
