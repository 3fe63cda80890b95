import { ActionIcon, Button, Drawer, Loader } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import {
  IconArrowLeft,
  IconBrandDiscord,
  IconHash,
  IconLayoutSidebarRight,
  IconMessage2,
  IconMoonStars,
  IconPlayerPause,
  IconPlayerPlay,
  IconX,
} from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Room, RoomMessage, Thread } from "dure/client";
import { useEffect, useMemo, useState, useSyncExternalStore, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { CodedText } from "../coded.tsx";
import { useLanguage, useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { whenOf } from "../when.ts";
import { MessageLog } from "./message-log.tsx";
import { PlacePanel } from "./place-panel.tsx";
import { mayWrite, RoomComposer } from "./room-composer.tsx";
import { namesOf, type Speaker } from "./room-data.ts";
import { OnlineDot } from "./room-list.tsx";
import { unseenOf } from "./room-posts.ts";
import { writersOf } from "./timeline.ts";
import { useAgents, useTimeline } from "./use-rooms.ts";

/** One channel, thread or direct room: what is said there, who is writing, and where to write. */
export function PlaceView(props: {
  who: Speaker;
  place: Room;
  channel: Room | undefined;
  thread: Thread | undefined;
}): ReactNode {
  const { who, place, channel, thread } = props;
  const text = useText();
  const { roomPosts } = useParts();
  const timeline = useTimeline(who, place.id);
  const agents = useAgents();
  const nameOf = useMemo(() => namesOf(agents.data), [agents.data]);
  const messages = timeline.data?.messages ?? NOTHING;
  const posted = useSyncExternalStore(roomPosts.subscribe, roomPosts.snapshot);
  const postings = unseenOf(
    posted.filter((one) => one.place === place.id && one.who === who),
    messages,
  );
  const wide = useMediaQuery("(min-width: 75em)", window.matchMedia("(min-width: 75em)").matches, {
    getInitialValueInEffect: false,
  });
  const [replyTo, setReplyTo] = useState<RoomMessage>();
  const [panelOpen, setPanelOpen] = useState(false);
  const [panelHidden, setPanelHidden] = useState(false);
  useEffect(() => {
    document.title = `${place.name} · dure`;
  }, [place.name]);

  // Who is mentioned must hear: the agents of the channel, where they are known.
  const members = channel?.members;
  const mentionable = useMemo(
    () => (agents.data ?? []).filter(({ id }) => members?.includes(id) ?? true),
    [agents.data, members],
  );
  const isShown = wide && !panelHidden;
  const panel = (
    <PlacePanel
      who={who}
      place={place}
      channel={channel}
      thread={thread}
      agents={mentionable}
      nameOf={nameOf}
    />
  );
  const writers = timeline.data === undefined ? [] : writersOf(timeline.data).map(nameOf);
  return (
    <div className="room" data-panel={isShown || undefined}>
      <section className="room-main" aria-label={place.name}>
        <PlaceHead place={place} channel={channel} nameOf={nameOf}>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={isShown ? text.rooms.panel.close : text.rooms.panel.open}
            aria-expanded={wide ? !panelHidden : panelOpen}
            onClick={() => (wide ? setPanelHidden(!panelHidden) : setPanelOpen(true))}
          >
            <IconLayoutSidebarRight size={19} stroke={1.7} />
          </ActionIcon>
        </PlaceHead>
        <Banner who={who} place={place} />
        {timeline.data !== undefined ? (
          <MessageLog
            who={who}
            place={place}
            channel={channel}
            timeline={timeline.data}
            postings={postings}
            agents={agents.data ?? NOTHING}
            nameOf={nameOf}
            onReply={mayWrite(place) ? setReplyTo : undefined}
          />
        ) : timeline.error !== null ? (
          <div className="chat-wait" role="alert">
            <p>{text.rooms.loadFailed}</p>
            <p className="soft small">
              <ErrorWords error={timeline.error} />
            </p>
            <Button variant="default" onClick={() => void timeline.refetch()}>
              {text.common.retry}
            </Button>
          </div>
        ) : (
          <div className="chat-wait">
            <Loader type="dots" role="status" aria-label={text.rooms.loading} />
          </div>
        )}
        <p className="room-writing" aria-live="polite">
          {writers.length > 0 && (
            <>
              <span className="pulse" aria-hidden />
              {text.rooms.writing(writers.join(", "))}
            </>
          )}
        </p>
        <RoomComposer
          who={who}
          place={place}
          last={messages.at(-1)?.seq ?? 0}
          agents={mentionable}
          replyTo={replyTo}
          onReplied={() => setReplyTo(undefined)}
        />
      </section>
      {isShown && (
        <aside className="room-panel" aria-label={text.rooms.panel.label}>
          {panel}
        </aside>
      )}
      {!wide && (
        <Drawer
          opened={panelOpen}
          onClose={() => setPanelOpen(false)}
          position="right"
          size="min(100vw, 380px)"
          title={text.rooms.panel.label}
          closeButtonProps={{ "aria-label": text.rooms.panel.close }}
          classNames={{ content: "drawer-panel" }}
        >
          {panel}
        </Drawer>
      )}
    </div>
  );
}

const NOTHING: readonly never[] = [];

function PlaceHead({
  place,
  channel,
  nameOf,
  children,
}: {
  place: Room;
  channel: Room | undefined;
  nameOf: (agent: string) => string;
  children: ReactNode;
}): ReactNode {
  const text = useText();
  const agents = useAgents();
  const agent =
    place.kind === "direct" ? agents.data?.find(({ id }) => id === place.agent) : undefined;
  return (
    <header className="room-head">
      {place.kind === "thread" && place.parent !== null ? (
        <Link
          to="/rooms/$place"
          params={{ place: place.parent }}
          className="room-back"
          aria-label={text.rooms.backTo(channel?.name ?? text.rooms.channels)}
        >
          <IconArrowLeft size={18} stroke={1.7} aria-hidden />
        </Link>
      ) : (
        <PlaceIcon place={place} />
      )}
      <h1 className="room-name" title={place.name}>
        {place.name}
      </h1>
      {agent !== undefined && <OnlineDot agent={agent} />}
      {place.kind === "channel" && place.defaultAgent != null && (
        <span className="room-fact">{text.rooms.defaultAgent(nameOf(place.defaultAgent))}</span>
      )}
      {place.adapter !== "web" && <span className="room-fact">{text.rooms.on(place.adapter)}</span>}
      <div className="room-head-end">{children}</div>
    </header>
  );
}

function PlaceIcon({ place }: { place: Room }): ReactNode {
  const Icon =
    place.adapter === "discord"
      ? IconBrandDiscord
      : place.kind === "direct"
        ? IconMessage2
        : IconHash;
  return <Icon size={19} stroke={1.7} className="soft room-head-icon" aria-hidden />;
}

const STATE_ICONS = { resting: IconMoonStars, suspended: IconPlayerPause, closed: IconX } as const;

/** Why agents are silent here, and how a person lets them go on. */
function Banner({ who, place }: { who: Speaker; place: Room }): ReactNode {
  const { text, language } = useLanguage();
  const { client } = useParts();
  const queries = useQueryClient();
  const lift = useMutation({
    mutationFn: () => client.rooms(who).resume(place.id),
    onSettled: () => queries.invalidateQueries({ queryKey: ["rooms", who ?? ""] }),
  });
  const { state } = place;
  if (state === "open") return null;
  const Icon = STATE_ICONS[state];
  const words = {
    resting: [text.rooms.banner.resting, text.rooms.banner.restingHint],
    suspended: [
      text.rooms.banner.suspended(
        place.suspendedUntil === null ? "" : whenOf(place.suspendedUntil, language),
      ),
      text.rooms.banner.suspendedHint,
    ],
    closed: [
      text.rooms.banner.closed,
      <CodedText
        key="why"
        words={text.rooms.banner.closedFor}
        coded={place.closedFor}
        sentence={place.closedBecause ?? ""}
      />,
    ],
  } as const satisfies Record<Exclude<Room["state"], "open">, readonly [string, ReactNode]>;
  const [what, hint] = words[state];
  return (
    <div className="room-banner" data-state={state} role="status">
      <Icon size={18} stroke={1.7} aria-hidden />
      <p>
        <strong>{what}</strong> <span>{hint}</span>
        {lift.error !== null && (
          <span className="error-note">
            <ErrorWords error={lift.error} />
          </span>
        )}
      </p>
      {state !== "closed" && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconPlayerPlay size={14} />}
          loading={lift.isPending}
          onClick={() => lift.mutate()}
        >
          {text.rooms.banner.lift}
        </Button>
      )}
    </div>
  );
}
