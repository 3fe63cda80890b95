import { Button, TextInput } from "@mantine/core";
import { IconMessageOff, IconMessages } from "@tabler/icons-react";
import { Link, Navigate, useParams } from "@tanstack/react-router";
import { codeOf, DureError, type Room } from "dure/client";
import { useEffect, type ReactNode, useState, type FormEvent } from "react";
import { useParts } from "../app-parts.tsx";
import "../chat/chat.css";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { Prose } from "../prose.tsx";
import "../panel/panel.css";
import { useSide } from "../side.ts";
import { followRooms } from "./news.ts";
import { PlaceView } from "./place-view.tsx";
import type { PageSpeaker } from "./room-data.ts";
import "./rooms.css";
import { useRoomList, useSpeaker, useThread } from "./use-rooms.ts";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Reading, usePageTitle } from "../whole-page.tsx";

/** The place that was looked at last; `/rooms` goes back to it. */
const LAST_PLACE = "dure-room";

/** `/rooms` goes to a room, `/rooms/<place>` shows a channel, a thread or a direct room. */
export function RoomsPage(): ReactNode {
  const text = useText();
  const { who, asks } = useSpeaker();
  usePageTitle(text.rooms.label);

  return asks ? <AskName /> : <Rooms key={who ?? ""} who={who} />;
}

function Rooms({ who }: { who: PageSpeaker }): ReactNode {
  const text = useText();
  const { place: id } = useParams({ strict: false });
  const rooms = useRoomList(who);
  const side = useSide();
  const { data: all } = rooms;
  const { place, thread } = usePlace({ who, rooms: all, id });
  useNews(who);
  useEffect(() => {
    if (place !== undefined) localStorage.setItem(LAST_PLACE, place.id);
  }, [place]);

  if (all === undefined && rooms.error !== null) {
    return <Refused who={who} error={rooms.error} onRetry={rooms.retry} />;
  }
  if (all?.length === 0) return <Empty title={text.rooms.none} hint={text.rooms.noneHint} />;
  if (all !== undefined && id === undefined) return <ToLastPlace first={all[0]?.id} />;

  if (place !== undefined) {
    const channel = all?.find((one) => one.id === (place.parent ?? place.id));
    const isBeside = side.isWide && place.kind === "thread" && channel !== undefined;
    const shown = isBeside ? channel : place;
    return (
      <PlaceView
        key={shown.id}
        who={who}
        place={shown}
        channel={channel}
        thread={thread.data}
        side={side}
        isBeside={isBeside}
      />
    );
  }

  if (thread.error !== null && !rooms.isReading) return <Gone />; // a room of a later page is no thread

  return <Reading label={text.rooms.loading} />;
}

/** A room of the list; what is none of those is looked for among the threads. */
function usePlace({
  who,
  rooms,
  id,
}: {
  who: PageSpeaker;
  rooms: readonly Room[] | undefined;
  id: string | undefined;
}): { readonly place: Room | undefined; readonly thread: ReturnType<typeof useThread> } {
  const room = rooms?.find((one) => one.id === id);
  const isThread = rooms !== undefined && room === undefined;
  const thread = useThread(who, isThread ? id : undefined);

  return { place: room ?? thread.data, thread };
}

/** Goes to the room that was looked at last, else to the first. */
function ToLastPlace({ first }: { first: string | undefined }): ReactNode {
  const goal = localStorage.getItem(LAST_PLACE) ?? first;
  return goal !== undefined && <Navigate to="/rooms/$place" params={{ place: goal }} replace />;
}

/** Follows what happens in the rooms while they are looked at. */
function useNews(who: PageSpeaker): void {
  const { hub } = useParts();
  const queries = useQueryClient();
  useEffect(() => {
    const leave = new AbortController();
    followRooms({ hub, queries }, who, leave.signal);
    return () => leave.abort();
  }, [hub, queries, who]);
}

/** The team has no rooms, the name is an agent's too, or they could not be read. */
function Refused({
  who,
  error,
  onRetry,
}: {
  who: PageSpeaker;
  error: Error;
  onRetry: () => void;
}): ReactNode {
  const text = useText();
  if (who !== undefined && codeOf(error) === "PERSON_INVALID") {
    return <AskName refused={{ name: who, error }} />;
  }
  const hasNone = error instanceof DureError && error.class === "not-found";

  return hasNone ? (
    <Empty title={text.rooms.none} hint={text.rooms.noneHint} />
  ) : (
    <Empty title={text.rooms.loadFailed} hint={<ErrorWords error={error} />} onRetry={onRetry} />
  );
}

function Empty({
  title,
  hint,
  onRetry,
}: {
  title: string;
  hint: ReactNode;
  onRetry?: () => void;
}): ReactNode {
  const text = useText();
  return (
    <div className="center-page">
      <IconMessages size={36} stroke={1.4} className="soft" aria-hidden />
      <h1>{title}</h1>
      <p className="soft">{typeof hint === "string" ? <Prose text={hint} /> : hint}</p>
      {onRetry !== undefined && (
        <Button variant="default" onClick={onRetry}>
          {text.common.retry}
        </Button>
      )}
    </div>
  );
}

function Gone(): ReactNode {
  const text = useText();
  useEffect(() => localStorage.removeItem(LAST_PLACE), []);

  return (
    <div className="center-page">
      <IconMessageOff size={36} stroke={1.4} className="soft" aria-hidden />
      <h1>{text.rooms.gone}</h1>
      <p className="soft">{text.rooms.goneHint}</p>
      <Button component={Link} to="/rooms" variant="default">
        {text.rooms.toRooms}
      </Button>
    </div>
  );
}

// --- ask name

/** Longest name, characters. Source: docs/spec/collaboration §9, as the server checks it. */
const LONGEST_NAME = 60;

interface RefusedName {
  readonly name: string;
  readonly error: Error;
}

/**
 * Asks who speaks here, where people do not log in. The server says whether the name is free.
 * `refused`: the name that was chosen before, which an agent of this team has too.
 */
function AskName({ refused }: { refused?: RefusedName }): ReactNode {
  const text = useText();
  const { client, personName } = useParts();
  const [name, setName] = useState(refused?.name ?? "");
  const plain = name.normalize("NFC").trim();

  const enter = useMutation({
    mutationFn: () => client.rooms(plain).list({ limit: 1 }),
    onSuccess: () => personName.choose(plain),
  });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (plain !== "") enter.mutate();
  };

  const error = enter.error ?? (name === refused?.name ? refused.error : null);

  return (
    <div className="center-page">
      <form className="login stack loose" onSubmit={submit}>
        <img src="/mark.svg" alt="" width={44} height={44} />
        <h1>{text.rooms.ask.title}</h1>
        <p className="soft">{text.rooms.ask.lead}</p>
        <TextInput
          label={text.rooms.ask.name}
          value={name}
          maxLength={LONGEST_NAME}
          onChange={(event) => {
            setName(event.currentTarget.value);
            if (enter.isError) enter.reset();
          }}
          error={error === null ? undefined : <ErrorWords error={error} />}
          autoComplete="nickname"
          autoFocus
          size="md"
        />
        <Button type="submit" size="md" loading={enter.isPending} disabled={plain === ""} fullWidth>
          {text.rooms.ask.submit}
        </Button>
      </form>
    </div>
  );
}
