import { systemClock } from "dure/client";
import { createElement, use, type ComponentType, type FunctionComponent } from "react";
import { serverWatch } from "./server-watch.ts";

/** Pauses before a part of the page is fetched again, milliseconds. */
const AGAIN_MS = [250, 750, 1_500];

/** A part of the page could not be fetched: no server, or one with another release. */
export class PartMissing extends Error {
  constructor(cause: unknown) {
    super("A part of this page could not be fetched.", { cause });
    this.name = "PartMissing";
  }
}

/** Parts that could not be fetched. No more than the page has. */
const missing = new Set<() => Promise<void>>();

/** Fetches again what could not be fetched; the page is then drawn anew. */
export async function fetchMissing(): Promise<void> {
  await Promise.all([...missing].map((load) => load()));
}

/**
 * A component whose code is fetched when it is needed, again when that failed. The router's own
 * reloads the whole page then: with no server nothing would be left of it.
 */
export function lazyPart<Props extends object>(
  read: () => Promise<ComponentType<Props>>,
): FunctionComponent<Props> & { readonly preload: () => Promise<void> } {
  let found: ComponentType<Props> | undefined;
  let problem: PartMissing | undefined;
  let loading: Promise<void> | undefined;

  const fetchIt = async (): Promise<void> => {
    try {
      found = await withRetries(read);
      problem = undefined;
      missing.delete(load);
    } catch (error) {
      problem = new PartMissing(error);
      missing.add(load);
    } finally {
      loading = undefined;
    }
  };

  const load = (): Promise<void> => (loading ??= fetchIt());

  const Part = (props: Props) => {
    if (found === undefined) {
      if (problem !== undefined && loading === undefined) throw problem;
      use(load());
    }

    return createElement(found!, props);
  };

  return Object.assign(Part, { preload: () => (found === undefined ? load() : Promise.resolve()) });
}

async function withRetries<Value>(read: () => Promise<Value>): Promise<Value> {
  for (const pause of AGAIN_MS) {
    try {
      await fetchLostSheets();
      return await read();
    } catch {
      await systemClock.sleep(pause * (0.75 + Math.random() / 2));
    }
  }

  await fetchLostSheets();
  return read();
}

/** Reads what no page can do without, for as long as the page lives. */
export async function untilRead<Value>(read: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await withRetries(read);
    } catch {
      await serverWatch.lookForRelease(); // which may have taken it away
      await systemClock.sleep(AGAIN_MS.at(-1)!);
    }
  }
}

/** Addresses of stylesheets that could not be fetched. No more than the page has. */
const lostSheets = new Set<string>();

/** The bundler asks for a stylesheet once: the next try would show the part without it. */
export function watchSheets(signal: AbortSignal): void {
  const onError = ({ target }: Event): void => {
    if (!(target instanceof HTMLLinkElement) || target.rel !== "stylesheet") return;
    lostSheets.add(target.href);
    target.remove();
  };
  document.addEventListener("error", onError, { capture: true, signal });
}

async function fetchLostSheets(): Promise<void> {
  await Promise.all([...lostSheets].map(fetchSheet));
}

function fetchSheet(href: string): Promise<void> {
  lostSheets.delete(href); // a failure brings it back
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.crossOrigin = "";
    link.href = href;
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => reject(new Error(`${href} could not be fetched.`)));
    document.head.append(link);
  });
}
