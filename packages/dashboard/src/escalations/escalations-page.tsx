import { Button, NativeSelect, Tabs, TextInput } from "@mantine/core";
import { IconChecks, IconSearch } from "@tabler/icons-react";
import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import {
  ESCALATION_SEVERITIES,
  type Escalation,
  type EscalationSeverity,
  type EscalationStatus,
} from "dure/client";
import { useText } from "../language.tsx";
import { NoticeButton } from "../shell/notice-button.tsx";
import { Problem } from "../problem.tsx";
import type { Holding } from "./escalation-card.tsx";
import { InboxRows } from "./inbox-rows.tsx";
import { readInboxTab } from "./inbox-tab.ts";
import { closedOf, groupsOf, type InboxGroup } from "./order.ts";
import { usePageTitle } from "../whole-page.tsx";
import { usePages, type NewsOf, useNews } from "../asked.ts";

/** Escalations that are read at once. */
const PAGE = 100;
/** Stand first, also when a page of newer things lies before them. */
const GRAVE: readonly EscalationSeverity[] = ["critical", "high"];

/** The one inbox: what waits for a decision, and what was decided. */
export function EscalationsPage(): ReactNode {
  const text = useText();
  const navigate = useNavigate();
  const { tab = "waiting" } = useSearch({ from: "/escalations" });
  const [search, setSearch] = useState("");
  const [severity, setSeverity] = useState<EscalationSeverity>();
  usePageTitle(text.escalations.pageTitle);

  useNews(NEWS);

  return (
    <div className="inbox page">
      <header>
        <h1>{text.escalations.pageTitle}</h1>
        <p className="soft">{text.escalations.lead}</p>
        <NoticeButton />
      </header>
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(picked) =>
          void navigate({
            to: "/escalations",
            search: readInboxTab({ tab: picked }),
            replace: true,
          })
        }
      >
        <Tabs.List>
          <Tabs.Tab value="waiting">{text.escalations.tabs.waiting}</Tabs.Tab>
          <Tabs.Tab value="history">{text.escalations.tabs.history}</Tabs.Tab>
        </Tabs.List>
        <div className="inbox-search toolbar" role="search">
          <TextInput
            className="grow"
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
            placeholder={text.escalations.search}
            aria-label={text.escalations.search}
            leftSection={<IconSearch size={15} />}
          />
          <NativeSelect
            aria-label={text.escalations.severity}
            value={severity ?? ""}
            onChange={({ currentTarget }) => setSeverity(severityOf(currentTarget.value))}
            data={[
              { value: "", label: text.escalations.severity },
              ...ESCALATION_SEVERITIES.toReversed().map((value) => ({
                value,
                label: text.escalations.severities[value],
              })),
            ]}
          />
        </div>
        <Tabs.Panel value="waiting">
          <Waiting search={search.trim()} severity={severity} />
        </Tabs.Panel>
        <Tabs.Panel value="history">
          <History search={search.trim()} severity={severity} />
        </Tabs.Panel>
      </Tabs>
    </div>
  );
}

function severityOf(value: string): EscalationSeverity | undefined {
  return ESCALATION_SEVERITIES.find((one) => one === value);
}

function Waiting({ search, severity }: { search: string } & InboxFilter): ReactNode {
  const text = useText();
  const inbox = useInbox("open", severity);
  const [held, setHeld] = useState<ReadonlyMap<string, EscalationSeverity>>(new Map());
  const leaving = useRef(new Map<string, ReturnType<typeof setTimeout>>());

  const hold = useCallback<Holding>((id, at) => {
    clearTimeout(leaving.current.get(id));
    if (at !== undefined) {
      return setHeld((before) => (before.has(id) ? before : new Map(before).set(id, at)));
    }

    // From a field to the button that takes its place the focus is nowhere for a moment.
    leaving.current.set(
      id,
      setTimeout(() => setHeld((before) => new Map([...before].filter(([other]) => other !== id)))),
    );
  }, []);

  const groups = groupsOf(matching(inbox.data?.items, search), held);
  useReadOn(inbox, search !== "" && groups.length === 0);
  const countOf = ({ severity, items }: InboxGroup): number =>
    search === "" ? (inbox.data?.counts?.[severity] ?? items.length) : items.length;

  return (
    <Loaded inbox={inbox}>
      {groups.length === 0 && !inbox.hasNextPage && (
        <Empty search={search} words={text.escalations.empty} hint={text.escalations.emptyHint} />
      )}
      <InboxRows
        groups={groups}
        titleOf={(group) =>
          text.escalations.group({
            severity: text.escalations.severities[group.severity],
            count: countOf(group),
          })
        }
        onHold={hold}
      />
    </Loaded>
  );
}

function History({ search, severity }: { search: string } & InboxFilter): ReactNode {
  const text = useText();
  const inbox = useInbox(undefined, severity);
  const closed = closedOf(matching(inbox.data?.items, search));
  useReadOn(inbox, closed.length === 0);

  return (
    <Loaded inbox={inbox}>
      {closed.length === 0 && !inbox.hasNextPage && (
        <Empty search={search} words={text.escalations.emptyHistory} />
      )}
      <InboxRows groups={[{ severity: "low", items: closed }]} titleOf={() => undefined} />
    </Loaded>
  );
}

function Loaded({
  inbox,
  children,
}: {
  inbox: UseInfiniteQueryResult<Inbox>;
  children: ReactNode;
}): ReactNode {
  const text = useText();
  return (
    <div className="stack wide">
      {inbox.error !== null && <Problem error={inbox.error} onRetry={() => void inbox.refetch()} />}
      {inbox.isSuccess && children}
      {inbox.hasNextPage && (
        <Button
          variant="default"
          loading={inbox.isFetchingNextPage}
          onClick={() => void inbox.fetchNextPage()}
        >
          {text.escalations.more}
        </Button>
      )}
    </div>
  );
}

function Empty({
  search,
  words,
  hint,
}: {
  search: string;
  words: string;
  hint?: string;
}): ReactNode {
  const text = useText();
  return (
    <div className="empty">
      <IconChecks size={30} stroke={1.4} aria-hidden />
      <p>{search === "" ? words : text.escalations.noMatch({ query: search })}</p>
      {search === "" && hint !== undefined && <p className="soft small">{hint}</p>}
    </div>
  );
}

/** Each page with those of it that count most; the first one says how many there are. */
function useInbox(status: EscalationStatus | undefined, severity: EscalationSeverity | undefined) {
  return usePages(
    ["escalations", "inbox", status, severity],
    async (client, cursor, signal) => {
      const isFirst = cursor === undefined;
      const count = isFirst && status === "open" ? "true" : undefined;
      const page = await client.escalations(
        { status, severity, limit: PAGE, cursor, count },
        { signal },
      );
      if (count === undefined || severity !== undefined || page.nextCursor === null) return page;

      const grave = await Promise.all(
        GRAVE.map((one) => client.escalations({ status, severity: one, limit: PAGE }, { signal })),
      );

      return { ...page, items: [...page.items, ...grave.flatMap(({ items }) => items)] };
    },
    {
      select: ({ pages }): Inbox => ({
        items: [
          ...new Map(pages.flatMap(({ items }) => items).map((one) => [one.id, one])).values(),
        ],
        counts: pages[0]?.counts,
      }),
    },
  );
}

interface Inbox {
  readonly items: readonly Escalation[];
  /** Of all pages; undefined where it was not asked for. */
  readonly counts: { readonly [Severity in EscalationSeverity]?: number | undefined } | undefined;
}

interface InboxFilter {
  readonly severity: EscalationSeverity | undefined;
}

/**
 * Reads page after page as long as `wanted`: nothing that is looked for was found in those that
 * were read.
 */
function useReadOn(
  { hasNextPage, isFetching, isError, fetchNextPage }: UseInfiniteQueryResult,
  wanted: boolean,
): void {
  useEffect(() => {
    if (wanted && hasNextPage && !isFetching && !isError) void fetchNextPage();
  }, [wanted, hasNextPage, isFetching, isError, fetchNextPage]);
}

function matching(all: readonly Escalation[] = [], search: string): readonly Escalation[] {
  const words = search.toLowerCase();
  return all.filter(
    ({ title, description, context, source, resolvedBy, resolvedByPerson, resolution }) =>
      [
        title,
        description,
        JSON.stringify(context),
        ...Object.values(source),
        resolvedByPerson ?? resolvedBy,
        resolution?.note,
      ]
        .join(" ")
        .toLowerCase()
        .includes(words),
  );
}

/** What happens to escalations. */
const NEWS: NewsOf = { key: ["escalations"], types: ["escalation.*"] };
