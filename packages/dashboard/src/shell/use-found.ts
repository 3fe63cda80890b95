import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { DureError } from "dure/client";
import { useParts } from "../app-parts.tsx";
import { useText, useWords } from "../language.tsx";
import { lettersOf, plainOf } from "../rooms/mention.ts";
import { platformName } from "../rooms/platform.tsx";
import { useAgents, useRoomList, useSpeaker } from "../rooms/use-rooms.ts";
import { FIND_WORDS } from "words:later/find";

/** Where one may go. */
export interface FoundThing {
  readonly kind: "page" | "agent" | "room" | "message" | "session" | "job" | "run" | "events";
  /** Of a page: its path. */
  readonly id: string;
  /** Of a message: its room. */
  readonly place?: string | undefined;
  readonly words: string;
}

/** Of each kind. */
const MOST = 5;
/** Jobs and runs among which is looked. */
const LOOKED_AT = 100;
/** A word is looked for when its field has rested for this long, milliseconds. */
const REST_MS = 200;

const PAGES = [
  ["/", "start"],
  ["/rooms", "rooms"],
  ["/jobs", "jobs"],
  ["/plans", "plans"],
  ["/agents", "agents"],
  ["/chat", "chat"],
  ["/escalations", "escalations"],
  ["/events", "events"],
] as const;

/** What fits, as far as the reader may see it: the same reads as those of the pages. */
export function useFound(written: string): readonly FoundThing[] {
  const { nav } = useText().shell;
  const words = useWords(FIND_WORDS);
  const { client } = useParts();
  const { who } = useSpeaker();
  const agents = useAgents();
  const rooms = useRoomList(who);
  const [query] = useDebouncedValue(written.trim(), REST_MS);

  const sessions = useList("sessions", query, (signal) =>
    client.sessions({ search: query, limit: MOST }, { signal }),
  );
  const messages = useList("messages", query, (signal) =>
    client.rooms(who).search(query, { limit: MOST }, { signal }),
  );
  const jobs = useList("jobs", "all", (signal) =>
    client.jobs.list({ limit: LOOKED_AT }, { signal }),
  );
  const runs = useList("runs", "all", (signal) =>
    client.plans.runs({ limit: LOOKED_AT }, { signal }),
  );

  const all: readonly FoundThing[] = [
    ...PAGES.map(([id, name]): FoundThing => ({ kind: "page", id, words: nav[name] })),
    ...(agents.data ?? []).map(({ id, displayName }): FoundThing => ({
      kind: "agent",
      id,
      words: displayName,
    })),
    ...(rooms.data ?? []).map(({ id, name, adapter }): FoundThing => ({
      kind: "room",
      id,
      words: adapter === "web" ? name : `${name} · ${platformName(adapter)}`,
    })),
    ...jobs.map(({ jobId, topic, message, requesterName, targetName }): FoundThing => ({
      kind: "job",
      id: jobId,
      words: `${requesterName} → ${targetName}: ${topic ?? message.slice(0, 80)}`,
    })),
    ...runs.map(({ id, plan }): FoundThing => ({ kind: "run", id, words: `${plan} · ${id}` })),
  ];
  const fitting = fittingOf(all, query);
  if (query === "") return fitting;

  return [
    ...fitting,
    ...sessions.map(({ sessionId, title }): FoundThing => ({
      kind: "session",
      id: sessionId,
      words: title,
    })),
    ...messages.map(({ id, place, authorName, excerpt }): FoundThing => ({
      kind: "message",
      id,
      place,
      words: `${authorName}: ${plainOf({ text: excerpt, mentions: [] }, agents.data ?? [])}`,
    })),
    { kind: "events", id: query, words: words.inEvents({ query }) },
  ];
}

/** A few of each kind, in their order; without a word the pages alone. Pure. */
function fittingOf(all: readonly FoundThing[], query: string): readonly FoundThing[] {
  if (query === "") return all.filter(({ kind }) => kind === "page");

  const wanted = lettersOf(query);
  const fitting = all.filter(({ words, id }) => lettersOf(`${words} ${id}`).includes(wanted));

  return [...Map.groupBy(fitting, ({ kind }) => kind).values()].flatMap((some) =>
    some.slice(0, MOST),
  );
}

/** Nothing where the reader may not look, or the team has none. */
function useList<Item>(
  name: string,
  query: string,
  read: (signal: AbortSignal) => Promise<{ readonly items: readonly Item[] }>,
): readonly Item[] {
  const { data } = useQuery({
    queryKey: ["find", name, query],
    enabled: query !== "",
    queryFn: async ({ signal }): Promise<readonly Item[]> => {
      try {
        return (await read(signal)).items;
      } catch (error) {
        const isRefused =
          error instanceof DureError && ["forbidden", "not-found"].includes(error.class);
        if (isRefused) return [];
        throw error;
      }
    },
  });

  return data ?? [];
}
