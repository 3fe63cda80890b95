import { IconBrandDiscord, IconWorld, IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import type { RoomAgent } from "dure/client";
import type { ReactNode } from "react";
import { CodedText } from "../coded.tsx";
import { useLanguage } from "../language.tsx";
import { Portrait } from "../rooms/message-row.tsx";
import { OnlineDot } from "../rooms/room-list.tsx";
import { useIsGone } from "../server-watch.ts";
import { whenOf } from "../when.ts";
import { AgentLink } from "./agent-link.tsx";
import "./agents.css";
import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { actorOf } from "../actor.ts";
import { useParts } from "../app-parts.tsx";
import { ErrorWords } from "../problem.tsx";
import { ROOM_KEYS } from "../rooms/room-data.ts";
import { useIsAdmin, useSpeaker } from "../rooms/use-rooms.ts";

type Account = RoomAgent["accounts"][number];

/** One agent: how it is reached, what it does, what it has used. */
export function AgentFacts({
  agent,
  models,
  headingLevel = 2,
}: {
  agent: RoomAgent;
  /** On the agent's own page. */
  models?: readonly string[] | undefined;
  headingLevel?: 1 | 2;
}): ReactNode {
  const words = useLanguage().text.agents;

  return (
    <article className="agent-card card stack loose" aria-label={agent.displayName}>
      <CardHead agent={agent} isOwnPage={headingLevel === 1} />
      <AgentBrake agent={agent} />
      <Numbers agent={agent} models={models} />
      {agent.accounts.length === 0 ? (
        <p className="soft small">{words.noAccounts}</p>
      ) : (
        <ul className="agent-accounts stack ruled" aria-label={words.accounts}>
          {agent.accounts.map((account) => (
            <AccountRow key={account.adapter} account={account} />
          ))}
        </ul>
      )}
      {agent.persona !== null && headingLevel === 2 && (
        <details className="agent-persona more">
          <summary>{words.persona}</summary>
          <p>{agent.persona}</p>
        </details>
      )}
    </article>
  );
}

/** What it does and has used, and what it is in the team. */
function Numbers({
  agent,
  models,
}: {
  agent: RoomAgent;
  models: readonly string[] | undefined;
}): ReactNode {
  const { text, language } = useLanguage();
  const { agents: words } = text;

  const load = [
    agent.working > 0 && words.working({ count: agent.working }),
    agent.waiting > 0 && words.waiting({ count: agent.waiting }),
  ].filter((part) => part !== false);

  const usd = new Intl.NumberFormat(language, {
    style: "currency",
    currency: "USD",
    maximumFractionDigits: 4,
  }).format(agent.microUsdToday / 1_000_000);

  return (
    <dl className="stack pairs">
      <div>
        <dt>{words.load}</dt>
        <dd>{load.length === 0 ? words.idle : load.join(" · ")}</dd>
      </div>
      <div>
        <dt>{words.spend}</dt>
        <dd>
          {words.tokens({ count: agent.tokensToday })} · {usd}
        </dd>
      </div>
      {models !== undefined && (
        <div>
          <dt>{words.models}</dt>
          <dd>{models.length === 0 ? words.noModel : models.join(", ")}</dd>
        </div>
      )}
      <div>
        <dt>{words.channel}</dt>
        <dd>{agent.channel ?? words.noChannel}</dd>
      </div>
      <div>
        <dt>{words.service}</dt>
        <dd>{agent.service}</dd>
      </div>
    </dl>
  );
}

function CardHead({ agent, isOwnPage }: { agent: RoomAgent; isOwnPage: boolean }): ReactNode {
  const words = useLanguage().text.agents;
  const Heading = isOwnPage ? "h1" : "h2";
  return (
    <header className="row loose">
      <Portrait name={agent.displayName} kind="agent" />
      <div className="stack flush">
        <Heading>
          {isOwnPage ? agent.displayName : <AgentLink id={agent.id}>{agent.displayName}</AgentLink>}{" "}
          <OnlineDot agent={agent} />
        </Heading>
        <span className="soft small">{agent.id}</span>
      </div>
      {agent.leads && <span className="agent-leads end badge good">{words.leads}</span>}
    </header>
  );
}

function AccountRow({ account }: { account: Account }): ReactNode {
  const { text, language } = useLanguage();
  const isGone = useIsGone();
  const state = text.agents.states[account.state];
  const Icon = account.adapter === "discord" ? IconBrandDiscord : IconWorld;

  return (
    <li className="row">
      <Icon size={15} stroke={1.7} aria-hidden />
      <span className="agent-account stack flush grow">
        <span>
          {account.adapter} ·{" "}
          <strong data-state={isGone ? undefined : account.state}>
            {isGone ? text.shell.connection.lastSeen({ status: state }) : state}
          </strong>
        </span>
        <span className="soft small">
          {[account.id, account.platformId].filter((id) => id !== null).join(" · ")}
        </span>
        <span className="soft small">
          {account.detail === null ? (
            text.agents.since({ when: whenOf(account.changedAt, language) })
          ) : (
            <CodedText
              words={text.agents.reasons}
              coded={account.reason}
              sentence={account.detail}
            />
          )}
        </span>
      </span>
    </li>
  );
}

// --- agent brake

/** Whether an agent may call its model, since when not and by whom; administrators change it. */
function AgentBrake({ agent }: { agent: RoomAgent }): ReactNode {
  const isAdmin = useIsAdmin();
  const { paused } = agent;
  if (paused === null && !isAdmin) return null;
  return (
    <div className="agent-brake toolbar" data-paused={paused !== null || undefined}>
      <p role="status">{paused !== null && <PausedWords paused={paused} />}</p>
      {isAdmin && <BrakeButton agent={agent} />}
    </div>
  );
}

function PausedWords({ paused }: { paused: NonNullable<RoomAgent["paused"]> }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.agents;
  const by = actorOf(paused.by, { text, nameOf: (id) => id });
  return (
    <>
      <strong>{words.pausedSince({ when: whenOf(paused.at, language), by })}</strong>{" "}
      <span className="soft">{words.pausedHint}</span>
    </>
  );
}

function BrakeButton({ agent }: { agent: RoomAgent }): ReactNode {
  const { text } = useLanguage();
  const { client } = useParts();
  const queries = useQueryClient();
  const { who } = useSpeaker();
  const isPaused = agent.paused !== null;
  const brake = useMutation({
    mutationFn: () => client.rooms(who).pause(agent.id, !isPaused),
    onSettled: () => queries.invalidateQueries({ queryKey: ROOM_KEYS.agents }),
  });
  const words = isPaused ? text.agents.resume : text.agents.pause;
  return (
    <>
      <Button
        size="compact-sm"
        variant={isPaused ? "filled" : "default"}
        leftSection={isPaused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
        loading={brake.isPending}
        aria-label={`${words}: ${agent.displayName}`}
        onClick={() => brake.mutate()}
      >
        {words}
      </Button>
      {brake.error !== null && (
        <span className="error-note small">
          <ErrorWords error={brake.error} />
        </span>
      )}
    </>
  );
}
