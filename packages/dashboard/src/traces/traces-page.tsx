import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconBookmark, IconSearch, IconTimeline, IconX } from "@tabler/icons-react";
import { keepPreviousData } from "@tanstack/react-query";
import { Link, useRouterState } from "@tanstack/react-router";
import { LISTED_KINDS, TRACE_STATES, type WorkTraceLine } from "dure/client";
import { useState, type FormEvent, type ReactNode } from "react";
import { usePages } from "../asked.ts";
import { moneyOf } from "../costs/sums.ts";
import { useLanguage, useWords } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { useAgents } from "../rooms/use-rooms.ts";
import { serverClock } from "../server-clock.ts";
import { useAddress } from "../use-address.ts";
import { useServerKorean } from "../use-server-korean.ts";
import { spanOf, whenOf } from "../when.ts";
import { usePageTitle } from "../whole-page.tsx";
import { TRACES_WORDS } from "words:later/traces";
import { KIND_ICONS, toneOf, TONE_ICONS } from "./trace-look.ts";
import {
  filterOf,
  keepViews,
  readTraceFilters,
  readViews,
  TRACE_SPANS,
  type TraceFilters,
} from "./trace-filters.ts";
import "./traces.css";

/** Lines that are read at once. */
const PAGE = 50;
/** The list is read again this often, milliseconds. */
const READ_EVERY_MS = 10_000;
/** The server is asked when words have rested for so long, milliseconds. */
const REST_MS = 250;

/** What was set off, the newest first: a line each, with filters that stand in the address. */
export function TracesPage(): ReactNode {
  const words = useWords(TRACES_WORDS);
  const { chosen } = useAddress(readTraceFilters);
  const [filters] = useDebouncedValue(chosen, REST_MS);
  usePageTitle(words.list.title);
  const list = usePages(
    ["traces", filters],
    (client, cursor, signal) =>
      client.traces.list(
        { ...filterOf(filters, serverClock.now()), limit: PAGE, cursor },
        { signal },
      ),
    {
      select: ({ pages }) => pages.flatMap(({ items }) => items),
      placeholderData: keepPreviousData,
      refetchInterval: (query) => (query.state.status === "error" ? false : READ_EVERY_MS),
    },
  );
  const isFiltered = Object.values(chosen).some((one) => one !== undefined);

  return (
    <div className="page trace-list">
      <header>
        <h1>{words.list.title}</h1>
        <p className="soft">{words.list.lead}</p>
      </header>
      <Filters />
      <Views isFiltered={isFiltered} />
      {list.error !== null && <Problem error={list.error} onRetry={() => void list.refetch()} />}
      {list.data?.length === 0 && !list.hasNextPage && (
        <div className="empty">
          <IconTimeline size={30} stroke={1.4} aria-hidden />
          <p>{isFiltered ? words.list.noMatch : words.list.empty}</p>
        </div>
      )}
      {list.data !== undefined && list.data.length > 0 && (
        <ol className="card flush divided flow-list" aria-label={words.list.title}>
          {list.data.map((line) => (
            <Line key={line.id} line={line} />
          ))}
        </ol>
      )}
      {list.hasNextPage && (
        <Button
          variant="default"
          loading={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        >
          {words.list.older}
        </Button>
      )}
    </div>
  );
}

function Filters(): ReactNode {
  const words = useWords(TRACES_WORDS).list;
  const kinds = useWords(TRACES_WORDS).kinds;
  const { chosen, set } = useAddress(readTraceFilters);
  const agents = useAgents().data ?? [];
  const page = useRouterState({ select: ({ location }) => location.state.__TSR_index });
  const select = (
    name: "kind" | "state" | "span" | "agent",
    options: readonly { readonly value: string; readonly label: string }[],
  ): ReactNode => (
    <NativeSelect
      aria-label={words.by[name]}
      value={chosen[name] ?? ""}
      onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}
      data={[{ value: "", label: words.all[name] }, ...options]}
    />
  );
  // What is written stays as it is: only another page of the history brings other words.
  const field = (name: "q" | "service" | "model" | "error" | "usd"): ReactNode => (
    <TextInput
      key={`${name} ${page}`}
      aria-label={words.by[name]}
      placeholder={words.by[name]}
      defaultValue={chosen[name] ?? ""}
      onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}
      leftSection={name === "q" ? <IconSearch size={15} aria-hidden /> : undefined}
      inputMode={name === "usd" ? "decimal" : undefined}
      maxLength={200}
    />
  );
  const more = (["service", "model", "error", "usd"] as const).map(field);
  const isOpen = [chosen.service, chosen.model, chosen.error, chosen.usd].some(Boolean);

  return (
    <div className="stack" role="search">
      <div className="toolbar">
        {field("q")}
        {select(
          "state",
          Object.keys(TRACE_STATES).map((value) => ({
            value,
            label: words.states[value as keyof typeof TRACE_STATES],
          })),
        )}
        {select(
          "kind",
          LISTED_KINDS.map((value) => ({ value, label: kinds[value] })),
        )}
        {select(
          "agent",
          agents.map(({ id, displayName }) => ({ value: id, label: displayName })),
        )}
        {select(
          "span",
          Object.keys(TRACE_SPANS).map((value) => ({
            value,
            label: words.spans[value as keyof typeof TRACE_SPANS],
          })),
        )}
      </div>
      <details className="more" open={isOpen || undefined}>
        <summary>{words.more}</summary>
        <div className="toolbar">{more}</div>
      </details>
    </div>
  );
}

/** Filters under a name, in this browser. */
function Views({ isFiltered }: { isFiltered: boolean }): ReactNode {
  const words = useWords(TRACES_WORDS).list;
  const { chosen } = useAddress(readTraceFilters);
  const [views, setViews] = useState(readViews);
  const [name, setName] = useState("");
  const save = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() === "") return;
    setViews(keepViews([...views, { name: name.trim(), filters: chosen }]));
    setName("");
  };
  if (!isFiltered && views.length === 0) return null;

  return (
    <div className="cluster">
      {views.map((view) => (
        <span key={view.name} className="row tight inline">
          <Button
            component={Link}
            to="/traces"
            search={definedOf(view.filters) as never}
            variant="default"
            size="compact-sm"
          >
            {view.name}
          </Button>
          <button
            type="button"
            className="icon-link bare"
            aria-label={words.forget({ name: view.name })}
            onClick={() => setViews(keepViews(views.filter((one) => one !== view)))}
          >
            <IconX size={14} aria-hidden />
          </button>
        </span>
      ))}
      {isFiltered && (
        <form className="row" onSubmit={save}>
          <TextInput
            aria-label={words.viewName}
            placeholder={words.viewName}
            value={name}
            onChange={({ currentTarget }) => setName(currentTarget.value)}
            maxLength={40}
          />
          <Button
            type="submit"
            variant="default"
            leftSection={<IconBookmark size={15} aria-hidden />}
          >
            {words.save}
          </Button>
        </form>
      )}
    </div>
  );
}

function definedOf(filters: TraceFilters): Record<string, string> {
  const members = Object.entries(filters).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members) as Record<string, string>;
}

function Line({ line }: { line: WorkTraceLine }): ReactNode {
  const words = useWords(TRACES_WORDS);
  const { language } = useLanguage();
  const korean = useServerKorean();
  const agents = useAgents();
  const nameOf = (id: string): string =>
    agents.data?.find((agent) => agent.id === id)?.displayName ?? id;
  const { id, kind, title, who, status, error, at, endedAt, tokens, microUsd, models } = line;
  const tone = toneOf(status);
  const [KindIcon, ToneIcon] = [KIND_ICONS[kind], TONE_ICONS[tone]];

  return (
    <li data-tone={tone}>
      <Link to="/traces/$id" params={{ id }} className="flow-line plain">
        <ToneIcon size={15} stroke={2.2} aria-hidden />
        <span className="hidden-words">{words.statuses[status] ?? status}</span>
        <KindIcon
          size={15}
          stroke={1.7}
          className="soft"
          role="img"
          aria-label={words.kinds[kind]}
        />
        <strong className="clip">
          {title === "" ? words.noWords : (korean.title(title) ?? title)}
        </strong>
        <span className="flow-who clip soft small">
          {error ?? who.split(" → ").map(nameOf).join(" → ")}
        </span>
        <span className="flow-model clip soft small">{models.join(", ")}</span>
        <span className="flow-number small">
          {tokens !== null && tokens > 0 ? tokens.toLocaleString(language) : ""}
        </span>
        <span className="flow-number small">
          {microUsd !== null && microUsd > 0 ? moneyOf(microUsd, language) : ""}
        </span>
        <span className="flow-number small">
          {endedAt === null ? "" : spanOf(Math.max(endedAt - at, 0), language)}
        </span>
        <time className="soft small" dateTime={new Date(at).toISOString()}>
          {whenOf(at, language)}
        </time>
      </Link>
    </li>
  );
}
