const STORED = "dure-notices";

/** Whether this browser can tell of something outside of the page at all. */
export function canNotify(): boolean {
  return "Notification" in window;
}

/** Asked for here, and allowed by the browser. */
export function areNoticesOn(): boolean {
  return (
    canNotify() && Notification.permission === "granted" && localStorage.getItem(STORED) === "on"
  );
}

/** Asks the browser; called by a button alone. False: it refuses. */
export async function turnNoticesOn(): Promise<boolean> {
  const isAllowed = (await Notification.requestPermission()) === "granted";
  if (isAllowed) localStorage.setItem(STORED, "on");

  return isAllowed;
}

export function turnNoticesOff(): void {
  localStorage.removeItem(STORED);
}

interface WaitingCounts {
  readonly id: string;
}

/** Whether something waits that did not before, also where others were answered meanwhile. Pure. */
export function hasNew(before: readonly WaitingCounts[], now: readonly WaitingCounts[]): boolean {
  return now.some(({ id }) => before.every((one) => one.id !== id));
}
