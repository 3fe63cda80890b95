import { totalmem } from "node:os";
import type { Clock } from "../../kernel/clock.ts";
import { descendantsOf, memoryOf } from "./processes.ts";
import type { SandboxEnd } from "./sandbox.ts";

/** Between two looks at a tree's memory, milliseconds. */
const LOOK_MS = 100;
/** Of what a tree may have where nothing says it, at most. */
const MOST_BYTES = 4_294_967_296;

/** Bytes that a worker's processes may have together: half of the machine's, and 4 GiB at most. */
export function memoryOfWorkers(): number {
  return Math.min(MOST_BYTES, Math.floor(totalmem() / 2));
}

/**
 * What the kernel lets one process reserve where dure looks at a tree by itself: twice what the tree
 * may have, since what is reserved and not used counts, and room to be seen before it is refused.
 */
export function mostOfOneProcess(bytes: number): number {
  return Math.max(2 * bytes, bytes + 1_073_741_824);
}

/** The bound that a tree was ended at, such as `4 GiB`. Pure. */
export function bytesWords({ mostBytes = 0 }: Pick<SandboxEnd, "mostBytes">): string {
  const gibibytes = mostBytes / 1_073_741_824;
  return gibibytes >= 1
    ? `${Number(gibibytes.toFixed(1))} GiB`
    : `${Math.round(mostBytes / 1_048_576)} MiB`;
}

/** What ends a tree that takes too much. */
export interface MemoryBound {
  readonly bytes: number;
  /** Whether the kernel has ended a process of it for that; undefined: it counts none. */
  readonly hasRunOut: (() => boolean) | undefined;
}

/**
 * Looks at a tree until it is cancelled, and tells once that it has more than it may: what the
 * kernel says, or the memory of its processes. Source: proc_pid_status(5), RssAnon and RssShmem.
 */
export function watchMemory(
  pid: number,
  { bytes, hasRunOut }: MemoryBound,
  { clock, onOver }: { readonly clock: Clock; readonly onOver: () => void },
): () => void {
  const isOver = hasRunOut ?? (() => memoryOf(descendantsOf(pid)) > bytes);
  let cancel = (): void => {};
  const look = (): void => {
    if (isOver()) onOver();
    else cancel = clock.after(LOOK_MS, look);
  };
  cancel = clock.after(LOOK_MS, look);
  return () => cancel();
}
