import { systemClock } from "dure/client";
import { createElement, use, type ComponentType, type FunctionComponent } from "react";
import { filesOf } from "./files-of-parts.ts";
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
 * reloads the whole page then: with no server nothing would be left of it. `name` is that of the
 * file without its ending.
 */
export function lazyPart<Props extends object>(
  name: string,
  read: () => Promise<ComponentType<Props>>,
): FunctionComponent<Props> & { readonly preload: () => Promise<void> } {
  let found: ComponentType<Props> | undefined;
  let problem: PartMissing | undefined;
  let loading: Promise<void> | undefined;

  const fetchIt = async (): Promise<void> => {
    try {
      found = await withRetries(name, read);
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

async function withRetries<Value>(name: string, read: () => Promise<Value>): Promise<Value> {
  for (const pause of AGAIN_MS) {
    try {
      return await readPart(name, read);
    } catch {
      await systemClock.sleep(pause * (0.75 + Math.random() / 2));
    }
  }

  return readPart(name, read);
}

/** Reads what no page can do without, for as long as the page lives. */
export async function untilRead<Value>(name: string, read: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await withRetries(name, read);
    } catch {
      await serverWatch.lookForRelease(); // which may have taken it away
      await systemClock.sleep(AGAIN_MS.at(-1)!);
    }
  }
}

/**
 * A browser never asks again for a module that it could not fetch. So the files are asked for
 * first, as often as it takes: the import then finds them in the cache.
 */
export async function readPart<Value>(name: string, read: () => Promise<Value>): Promise<Value> {
  await Promise.all(filesOf(name).map(fetchFile));
  return read();
}

/** No more than the page has. */
const fetched = new Set<string>();

async function fetchFile(file: string): Promise<void> {
  // The document has its page's sheets.
  if (fetched.has(file) || document.querySelector(`link[href="${file}"]`) !== null) return;

  const answer = await fetch(file);
  if (!answer.ok) throw new Error(`${file} was answered with ${answer.status}.`);
  await answer.arrayBuffer();
  if (file.endsWith(".css")) await addSheet(file);
  fetched.add(file);
}

function addSheet(href: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.crossOrigin = "";
    link.href = href;
    link.addEventListener("load", () => resolve());
    link.addEventListener("error", () => {
      link.remove();
      reject(new Error(`${href} could not be fetched.`));
    });
    document.head.append(link);
  });
}
