import { Button, Loader } from "@mantine/core";
import { IconArrowLeft } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { DureError, type AgentDetail } from "dure/client";
import { useEffect, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { ROOM_KEYS } from "../rooms/room-data.ts";
import { useSpeaker } from "../rooms/use-rooms.ts";
import { AgentFacts } from "./agent-facts.tsx";
import { AgentFilesSection } from "./agent-files.tsx";
import { AgentSkills } from "./agent-skills.tsx";
import { AgentTools } from "./agent-tools.tsx";
import { useAgentWords } from "./agent-words.ts";
import { AgentWork } from "./agent-work.tsx";
import "./agents.css";

/** Work comes and goes; this often the page reads again, milliseconds. */
const READ_EVERY_MS = 10_000;

/** Everything about one agent: who it is, what it may do, what it does and what that costs. */
export function AgentPage(): ReactNode {
  const words = useAgentWords();
  const { client } = useParts();
  const { who } = useSpeaker();
  const { agent: id = "" } = useParams({ strict: false });

  const agent = useQuery({
    queryKey: [...ROOM_KEYS.agents, id, who],
    queryFn: ({ signal }) => client.rooms(who).agent(id, { signal }),
    refetchInterval: (query) => (query.state.status === "error" ? false : READ_EVERY_MS),
  });

  if (agent.data !== undefined) return <OneAgent agent={agent.data} />;

  if (agent.error === null) {
    return (
      <div className="center-page">
        <Loader type="dots" role="status" aria-label={words.loading} />
      </div>
    );
  }

  return <Missing error={agent.error} onRetry={() => void agent.refetch()} />;
}

function OneAgent({ agent }: { agent: AgentDetail }): ReactNode {
  const words = useAgentWords();
  useEffect(() => {
    document.title = `${agent.displayName} · dure`;
  }, [agent.displayName]);

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

function Missing({ error, onRetry }: { error: Error; onRetry: () => void }): ReactNode {
  const text = useText();
  const words = useAgentWords();
  const isGone = error instanceof DureError && error.class === "not-found";
  useEffect(() => {
    document.title = `${isGone ? words.gone : words.loadFailed} · dure`;
  }, [isGone, words]);

  return (
    <div className="center-page">
      <h1>{isGone ? words.gone : words.loadFailed}</h1>
      <p className="soft">{isGone ? words.goneHint : <ErrorWords error={error} />}</p>
      {isGone ? (
        <Button component={Link} to="/agents" variant="default">
          {words.toList}
        </Button>
      ) : (
        <Button variant="default" onClick={onRetry}>
          {text.common.retry}
        </Button>
      )}
    </div>
  );
}
