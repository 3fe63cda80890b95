import { Button, Tabs, TextInput } from "@mantine/core";
import { IconChecks, IconSearch } from "@tabler/icons-react";
import { useQueryClient, type UseInfiniteQueryResult } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useRef, useState, type ReactNode } from "react";
import type {
  Escalation,
  EscalationAnswer,
  EscalationSeverity,
  EscalationStatus,
} from "dure/client";
import { useParts } from "../app-parts.tsx";
import { useText } from "../language.tsx";
import { NoticeButton } from "../shell/notice-button.tsx";
import { Problem } from "../problem.tsx";
import { EscalationCard, type Holding } from "./escalation-card.tsx";
import { readInboxTab } from "./inbox-tab.ts";
import { closedOf, groupsOf } from "./order.ts";
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
  usePageTitle(text.escalations.pageTitle);

  useNews(NEWS);

  return (
    <div className="inbox page narrow">
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
        <TextInput
          className="inbox-search"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          placeholder={text.escalations.search}
          aria-label={text.escalations.search}
          leftSection={<IconSearch size={15} />}
        />
        <Tabs.Panel value="waiting">
          <Waiting search={search.trim()} />
        </Tabs.Panel>
        <Tabs.Panel value="history">
          <History search={search.trim()} />
        </Tabs.Panel>
      </Tabs>
    </div>
  );
}

function Waiting({ search }: { search: string }): ReactNode {
  const text = useText();
  const inbox = useInbox("open");
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

  const groups = groupsOf(matching(inbox.data, search), held);
  useReadOn(inbox, search !== "" && groups.length === 0);

  return (
    <Loaded inbox={inbox}>
      {groups.length === 0 && !inbox.hasNextPage && (
        <Empty search={search} words={text.escalations.empty} hint={text.escalations.emptyHint} />
      )}
      {groups.map(({ severity, items }) => (
        <section key={severity}>
          <h2 className="panel-title small soft strong">
            {text.escalations.group({
              severity: text.escalations.severities[severity],
              count:
                inbox.hasNextPage && !GRAVE.includes(severity) ? `${items.length}+` : items.length,
            })}
          </h2>
          <Cards all={items} onHold={hold} />
        </section>
      ))}
    </Loaded>
  );
}

function History({ search }: { search: string }): ReactNode {
  const text = useText();
  const inbox = useInbox(undefined);
  const closed = closedOf(matching(inbox.data, search));
  useReadOn(inbox, closed.length === 0);

  return (
    <Loaded inbox={inbox}>
      {closed.length === 0 && !inbox.hasNextPage && (
        <Empty search={search} words={text.escalations.emptyHistory} />
      )}
      <Cards all={closed} />
    </Loaded>
  );
}

function Loaded({
  inbox,
  children,
}: {
  inbox: UseInfiniteQueryResult<readonly Escalation[]>;
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

function Cards({ all, onHold }: { all: readonly Escalation[]; onHold?: Holding }): ReactNode {
  const { client } = useParts();
  const queries = useQueryClient();

  const decide = async (deed: Promise<unknown>): Promise<void> => {
    const read = (): Promise<void> => queries.invalidateQueries({ queryKey: ["escalations"] });
    await deed.catch((error: unknown) => {
      void read(); // why it was refused is said at once
      throw error;
    });

    await read();
  };

  return (
    <ul className="stack loose">
      {all.map((one) => (
        <li key={one.id}>
          <EscalationCard
            escalation={one}
            place="inbox"
            onAnswer={(answer: EscalationAnswer) => decide(client.answerEscalation(one.id, answer))}
            onDismiss={() => decide(client.dismissEscalation(one.id))}
            onHold={onHold}
          />
        </li>
      ))}
    </ul>
  );
}

function useInbox(status: EscalationStatus | undefined) {
  return usePages(
    ["escalations", "inbox", status],
    async (client, cursor, signal) => {
      const page = await client.escalations({ status, limit: PAGE, cursor }, { signal });
      if (status !== "open" || cursor !== undefined || page.nextCursor === null) return page;

      const grave = await Promise.all(
        GRAVE.map((severity) => client.escalations({ status, severity, limit: PAGE }, { signal })),
      );

      return { ...page, items: [...page.items, ...grave.flatMap(({ items }) => items)] };
    },
    {
      select: ({ pages }): readonly Escalation[] => [
        ...new Map(pages.flatMap(({ items }) => items).map((one) => [one.id, one])).values(),
      ],
    },
  );
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
