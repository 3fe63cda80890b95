import { useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { DureError, type DureClient, type Me } from "dure/client";
import { useMemo } from "react";
import { useParts } from "../app-parts.tsx";
import type { Trouble } from "../problem.tsx";
import { useSpeaker } from "../rooms/use-rooms.ts";
import type { Told } from "./overview.ts";
import { useNews, type NewsOf } from "../asked.ts";

/** Everything is read anew so often where the log of events is not followed, milliseconds. */
const READ_EVERY_MS = 20_000;
/** Read of each kind: what runs and what has failed stands among the newest. */
const MOST = 100;
const KEY = "start";
/**
 * What makes a box tick, or something begin, wait or fail. What happens between the first reads and
 * the connection is seen with the reading of every 20 s.
 */
const NEWS: NewsOf = {
  key: [KEY],
  types: [
    ...["turn.accepted", "turn.done", "job.*", "run.*", "session.start"],
    ...["escalation.*", "agent.*", "room.message", "room.handled"],
  ],
  gatherMs: 500,
  isReadBefore: true,
};
const NOTHING = { items: [] };

/** What was told, and what could not be read. */
export interface ToldHere extends Told {
  readonly trouble: Trouble | undefined;
}

/** What the start page tells of, kept fresh; the same object until something in it changes. */
export function useTold(me: Me): ToldHere {
  const { client } = useParts();
  const { who } = useSpeaker();
  const isAdmin = me.scopes.includes("admin");
  useNews(NEWS);

  const escalations = useRead("escalations", NOTHING, (signal) =>
    client.escalations({ status: "open", limit: MOST }, { signal }),
  );
  const jobs = useRead("jobs", [], (signal) => newestJobs(client, signal));
  const runs = useRead("runs", NOTHING, (signal) => client.plans.runs({ limit: MOST }, { signal }));
  const sessions = useRead("sessions", NOTHING, (signal) =>
    client.sessions({ limit: MOST }, { signal }),
  );
  const agents = useRead("agents", [], (signal) => client.rooms().agents({ signal }));
  const rooms = useRead(`rooms ${who ?? ""}`, NOTHING, (signal) =>
    client.rooms(who).list({ limit: MOST }, { signal }),
  );
  const costs = useRead("costs", null, (signal) =>
    isAdmin ? client.costs(1, { signal }) : Promise.resolve(null),
  );

  const error = [escalations, jobs, runs, sessions, agents, rooms, costs].find(
    (read) => read.error !== null,
  )?.error;
  const trouble = useTrouble(error ?? undefined);

  return useMemo(
    () => ({
      model: me.model,
      escalations: itemsOf(escalations.data),
      jobs: jobs.data,
      runs: itemsOf(runs.data),
      sessions: itemsOf(sessions.data),
      agents: agents.data,
      rooms: itemsOf(rooms.data),
      costs: costs.data,
      trouble,
    }),
    [
      me.model,
      escalations.data,
      jobs.data,
      runs.data,
      sessions.data,
      agents.data,
      rooms.data,
      costs.data,
      trouble,
    ],
  );
}

function useTrouble(error: Error | undefined): Trouble | undefined {
  const queries = useQueryClient();
  return useMemo(
    () =>
      error && {
        error,
        onRetry: () =>
          void queries.refetchQueries({
            queryKey: [KEY],
            predicate: ({ state }) => state.status === "error",
          }),
      },
    [error, queries],
  );
}

/**
 * What was read; undefined until then. `none`: what a team has that has no such thing (404). Null:
 * it is refused. Both are kept as data, for a query that has none forgets its error when it asks
 * again.
 */
function useRead<Data, None>(
  name: string,
  none: None,
  read: (signal: AbortSignal) => Promise<Data>,
): UseQueryResult<Data | None | null> {
  return useQuery({
    queryKey: [KEY, name],
    queryFn: async ({ signal }): Promise<Data | None | null> => {
      try {
        return await read(signal);
      } catch (error) {
        if (!(error instanceof DureError)) throw error;
        if (error.class === "not-found") return none;
        if (error.class === "forbidden") return null;
        throw error;
      }
    },
    refetchInterval: READ_EVERY_MS,
  });
}

function itemsOf<Item>(
  page: { readonly items: readonly Item[] } | null | undefined,
): readonly Item[] | null | undefined {
  return page === null ? null : page?.items;
}

/** Those that run, however old, and those that were made within two days. */
async function newestJobs(client: DureClient, signal: AbortSignal) {
  const [running, newest] = await Promise.all([
    client.jobs.list({ status: "RUNNING", limit: MOST }, { signal }),
    client.jobs.list({ since: "48h", limit: MOST }, { signal }),
  ]);
  return [...running.items, ...newest.items.filter(({ status }) => status !== "RUNNING")];
}
