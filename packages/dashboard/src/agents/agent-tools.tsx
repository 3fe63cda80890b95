import type { AgentDetail } from "dure/client";
import type { ReactNode } from "react";
import { ServerWords } from "../coded.tsx";
import { useAgentWords } from "./agent-words.ts";

type Tool = AgentDetail["tools"][number];

/** What an agent may call: tools of the team, those of each MCP server, then those left out. */
export function AgentTools({
  tools,
  leftOut,
}: {
  tools: readonly Tool[];
  leftOut: AgentDetail["leftOut"];
}): ReactNode {
  const words = useAgentWords();
  const groups = [...Map.groupBy(tools, ({ mcp }) => mcp)];

  return (
    <section className="card stack" aria-label={words.tools}>
      <h2>{words.tools}</h2>
      {tools.length === 0 && <p className="soft small">{words.noTools}</p>}
      {groups.map(([server, some]) => (
        <div key={server ?? ""} className="stack">
          <h3 className="soft small">
            {server === null ? words.ownTools : words.mcpTools(server)}
          </h3>
          <ul className="agent-tools divided">
            {some.map((tool) => (
              <li className="stack tight" key={tool.name}>
                <ToolRow tool={tool} />
              </li>
            ))}
          </ul>
        </div>
      ))}
      {leftOut.length > 0 && (
        <div className="stack">
          <h3 className="soft small">{words.leftOut}</h3>
          <p className="soft small">{words.leftOutNext}</p>
          <ul className="agent-tools divided">
            {leftOut.map(({ name, mcp, because }) => (
              <li className="stack tight" key={`${mcp} ${name}`}>
                <span className="cluster baseline">
                  <code>{name}</code>
                  <span className="soft small">
                    {mcp === null ? words.ownTools : words.mcpTools(mcp)}
                  </span>
                </span>
                <code className="soft small">{because}</code>
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

function ToolRow({ tool: { name, description, effect } }: { tool: Tool }): ReactNode {
  const words = useAgentWords();
  const known = Object.hasOwn(words.known, name) ? words.known[name] : undefined;
  return (
    <>
      <span className="cluster baseline">
        <code>{name}</code>
        {effect === "once" && <span className="badge good">{words.once}</span>}
      </span>
      <span className="soft small">{known ?? <ServerWords>{description}</ServerWords>}</span>
    </>
  );
}
