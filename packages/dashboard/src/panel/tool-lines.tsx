import { EMPTY_TURN_VIEW, turnView, type DureClient, type ToolRun } from "dure/client";
import { useState, type ReactNode } from "react";
import { useLanguage, useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { StatusMark } from "./status-mark.tsx";
import { useServerKorean } from "../use-server-korean.ts";
import { spanOf } from "../when.ts";
import { useAsked } from "../asked.ts";

/** The calls of tools of one turn. Of a turn that this page has not seen they are read when asked for. */
export function ToolLines(props: {
  turnId: string;
  tools: readonly ToolRun[] | undefined;
}): ReactNode {
  const { turnId, tools } = props;
  if (tools === undefined) return <EarlierTools turnId={turnId} />;
  if (tools.length === 0) return null;
  return <ToolList tools={tools} />;
}

function ToolList({ tools }: { tools: readonly ToolRun[] }): ReactNode {
  const text = useText();
  return (
    <ol className="stack tight" aria-label={text.panel.tools.title}>
      {tools.map((tool) => (
        <ToolLine key={tool.callId} tool={tool} />
      ))}
    </ol>
  );
}

function EarlierTools({ turnId }: { turnId: string }): ReactNode {
  const text = useText();
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="more meta" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{text.panel.tools.title}</summary>
      {isOpen && <ReadTools turnId={turnId} />}
    </details>
  );
}

function ReadTools({ turnId }: { turnId: string }): ReactNode {
  const text = useText();
  const { data, error } = useAsked(
    ["tool-calls", turnId],
    (client, signal) => readTools(client, turnId, signal),
    {
      staleTime: Number.POSITIVE_INFINITY,
    },
  );
  if (error !== null) {
    return (
      <p className="panel-empty">
        <ErrorWords error={error} />
      </p>
    );
  }
  if (data === undefined) return <p className="panel-empty">{text.panel.tools.reading}</p>;
  if (data.length === 0) return <p className="panel-empty">{text.panel.tools.none}</p>;
  return <ToolList tools={data} />;
}

async function readTools(
  client: DureClient,
  turnId: string,
  signal: AbortSignal,
): Promise<readonly ToolRun[]> {
  let view = EMPTY_TURN_VIEW;
  for await (const frame of client.followTurn(turnId, { signal })) view = turnView(view, frame, 0);

  return view.tools;
}

/** The page's words for a refusal of dure, else what the tool said. */
function ToolError({
  error: { code, message = code },
}: {
  error: { readonly code: string; readonly message?: string | undefined };
}): ReactNode {
  return useServerKorean().refusal({ code, message }) ?? message;
}

function ToolLine({ tool }: { tool: ToolRun }): ReactNode {
  const { text, language } = useLanguage();
  const { status, agent, effect, error, elapsedMs } = tool;
  const facts = [agent, effect === "none" ? undefined : text.panel.tools.changes].filter(Boolean);

  return (
    <li className="agent-line" data-status={status}>
      <span className="mark">
        <StatusMark status={status} />
        <span className="hidden-words">{text.panel.tools.status[status]}</span>
      </span>
      <div className="stack tight">
        <code className="strong">{tool.tool}</code>
        <span className="meta">{facts.join(" · ")}</span>
        {status === "asks" ? (
          <span className="meta">{text.panel.tools.status.asks}</span>
        ) : (
          error && (
            <span className="error-note meta">
              <ToolError error={error} />
            </span>
          )
        )}
        <ToolValues tool={tool} />
      </div>
      <span className="meta">{elapsedMs === undefined ? "" : spanOf(elapsedMs, language)}</span>
    </li>
  );
}

/** Absent where the token may know no more than names. */
function ToolValues({ tool: { args, result } }: { tool: ToolRun }): ReactNode {
  const text = useText();
  if (args === undefined && result === undefined) return null;
  return (
    <details className="more meta">
      <summary>{text.panel.tools.values}</summary>
      {args !== undefined && <Value title={text.panel.tools.args} value={args} />}
      {result !== undefined && <Value title={text.panel.tools.result} value={result} />}
    </details>
  );
}

function Value({ title, value }: { title: string; value: unknown }): ReactNode {
  const shown = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return (
    <>
      <span className="meta">{title}</span>
      <pre tabIndex={0}>{shown}</pre>
    </>
  );
}
