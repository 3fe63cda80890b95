import type { NotificationsClient } from "dure/client";
import type { Language } from "../words.ts";

const STORED = "dure-notices";
/** The id under which the server tells this browser. */
const PUSHED = "dure-push";
const WORKER = "/push-worker.js";

/** `push`: also while no page is open. `page`: while one is, where the browser knows no push service. */
export type NoticeState = "off" | "page" | "push";

/** Whether this browser can tell of something outside of the page at all. */
export function canNotify(): boolean {
  return "Notification" in window;
}

/** Asked for here, and allowed by the browser. */
export function noticeState(): NoticeState {
  const isOn =
    canNotify() && Notification.permission === "granted" && localStorage.getItem(STORED) === "on";
  if (!isOn) return "off";
  return localStorage.getItem(PUSHED) === null ? "page" : "push";
}

/** Asks the browser; called by a button alone. `off`: it refuses. */
export async function turnNoticesOn(
  own: NotificationsClient,
  locale: Language,
): Promise<NoticeState> {
  if ((await Notification.requestPermission()) !== "granted") return "off";
  localStorage.setItem(STORED, "on");
  // Without a push service: while the page is open.
  await renewPush(own, locale).catch(() => undefined);

  return noticeState();
}

export async function turnNoticesOff(own: NotificationsClient): Promise<void> {
  const id = localStorage.getItem(PUSHED);
  localStorage.removeItem(STORED);
  localStorage.removeItem(PUSHED);
  const registration = await navigator.serviceWorker?.getRegistration(WORKER);
  await (await registration?.pushManager.getSubscription())?.unsubscribe();
  if (id !== null) await own.unsubscribe(id);
}

/**
 * Registers this browser with the server: again on each visit, since browsers change their
 * subscriptions, and one that never comes ends.
 */
export async function renewPush(own: NotificationsClient, locale: Language): Promise<void> {
  const registration = await navigator.serviceWorker.register(WORKER);
  const { publicKey } = await own.get();
  const kept = await registration.pushManager.getSubscription();
  const isOurs = kept !== null && keyOf(kept) === publicKey;
  if (!isOurs) await kept?.unsubscribe();
  await navigator.serviceWorker.ready;
  const subscription = isOurs
    ? kept
    : await registration.pushManager.subscribe({
        userVisibleOnly: true,
        applicationServerKey: publicKey,
      });
  const { endpoint = "", keys: { p256dh = "", auth = "" } = {} } = subscription.toJSON();
  const { id } = await own.subscribe({ endpoint, keys: { p256dh, auth }, locale });
  localStorage.setItem(PUSHED, id);
}

/** In base64url. */
function keyOf({ options }: PushSubscription): string | undefined {
  const bytes = options.applicationServerKey;
  if (bytes === null) return undefined;
  const text = btoa(String.fromCodePoint(...new Uint8Array(bytes)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

interface WaitingCounts {
  readonly id: string;
}

/** Whether something waits that did not before, also where others were answered meanwhile. Pure. */
export function hasNew(before: readonly WaitingCounts[], now: readonly WaitingCounts[]): boolean {
  return now.some(({ id }) => before.every((one) => one.id !== id));
}
