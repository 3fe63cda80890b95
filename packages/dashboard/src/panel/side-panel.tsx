import { Tabs } from "@mantine/core";
import {
  type JsonObject,
  type ServiceInfo,
  systemClock,
  type AgentRun,
  DureError,
  type Trace,
} from "dure/client";
import { useState, type ReactNode, useEffect } from "react";
import type { Conversation, ConversationView } from "dure/react";
import { useText, useLanguage } from "../language.tsx";
import "./panel.css";
import { StateView } from "./state-view.tsx";
import { IconChevronRight } from "@tabler/icons-react";
import { StatusMark } from "./status-mark.tsx";
import { spanOf, whenOf } from "../when.ts";
import { ToolLines } from "./tool-lines.tsx";
import { turnLogs, type TurnLog } from "./turn-logs.ts";
import { useQuery } from "@tanstack/react-query";
import { meOf } from "../shell/me.ts";
import { useParts } from "../app-parts.tsx";
import { ErrorWords } from "../problem.tsx";
import { Prose } from "../prose.tsx";
import { Link } from "@tanstack/react-router";
import { waterfallOf } from "./waterfall.ts";
import { useAsked } from "../asked.ts";

export interface SidePanelProps {
  readonly conversation: Conversation;
  readonly view: ConversationView;
  readonly service: ServiceInfo | undefined;
  readonly onSlots: (words: string, slots: JsonObject) => void;
}

/** The chosen tab outlives the conversation: who watches the state goes on watching it. */
let lastTab: string | null = "agents";

export function SidePanel({ conversation, view, service, onSlots }: SidePanelProps): ReactNode {
  const text = useText();
  const [tab, setTab] = useState(lastTab);
  const choose = (next: string | null): void => setTab((lastTab = next));

  return (
    <Tabs value={tab} onChange={choose} className="panel grow column flush" keepMounted={false}>
      <Tabs.List grow>
        <Tabs.Tab value="agents">{text.panel.agents}</Tabs.Tab>
        <Tabs.Tab value="state">{text.panel.state}</Tabs.Tab>
        <Tabs.Tab value="memory">{text.panel.memory}</Tabs.Tab>
        <Tabs.Tab value="trace">{text.panel.trace}</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="agents" tabIndex={0}>
        <AgentLog view={view} />
      </Tabs.Panel>
      <Tabs.Panel value="state" tabIndex={0}>
        <StateView view={view} service={service} onSlots={onSlots} />
      </Tabs.Panel>
      <Tabs.Panel value="memory" tabIndex={0}>
        <MemoryView sessionId={conversation.sessionId} version={view.entries.length} />
      </Tabs.Panel>
      <Tabs.Panel value="trace" tabIndex={0}>
        <TraceView trace={view.trace} />
      </Tabs.Panel>
    </Tabs>
  );
}

// --- agent log

/** How often a running time is drawn, milliseconds. */
const TICK_MS = 100;

/** What the agents of each turn did: the newest turn open, earlier ones a click away. */
function AgentLog({ view }: { view: ConversationView }): ReactNode {
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
      ? text.panel.attempt({ count: run.attempt })
      : run.retries > 0
        ? text.panel.retries({ count: run.retries })
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

// --- memory view

/** What the service remembers; the server shows it in dev mode only. */
function MemoryView({ sessionId, version }: { sessionId: string; version: number }): ReactNode {
  const text = useText();
  const { client } = useParts();

  const me = useQuery(meOf(client));

  const allowed = me.data?.devMode === true;

  const debug = useAsked(
    ["debug", sessionId, version],
    (client, signal) => client.debug(sessionId, { signal }),
    {
      enabled: allowed,
      placeholderData: (before) => before,
    },
  );

  if (!allowed) {
    return (
      <p className="panel-empty">
        <Prose text={text.panel.memoryOff} />
      </p>
    );
  }

  if (debug.error instanceof DureError && debug.error.class !== "not-found") {
    return (
      <p className="panel-empty">
        <ErrorWords error={debug.error} />
      </p>
    );
  }

  const { summaryText = "", rawHistory = [] } = debug.data?.memory ?? {};

  return <Memory summary={summaryText} history={rawHistory} />;
}

function Memory({
  summary,
  history,
}: {
  summary: string;
  history: readonly { readonly role: string; readonly content: string }[];
}): ReactNode {
  const text = useText();
  return (
    <div className="panel-sections stack wide">
      <section>
        <h2 className="panel-title small soft strong">{text.panel.summary}</h2>
        <p className={summary === "" ? "soft" : "memory-summary"}>
          {summary === "" ? text.panel.noSummary : summary}
        </p>
      </section>
      <section>
        <h2 className="panel-title small soft strong">
          {text.panel.history}{" "}
          {history.length > 0 && <span className="soft">({history.length})</span>}
        </h2>
        {history.length === 0 && <p className="soft">{text.panel.noMemory}</p>}
        <ol className="memory stack">
          {history.map((entry, index) => (
            <li key={index}>
              <span className="meta">
                {entry.role === "user" ? text.common.you : text.chat.assistant}
              </span>
              <span>{entry.content}</span>
            </li>
          ))}
        </ol>
      </section>
    </div>
  );
}

// --- trace view

/**
 * Time and tokens of each agent of the last turn, one after the other as they ran, and what the
 * rest of the turn took.
 */
function TraceView({ trace }: { trace: Trace | undefined }): ReactNode {
  const { text, language } = useLanguage();
  if (trace === undefined) return <p className="panel-empty">{text.panel.noTrace}</p>;

  const tokensIn = trace.agents.reduce((total, agent) => total + agent.tokensIn, 0);
  const tokensOut = trace.agents.reduce((total, agent) => total + agent.tokensOut, 0);

  return (
    <section>
      <h2 className="panel-title small soft strong">{text.panel.traceOf}</h2>
      <ol className="trace stack loose">
        {waterfallOf(trace).map(({ agent, elapsedMs, fromPercent, sharePercent }, index) => (
          <li
            key={index}
            data-failed={agent?.success === false || undefined}
            data-rest={agent === undefined || undefined}
          >
            <div className="row loose top between">
              <span>{agent?.agent ?? text.panel.traceRest}</span>
              <span className="meta">{spanOf(elapsedMs, language)}</span>
            </div>
            <div className="trace-track track" aria-hidden>
              <span
                style={{ insetInlineStart: `${fromPercent}%`, inlineSize: `${sharePercent}%` }}
              />
            </div>
            {agent !== undefined && (
              <div className="meta">
                {text.panel.tokens({ input: agent.tokensIn, output: agent.tokensOut })}
                {agent.retries > 0 && ` · ${text.panel.retries({ count: agent.retries })}`}
                {agent.error !== null && agent.error !== undefined && (
                  <span className="error-note"> · {agent.error}</span>
                )}
              </div>
            )}
          </li>
        ))}
      </ol>
      <p className="trace-total toolbar baseline ruled">
        <span>{text.panel.total}</span>
        <span>{spanOf(trace.totalElapsedMs, language)}</span>
        <span className="soft">{text.panel.tokens({ input: tokensIn, output: tokensOut })}</span>
      </p>
      <p>
        <Link to="/traces/$id" params={{ id: trace.turnId }}>
          {text.common.chain}
        </Link>
      </p>
      <ToReplay turn={trace.turnId} />
    </section>
  );
}

/** For administrators: a replay shows prompts and costs money. */
function ToReplay({ turn }: { turn: string }): ReactNode {
  const text = useText();
  const { client } = useParts();
  const me = useQuery(meOf(client));
  if (me.data?.scopes.includes("admin") !== true) return null;

  return (
    <p>
      <Link to="/replay/$turn" params={{ turn }}>
        {text.panel.replay}
      </Link>
    </p>
  );
}
