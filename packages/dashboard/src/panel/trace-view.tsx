import type { Trace } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";
import { spanOf } from "../when.ts";

/** Time and tokens of each agent of the last turn, one after the other as they ran. */
export function TraceView({ trace }: { trace: Trace | undefined }): ReactNode {
  const text = useText();
  if (trace === undefined) return <p className="panel-empty">{text.panel.noTrace}</p>;
  const sum = trace.agents.reduce((total, agent) => total + agent.elapsedMs, 0);
  const whole = Math.max(trace.totalElapsedMs, sum, 1);
  const tokensIn = trace.agents.reduce((total, agent) => total + agent.tokensIn, 0);
  const tokensOut = trace.agents.reduce((total, agent) => total + agent.tokensOut, 0);
  return (
    <div className="panel-sections">
      <section>
        <h2 className="panel-title">{text.panel.traceOf}</h2>
        <ol className="trace">
          {barsOf(trace.agents, whole).map(({ agent, from, share }, index) => (
            <li key={index} data-failed={!agent.success || undefined}>
              <div className="trace-head">
                <span>{agent.agent}</span>
                <span className="trace-time">{spanOf(agent.elapsedMs)}</span>
              </div>
              <div className="trace-track" aria-hidden>
                <span style={{ insetInlineStart: `${from}%`, inlineSize: `${share}%` }} />
              </div>
              <div className="trace-foot">
                {text.panel.tokens(agent.tokensIn, agent.tokensOut)}
                {agent.retries > 0 && ` · ${text.panel.retries(agent.retries)}`}
                {agent.error !== null && agent.error !== undefined && <span className="error-note"> · {agent.error}</span>}
              </div>
            </li>
          ))}
        </ol>
        <p className="trace-total">
          <span>{text.panel.total}</span>
          <span>{spanOf(trace.totalElapsedMs)}</span>
          <span className="soft">{text.panel.tokens(tokensIn, tokensOut)}</span>
        </p>
      </section>
    </div>
  );
}

/** Narrower than this a bar could not be seen, percent. */
const LEAST_SHARE = 0.8;

/** Where each bar begins and how wide it is, in percent of `whole` milliseconds. Pure. */
function barsOf(agents: Trace["agents"], whole: number): { agent: Trace["agents"][number]; from: number; share: number }[] {
  let start = 0;
  return agents.map((agent) => {
    const from = start;
    start += agent.elapsedMs;
    return { agent, from: (from / whole) * 100, share: Math.max((agent.elapsedMs / whole) * 100, LEAST_SHARE) };
  });
}
