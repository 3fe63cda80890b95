import { Button, TextInput } from "@mantine/core";
import { IconHash, IconSearch } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { Room, RoomAgent } from "dure/client";
import { useState, type ReactNode } from "react";
import { onlineOf } from "../agents/online.ts";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { useIsGone } from "../server-watch.ts";
import { lettersOf } from "./mention.ts";
import { MessageSearch } from "./message-search.tsx";
import { PlatformIcon, platformName } from "./platform.tsx";
import { ROOM_KEYS, type PageSpeaker } from "./room-data.ts";
import { RoomNotices } from "./room-notices.tsx";
import "./rooms.css";
import { useAgents, useRoomList, useSpeaker, useThread } from "./use-rooms.ts";

function NoMatch({ looksFor, count }: { looksFor: string; count: number }): ReactNode {
  const text = useText();
  if (looksFor === "" || count > 0) return null;
  return <p className="soft small sessions-empty">{text.rooms.noMatch({ query: looksFor })}</p>;
}

/** Above the channels of a platform; of the only one its name says nothing. */
function PlatformTitle({ adapter, isAlone }: { adapter: string; isAlone: boolean }): ReactNode {
  const text = useText();
  return (
    <h2 className="rooms-title meta strong row">
      {!isAlone && <PlatformIcon adapter={adapter} size={14} />}
      {isAlone ? text.rooms.channels : platformName(adapter, text.rooms.web)}
    </h2>
  );
}

/** Channels, and every agent with whom one can talk alone; with unread marks. */
export function RoomList(): ReactNode {
  const text = useText();
  const { who, asks, named } = useSpeaker();
  const rooms = useRoomList(who);
  const agents = useAgents(!asks);
  const { place } = useParams({ strict: false });
  const isThread = rooms.data !== undefined && !rooms.data.some((room) => room.id === place);
  const thread = useThread(who, isThread ? place : undefined);
  const [search, setSearch] = useState("");
  const { data: all } = rooms;
  if (asks || all === undefined) return null;

  const current = thread.data?.parent ?? place;
  const looksFor = search.trim();
  const fits = (name: string): boolean => lettersOf(name).includes(lettersOf(looksFor));
  const allChannels = all.filter((room) => room.kind === "channel");
  const channels = allChannels.filter(({ name, adapter }) => fits(`${name} ${adapter}`));
  const isOneOf = new Set(allChannels.map(({ adapter }) => adapter)).size;
  const platforms = Map.groupBy(channels, ({ adapter }) => adapter);
  const known = (agents.data ?? []).filter((agent) =>
    agent.accounts.some(({ adapter }) => adapter === "web"),
  );
  const shown = known.filter((agent) => fits(agent.displayName) || fits(agent.id));

  return (
    <nav className="rooms-nav column wide" aria-label={text.rooms.label}>
      <TextInput
        size="sm"
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
        placeholder={text.rooms.search}
        aria-label={text.rooms.search}
        leftSection={<IconSearch size={15} />}
      />
      <NoMatch looksFor={looksFor} count={channels.length + shown.length} />
      {[...platforms].map(([adapter, some]) => (
        <section key={adapter}>
          <PlatformTitle adapter={adapter} isAlone={isOneOf <= 1} />
          <ul>
            {some.map((room) => (
              <li key={room.id}>
                <RoomLink
                  room={room}
                  isCurrent={room.id === current}
                  isThread={room.id !== place}
                />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {shown.length > 0 && <DirectRooms agents={shown} rooms={all} current={current} who={who} />}
      {looksFor !== "" && <MessageSearch who={who} search={looksFor} agents={agents.data ?? []} />}
      {rooms.hasMore && (
        <Button variant="subtle" color="gray" size="compact-sm" onClick={rooms.more}>
          {text.rooms.more}
        </Button>
      )}
      <RoomNotices who={who} />
      {named && <PersonName name={who ?? ""} />}
    </nav>
  );
}

function DirectRooms({
  agents,
  rooms,
  current,
  who,
}: {
  agents: readonly RoomAgent[];
  rooms: readonly Room[];
  current: string | undefined;
  who: PageSpeaker;
}): ReactNode {
  const text = useText();
  const roomOf = (agent: RoomAgent): Room | undefined =>
    rooms.find((room) => room.kind === "direct" && room.agent === agent.id);

  return (
    <section>
      <h2 className="rooms-title meta strong">{text.rooms.direct}</h2>
      <ul>
        {agents.map((agent) => (
          <li key={agent.id}>
            <DirectLink agent={agent} room={roomOf(agent)} current={current} who={who} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The name under which a person speaks here, and the way to another one. */
function PersonName({ name }: { name: string }): ReactNode {
  const text = useText();
  const { personName } = useParts();

  return (
    <p className="rooms-person meta cluster between">
      <span>{text.rooms.speakAs({ name })}</span>
      <Button variant="subtle" color="gray" size="compact-sm" onClick={() => personName.forget()}>
        {text.rooms.rename}
      </Button>
    </p>
  );
}

function RoomLink({
  room,
  isCurrent,
  isThread,
}: {
  room: Room;
  isCurrent: boolean;
  isThread: boolean;
}): ReactNode {
  return (
    <Link
      to="/rooms/$place"
      params={{ place: room.id }}
      className="room-link nav-item"
      data-active={isCurrent || undefined}
      aria-current={isCurrent ? (isThread ? "true" : "page") : undefined}
    >
      <IconHash size={14} stroke={1.8} aria-hidden />
      <span className="room-link-name clip grow">{room.name}</span>
      <UnreadMark count={isCurrent && !isThread ? 0 : (room.unread ?? 0)} />
    </Link>
  );
}

/** The room is made when it is asked for. */
function DirectLink({
  agent,
  room,
  current,
  who,
}: {
  agent: RoomAgent;
  room: Room | undefined;
  current: string | undefined;
  who: PageSpeaker;
}): ReactNode {
  const { client } = useParts();
  const queries = useQueryClient();
  const navigate = useNavigate();

  const open = useMutation({
    mutationFn: () => client.rooms(who).direct(agent.id),
    onSuccess: async (made) => {
      await queries.invalidateQueries({ queryKey: ROOM_KEYS.list(who) });
      await navigate({ to: "/rooms/$place", params: { place: made.id } });
    },
  });

  const words = (
    <>
      <OnlineDot agent={agent} />
      <span className="room-link-name clip grow">{agent.displayName}</span>
    </>
  );

  if (room === undefined) {
    return (
      <button
        type="button"
        className="room-link nav-item"
        disabled={open.isPending}
        onClick={() => open.mutate()}
      >
        {words}
        {open.error !== null && (
          <span className="error-note small">
            <ErrorWords error={open.error} />
          </span>
        )}
      </button>
    );
  }

  const isCurrent = room.id === current;

  return (
    <Link
      to="/rooms/$place"
      params={{ place: room.id }}
      className="room-link nav-item"
      data-active={isCurrent || undefined}
      aria-current={isCurrent ? "page" : undefined}
    >
      {words}
      <UnreadMark count={isCurrent ? 0 : (room.unread ?? 0)} />
    </Link>
  );
}

export function OnlineDot({ agent }: { agent: Pick<RoomAgent, "accounts" | "paused"> }): ReactNode {
  const text = useText();
  const isGone = useIsGone();
  const state = isGone ? "none" : onlineOf(agent);
  const { offline, states } = text.agents;
  const words = isGone
    ? text.shell.connection.unknownNow
    : state === "none"
      ? offline
      : states[state];

  return (
    <span className="online-dot" data-state={state} title={words}>
      <span className="hidden-words">{words}</span>
    </span>
  );
}

export function UnreadMark({ count }: { count: number }): ReactNode {
  const text = useText();
  if (count === 0) return null;

  return (
    <span className="unread-mark badge count solid">
      <span aria-hidden>{count > 99 ? "99+" : count}</span>
      <span className="hidden-words">{text.rooms.unread({ count })}</span>
    </span>
  );
}
