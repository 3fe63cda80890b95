import {
  useInfiniteQuery,
  useQuery,
  useQueryClient,
  type InfiniteData,
  type QueryKey,
  type UndefinedInitialDataInfiniteOptions,
  type UseQueryOptions,
} from "@tanstack/react-query";
import { systemClock, type DureClient, type EventsFilter } from "dure/client";
import { useEffect } from "react";
import { useParts } from "./app-parts.tsx";

/** What the server answers, kept under a key and read anew as `options` say. */
export function useAsked<Data>(
  queryKey: QueryKey,
  read: (client: DureClient, signal: AbortSignal) => Promise<Data>,
  options?: Omit<UseQueryOptions<Data>, "queryKey" | "queryFn">,
) {
  const { client } = useParts();
  return useQuery({ ...options, queryKey, queryFn: ({ signal }) => read(client, signal) });
}

interface Paged {
  readonly nextCursor: string | null;
}

type PagesOptions<Page, Shown> = Omit<
  UndefinedInitialDataInfiniteOptions<Page, Error, Shown, QueryKey, string | undefined>,
  "queryKey" | "queryFn" | "initialPageParam" | "getNextPageParam"
>;

/** A list that the server answers page by page. */
export function usePages<Page extends Paged, Shown = InfiniteData<Page>>(
  queryKey: QueryKey,
  read: (client: DureClient, cursor: string | undefined, signal: AbortSignal) => Promise<Page>,
  options?: PagesOptions<Page, Shown>,
) {
  const { client } = useParts();
  return useInfiniteQuery({
    ...options,
    queryKey,
    queryFn: ({ signal, pageParam }) => read(client, pageParam, signal),
    initialPageParam: undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** Events that tell that what is kept under a key has changed. */
export interface NewsOf extends EventsFilter {
  readonly key: QueryKey;
  /** News of this long are answered with one look, milliseconds. */
  readonly gatherMs?: number;
  /** All is being read when the log is first followed, so that is no news. */
  readonly isReadBefore?: boolean;
}

/**
 * Reads anew after each news, and once the log is followed. Where it is refused, what is shown stays
 * until it is asked for again. `news`: the same one each time.
 */
export function useNews(news: NewsOf): void {
  const { client } = useParts();
  const queries = useQueryClient();

  useEffect(() => {
    const leave = new AbortController();
    const { key, gatherMs, isReadBefore = false, ...filter } = news;
    const look = gathered(
      () => void queries.invalidateQueries({ queryKey: key }),
      gatherMs,
      leave.signal,
    );
    let connections = isReadBefore ? 0 : 1;
    const follow = async (): Promise<void> => {
      const events = client.events(filter, {
        signal: leave.signal,
        onReset: look,
        onConnection: (state) => state === "connected" && connections++ > 0 && look(),
      });
      for await (const _news of events) look();
    };
    follow().catch(() => undefined); // left, or refused

    return () => leave.abort();
  }, [client, queries, news]);
}

/** Calls at most once per span, behind the news that asked for it; at once where there is none. */
export function gathered(look: () => void, spanMs?: number, signal?: AbortSignal): () => void {
  if (spanMs === undefined) return look;
  let isWaiting = false;
  return () => {
    if (isWaiting) return;
    isWaiting = true;

    systemClock.after(spanMs, () => {
      isWaiting = false;
      if (signal?.aborted !== true) look();
    });
  };
}
