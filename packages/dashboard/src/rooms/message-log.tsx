import { Box, Button } from "@mantine/core";
import { IconArrowDown, IconRefresh, IconTrash } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { systemClock, type Room, type RoomAgent } from "dure/client";
import type { Timeline, UsedRoom } from "dure/react";
import {
  Fragment,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type ReactNode,
  type RefObject,
} from "react";
import { useParts } from "../app-parts.tsx";
import { useAsked } from "../asked.ts";
import { useFollowEnd } from "../follow-end.ts";
import { useLanguage, useText, useWords } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import type { Answering } from "./message-deeds.tsx";
import { plainOf } from "./mention.ts";
import { useMessageKeys } from "./message-keys.ts";
import { mayWrite, MessageRow, Portrait, RoomText } from "./message-row.tsx";
import { ROOM_KEYS, type PageSpeaker } from "./room-data.ts";
import type { Posting } from "./room-posts.ts";
import { standOf } from "./stand-of.ts";
import { useSpeaker } from "./use-rooms.ts";
import { WORK_WORDS } from "words:later/work";

/** Of the words of a message: what was handed over goes on there. */
const THREAD_LINK = '.markdown a[href^="/rooms/"]';
/** Characters of the message above a thread: two lines of a wide page. */
const ABOVE_LENGTH = 240;
/** How long the message that a link led to is lit, milliseconds. */
const LIT_MS = 1_800;

/** The message that a link led to; each object leads there once. */
export interface Goal {
  readonly id: string;
}

interface MessageLogProps {
  readonly who: PageSpeaker;
  readonly place: Room;
  readonly channel: Room | undefined;
  readonly timeline: Timeline;
  readonly postings: readonly Posting[];
  readonly agents: readonly RoomAgent[];
  readonly nameOf: (agent: string) => string;
  readonly room: Pick<UsedRoom, "older" | "newer" | "newest" | "around">;
  readonly goal: Goal | undefined;
  /** The message that the thread goes on from; null or absent: it stands for itself. */
  readonly above: string | null | undefined;
  readonly onJump: (message: string) => void;
  readonly onAnswer: ((answering: Answering) => void) | undefined;
  /** Shows a message in the panel. */
  readonly onInspect: (message: string) => void;
  /** Closes what is open; false: nothing was. */
  readonly onLeave: () => boolean;
}

export function MessageLog(props: MessageLogProps): ReactNode {
  const { who, place, channel, timeline, postings, agents, nameOf, room } = props;
  const text = useText();
  const words = useWords(WORK_WORDS);
  const { name } = useSpeaker();
  const { messages, hasOlder, hasNewer } = timeline;
  const last = messages.at(-1)?.seq ?? 0;
  const [unreadFrom] = useState(() => firstUnread(timeline, place.unread ?? 0));
  const log = useRef<HTMLDivElement>(null);

  const { following, newer, onScroll, toEnd } = useFollowing(log, {
    last,
    first: messages[0]?.seq ?? 0,
    postings: postings.length,
  });

  useMarkRead(who, place, last, following);
  const { lit, isMissing } = useReached(props);
  /** Whether the person may. */
  const answer = (how: Answering["how"], id: string): boolean => {
    const message = messages.find((one) => one.id === id);
    const isOwn = message?.authorKind === "person" && message.author === name;
    if (message === undefined || message.deletedAt !== null || !props.onAnswer) return false;
    if (how === "edit" && !isOwn) return false;
    if (how === "thread" && place.kind === "thread") return false;
    props.onAnswer({ how, message });
    return true;
  };
  useMessageKeys(log, {
    reply: (id) => {
      answer("reply", id);
    },
    edit: (id) => {
      answer("edit", id);
    },
    thread: (id) => {
      const link = document.getElementById(id)?.querySelector<HTMLElement>(THREAD_LINK);
      if (link) link.click();
      else if (!answer("thread", id)) props.onInspect(id);
    },
    leave: props.onLeave,
  });

  return (
    <div
      className="room-log column grow scroll flush"
      ref={log}
      onScroll={onScroll}
      tabIndex={0}
      role="log"
      aria-label={text.rooms.log({ name: place.name })}
    >
      {isMissing && (
        <p className="room-older soft small" role="status">
          {words.messageGone}
        </p>
      )}
      {hasOlder && <MoreButton words={text.rooms.older} onPress={room.older} />}
      {messages.length === 0 && postings.length === 0 && (
        <Nothing place={place} nameOf={nameOf} channel={channel} />
      )}
      <ol className="room-messages stack flush">
        <MessageAbove who={who} id={props.above} isShown={!hasOlder} agents={agents} />
        <Rows {...props} lit={lit} unreadFrom={unreadFrom} />
        {postings.map((posting) => (
          <PostingRow key={posting.clientId} posting={posting} agents={agents} />
        ))}
      </ol>
      {hasNewer && <MoreButton words={words.later} onPress={room.newer} />}
      {(!following || hasNewer) && (
        <button
          type="button"
          className="room-newer newer solid"
          onClick={hasNewer ? () => void room.newest() : toEnd}
        >
          <IconArrowDown size={15} aria-hidden />
          {newer > 0 ? text.rooms.newer({ count: newer }) : text.common.toBottom}
        </button>
      )}
    </div>
  );
}

/** What a thread goes on from, short; it leads to where it stands in its channel. */
function MessageAbove(props: {
  readonly who: PageSpeaker;
  readonly id: string | null | undefined;
  readonly isShown: boolean;
  readonly agents: readonly RoomAgent[];
}): ReactNode {
  const { who, agents } = props;
  const id = props.id ?? "";
  const { data } = useAsked(
    ROOM_KEYS.message(who, id),
    (client, signal) => client.rooms(who).message(id, { signal }),
    { enabled: props.isShown && id !== "" },
  );
  if (data === undefined) return null;
  return (
    <Box component="li" px="md">
      <Link
        to="/rooms/$place"
        params={{ place: data.place }}
        hash={id}
        className="plain card small clamp"
      >
        <strong>{data.authorName}</strong> {plainOf(data, agents, ABOVE_LENGTH)}
      </Link>
    </Box>
  );
}

/** Reads messages above or below those that are shown. */
function MoreButton(props: { words: string; onPress: () => Promise<void> }): ReactNode {
  const [loading, setLoading] = useState(false);
  const press = (): void => {
    setLoading(true);
    void props.onPress().finally(() => setLoading(false));
  };

  return (
    <Button
      className="room-older"
      variant="subtle"
      color="gray"
      size="compact-sm"
      loading={loading}
      onClick={press}
    >
      {props.words}
    </Button>
  );
}

/** The messages, each below the mark of its day and of what was not read. */
function Rows({
  who,
  timeline,
  agents,
  nameOf,
  place,
  onAnswer,
  onInspect,
  onJump,
  lit,
  unreadFrom,
}: MessageLogProps & {
  readonly lit: string | undefined;
  readonly unreadFrom: number | undefined;
}): ReactNode {
  const text = useText();
  const { messages, working } = timeline;
  const byId = useMemo(() => new Map(messages.map((message) => [message.id, message])), [messages]);

  return messages.map((message, index) => {
    const before = messages[index - 1];
    const stand = standOf(before, message);
    const isFirstUnread = message.seq === unreadFrom;
    const isBelowReplied = before?.id === message.replyTo;

    return (
      <Fragment key={message.id}>
        {stand === "new-day" && <NewDay at={message.at} />}
        {isFirstUnread && (
          <li className="room-day meta row loose" data-unread>
            <span>{text.rooms.unreadFrom}</span>
          </li>
        )}
        <MessageRow
          who={who}
          message={message}
          under={stand === "same-name" && !isFirstUnread}
          lit={lit === message.id}
          agents={agents}
          nameOf={nameOf}
          working={working[message.id]}
          replied={isBelowReplied ? undefined : byId.get(message.replyTo ?? "")}
          onJump={onJump}
          onInspect={onInspect}
          isInThread={place.kind === "thread"}
          onAnswer={onAnswer}
        />
      </Fragment>
    );
  });
}

function NewDay({ at }: { at: number }): ReactNode {
  const { language } = useLanguage();
  return (
    <li className="room-day meta row loose">
      <span>{new Intl.DateTimeFormat(language, { dateStyle: "full" }).format(at)}</span>
    </li>
  );
}

/** Shows the goal, from wherever it stands in the room, and lights it for a moment. */
function useReached({ goal, timeline, room }: MessageLogProps): {
  readonly lit: string | undefined;
  /** The room has no such message, or has it no more. */
  readonly isMissing: boolean;
} {
  const [over, setOver] = useState<Goal>();
  const [missing, setMissing] = useState<Goal>();
  const reached = useRef<Goal>(undefined);
  const { around } = room;
  const isHere = goal !== undefined && timeline.messages.some(({ id }) => id === goal.id);

  useEffect(() => {
    if (goal !== undefined) around(goal.id).catch(() => setMissing(goal));
  }, [goal, around]);

  useEffect(() => {
    if (goal === undefined || !isHere || reached.current === goal) return;
    reached.current = goal;
    const element = document.getElementById(goal.id);
    element?.scrollIntoView({ block: "center" });
    element?.focus({ preventScroll: true });
  }, [goal, isHere]);

  useEffect(() => {
    if (goal === undefined || !isHere) return undefined;
    return systemClock.after(LIT_MS, () => setOver(goal));
  }, [goal, isHere]);

  return {
    lit: isHere && over !== goal ? goal.id : undefined,
    isMissing: missing !== undefined && missing === goal,
  };
}

/** Follows the end, counts what came below the reader, and stays in place when older ones come. */
function useFollowing(
  ref: RefObject<HTMLDivElement | null>,
  { last, first, postings }: { last: number; first: number; postings: number },
): { following: boolean; newer: number; onScroll: () => void; toEnd: () => void } {
  const { following, onScroll } = useFollowEnd(ref, { own: postings });
  const [seen, setSeen] = useState(last);
  const before = useRef({ first, height: 0 });
  if (following && seen !== last) setSeen(last);

  useLayoutEffect(() => {
    const element = ref.current!;
    if (!following && first < before.current.first) {
      element.scrollTop += element.scrollHeight - before.current.height;
    }
    before.current = { first, height: element.scrollHeight };
  });

  const toEnd = (): void => ref.current!.scrollTo({ top: ref.current!.scrollHeight });

  return { following, newer: last - seen, onScroll, toEnd };
}

/** What stood at the end of a page that a person looked at was read. */
function useMarkRead(who: PageSpeaker, place: Room, last: number, following: boolean): void {
  const { client } = useParts();
  const queries = useQueryClient();
  const marked = useRef(0);

  useEffect(() => {
    const mark = (): void => {
      if (!following || last <= marked.current || document.visibilityState !== "visible") return;
      marked.current = last;

      client
        .rooms(who)
        .markRead(place.id, last)
        .then(() =>
          queries.invalidateQueries({
            queryKey: place.kind === "thread" ? ROOM_KEYS.allThreads(who) : ROOM_KEYS.list(who),
          }),
        )
        .catch(() => (marked.current = 0)); // the next message, or the next look, tries again
    };

    mark();
    document.addEventListener("visibilitychange", mark);

    return () => document.removeEventListener("visibilitychange", mark);
  }, [client, queries, who, place.id, place.kind, last, following]);
}

/** The first message that was not read when the place was opened; none where all of it is new. */
function firstUnread({ messages }: Timeline, unread: number): number | undefined {
  const last = messages.at(-1)?.seq ?? 0;
  const from = last - unread + 1;
  return unread > 0 && from > (messages[0]?.seq ?? 1) ? from : undefined;
}

function Nothing({
  place,
  channel,
  nameOf,
}: {
  place: Room;
  channel: Room | undefined;
  nameOf: (agent: string) => string;
}): ReactNode {
  const text = useText();
  if (!mayWrite(place)) {
    return (
      <div className="center-page grow">
        <h2>{text.rooms.empty}</h2>
      </div>
    );
  }

  const hint =
    place.kind === "channel"
      ? text.rooms.beginHint.channel({ name: nameOf(channel?.defaultAgent ?? "") })
      : text.rooms.beginHint[place.kind];

  return (
    <div className="center-page grow">
      <h2>{text.rooms.begin({ kind: place.kind, name: place.name })}</h2>
      <p className="soft">{hint}</p>
    </div>
  );
}

/** One's own words before the place has them. */
function PostingRow({
  posting,
  agents,
}: {
  posting: Posting;
  agents: readonly RoomAgent[];
}): ReactNode {
  const text = useText();
  const { roomPosts } = useParts();
  const { clientId, problem } = posting;
  const mentioned = useMemo(() => agents.map(({ id }) => id), [agents]);
  const name = posting.who ?? text.common.you;

  return (
    <li className="room-message" data-status={posting.status}>
      <Portrait name={name} kind="person" />
      <div className="room-message-body stack tight">
        <p className="room-message-head meta cluster baseline">
          <strong>{name}</strong>
          {posting.status === "sending" && (
            <span className="soft">{text.rooms.delivery.queued}</span>
          )}
        </p>
        <RoomText text={posting.text} mentioned={mentioned} agents={agents} />
        {posting.status === "failed" && (
          <div className="problem" role="alert">
            <p>
              <strong>{text.common.notSent}.</strong> {problem && <ErrorWords error={problem} />}
            </p>
            <div className="toolbar">
              <Button
                size="compact-sm"
                variant="default"
                leftSection={<IconRefresh size={14} />}
                onClick={() => roomPosts.retry(clientId)}
              >
                {text.common.sendAgain}
              </Button>
              <Button
                size="compact-sm"
                variant="subtle"
                color="gray"
                leftSection={<IconTrash size={14} />}
                onClick={() => roomPosts.discard(clientId)}
              >
                {text.common.discard}
              </Button>
            </div>
          </div>
        )}
      </div>
    </li>
  );
}
