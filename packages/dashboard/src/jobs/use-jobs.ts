import { keepPreviousData, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { isJobOver, type DureClient, type JobDetail, type JobsFilter } from "dure/client";
import { useEffect } from "react";
import { useParts } from "../app-parts.tsx";
import { useAsked, usePages, type NewsOf } from "../asked.ts";

export const JOB_KEYS = {
  lists: ["jobs", "list"],
  one: (id: string) => ["jobs", "one", id],
  relatives: (id: string) => ["jobs", "relatives", id],
} as const;

/** Jobs of one page of the list. */
const PAGE = 50;
/** The list is asked again so often where the log of events is not followed, milliseconds. */
const LIST_EVERY_MS = 15_000;
/** Jobs that one is shown to have asked for. */
const MAX_RELATIVES = 200;

/** Newest first, page by page. */
export function useJobList(filter: Pick<JobsFilter, "status" | "agent" | "root">) {
  return usePages(
    [...JOB_KEYS.lists, filter],
    (client, cursor, signal) => client.jobs.list({ ...filter, limit: PAGE, cursor }, { signal }),
    {
      placeholderData: keepPreviousData,
      refetchInterval: (query) => (query.state.status === "error" ? false : LIST_EVERY_MS),
    },
  );
}

/** What happens to jobs. */
export const JOB_NEWS: NewsOf = {
  key: JOB_KEYS.lists,
  types: ["job.*"],
  role: "delegation",
  gatherMs: 250,
};

/** One job, as it stands and as it goes on; also after a retry. */
export function useJob(id: string) {
  const { client } = useParts();
  const queries = useQueryClient();
  const job = useAsked(JOB_KEYS.one(id), (client, signal) => client.jobs.get(id, { signal }));
  const hasEnded = job.data !== undefined && isJobOver(job.data.status);

  useEffect(() => {
    if (hasEnded) return undefined;
    const leave = new AbortController();
    void followOne(client, queries, id, leave.signal);
    return () => leave.abort();
  }, [client, queries, id, hasEnded]);

  return job;
}

async function followOne(
  client: DureClient,
  queries: QueryClient,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const news of client.jobs.stream(id, { signal })) {
      if (news.kind === "job") queries.setQueryData(JOB_KEYS.one(id), news.job);
      else {
        for (const queryKey of [JOB_KEYS.one(id), JOB_KEYS.relatives(id)]) {
          void queries.invalidateQueries({ queryKey });
        }
      }
    }
  } catch {
    // Left, or refused: the query itself says why.
  }
}

/** The job that asked for this one, and those that it asked for. */
export function useRelatives(job: JobDetail) {
  return useAsked(JOB_KEYS.relatives(job.jobId), async (client, signal) => {
    const asking =
      job.parentJobId === null
        ? undefined
        : client.jobs.get(job.parentJobId, { signal }).catch(() => undefined);

    const [parent, asked] = await Promise.all([
      asking,
      client.jobs.list({ parent: job.jobId, limit: MAX_RELATIVES }, { signal }),
    ]);

    return { parent, children: asked.items.toReversed() };
  });
}
