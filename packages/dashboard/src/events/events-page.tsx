import { Drawer } from "@mantine/core";
import { useDebouncedValue, useMediaQuery } from "@mantine/hooks";
import {
  systemClock,
  type DureError,
  type EventRole,
  type EventsFilter,
  type PlatformEvent,
} from "dure/client";
import { useSearch, Link } from "@tanstack/react-router";
import { use, useEffect, useMemo, useState, useSyncExternalStore, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { EVENTS_WORDS } from "words:later/events";
import { useLanguage, useText, useWords } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { useIsGone } from "../server-watch.ts";
import { eventLogOf, ROW_LIMIT, type LogRow, type LogView } from "./event-log.ts";
import { EventRows } from "./event-rows.tsx";
import { EventFilters, NOTHING_WRITTEN, type WrittenFilter } from "./events-filters.tsx";
import { isChosen, KINDS, type FacetKind } from "./facets.ts";
import { EventNamesContext, useSentences } from "./use-sentences.ts";
import "./events.css";
import { momentOf } from "../when.ts";
import { actorOf } from "../actor.ts";
import { useAgents, useRoomList, useSpeaker } from "../rooms/use-rooms.ts";
import { useServiceName } from "../service-names.ts";
import type { EventNames } from "./names.ts";
import { usePageTitle } from "../whole-page.tsx";

/** A filter is applied when its field has rested for this long, milliseconds. */
const REST_MS = 350;

/** Everything that happens, as sentences. */
export function EventsPage(): ReactNode {
  const words = useWords(EVENTS_WORDS);
  const names = useEventNames();
  usePageTitle(words.pageTitle);

  return (
    <EventNamesContext value={names}>
      <Log />
    </EventNamesContext>
  );
}

function Log(): ReactNode {
  const words = useWords(EVENTS_WORDS);
  const eventLog = eventLogOf(useParts().client);
  const view = useSyncExternalStore(eventLog.subscribe, eventLog.snapshot);
  const [written, setWritten] = useWritten();
  const [picked, setPicked] = useState<LogRow>();
  const wide = useMediaQuery("(min-width: 68em)", window.matchMedia("(min-width: 68em)").matches, {
    getInitialValueInEffect: false,
  });

  const { types, session, role, kind } = written;
  const [filter] = useDebouncedValue(
    [types.trim(), session.trim(), role, kind].join("\n"),
    REST_MS,
  );
  const [lastFilter, setLastFilter] = useState(filter);

  if (filter !== lastFilter) {
    setLastFilter(filter);
    setPicked(undefined); // the log begins anew
  }

  useEffect(() => {
    eventLog.start(filterOf(filter));
    return () => eventLog.stop();
  }, [eventLog, filter]);

  const rows = useMatching(view.rows, written);
  const detail = picked && <EventDetail row={picked} />;

  return (
    <div className="events column wide">
      <header className="row loose top between">
        <div>
          <h1>{words.pageTitle}</h1>
          <p className="soft">{words.lead}</p>
        </div>
        <Connection state={view.connection} />
      </header>
      <EventFilters written={written} onWrite={setWritten} view={view} />
      {view.problem !== undefined && <Stopped problem={view.problem} />}
      <div className="loose split grow" data-detail={(wide && picked !== undefined) || undefined}>
        <EventRows
          rows={rows}
          picked={picked}
          onPick={setPicked}
          empty={view.rows.length === 0 ? words.waiting : words.noMatch}
        />
        {wide && picked !== undefined && (
          <aside className="card scroll" aria-label={words.detail}>
            {detail}
          </aside>
        )}
      </div>
      {!wide && (
        <DetailDrawer isOpen={picked !== undefined} onClose={() => setPicked(undefined)}>
          {detail}
        </DetailDrawer>
      )}
      <Foot view={view} />
    </div>
  );
}

/** What is looked for, which the address may say: `?q=`. */
function useWritten() {
  const { q = "" } = useSearch({ strict: false });
  const [written, setWritten] = useState<WrittenFilter>({ ...NOTHING_WRITTEN, search: q });
  const [lastAsked, setLastAsked] = useState(q);
  if (q !== lastAsked) {
    setLastAsked(q);
    setWritten({ ...NOTHING_WRITTEN, search: q });
  }
  return [written, setWritten] as const;
}

/** Those that were chosen, with the words that are looked for in their sentence or their data. */
function useMatching(rows: readonly LogRow[], written: WrittenFilter): readonly LogRow[] {
  const sentence = useSentences();
  const names = use(EventNamesContext)!;
  const { who, where, since, search } = written;
  const words = search.trim().toLowerCase();

  return useMemo(() => {
    const now = systemClock.now();
    const isAll = who === "" && where === "" && since === "" && words === "";
    if (isAll) return rows;
    return rows.filter(
      (row) =>
        isChosen(row.event, { who, where, since }, { names, now }) &&
        (row.words.includes(words) || sentence(row.event).toLowerCase().includes(words)),
    );
  }, [rows, who, where, since, words, sentence, names]);
}

function DetailDrawer({
  isOpen,
  onClose,
  children,
}: {
  isOpen: boolean;
  onClose: () => void;
  children: ReactNode;
}): ReactNode {
  const words = useWords(EVENTS_WORDS);
  return (
    <Drawer
      opened={isOpen}
      onClose={onClose}
      position="bottom"
      size="75%"
      title={words.detail}
      closeButtonProps={{ "aria-label": words.close }}
    >
      {children}
    </Drawer>
  );
}

function Foot({ view }: { view: LogView }): ReactNode {
  const words = useWords(EVENTS_WORDS);
  return (
    <div className="meta toolbar" role="status">
      <span>{words.kept({ shown: view.rows.length, limit: ROW_LIMIT })}</span>
      {view.dropped > 0 && <span>{words.dropped({ count: view.dropped })}</span>}
      {view.paused && <span className="warn">{words.paused({ count: view.held.length })}</span>}
      {view.wasReset && <span className="warn">{words.reset}</span>}
    </div>
  );
}

function Stopped({ problem }: { problem: DureError }): ReactNode {
  const words = useWords(EVENTS_WORDS);
  return (
    <p className="problem" role="alert">
      <strong>{words.stopped}.</strong> <ErrorWords error={problem} />
    </p>
  );
}

function Connection({ state }: { state: LogView["connection"] }): ReactNode {
  const words = useWords(EVENTS_WORDS);
  const isGone = useIsGone(); // also a stream that is open brings nothing without a database
  const isLive = state === "connected" && !isGone;

  return (
    <span className="events-connection small soft row inline" data-state={state} role="status">
      <span className={isLive ? "live-dot" : "pulse"} aria-hidden />
      {isLive ? words.live : state === "stopped" ? words.stopped : words.reconnecting}
    </span>
  );
}

function filterOf(written: string): EventsFilter {
  const [types = "", session = "", role = "", kind = ""] = written.split("\n");
  const own = types.split(/[\s,]+/).filter((type) => type !== "");
  const wanted = own.length > 0 || kind === "" ? own : [...KINDS[kind as FacetKind]];

  return {
    types: wanted.length === 0 ? undefined : wanted,
    session: session === "" ? undefined : session,
    role: role === "" ? undefined : (role as EventRole),
  };
}

// --- event detail

/** One event in words, the way to what it is about, and all that it holds behind a fold. */
function EventDetail({ row }: { row: LogRow }): ReactNode {
  const { language } = useLanguage();
  const words = useWords(EVENTS_WORDS);
  const sentence = useSentences();
  const { event } = row;

  return (
    <div className="event-detail stack loose">
      <h2>{sentence(event)}</h2>
      <p className="soft small">
        <time dateTime={new Date(event.at).toISOString()}>{momentOf(event.at, language)}</time>
      </p>
      <p className="toolbar">
        <Subjects event={event} />
      </p>
      <details className="more">
        <summary>{words.raw}</summary>
        <pre tabIndex={0} aria-label={words.raw}>
          {JSON.stringify(event, null, 2)}
        </pre>
      </details>
    </div>
  );
}

/** The pages of what an event is about. */
function Subjects({ event }: { event: PlatformEvent }): ReactNode {
  const { nav } = useLanguage().text.shell;
  const { room, job, run, agent, session } = event;
  const isChat = session !== undefined && !/^(room|job):/u.test(session);
  return (
    <>
      {room !== undefined && (
        <Link to="/rooms/$place" params={{ place: room }}>
          {nav.rooms}
        </Link>
      )}
      {job !== undefined && (
        <Link to="/jobs/$id" params={{ id: job }}>
          {nav.jobs}
        </Link>
      )}
      {run !== undefined && (
        <Link to="/plans/runs/$run" params={{ run }}>
          {nav.plans}
        </Link>
      )}
      {agent !== undefined && (
        <Link to="/agents/$agent" params={{ agent }}>
          {nav.agents}
        </Link>
      )}
      {isChat && (
        <Link to="/chat/$session" params={{ session }}>
          {nav.chat}
        </Link>
      )}
    </>
  );
}

// --- use names

/** What ids of events are called, as far as the reader may know. */
function useEventNames(): EventNames {
  const text = useText();
  const words = useWords(EVENTS_WORDS);
  const { who } = useSpeaker();
  const { data: agents } = useAgents();
  const { data: rooms } = useRoomList(who);
  const serviceName = useServiceName();

  return useMemo(() => {
    const { places } = words;
    const nameOf = (id: string): string =>
      agents?.find((agent) => agent.id === id)?.displayName ?? id;
    return {
      agent: nameOf,
      actor: (by) => actorOf(by, { text, nameOf }),
      service: (name) =>
        name === undefined ? words.aService : (serviceName(name) ?? nameOf(name)),
      place: (id) => {
        if (!id) return places.room;
        const room = rooms?.find((one) => one.id === id);
        if (room?.kind === "direct") return places.direct({ agent: nameOf(room.agent ?? "") });
        if (room !== undefined) return places.named({ name: room.name });

        return id.startsWith("thread_") ? places.thread : places.room;
      },
    };
  }, [text, words, agents, rooms, serviceName]);
}
