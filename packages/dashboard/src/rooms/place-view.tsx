import { ActionIcon, Button, Drawer, Loader, Popover } from "@mantine/core";
import {
  IconArrowLeft,
  IconHash,
  IconLayoutSidebarRight,
  IconMessage2,
  IconMoonStars,
  IconPlayerPause,
  IconPlayerPlay,
  IconUsers,
  IconX,
  IconHandStop,
} from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useRouterState } from "@tanstack/react-router";
import type { DureError, Room, RoomAgent, RoomMessage, Thread, Stopped } from "dure/client";
import { useRoom } from "dure/react";
import { useMemo, useState, useSyncExternalStore, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { CodedText } from "../coded.tsx";
import { useLanguage, useText, useWords } from "../language.tsx";
import type { Side } from "../side.ts";
import { ErrorWords } from "../problem.tsx";
import { whenOf } from "../when.ts";
import { othersOf, type Others } from "./mention.ts";
import { MessageLog, type Goal } from "./message-log.tsx";
import type { Answering } from "./message-deeds.tsx";
import { mayWrite } from "./message-row.tsx";
import { InspectedMessage, PlacePanel } from "./place-panel.tsx";
import { RoomComposer } from "./room-composer.tsx";
import { PlatformIcon, platformName } from "./platform.tsx";
import { namesOf, type PageSpeaker } from "./room-data.ts";
import { OnlineDot } from "./room-list.tsx";
import { unseenOf } from "./room-posts.ts";
import { namesAndMore } from "./person-name.ts";
import { useOthersHere, usePresence } from "./use-presence.ts";
import { WORK_WORDS, type WorkWords } from "words:later/work";
import { useAgents, useSpeaker } from "./use-rooms.ts";
import { usePageTitle } from "../whole-page.tsx";

interface PlaceViewProps {
  readonly who: PageSpeaker;
  readonly place: Room;
  readonly channel: Room | undefined;
  readonly thread: Thread | undefined;
  readonly side: Side;
  /** Whether the thread stands beside `place`, its channel, instead of the panel. */
  readonly isBeside: boolean;
}

/**
 * One channel, thread or direct room: what is said there, who is writing, and where to write. A
 * wide page shows a thread beside its channel.
 */
export function PlaceView(props: PlaceViewProps): ReactNode {
  const { who, place, channel, thread, side, isBeside } = props;
  const open = isBeside && thread !== undefined ? thread : place;
  const agents = useAgents();
  const nameOf = useMemo(() => namesOf(agents.data), [agents.data]);
  const { goal, jump, forget } = useGoal(open.id);
  const panel = usePanel(side, { isBeside, onToggle: forget });
  usePageTitle(open.name);

  // Who is mentioned must hear: the agents of the channel, where they are known.
  const members = channel?.members;

  const mentionable = useMemo(
    () => (agents.data ?? []).filter(({ id }) => members?.includes(id) ?? true),
    [agents.data, members],
  );
  const talk = (one: Room): TalkProps => ({
    who,
    place: one,
    channel,
    agents: agents.data ?? NOTHING,
    mentionable,
    nameOf,
    above: one.id === thread?.id ? thread.below : undefined,
    goal: goal?.place === one.id ? goal : undefined,
    onJump: (message) => jump(one.id, message),
    onLeave: panel.leave,
    onInspect: (message) => panel.inspect({ place: one.id, message }),
  });

  return (
    <div
      className="room split"
      data-panel={side.isColumn || isBeside || undefined}
      data-beside={isBeside || undefined}
    >
      <Place {...talk(place)}>{!isBeside && <PanelButton panel={panel} />}</Place>
      {isBeside && !panel.isOpen ? (
        <Place {...talk(open)} isBeside>
          <PanelButton panel={panel} />
        </Place>
      ) : (
        <PlaceSide side={side} isColumn={panel.isOpen}>
          {isBeside && <PanelHead panel={panel} />}
          {panel.inspected !== undefined && (
            <InspectedMessage
              who={who}
              place={panel.inspected.place}
              id={panel.inspected.message}
              nameOf={nameOf}
              onClose={panel.leave}
              onJump={(message) => {
                const { inspected } = panel;
                side.closeDrawer();
                if (isBeside) panel.leave();
                if (inspected !== undefined) jump(inspected.place, message);
              }}
            />
          )}
          <PlacePanel
            who={who}
            place={open}
            channel={channel}
            thread={thread}
            agents={mentionable}
            nameOf={nameOf}
          />
        </PlaceSide>
      )}
    </div>
  );
}

/** What is said in a place, under its name. */
function Place({
  isBeside = false,
  children,
  ...talk
}: TalkProps & {
  /** Its channel stands before it. */
  readonly isBeside?: boolean;
  readonly children: ReactNode;
}): ReactNode {
  const { who, place, channel, nameOf } = talk;
  return (
    <section className={`column flush ${isBeside ? "aside" : ""}`} aria-label={place.name}>
      <PlaceHead who={who} place={place} channel={channel} nameOf={nameOf} isBeside={isBeside}>
        <StopButton key={place.id} who={who} place={place} />
        {children}
      </PlaceHead>
      <Banner who={who} place={place} />
      <Talk key={place.id} {...talk} />
    </section>
  );
}

function PanelHead({ panel }: { panel: Panel }): ReactNode {
  const words = useText().rooms.panel;
  return (
    <div className="room-head row between bar">
      <h2>{words.label}</h2>
      <PanelButton panel={panel} />
    </div>
  );
}

function PanelButton({ panel }: { panel: Panel }): ReactNode {
  const words = useText().rooms.panel;
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      aria-label={panel.isOpen ? words.close : words.open}
      aria-expanded={panel.isExpanded}
      onClick={panel.toggle}
    >
      <IconLayoutSidebarRight size={19} stroke={1.7} />
    </ActionIcon>
  );
}

/** A message that was picked, and where it stands. */
interface Picked {
  readonly place: string;
  readonly message: string;
}

/** The column or drawer that says who is here; over a thread beside its channel when asked for. */
interface Panel {
  readonly isOpen: boolean;
  readonly isExpanded: boolean;
  readonly inspected: Picked | undefined;
  readonly toggle: () => void;
  readonly inspect: (picked: Picked) => void;
  /** Leaves the picked message; false: none was. */
  readonly leave: () => boolean;
}

function usePanel(
  side: Side,
  { isBeside, onToggle }: { readonly isBeside: boolean; readonly onToggle: () => void },
): Panel {
  const [inspected, setInspected] = useState<Picked>();
  const [isOver, setOver] = useState(false);

  return {
    isOpen: isBeside ? isOver : side.isColumn,
    isExpanded: isBeside ? isOver : side.isWide ? side.isColumn : side.isDrawerOpen,
    inspected,
    toggle: () => {
      onToggle();
      setInspected(undefined);
      if (isBeside) setOver(!isOver);
      else side.toggle();
    },
    inspect: (picked) => {
      setInspected(picked);
      if (isBeside) setOver(true);
      else side.open();
    },
    leave: () => {
      setInspected(undefined);
      setOver(false);
      return inspected !== undefined || isOver;
    },
  };
}

/** Other anchors are the page's own. */
const MESSAGE_ID = /^message_/u;

type PlaceGoal = Goal & { readonly place: string };

/** The message that the address or a press leads to, and its place. The later of the two counts. */
function useGoal(place: string): {
  readonly goal: PlaceGoal | undefined;
  readonly jump: (place: string, message: string) => void;
  readonly forget: () => void;
} {
  const hash = useRouterState({ select: ({ location }) => location.hash });
  const [pressed, setPressed] = useState<{ hash: string; goal: PlaceGoal | undefined }>();
  const addressed = useMemo(
    () => (MESSAGE_ID.test(hash) ? { place, id: hash } : undefined),
    [hash, place],
  );

  return {
    goal: pressed?.hash === hash ? pressed.goal : addressed,
    jump: (at, id) => setPressed({ hash, goal: { place: at, id } }),
    forget: () => setPressed({ hash, goal: undefined }),
  };
}

function PlaceSide({
  side,
  isColumn,
  children,
}: {
  side: Side;
  isColumn: boolean;
  children: ReactNode;
}): ReactNode {
  const words = useText().rooms.panel;
  if (!side.isWide) {
    return (
      <Drawer
        opened={side.isDrawerOpen}
        onClose={side.closeDrawer}
        position="right"
        size="min(100vw, 380px)"
        title={words.label}
        closeButtonProps={{ "aria-label": words.close }}
        classNames={{ content: "drawer-panel column flush" }}
      >
        <div className="grow scroll">{children}</div>
      </Drawer>
    );
  }

  return (
    isColumn && (
      <aside className="aside scroll" aria-label={words.label}>
        {children}
      </aside>
    )
  );
}

interface TalkProps {
  readonly who: PageSpeaker;
  readonly place: Room;
  readonly channel: Room | undefined;
  readonly agents: readonly RoomAgent[];
  readonly mentionable: readonly RoomAgent[];
  readonly nameOf: (agent: string) => string;
  readonly goal: Goal | undefined;
  /** The message that the thread goes on from. */
  readonly above: string | null | undefined;
  readonly onJump: (message: string) => void;
  readonly onInspect: (message: string) => void;
  readonly onLeave: () => boolean;
}

/** What is said in a place, who is writing, and where to write. */
function Talk(props: TalkProps): ReactNode {
  const { who, place, channel, agents, mentionable, nameOf } = props;
  const { roomPosts } = useParts();
  const room = useRoom(place.id, { asPerson: who });
  const [answering, setAnswering] = useState<Answering>();
  const posted = useSyncExternalStore(roomPosts.subscribe, roomPosts.snapshot);
  const { messages, timeline } = room;

  const postings = unseenOf(
    posted.filter((one) => one.place === place.id && one.who === who),
    messages,
  );

  const { name } = useSpeaker();
  const presence = usePresence(who, place);
  const writers = othersOf(room.people?.typing, room.people?.typingCount, name);
  const people = useMemo(() => peopleOf(messages, name), [messages, name]);

  return (
    <>
      {timeline === undefined ? (
        <NotRead error={room.problem} onRetry={() => void room.reload()} />
      ) : (
        <MessageLog
          who={who}
          place={place}
          channel={channel}
          timeline={timeline}
          postings={postings}
          agents={agents}
          nameOf={nameOf}
          room={room}
          goal={props.goal}
          above={props.above}
          onJump={props.onJump}
          onInspect={props.onInspect}
          onLeave={() => {
            setAnswering(undefined);
            return answering !== undefined || props.onLeave();
          }}
          onAnswer={mayWrite(place) ? setAnswering : undefined}
        />
      )}
      <Writing agents={room.writers.map(nameOf)} people={writers} />
      <RoomComposer
        who={who}
        place={place}
        last={messages.at(-1)?.seq ?? 0}
        agents={mentionable}
        people={people}
        presence={presence}
        answering={answering}
        onAnswered={() => setAnswering(undefined)}
      />
    </>
  );
}

/** Names of the people who wrote, the last one first, but for the reader. Pure. */
function peopleOf(messages: readonly RoomMessage[], reader: string | undefined): readonly string[] {
  const names = messages
    .filter(({ authorKind }) => authorKind === "person")
    .map(({ authorName }) => authorName)
    .filter((name) => name !== reader);
  return [...new Set(names.toReversed())];
}

/** Messages that are not there yet, or could not be read. */
function NotRead(props: { error: DureError | undefined; onRetry: () => void }): ReactNode {
  const { error, onRetry } = props;
  const text = useText();
  if (error === undefined) {
    return (
      <div className="center-page grow">
        <Loader type="dots" role="status" aria-label={text.rooms.loading} />
      </div>
    );
  }

  return (
    <div className="center-page grow" role="alert">
      <p>{text.rooms.loadFailed}</p>
      <p className="soft small">
        <ErrorWords error={error} />
      </p>
      <Button variant="default" onClick={onRetry}>
        {text.common.retry}
      </Button>
    </div>
  );
}

/** Names of writers that are shown; the others are counted. */
const MOST_WRITERS = 3;

/** Agents and people who write now. */
function Writing(props: { agents: readonly string[]; people: Others }): ReactNode {
  const { agents, people } = props;
  const words = useWords(WORK_WORDS);
  const names = [...agents, ...people.names].slice(0, MOST_WRITERS);
  const count = agents.length + people.count;
  return (
    <p className="room-writing small soft row" aria-live="polite">
      {names.length > 0 && (
        <>
          <span className="pulse" aria-hidden />
          <span className="clip">
            {words.writing({ names: words.listed(namesAndMore(names, count)), count })}
          </span>
        </>
      )}
    </p>
  );
}

const NOTHING: readonly never[] = [];

function PlaceHead({
  who,
  place,
  channel,
  nameOf,
  isBeside,
  children,
}: {
  who: PageSpeaker;
  place: Room;
  channel: Room | undefined;
  nameOf: (agent: string) => string;
  isBeside: boolean;
  children: ReactNode;
}): ReactNode {
  const text = useText();
  const Name = isBeside ? "h2" : "h1";
  const agents = useAgents();
  const agent =
    place.kind === "direct" ? agents.data?.find(({ id }) => id === place.agent) : undefined;

  return (
    <header className="room-head row bar">
      {place.kind === "thread" && place.parent !== null ? (
        <Link
          to="/rooms/$place"
          params={{ place: place.parent }}
          className="room-back icon-link"
          aria-label={text.rooms.backTo({ name: channel?.name ?? text.rooms.channels })}
        >
          {isBeside ? (
            <IconX size={18} stroke={1.7} aria-hidden />
          ) : (
            <IconArrowLeft size={18} stroke={1.7} aria-hidden />
          )}
        </Link>
      ) : (
        <PlaceIcon place={place} />
      )}
      <Name className="clip" title={place.name}>
        {place.name}
      </Name>
      {agent !== undefined && <OnlineDot agent={agent} />}
      {place.kind === "channel" && place.defaultAgent != null && (
        <span className="room-fact badge">
          {text.rooms.defaultAgent({ name: nameOf(place.defaultAgent) })}
        </span>
      )}
      <PeopleHere who={who} place={place} />
      {place.adapter !== "web" && (
        <span className="badge">{text.rooms.on({ adapter: platformName(place.adapter) })}</span>
      )}
      <div className="row flush top end rigid">{children}</div>
    </header>
  );
}

/** Who else looks at the place now, in one quiet sign; the panel has their names. */
function PeopleHere({ who, place }: { who: PageSpeaker; place: Room }): ReactNode {
  const { here: words, listed } = useWords(WORK_WORDS);
  const { names, count } = useOthersHere(who, place);
  if (count === 0) return null;
  const said = `${words.title}: ${listed(namesAndMore(names, count))}`;
  return (
    <span className="badge" title={said}>
      <IconUsers size={13} aria-hidden />
      <span aria-hidden>{count}</span>
      <span className="hidden-words">{said}</span>
    </span>
  );
}

function PlaceIcon({ place }: { place: Room }): ReactNode {
  if (place.adapter !== "web") {
    return <PlatformIcon adapter={place.adapter} size={19} className="soft rigid" />;
  }
  const Icon = place.kind === "direct" ? IconMessage2 : IconHash;
  return <Icon size={19} stroke={1.7} className="soft rigid" aria-hidden />;
}

const STATE_ICONS = { resting: IconMoonStars, suspended: IconPlayerPause, closed: IconX } as const;

/** Why agents are silent here, and how a person lets them go on. */
function Banner({ who, place }: { who: PageSpeaker; place: Room }): ReactNode {
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
      text.rooms.banner.suspended({
        until: place.suspendedUntil === null ? "" : whenOf(place.suspendedUntil, language),
      }),
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
    <div className="room-banner banner warns" data-state={state} role="status">
      <Icon size={18} stroke={1.7} aria-hidden />
      <p className="grow">
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

// --- stop button

/** Ends what runs in a place, after a question: answers, requests, jobs. */
function StopButton({ who, place }: { who: PageSpeaker; place: Room }): ReactNode {
  const words = useWords(WORK_WORDS).stop;
  const { client } = useParts();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const stop = useMutation({
    mutationFn: () => {
      const rooms = client.rooms(who);
      return place.kind === "thread" ? rooms.stopThread(place.id) : rooms.stopRoom(place.id);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["rooms", who ?? ""] }),
  });
  const change = (open: boolean): void => {
    if (open) stop.reset();
    setOpen(open);
  };
  if (place.state === "closed") return null;
  return (
    <Popover opened={isOpen} onChange={change} position="bottom-end" trapFocus withinPortal>
      <Popover.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={words.open}
          title={words.open}
          onClick={() => change(!isOpen)}
        >
          <IconHandStop size={19} stroke={1.7} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown
        className="stack"
        maw="min(var(--width-lg), 100vw - var(--control-sm))"
        aria-label={words.open}
      >
        <p>
          <strong>{words.question[place.kind]}</strong>
        </p>
        <p className="soft small">{words.hint}</p>
        {stop.error !== null && (
          <p className="error-note small">
            <ErrorWords error={stop.error} />
          </p>
        )}
        {stop.data !== undefined && (
          <p className="small" role="status">
            {endedWords(stop.data, words)}
          </p>
        )}
        <StopRow
          isOver={stop.data !== undefined}
          isPending={stop.isPending}
          onClose={() => change(false)}
          onStop={() => stop.mutate()}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

function StopRow(row: {
  isOver: boolean;
  isPending: boolean;
  onClose: () => void;
  onStop: () => void;
}): ReactNode {
  const words = useWords(WORK_WORDS).stop;
  return (
    <div className="row top end">
      <Button size="compact-sm" variant="default" onClick={row.onClose}>
        {words.close}
      </Button>
      {!row.isOver && (
        <Button size="compact-sm" color="red" loading={row.isPending} onClick={row.onStop}>
          {words.confirm}
        </Button>
      )}
    </div>
  );
}

type StopWords = WorkWords["stop"];

function endedWords({ answers, requests, jobs }: Stopped, words: StopWords): string {
  const ended = [
    answers > 0 && words.answers({ count: answers }),
    requests > 0 && words.requests({ count: requests }),
    jobs > 0 && words.jobs({ count: jobs }),
  ].filter((part) => part !== false);
  return ended.length === 0 ? words.nothing : words.ended({ what: ended.join(", ") });
}
