import { IconArrowLeft } from "@tabler/icons-react";
import { Link, useParams } from "@tanstack/react-router";
import { type AgentDetail } from "dure/client";
import { type ReactNode } from "react";
import { useWords } from "../language.tsx";
import { ROOM_KEYS } from "../rooms/room-data.ts";
import { useSpeaker } from "../rooms/use-rooms.ts";
import { AgentFacts } from "./agent-facts.tsx";
import { AgentFilesSection } from "./agent-files.tsx";
import { AGENT_WORDS } from "words:later/agent";
import { AgentWork } from "./agent-work.tsx";
import "./agents.css";
import { ServerWords } from "../coded.tsx";
import { useAsked } from "../asked.ts";
import { usePageTitle, Unread } from "../whole-page.tsx";

/** Work comes and goes; this often the page reads again, milliseconds. */
const READ_EVERY_MS = 10_000;

/** Everything about one agent: who it is, what it may do, what it does and what that costs. */
export function AgentPage(): ReactNode {
  const words = useWords(AGENT_WORDS);
  const { who } = useSpeaker();
  const { agent: id = "" } = useParams({ strict: false });

  const agent = useAsked(
    [...ROOM_KEYS.agents, id, who],
    (client, signal) => client.rooms(who).agent(id, { signal }),
    {
      refetchInterval: (query) => (query.state.status === "error" ? false : READ_EVERY_MS),
    },
  );

  if (agent.data !== undefined) return <OneAgent agent={agent.data} />;

  return (
    <Unread
      error={agent.error}
      onRetry={() => void agent.refetch()}
      words={words}
      reading={words.loading}
      failed={words.loadFailed}
      to="/agents"
    >
      {words.toList}
    </Unread>
  );
}

function OneAgent({ agent }: { agent: AgentDetail }): ReactNode {
  const words = useWords(AGENT_WORDS);
  usePageTitle(agent.displayName);

  return (
    <div className="agents page">
      <Link to="/agents" className="row inline plain good-words">
        <IconArrowLeft size={16} stroke={1.7} aria-hidden /> {words.toList}
      </Link>
      <div className="agent-columns columns">
        <div className="stack loose">
          <AgentFacts agent={agent} models={agent.models} headingLevel={1} />
          <AgentTools tools={agent.tools} leftOut={agent.leftOut} />
          <AgentSkills skills={agent.skills} />
        </div>
        <div className="stack loose">
          <AgentWork agent={agent} />
          {agent.files !== null && <AgentFilesSection agent={agent.id} files={agent.files} />}
        </div>
      </div>
    </div>
  );
}

// --- agent skills

/** Instructions that an agent loads when it wants them; nothing where it has none. */
function AgentSkills({ skills }: { skills: AgentDetail["skills"] }): ReactNode {
  const words = useWords(AGENT_WORDS);
  if (skills.length === 0) return null;

  return (
    <section className="card stack" aria-label={words.skills}>
      <h2>{words.skills}</h2>
      <ul className="agent-tools divided">
        {skills.map(({ name, description }) => (
          <li className="stack tight" key={name}>
            <span className="cluster baseline">
              <code>{name}</code>
            </span>
            <span className="soft small">{description}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

// --- agent tools

type AgentTool = AgentDetail["tools"][number];

/** What an agent may call: tools of the team, those of each MCP server, then those left out. */
function AgentTools({
  tools,
  leftOut,
}: {
  tools: readonly AgentTool[];
  leftOut: AgentDetail["leftOut"];
}): ReactNode {
  const words = useWords(AGENT_WORDS);
  const groups = [...Map.groupBy(tools, ({ mcp }) => mcp)];

  return (
    <section className="card stack" aria-label={words.tools}>
      <h2>{words.tools}</h2>
      {tools.length === 0 && <p className="soft small">{words.noTools}</p>}
      {groups.map(([server, some]) => (
        <div key={server ?? ""} className="stack">
          <h3 className="soft small">
            {server === null ? words.ownTools : words.mcpTools({ server })}
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
                    {mcp === null ? words.ownTools : words.mcpTools({ server: mcp })}
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

function ToolRow({ tool: { name, description, effect } }: { tool: AgentTool }): ReactNode {
  const words = useWords(AGENT_WORDS);
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
