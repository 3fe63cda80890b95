import {
  keepPreviousData,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
  type QueryClient,
} from "@tanstack/react-query";
import {
  type CleanRequest,
  type CommentRequest,
  type DureClient,
  type ListedRun,
  type PlanSource,
  type PlatformEvent,
  type PortComment,
  type RunChoice,
  type RunCleaned,
  type RunDetail,
  type PlanRunStatus,
} from "dure/client";
import { runOf, useRun as useFollowedRun } from "dure/react";
import { useMemo } from "react";
import { meOf } from "../shell/me.ts";
import { useParts } from "../app-parts.tsx";
import { signOf, signsAfter, younger, type Sign, type Signs } from "./signs.ts";
import { gathered, useAsked, usePages, type NewsOf } from "../asked.ts";

export const PLAN_KEYS = {
  files: ["plans", "files"],
  before: (plan: PlanSource, choice: RunChoice) => ["plans", "before", plan, choice],
  cleanable: (which: CleanRequest) => ["plans", "cleanable", which],
  lists: ["plans", "runs"],
  signs: (id: string) => ["plans", "signs", id],
  ports: (id: string) => ["plans", "port", id],
  port: (id: string, port: string) => ["plans", "port", id, port],
  /** Behind its port's key: what changes the port makes it look anew. */
  transcript: (
    id: string,
    port: string,
    member: string | undefined,
    search: string | undefined,
  ) => ["plans", "port", id, port, "transcript", member, search],
  /** Behind its port's key too. */
  comments: (id: string, port: string) => ["plans", "port", id, port, "comments"],
  manifest: (id: string, port: string, step: number) => ["plans", "manifest", id, port, step],
  diff: (id: string, port: string) => ["plans", "diff", id, port],
  leaving: (id: string, commit: string) => ["plans", "leaving", id, commit],
} as const;

/** Runs of one page of the list. */
const PAGE = 50;
/** News of this long are answered with one look, milliseconds. */
const GATHER_MS = 250;
/** What happens to runs. */
export const RUN_NEWS: NewsOf = {
  key: PLAN_KEYS.lists,
  types: ["run.*", "port.*", "session.start"],
  role: "orchestration",
  gatherMs: GATHER_MS,
};
/** Ports at work whose newest step is read when a run is opened; later news come by events. */
const MAX_SEEDED = 24;

export function usePlanFiles() {
  return useAsked(PLAN_KEYS.files, (client, signal) => client.plans.list({ signal }));
}

/** What would be done; nothing is begun. */
export function useBefore(plan: PlanSource | undefined, choice: RunChoice) {
  return useAsked(
    PLAN_KEYS.before(plan ?? { plan: "" }, choice),
    (client, signal) => client.plans.dryRun({ ...plan!, ...choice }, { signal }),
    {
      enabled: plan !== undefined,
      placeholderData: keepPreviousData,
      staleTime: 0, // the file may have changed since
    },
  );
}

/** What cleaning would do with each run; nothing is removed. */
export function useCleanable(which: Pick<CleanRequest, "run" | "olderThanMs">) {
  return useAsked(
    PLAN_KEYS.cleanable(which),
    (client, signal) => cleanPages(client, { ...which, dryRun: true }, signal),
    {
      gcTime: 0,
      // what was safe a moment ago may not be so now
      refetchOnWindowFocus: false,
    },
  );
}

/**
 * Cleans: of `free` whatever is safe to remove, and the runs `forced`, of which a person has given
 * up what is lost.
 */
export function useClean() {
  const { client } = useParts();
  const queries = useQueryClient();

  return useMutation({
    mutationFn: async ({
      free,
      forced,
    }: {
      free?: CleanRequest | undefined;
      forced: readonly string[];
    }) => {
      const items = free === undefined ? [] : await cleanPages(client, free);
      for (const run of forced) items.push(...(await cleanPages(client, { run, force: true })));
      // Of a run that was looked at twice the last word counts.
      return [...new Map(items.map((item) => [item.run, item])).values()];
    },
    onSettled: () =>
      queries.invalidateQueries({
        queryKey: ["plans"],
        predicate: ({ queryKey }) => queryKey[1] === "runs" || queryKey[1] === "run",
      }),
  });
}

async function cleanPages(
  client: DureClient,
  request: CleanRequest,
  signal?: AbortSignal,
): Promise<RunCleaned[]> {
  const items: RunCleaned[] = [];
  for (let after: number | undefined; ;) {
    const page = await client.plans.clean({ ...request, after }, { signal });
    items.push(...page.items);
    if (page.next === null) return items;
    after = page.next;
  }
}

/** Newest first, page by page. */
export function useRunList(status: PlanRunStatus | undefined) {
  return usePages(
    [...PLAN_KEYS.lists, status],
    (client, cursor, signal) => client.plans.runs({ status, limit: PAGE, cursor }, { signal }),
    { placeholderData: keepPreviousData },
  );
}

/** One run, as it stands and as it goes on, and what its events change besides. */
export function useRun(id: string) {
  const queries = useQueryClient();
  const onEvent = useMemo(() => newsOf(queries, id), [queries, id]);

  return useFollowedRun(id, { onEvent });
}

/** Reads a run anew, after an order to it. */
export function useReadRun(id: string): () => Promise<void> {
  const { hub } = useParts();
  return () => runOf(hub, id).load();
}

/** Takes events of a run: signs at once, and what has changed is read anew, gathered. */
function newsOf(queries: QueryClient, id: string): (event: PlatformEvent) => void {
  const changed = new Set<string>();
  let isOfMerge = false;

  const look = gathered(() => {
    void queries.invalidateQueries({ queryKey: PLAN_KEYS.lists });
    if (isOfMerge) void queries.invalidateQueries({ queryKey: PLAN_KEYS.diff(id, "") });
    isOfMerge = false;

    for (const port of changed) {
      for (const queryKey of [PLAN_KEYS.port(id, port), PLAN_KEYS.diff(id, port)]) {
        void queries.invalidateQueries({ queryKey });
      }
    }

    changed.clear();
  }, GATHER_MS);

  return (event) => {
    queries.setQueryData<Signs>(PLAN_KEYS.signs(id), (signs = {}) => signsAfter(signs, event));
    if (event.type.startsWith("escalation.")) {
      void queries.invalidateQueries({ queryKey: ["escalations"] });
    }
    if (event.type === "run.end" || event.type.startsWith("merge.")) isOfMerge = true;
    if ("port" in event.data && typeof event.data.port === "string") changed.add(event.data.port);
    look();
  };
}

/**
 * Signs of workers: those of events, and for ports that were at work before the first event, those
 * of their steps; the younger one counts.
 */
export function useSigns(run: RunDetail): Signs {
  const { client } = useParts();
  const told = useQuery<Signs>({
    queryKey: PLAN_KEYS.signs(run.id),
    queryFn: () => ({}),
    staleTime: Infinity,
  });

  const running = run.ports.filter(({ status }) => status === "running").slice(0, MAX_SEEDED);

  const seeds = useQueries({
    queries: running.map(({ id }) => ({
      queryKey: [...PLAN_KEYS.signs(run.id), id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        client.plans.port(run.id, id, { signal }).then(({ steps }) => signOf(steps) ?? null),
      refetchOnWindowFocus: false,
    })),
    combine: (all) => all.map(({ data }) => data ?? undefined),
  });

  const seeded = Object.fromEntries(
    running
      .map(({ id }, index) => [id, younger(told.data?.[id], seeds[index])] as const)
      .filter((entry): entry is [string, Sign] => entry[1] !== undefined),
  );

  return { ...told.data, ...seeded };
}

export function usePort(id: string, port: string) {
  return useAsked(PLAN_KEYS.port(id, port), (client, signal) =>
    client.plans.port(id, port, { signal }),
  );
}

export function useManifest(id: string, port: string, step: number | undefined) {
  return useAsked(
    PLAN_KEYS.manifest(id, port, step ?? 0),
    (client, signal) => client.plans.manifest(id, port, step!, { signal }),
    {
      enabled: step !== undefined,
      staleTime: Infinity,
    },
  );
}

export function useDiff(id: string, port: string | undefined) {
  return useAsked(PLAN_KEYS.diff(id, port ?? ""), (client, signal) =>
    client.plans.diff(id, port, { signal }),
  );
}

/** What people said about the work of a port; of the whole run there is none. */
export function useComments(id: string, port: string | undefined) {
  return useAsked(
    PLAN_KEYS.comments(id, port ?? ""),
    (client, signal) => client.plans.comments(id, port!, { signal }),
    {
      enabled: port !== undefined,
    },
  );
}

/** Writes a comment, or takes one back; the answer is how they stand then. */
export function useCommenting(id: string, port: string) {
  const { client } = useParts();
  const queries = useQueryClient();
  const queryKey = PLAN_KEYS.comments(id, port);
  const onSuccess = (items: readonly PortComment[]): void => {
    queries.setQueryData(queryKey, items);
  };

  return {
    add: useMutation({
      mutationFn: (comment: CommentRequest) => client.plans.comment(id, port, comment),
      onSuccess,
    }),
    drop: useMutation({
      mutationFn: (comment: number) => client.plans.uncomment(id, port, comment),
      onSuccess,
      onError: () => void queries.invalidateQueries({ queryKey }),
    }),
  };
}

/** Ports that are done, and all. Pure. */
export function doneOf({ counts }: Pick<ListedRun, "counts">): {
  readonly done: number;
  readonly all: number;
  readonly failed: number;
} {
  return {
    done: counts.succeeded ?? 0,
    all: Object.values(counts).reduce((sum, count) => sum + count, 0),
    failed: (counts.failed ?? 0) + (counts.blocked ?? 0),
  };
}

/** Whether the caller may start and steer runs. */
export function useMayRun(): boolean {
  return useHasScope("plans:run");
}

/** Whether the caller may approve, merge and publish results. */
export function useMayMerge(): boolean {
  return useHasScope("plans:merge");
}

/** Whether the caller may say yes to what leaves; no other scope holds that. */
export function useMayConfirm(): boolean {
  const { client } = useParts();
  const me = useQuery(meOf(client));

  return me.data === undefined || me.data.scopes.includes("plans:confirm");
}

/** One that `admin` and `plans` hold. Until it is known who asks, nothing is hidden. */
function useHasScope(wanted: "plans:run" | "plans:merge"): boolean {
  const { client } = useParts();
  const me = useQuery(meOf(client));

  return (
    me.data === undefined ||
    me.data.scopes.some((scope) => scope === "admin" || scope === "plans" || scope === wanted)
  );
}
