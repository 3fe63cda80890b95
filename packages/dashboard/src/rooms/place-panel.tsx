import { ActionIcon, Loader, TextInput } from "@mantine/core";
import { IconMessage2, IconSearch, IconX } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Room, RoomAgent, Thread } from "dure/client";
import { useRoom } from "dure/react";
import { useState, type ReactNode } from "react";
import { AgentFacts } from "../agents/agent-facts.tsx";
import { AgentLink } from "../agents/agent-link.tsx";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useText, useWords } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { useServerNow } from "../server-clock.ts";
import { lettersOf, plainOf } from "./mention.ts";
import { MessageRoles } from "./message-roles.tsx";
import { Portrait } from "./message-row.tsx";
import { ROOM_KEYS, type PageSpeaker } from "./room-data.ts";
import { OnlineDot, UnreadMark } from "./room-list.tsx";
import { MuteRoom } from "./room-notices.tsx";
import { agoOf } from "./stand-of.ts";
import { WORK_WORDS } from "words:later/work";
import { useOthersHere } from "./use-presence.ts";
import { useAgents, useThreads } from "./use-rooms.ts";

/**
 * Of a channel: its threads and who listens. Of a thread: who takes part. Of a direct room: with
 * whom one talks, and its private threads.
 */
export function PlacePanel(props: {
  who: PageSpeaker;
  place: Room;
  channel: Room | undefined;
  thread: Thread | undefined;
  agents: readonly RoomAgent[];
  nameOf: (agent: string) => string;
}): ReactNode {
  const { who, place, channel, thread, agents, nameOf } = props;
  const text = useText();
  const direct = place.kind === "direct" ? agents.find(({ id }) => id === place.agent) : undefined;

  if (place.kind === "direct") {
    return (
      <div className="room-panel-body stack wide scroll">
        {direct !== undefined && <AgentFacts agent={direct} />}
        <Threads who={who} channel={place} current={undefined} nameOf={nameOf} />
        <MuteRoom who={who} place={place} />
      </div>
    );
  }

  return (
    <div className="room-panel-body stack wide scroll">
      <PeopleHere who={who} place={place} />
      {thread !== undefined && (
        <Participants who={who} thread={thread} agents={agents} nameOf={nameOf} />
      )}
      {channel !== undefined && (
        <Threads who={who} channel={channel} current={thread?.id} nameOf={nameOf} />
      )}
      {place.kind === "channel" && (
        <section>
          <h2 className="panel-title small soft strong">{text.rooms.panel.agents}</h2>
          <ul className="room-people stack tight">
            {agents.map((agent) => (
              <li className="row" key={agent.id}>
                <Portrait name={agent.displayName} kind="agent" />
                <AgentLink id={agent.id}>{agent.displayName}</AgentLink>
                {place.deaf?.includes(agent.id) === true ? (
                  <Link to="/escalations" className="warn small">
                    {text.rooms.panel.deaf}
                  </Link>
                ) : (
                  <OnlineDot agent={agent} />
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
      <MuteRoom who={who} place={place} />
    </div>
  );
}

/** People who look at the place now, besides the reader. */
function PeopleHere({ who, place }: { who: PageSpeaker; place: Room }): ReactNode {
  const words = useWords(WORK_WORDS).here;
  const { names, count } = useOthersHere(who, place);
  if (count === 0) return null;
  return (
    <section aria-label={words.title}>
      <h2 className="panel-title small soft strong">
        {words.title} {count}
      </h2>
      <ul className="room-people stack tight">
        {names.map((one) => (
          <PersonRow key={one} name={one} />
        ))}
        {count > names.length && (
          <li className="soft small">{words.more({ count: count - names.length })}</li>
        )}
      </ul>
    </section>
  );
}

function PersonRow({ name }: { name: string }): ReactNode {
  return (
    <li className="row">
      <Portrait name={name} kind="person" />
      <span className="clip">{name}</span>
    </li>
  );
}

/** A message that was picked in the log: what each agent did with it, and why. */
export function InspectedMessage(props: {
  who: PageSpeaker;
  place: string;
  id: string;
  nameOf: (agent: string) => string;
  onClose: () => void;
  onJump: (message: string) => void;
}): ReactNode {
  const { who, place, id, nameOf, onClose, onJump } = props;
  const words = useWords(WORK_WORDS).picked;
  const { timeline } = useRoom(place, { asPerson: who });
  const agents = useAgents();
  const message = timeline?.messages.find((one) => one.id === id);
  if (message === undefined) return null;

  return (
    <section className="room-picked stack" aria-label={words.label}>
      <div className="row between">
        <h2 className="panel-title small soft strong">{words.label}</h2>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={words.close}
          onClick={onClose}
        >
          <IconX size={14} />
        </ActionIcon>
      </div>
      <p className="clamp">
        <strong>{message.authorName}</strong> {plainOf(message, agents.data ?? [])}
      </p>
      <MessageRoles
        message={message}
        working={timeline?.working[id]}
        nameOf={nameOf}
        onJump={onJump}
      />
    </section>
  );
}

function Participants({
  who,
  thread,
  agents,
  nameOf,
}: {
  who: PageSpeaker;
  thread: Thread;
  agents: readonly RoomAgent[];
  nameOf: (agent: string) => string;
}): ReactNode {
  const text = useText();
  const { client } = useParts();
  const queries = useQueryClient();

  const remove = useMutation({
    mutationFn: (agent: string) => client.rooms(who).removeParticipant(thread.id, agent),
    onSettled: () => queries.invalidateQueries({ queryKey: ROOM_KEYS.allThreads(who) }),
  });

  return (
    <section aria-label={text.rooms.panel.participants}>
      <h2 className="panel-title small soft strong">{text.rooms.panel.participants}</h2>
      <ul className="room-people stack tight">
        {thread.people.map((name) => (
          <PersonRow key={name} name={name} />
        ))}
        {thread.participants.map((id) => {
          const agent = agents.find((one) => one.id === id);
          return (
            <li className="row" key={id}>
              <Portrait name={nameOf(id)} kind="agent" />
              <AgentLink id={id}>{nameOf(id)}</AgentLink>
              {agent !== undefined && <OnlineDot agent={agent} />}
              <ActionIcon
                variant="subtle"
                color="gray"
                size="sm"
                aria-label={text.rooms.panel.remove({ name: nameOf(id) })}
                loading={remove.isPending && remove.variables === id}
                onClick={() => remove.mutate(id)}
              >
                <IconX size={14} />
              </ActionIcon>
            </li>
          );
        })}
      </ul>
      {thread.participants.length === 0 && (
        <p className="panel-empty room-panel-facts">{text.rooms.panel.noParticipants}</p>
      )}
      {remove.error !== null && (
        <p className="error-note small">
          <ErrorWords error={remove.error} />
        </p>
      )}
      <p className="room-panel-facts meta cluster baseline">
        <span>{text.rooms.panel.messages({ count: thread.messages })}</span>
        {thread.openRequests > 0 && (
          <span className="warn">
            {text.rooms.panel.openRequests({ count: thread.openRequests })}
          </span>
        )}
      </p>
    </section>
  );
}

function Threads({
  who,
  channel,
  current,
  nameOf,
}: {
  who: PageSpeaker;
  channel: Room;
  current: string | undefined;
  nameOf: (agent: string) => string;
}): ReactNode {
  const text = useText();
  const threads = useThreads(who, channel.id);
  const [search, setSearch] = useState("");
  const wanted = lettersOf(search.trim());
  const all = threads.data ?? [];
  const shown = all.filter((thread) =>
    lettersOf(
      [thread.name, ...thread.people, ...thread.participants.map(nameOf)].join(" "),
    ).includes(wanted),
  );

  return (
    <section aria-label={text.rooms.panel.threads}>
      <h2 className="panel-title small soft strong">
        {current === undefined ? text.rooms.panel.threads : text.rooms.panel.otherThreads}
      </h2>
      {threads.isPending && (
        <Loader type="dots" role="status" aria-label={text.rooms.panel.threads} />
      )}
      {threads.isSuccess && all.length === 0 && (
        <p className="panel-empty">
          {text.rooms.panel.noThreads} {text.rooms.panel.noThreadsHint}
        </p>
      )}
      {threads.error !== null && (
        <p className="error-note small">
          <ErrorWords error={threads.error} />
        </p>
      )}
      {all.length > 0 && (
        <TextInput
          size="xs"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          placeholder={text.rooms.panel.searchThreads}
          aria-label={text.rooms.panel.searchThreads}
          leftSection={<IconSearch size={14} />}
        />
      )}
      {all.length > 0 && shown.length === 0 && (
        <p className="panel-empty">{text.rooms.panel.noThreadMatch({ query: search.trim() })}</p>
      )}
      <ul className="thread-list stack">
        {shown.map((thread) => (
          <li key={thread.id}>
            <ThreadCard thread={thread} isCurrent={thread.id === current} nameOf={nameOf} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How fine the time of a thread's last word is shown, milliseconds. */
const MINUTE_MS = 60_000;

function ThreadCard({
  thread,
  isCurrent,
  nameOf,
}: {
  thread: Thread;
  isCurrent: boolean;
  nameOf: (agent: string) => string;
}): ReactNode {
  const { text, language } = useLanguage();
  const words = useWords(WORK_WORDS).thread;
  const now = useServerNow(true, MINUTE_MS);
  const members = [...thread.people, ...thread.participants.map(nameOf)];
  return (
    <Link
      to="/rooms/$place"
      params={{ place: thread.id }}
      className="plain card stack"
      data-active={isCurrent || undefined}
      aria-current={isCurrent ? "page" : undefined}
    >
      <span className="row top strong">
        <IconMessage2 size={15} stroke={1.7} aria-hidden />
        <span className="grow">{thread.name}</span>
        {!isCurrent && <UnreadMark count={thread.unread ?? 0} />}
      </span>
      <span className="meta cluster baseline">
        {thread.state !== "open" && (
          <span className="badge warns" data-state={thread.state}>
            {text.rooms.states[thread.state]}
          </span>
        )}
        {thread.archived && thread.state !== "closed" && (
          <span className="badge warns" data-state="closed">
            {text.rooms.panel.archived}
          </span>
        )}
        {members.length > 0 && <span>{members.join(", ")}</span>}
        {thread.openRequests > 0 && (
          <span className="warn">
            {text.rooms.panel.openRequests({ count: thread.openRequests })}
          </span>
        )}
        <time dateTime={new Date(thread.activeAt).toISOString()}>
          {`${words.answers({ count: thread.messages })} · ${agoOf(thread.activeAt, language, now)}`}
        </time>
      </span>
    </Link>
  );
}
