import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { TranscriptFilter } from "dure/client";
import { useParts } from "../app-parts.tsx";
import { withNewer, withOlder, type TranscriptWindow } from "./transcript-lines.ts";
import { PLAN_KEYS } from "./use-plans.ts";

/** Lines of one answer. */
const PAGE = 100;
/** Between two looks while a worker is at work, milliseconds; events make it look sooner. */
const LOOK_MS = 2_000;
const NEWEST = { before: Number.MAX_SAFE_INTEGER } as const;

/**
 * The newest lines of a port's transcript, then what comes; `move` reads older ones, or the newest
 * again.
 */
export function useTranscript(
  run: string,
  port: string,
  { member, search }: Pick<TranscriptFilter, "member" | "search">,
  isLive: boolean,
) {
  const { client } = useParts();
  const queries = useQueryClient();
  const queryKey = PLAN_KEYS.transcript(run, port, member, search);
  const shown = (): TranscriptWindow | undefined => queries.getQueryData(queryKey);

  const read = (bounds: Pick<TranscriptFilter, "before" | "after">, signal?: AbortSignal) =>
    client.plans.transcript(run, port, { member, search, limit: PAGE, ...bounds }, { signal });
  const newest = async (signal?: AbortSignal): Promise<TranscriptWindow> => {
    const { lines, hasMore } = await read(NEWEST, signal);
    return { lines, hasOlder: hasMore, hasNewer: false };
  };

  const transcript = useQuery({
    queryKey,
    queryFn: async ({ signal }): Promise<TranscriptWindow> => {
      const before = shown();
      const last = before?.lines.at(-1);
      if (before === undefined || last === undefined) return newest(signal);
      if (before.hasNewer) return before;
      const { lines, hasMore } = await read({ after: last.id }, signal);
      // Older ones may have come meanwhile; a gap too long to fill begins anew.
      return hasMore ? newest(signal) : withNewer(shown() ?? before, lines);
    },
    refetchInterval: isLive ? LOOK_MS : false,
  });

  const move = useMutation({
    mutationFn: async (to: "older" | "newest") => {
      const first = shown()?.lines[0];
      if (to === "newest" || first === undefined) {
        queries.setQueryData(queryKey, await newest());
        return;
      }
      const { lines, hasMore } = await read({ before: first.id });
      queries.setQueryData<TranscriptWindow>(
        queryKey,
        (now) => now && withOlder(now, lines, hasMore),
      );
    },
  });

  return { transcript, move };
}
