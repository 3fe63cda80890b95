import type { Trace } from "dure/client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useText } from "../language.tsx";
import { meOf } from "../shell/me.ts";
import { spanOf } from "../when.ts";
import { waterfallOf } from "./waterfall.ts";

/**
 * Time and tokens of each agent of the last turn, one after the other as they ran, and what the
 * rest of the turn took.
 */
export function TraceView({ trace }: { trace: Trace | undefined }): ReactNode {
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
                {text.panel.tokens(agent.tokensIn, agent.tokensOut)}
                {agent.retries > 0 && ` · ${text.panel.retries(agent.retries)}`}
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
        <span className="soft">{text.panel.tokens(tokensIn, tokensOut)}</span>
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
