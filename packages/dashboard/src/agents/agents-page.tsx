import { TextInput } from "@mantine/core";
import { IconSearch, IconUsers } from "@tabler/icons-react";
import type { RoomAgent } from "dure/client";
import { useState, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { lettersOf } from "../rooms/mention.ts";
import { ROOM_KEYS } from "../rooms/room-data.ts";
import { useAgents } from "../rooms/use-rooms.ts";
import { Prose } from "../prose.tsx";
import { AgentFacts } from "./agent-facts.tsx";
import "./agents.css";
import { usePageTitle } from "../whole-page.tsx";
import { type NewsOf, useNews } from "../asked.ts";

/** The directory: who is there, on which accounts, with how much to do, at what cost. */
export function AgentsPage(): ReactNode {
  const text = useText();
  const agents = useAgents();
  const [search, setSearch] = useState("");
  usePageTitle(text.agents.pageTitle);

  useNews(AGENT_NEWS);

  const all = agents.data ?? [];
  const wanted = lettersOf(search.trim());
  const shown = all.filter((agent) => lettersOf(wordsOf(agent)).includes(wanted));

  return (
    <div className="agents page">
      <header>
        <h1>{text.agents.pageTitle}</h1>
        <p className="soft">{text.agents.lead}</p>
      </header>
      {all.length > 0 && (
        <TextInput
          className="field"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          placeholder={text.agents.search}
          aria-label={text.agents.search}
          leftSection={<IconSearch size={15} />}
        />
      )}
      {agents.error !== null && (
        <Problem error={agents.error} onRetry={() => void agents.refetch()} />
      )}
      {agents.isSuccess && shown.length === 0 && (
        <Empty search={all.length === 0 ? undefined : search.trim()} />
      )}
      <ul className="agents-list tiles">
        {shown.map((agent) => (
          <li key={agent.id}>
            <AgentFacts agent={agent} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** `search`: what nothing matches; undefined where there is nothing at all. */
function Empty({ search }: { search: string | undefined }): ReactNode {
  const words = useText().agents;
  return (
    <div className="empty">
      <IconUsers size={30} stroke={1.4} aria-hidden />
      <p>{search === undefined ? words.empty : words.noMatch({ query: search })}</p>
      {search === undefined && (
        <p className="soft small">
          <Prose text={words.emptyHint} />
        </p>
      )}
    </div>
  );
}

function wordsOf({ id, displayName, service, channel, accounts }: RoomAgent): string {
  return [
    displayName,
    id,
    service,
    channel,
    ...accounts.flatMap(({ adapter, id: account, platformId }) => [adapter, account, platformId]),
  ].join(" ");
}

/** What changes an agent's facts: accounts, and work that begins and ends. */
const AGENT_NEWS: NewsOf = {
  key: ROOM_KEYS.agents,
  types: ["account.*", "agent.*", "room.message", "room.heard", "room.handled"],
};
