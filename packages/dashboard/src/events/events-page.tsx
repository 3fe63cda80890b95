import { ActionIcon, Button, Drawer, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue, useMediaQuery } from "@mantine/hooks";
import { IconPlayerPause, IconPlayerPlay, IconSearch, IconTrash } from "@tabler/icons-react";
import type { DureError, EventRole, EventsFilter } from "dure/client";
import { useEffect, useMemo, useState, useSyncExternalStore, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { ROW_LIMIT, type LogRow, type LogView } from "./event-log.ts";
import { EventRows } from "./event-rows.tsx";
import "./events.css";

const ROLES = [
  "conversation",
  "delegation",
  "orchestration",
  "system",
] as const satisfies readonly EventRole[];
/** A filter is applied when its field has rested for this long, milliseconds. */
const REST_MS = 350;

export function EventsPage(): ReactNode {
  const text = useText();
  const { eventLog } = useParts();
  const view = useSyncExternalStore(eventLog.subscribe, eventLog.snapshot);
  const [written, setWritten] = useState<Written>(NOTHING_WRITTEN);
  const [picked, setPicked] = useState<LogRow>();
  const wide = useMediaQuery("(min-width: 68em)", window.matchMedia("(min-width: 68em)").matches, {
    getInitialValueInEffect: false,
  });

  const { types, session, role, search } = written;
  const [filter] = useDebouncedValue(`${types.trim()}\n${session.trim()}\n${role}`, REST_MS);
  const [lastFilter, setLastFilter] = useState(filter);

  if (filter !== lastFilter) {
    setLastFilter(filter);
    setPicked(undefined); // the log begins anew
  }

  useEffect(() => {
    eventLog.start(filterOf(filter));
    return () => eventLog.stop();
  }, [eventLog, filter]);

  useEffect(() => {
    document.title = `${text.events.pageTitle} · dure`;
  }, [text]);

  const rows = useMatching(view.rows, search);
  const detail = picked && <EventDetail row={picked} />;

  return (
    <div className="events">
      <header className="events-head">
        <div>
          <h1>{text.events.pageTitle}</h1>
          <p className="soft">{text.events.lead}</p>
        </div>
        <Connection state={view.connection} />
      </header>
      <Filters written={written} onWrite={setWritten} view={view} />
      {view.problem !== undefined && <Stopped problem={view.problem} />}
      <div className="events-body" data-detail={(wide && picked !== undefined) || undefined}>
        <EventRows
          rows={rows}
          picked={picked}
          onPick={setPicked}
          empty={view.rows.length === 0 ? text.events.waiting : text.events.noMatch}
        />
        {wide && picked !== undefined && (
          <aside className="events-detail" aria-label={text.events.detail}>
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

function useMatching(rows: readonly LogRow[], search: string): readonly LogRow[] {
  const words = search.trim().toLowerCase();
  return useMemo(
    () => (words === "" ? rows : rows.filter((row) => row.words.includes(words))),
    [rows, words],
  );
}

/** What a reader has written into the filters. */
interface Written {
  readonly types: string;
  readonly session: string;
  readonly role: EventRole | "";
  readonly search: string;
}

const NOTHING_WRITTEN: Written = { types: "", session: "", role: "", search: "" };

function Filters({
  written,
  onWrite,
  view,
}: {
  written: Written;
  onWrite: (written: Written) => void;
  view: LogView;
}): ReactNode {
  const text = useText();
  const write = (part: Partial<Written>): void => onWrite({ ...written, ...part });

  return (
    <div className="events-filters" role="search">
      <TextInput
        className="events-search"
        aria-label={text.events.search}
        placeholder={text.events.search}
        leftSection={<IconSearch size={15} />}
        value={written.search}
        onChange={(event) => write({ search: event.currentTarget.value })}
      />
      <TextInput
        aria-label={text.events.types}
        placeholder={`${text.events.types} · ${text.events.typesHint}`}
        value={written.types}
        onChange={(event) => write({ types: event.currentTarget.value })}
      />
      <TextInput
        aria-label={text.events.session}
        placeholder={text.events.session}
        value={written.session}
        onChange={(event) => write({ session: event.currentTarget.value })}
      />
      <NativeSelect
        aria-label={text.events.role}
        value={written.role}
        onChange={(event) => write({ role: event.currentTarget.value as Written["role"] })}
        data={[
          { value: "", label: text.events.allRoles },
          ...ROLES.map((one) => ({ value: one, label: text.events.roles[one] })),
        ]}
      />
      <Actions isPaused={view.paused} />
    </div>
  );
}

function Actions({ isPaused }: { isPaused: boolean }): ReactNode {
  const text = useText();
  const { eventLog } = useParts();

  return (
    <div className="events-actions">
      <Button
        variant="default"
        leftSection={isPaused ? <IconPlayerPlay size={15} /> : <IconPlayerPause size={15} />}
        aria-pressed={isPaused}
        onClick={() => (isPaused ? eventLog.resume() : eventLog.pause())}
      >
        {isPaused ? text.events.resume : text.events.pause}
      </Button>
      <ActionIcon
        variant="default"
        size={36}
        aria-label={text.events.clear}
        onClick={() => eventLog.clear()}
      >
        <IconTrash size={16} />
      </ActionIcon>
    </div>
  );
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
  const text = useText();
  return (
    <Drawer
      opened={isOpen}
      onClose={onClose}
      position="bottom"
      size="75%"
      title={text.events.detail}
      closeButtonProps={{ "aria-label": text.events.close }}
    >
      {children}
    </Drawer>
  );
}

function Foot({ view }: { view: LogView }): ReactNode {
  const words = useText().events;
  return (
    <div className="events-foot" role="status">
      <span>{words.kept(view.rows.length, ROW_LIMIT)}</span>
      {view.dropped > 0 && <span>{words.dropped(view.dropped)}</span>}
      {view.paused && <span className="warn">{words.paused(view.held.length)}</span>}
      {view.wasReset && <span className="warn">{words.reset}</span>}
    </div>
  );
}

function Stopped({ problem }: { problem: DureError }): ReactNode {
  const text = useText();
  return (
    <p className="problem" role="alert">
      <strong>{text.events.stopped}.</strong> <ErrorWords error={problem} />
    </p>
  );
}

function Connection({ state }: { state: LogView["connection"] }): ReactNode {
  const text = useText();
  return (
    <span className="events-connection" data-state={state} role="status">
      <span className={state === "connected" ? "live-dot" : "pulse"} aria-hidden />
      {state === "connected"
        ? text.events.live
        : state === "stopped"
          ? text.events.stopped
          : text.events.reconnecting}
    </span>
  );
}

function EventDetail({ row }: { row: LogRow }): ReactNode {
  const { data, ...envelope } = row.event;
  return (
    <div className="event-detail">
      <h2>{row.event.type}</h2>
      <dl className="facts">
        {Object.entries(envelope)
          .filter(([name]) => name !== "type")
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{name === "at" ? new Date(value as number).toISOString() : String(value)}</dd>
            </div>
          ))}
      </dl>
      <pre tabIndex={0}>{JSON.stringify(data, null, 2)}</pre>
    </div>
  );
}

function filterOf(written: string): EventsFilter {
  const [types = "", session = "", role = ""] = written.split("\n");
  const wanted = types.split(/[\s,]+/).filter((type) => type !== "");

  return {
    types: wanted.length === 0 ? undefined : wanted,
    session: session === "" ? undefined : session,
    role: role === "" ? undefined : (role as EventRole),
  };
}
