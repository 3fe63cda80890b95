import { ActionIcon, Button, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconEdit, IconSearch, IconTrash } from "@tabler/icons-react";
import { useQueryClient, keepPreviousData } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { SessionSummary } from "dure/client";
import { useState, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useText } from "../language.tsx";
import { useIsGone } from "../server-watch.ts";
import { whenOf } from "../when.ts";
import { usePages } from "../asked.ts";

const PAGE = 40;
/** The server is asked when the search has rested for this long, milliseconds. */
const REST_MS = 250;

export function SessionList(): ReactNode {
  const text = useText();
  const [search, setSearch] = useState("");
  const words = search.trim().toLowerCase();
  const [asked] = useDebouncedValue(words, REST_MS);
  const sessions = useSessions(asked);
  const all = sessions.data?.pages.flatMap((page) => page.items) ?? [];

  // What is here is filtered at once; the server then answers for all the rest.
  const shown =
    words === ""
      ? all
      : all.filter((session) =>
          `${session.title} ${session.service}`.toLowerCase().includes(words),
        );

  return (
    <section className="sessions stack" aria-label={text.chat.sessions.label}>
      <Button
        component={Link}
        to="/chat"
        variant="default"
        leftSection={<IconEdit size={16} />}
        fullWidth
        justify="flex-start"
        className="sessions-new"
      >
        {text.chat.sessions.start}
      </Button>
      {(all.length > 0 || search !== "") && (
        <TextInput
          size="sm"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          placeholder={text.chat.sessions.search}
          aria-label={text.chat.sessions.search}
          leftSection={<IconSearch size={15} />}
        />
      )}
      {sessions.isSuccess && all.length === 0 && words === "" && asked === "" && (
        <p className="soft small sessions-empty">{text.chat.sessions.empty}</p>
      )}
      {words !== "" && shown.length === 0 && !sessions.isFetching && (
        <p className="soft small sessions-empty">
          {text.chat.sessions.noMatch({ query: search.trim() })}
        </p>
      )}
      {shown.length > 0 && (
        <ul className="stack tight">
          {shown.map((session) => (
            <SessionRow key={session.sessionId} session={session} />
          ))}
        </ul>
      )}
      <More sessions={sessions} />
    </section>
  );
}

function More({ sessions }: { sessions: ReturnType<typeof useSessions> }): ReactNode {
  const text = useText();
  if (!sessions.hasNextPage) return null;

  return (
    <Button
      variant="subtle"
      color="gray"
      size="compact-sm"
      loading={sessions.isFetchingNextPage}
      onClick={() => void sessions.fetchNextPage()}
    >
      {text.chat.sessions.more}
    </Button>
  );
}

function useSessions(search: string) {
  return usePages(
    ["sessions", search],
    (client, cursor, signal) => client.sessions({ limit: PAGE, cursor, search }, { signal }),
    { placeholderData: keepPreviousData },
  );
}

function SessionRow({ session }: { session: SessionSummary }): ReactNode {
  const { text, language } = useLanguage();
  const { client, hub } = useParts();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const isGone = useIsGone();
  const { session: current } = useParams({ strict: false });
  const title = session.title === "" ? text.chat.sessions.untitled : session.title;
  const running = session.runningTurn !== undefined && session.runningTurn !== null;

  const remove = async (): Promise<void> => {
    if (!window.confirm(text.chat.sessions.removeAsk({ title }))) return;

    await client.deleteSession(session.sessionId);
    hub.conversations.forget(session.sessionId);
    await queries.invalidateQueries({ queryKey: ["sessions"] });
    if (current === session.sessionId) await navigate({ to: "/chat" });
  };

  return (
    <li className="session-row" data-active={current === session.sessionId || undefined}>
      <Link
        to="/chat/$session"
        params={{ session: session.sessionId }}
        className="session-link column tight nav-item"
        aria-current={current === session.sessionId ? "page" : undefined}
      >
        <span className="clip">{title}</span>
        <span className="meta">
          {running ? (
            <span className="good-words">
              {isGone
                ? text.shell.connection.lastSeen({ status: text.chat.sessions.running })
                : text.chat.sessions.running}
            </span>
          ) : (
            whenOf(session.updatedAt, language)
          )}
        </span>
      </Link>
      <ActionIcon
        className="session-remove shown-on-hover"
        variant="subtle"
        color="gray"
        size="sm"
        aria-label={`${text.chat.sessions.remove}: ${title}`}
        onClick={() => void remove()}
      >
        <IconTrash size={14} />
      </ActionIcon>
    </li>
  );
}
