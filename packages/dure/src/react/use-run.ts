import { useEffect, useMemo, useSyncExternalStore } from "react";
import type { PlatformEvent } from "../wire/events.ts";
import { useHub } from "./provider.ts";
import { runOf, type RunView } from "./run-follower.ts";

/** What `useRun` tells besides how the run stands. */
export interface UseRunOptions {
  /** Called with each event of the run; keep it the same between renderings. */
  readonly onEvent?: ((event: PlatformEvent) => void) | undefined;
}

/** A run of a plan as it stands. Orders go through `hub.client.plans`. */
export interface UsedRun extends RunView {
  /** Reads it anew, for one that has just given an order. */
  readonly reload: () => Promise<void>;
}

/** One run of a plan with its ports, live until it has ended, and again when it is taken up. */
export function useRun(id: string, { onEvent }: UseRunOptions = {}): UsedRun {
  const hub = useHub();
  const run = useMemo(() => runOf(hub, id), [hub, id]);
  const view = useSyncExternalStore(run.subscribe, run.snapshot, run.snapshot);
  useEffect(() => (onEvent === undefined ? undefined : run.onEvent(onEvent)), [run, onEvent]);
  const reload = useMemo(() => () => run.load(), [run]);

  return { ...view, reload };
}
