import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import type { Clock } from "../kernel/clock.ts";

/**
 * From here on V8 makes the space of new objects no larger, bytes. By itself it takes up to 64 MiB
 * on a machine of 16 GiB or more, and what waits there holds the buffers of pipes and sockets that
 * are long closed: a run of 60 ports took 456 MB with it, 250 MB without (bench/ports.ts).
 */
const ENOUGH_BYTES = 16 * 1024 * 1024;
const LOOK_MS = 250;

/** For a process that is dure's own: one flag of V8 that holds for all that runs in it. */
export function boundYoungGeneration(clock: Clock): void {
  const cancel = clock.every(LOOK_MS, () => {
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    if (young !== undefined && young.space_size < ENOUGH_BYTES) return;
    setFlagsFromString("--semi-space-growth-factor=1");
    cancel();
  });
}
