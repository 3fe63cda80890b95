import { useQuery } from "@tanstack/react-query";
import { DureError } from "dure/client";
import type { ReactNode } from "react";
import { meOf } from "../shell/me.ts";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { Prose } from "../prose.tsx";

/** What the service remembers; the server shows it in dev mode only. */
export function MemoryView({
  sessionId,
  version,
}: {
  sessionId: string;
  version: number;
}): ReactNode {
  const text = useText();
  const { client } = useParts();

  const me = useQuery(meOf(client));

  const allowed = me.data?.devMode === true;

  const debug = useQuery({
    queryKey: ["debug", sessionId, version],
    queryFn: ({ signal }) => client.debug(sessionId, { signal }),
    enabled: allowed,
    placeholderData: (before) => before,
  });

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
