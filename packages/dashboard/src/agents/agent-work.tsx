import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { DureError, type AgentDetail, type Job, type SessionSummary } from "dure/client";
import type { ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { excerptOf } from "../jobs/exchange.ts";
import { StatusBadge } from "../jobs/status-badge.tsx";
import { useLanguage, useWords } from "../language.tsx";
import { useAgents } from "../rooms/use-rooms.ts";
import { momentOf, whenOf } from "../when.ts";
import { AGENT_WORDS } from "words:later/agent";

/** Rows of each list. */
const MOST = 8;
/** Conversations among which the agent's are looked for; the server gives no more at once. */
const LOOKED_AT = 100;
const READ_EVERY_MS = 15_000;

/** What an agent did last: answers in rooms, jobs, conversations; where its ports would be. */
export function AgentWork({ agent }: { agent: AgentDetail }): ReactNode {
  const words = useWords(AGENT_WORDS);
  return (
    <section className="card stack" aria-label={words.recent}>
      <h2>{words.recent}</h2>
      <h3>{words.rooms}</h3>
      <Answers answers={agent.answers} />
      <h3>{words.jobs}</h3>
      <Jobs agent={agent.id} />
      <h3>{words.chats}</h3>
      <Chats service={agent.service} />
      <p className="soft small">
        {words.ports} <Link to="/plans">{words.toPlans}</Link>
      </p>
    </section>
  );
}

function Answers({ answers }: { answers: AgentDetail["answers"] }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const agents = useAgents();
  const nameOf = (id: string): string =>
    agents.data?.find((agent) => agent.id === id)?.displayName ?? id;
  if (answers.length === 0) return <p className="soft small">{words.noRooms}</p>;
  return (
    <ul className="agent-work divided">
      {answers.slice(0, MOST).map((one) => (
        <li key={`${one.message ?? ""} ${one.at}`}>
          <Link to="/rooms/$place" params={{ place: one.place }} className="plain stack tight">
            <strong className="clamp">
              {withNames(one.excerpt, nameOf) ?? words.ofBackground}
            </strong>
            <span className="soft small cluster">
              <span>{one.placeName}</span>
              <span data-bad={one.outcome === "failed" || undefined}>
                {words.outcomes[one.outcome] ?? one.outcome}
              </span>
              <Moment at={one.at} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** Mentions as people read them, on one line. Pure. */
function withNames(text: string | null, nameOf: (agent: string) => string): string | undefined {
  if (text === null) return undefined;
  const named = text.replaceAll(/<@([^>\s]+)>/g, (_mention, id: string) => `@${nameOf(id)}`);
  return excerptOf(named);
}

function Jobs({ agent }: { agent: string }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const { client } = useParts();
  const jobs = useOptional(["jobs", "of agent", agent], (signal) =>
    client.jobs.list({ agent, limit: MOST }, { signal }),
  );
  if (jobs === undefined) return null;
  if (jobs.length === 0) return <p className="soft small">{words.noJobs}</p>;

  return (
    <ul className="agent-work divided">
      {jobs.map((job: Job) => (
        <li key={job.jobId}>
          <Link to="/jobs/$id" params={{ id: job.jobId }} className="plain stack tight">
            <strong className="clamp">{job.topic ?? excerptOf(job.message)}</strong>
            <span className="soft small cluster">
              <span>{words.asked({ from: job.requesterName, to: job.targetName })}</span>
              <StatusBadge job={job} />
              <Moment at={job.finishedAt ?? job.createdAt} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Chats({ service }: { service: string }): ReactNode {
  const words = useWords(AGENT_WORDS);
  const { client } = useParts();
  const sessions = useOptional(["sessions", "of agents"], (signal) =>
    client.sessions({ limit: LOOKED_AT }, { signal }),
  );
  if (sessions === undefined) return null;

  const own = sessions.filter((one: SessionSummary) => one.service === service).slice(0, MOST);
  if (own.length === 0) return <p className="soft small">{words.noChats}</p>;

  return (
    <ul className="agent-work divided">
      {own.map(({ sessionId, title, updatedAt }) => (
        <li key={sessionId}>
          <Link to="/chat/$session" params={{ session: sessionId }} className="plain stack tight">
            <strong className="clamp">{title}</strong>
            <span className="soft small cluster">
              <Moment at={new Date(updatedAt).getTime()} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** Items of a page; none where the reader may not see them, undefined until they are read. */
function useOptional<Item>(
  queryKey: readonly string[],
  read: (signal: AbortSignal) => Promise<{ readonly items: readonly Item[] }>,
): readonly Item[] | undefined {
  const { data } = useQuery({
    queryKey,
    queryFn: async ({ signal }): Promise<readonly Item[]> => {
      try {
        return (await read(signal)).items;
      } catch (error) {
        const isRefused =
          error instanceof DureError && ["forbidden", "not-found"].includes(error.class);
        if (isRefused) return [];
        throw error;
      }
    },
    refetchInterval: READ_EVERY_MS,
  });
  return data;
}

function Moment({ at }: { at: number }): ReactNode {
  const { language } = useLanguage();
  return (
    <time dateTime={new Date(at).toISOString()} title={momentOf(at, language)}>
      {whenOf(at, language)}
    </time>
  );
}
