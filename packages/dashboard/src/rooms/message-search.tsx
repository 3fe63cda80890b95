import { Button, NativeSelect } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { systemClock, type FoundMessage, type RoomAgent } from "dure/client";
import { useMemo, useState, type ReactNode } from "react";
import { useLanguage, useText, useWords } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import { whenOf } from "../when.ts";
import { plainOf } from "./mention.ts";
import type { PageSpeaker } from "./room-data.ts";
import { WORK_WORDS } from "words:later/work";
import { usePages } from "../asked.ts";

/** The server is asked when the search has rested for this long, milliseconds. */
const REST_MS = 250;
const DAY_MS = 24 * 3_600_000;
/** Days that a search can be held to. */
const DAYS = [1, 7, 30] as const;

/** Messages that say what is looked for, of everyone, of one, or of the last days. */
export function MessageSearch(props: {
  who: PageSpeaker;
  /** Not empty. */
  search: string;
  agents: readonly RoomAgent[];
}): ReactNode {
  const { who, search, agents } = props;
  const text = useText();
  const words = useWords(WORK_WORDS).found;
  const [author, setAuthor] = useState("");
  const [days, setDays] = useState("");
  const [asked] = useDebouncedValue(search, REST_MS);
  const found = useFoundMessages(who, { search: asked, author, days });
  const items = found.data?.pages.flatMap((page) => page.items) ?? [];
  const people = usePeople(items, who);

  return (
    <section className="stack" aria-label={words.label}>
      <h2 className="rooms-title meta strong">{words.label}</h2>
      <div className="halves" role="search" aria-label={words.filters}>
        <NativeSelect
          size="xs"
          aria-label={words.author}
          value={author}
          onChange={(event) => setAuthor(event.currentTarget.value)}
          data={[
            { value: "", label: words.anyone },
            { group: words.people, items: [...people] },
            {
              group: text.rooms.agent,
              items: agents.map(({ id, displayName }) => ({ value: id, label: displayName })),
            },
          ]}
        />
        <NativeSelect
          size="xs"
          aria-label={words.time}
          value={days}
          onChange={(event) => setDays(event.currentTarget.value)}
          data={[
            { value: "", label: words.anyTime },
            ...DAYS.map((day) => ({ value: String(day), label: words.days({ days: day }) })),
          ]}
        />
      </div>
      {found.error !== null && (
        <p className="error-note small" role="alert">
          <ErrorWords error={found.error} />
        </p>
      )}
      <p className="meta" role="status">
        {found.isSuccess &&
          items.length === 0 &&
          !found.hasNextPage &&
          words.none({ query: asked })}
      </p>
      <ul className="stack tight">
        {items.map((one) => (
          <li key={one.id}>
            <FoundRow found={one} search={asked} agents={agents} />
          </li>
        ))}
      </ul>
      {found.hasNextPage && (
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          loading={found.isFetchingNextPage}
          onClick={() => void found.fetchNextPage()}
        >
          {words.older}
        </Button>
      )}
    </section>
  );
}

function useFoundMessages(
  who: PageSpeaker,
  { search, author, days }: { search: string; author: string; days: string },
) {
  const after = days === "" ? undefined : Number(days) * DAY_MS;
  return usePages(
    ["rooms", who ?? "", "found", search, author, days],
    (client, cursor, signal) =>
      client.rooms(who).search(
        search,
        {
          author: author || undefined,
          after: after && systemClock.now() - after,
          cursor,
        },
        { signal },
      ),
    { enabled: search !== "", staleTime: Infinity }, // it is asked anew when it is written anew
  );
}

/** Who wrote what was found, and the reader. Those of before stay: a filter leaves one of them. */
function usePeople(items: readonly FoundMessage[], who: PageSpeaker): readonly string[] {
  const [seen] = useState(() => new Set<string>(who === undefined ? [] : [who]));
  return useMemo(() => {
    for (const { author, authorKind } of items) if (authorKind === "person") seen.add(author);
    return [...seen].toSorted();
  }, [items, seen]);
}

/** Characters of an excerpt, which has two lines. */
const EXCERPT = 180;

function FoundRow(props: {
  found: FoundMessage;
  search: string;
  agents: readonly RoomAgent[];
}): ReactNode {
  const { found, search, agents } = props;
  const { language } = useLanguage();
  const excerpt = plainOf({ text: found.excerpt, mentions: [] }, agents, EXCERPT);
  const at = excerpt.toLowerCase().indexOf(search.toLowerCase());
  const end = at + search.length;

  return (
    <Link
      to="/rooms/$place"
      params={{ place: found.place }}
      hash={found.id}
      className="plain card stack tight"
    >
      <span className="meta clip">
        {`${found.authorName} · ${found.placeName} · ${whenOf(found.at, language)}`}
      </span>
      <span className="small clamp">
        {at < 0 ? (
          excerpt
        ) : (
          <>
            {excerpt.slice(0, at)}
            <strong>{excerpt.slice(at, end)}</strong>
            {excerpt.slice(end)}
          </>
        )}
      </span>
    </Link>
  );
}
