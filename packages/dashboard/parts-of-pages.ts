import { parse } from "node:path";
import type { Plugin, Rolldown } from "vite";
import { firstWordsOf } from "./first-words.ts";
import { FILES_OF_PARTS, type BuiltParts } from "./src/files-of-parts.ts";
import { LANGUAGES, type Language } from "./src/words.ts";

/** Files of one part of the page: its code and its sheets. */
type Files = readonly string[];

/** By name: `first` for every page, each language, and the first part of a page's path. */
type Parts = Readonly<Record<string, Files>>;

/**
 * Writes, for each page and language, the document that the server sends: with the page's sheets
 * and first words, which are painted before any code has come, and with the names of its code,
 * which `first-paint.js` then asks for at once. `index.html` is for every page, without words. The
 * files of what is fetched later are written into `files-of-parts.ts`.
 */
export function writePages(): Plugin {
  return {
    name: "dure-pages",
    enforce: "post",
    // `lazy-part.ts` has fetched all that an import needs.
    load: {
      order: "pre",
      handler: (id) =>
        id === "\0vite/preload-helper.js" ? "export const __vitePreload = (load) => load();" : null,
    },
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        const index = bundle["index.html"];
        if (index?.type !== "asset") throw new Error("The build has no index.html.");
        const { pages: parts, lazy } = partsOf(bundle, String(index.source), (module) => {
          return (this.getModuleInfo(module)?.dynamicImporters.length ?? 0) > 0;
        });
        writeLazy(bundle, lazy);
        const document = withoutCode(String(index.source));
        index.source = withParts(document, parts);

        for (const page of [...pagesOf(parts), "frame"]) {
          for (const language of LANGUAGES) {
            const source = documentOf({ document, parts, page, language });
            this.emitFile({ type: "asset", fileName: `pages/${page}.${language}.html`, source });
          }
        }
      },
    },
  };
}

/** Names of the parts that are pages. Pure. */
export function pagesOf(parts: Parts): string[] {
  return Object.keys(parts).filter((name) => !["first", ...LANGUAGES].includes(name));
}

function documentOf(asked: {
  document: string;
  parts: Parts;
  page: string;
  language: Language;
}): string {
  const { document, parts, page, language } = asked;
  const { [page]: files } = parts;
  if (files === undefined) return worded(withParts(document, parts), page, language);

  const sheets = files.filter((file) => file.endsWith(".css"));
  const links = sheets.map((file) => `<link rel="stylesheet" crossorigin href="/${file}">`);
  const code = files.filter((file) => file.endsWith(".js"));
  const shared = ["first", ...LANGUAGES].map((name) => [name, parts[name] ?? []] as const);
  const own = withParts(document, { ...Object.fromEntries(shared), [page]: code });

  return worded(own, page, language).replace("</head>", `${links.join("")}</head>`);
}

function worded(document: string, page: string, language: Language): string {
  const { title, body } = firstWordsOf(page, language);
  const named = title === undefined ? document : document.replace(/(?<=<title>)[^<]*/, () => title);

  return named
    .replace('<html lang="en"', `<html lang="${language}" data-words`)
    .replace(/<main[^]*<\/main>/, () => body);
}

/** `first-paint.js` asks for it, when the first words are painted. */
function withoutCode(document: string): string {
  return document
    .replaceAll(/\s*<script type="module"[^>]*><\/script>/g, "")
    .replaceAll(/\s*<link rel="modulepreload"[^>]*>/g, "");
}

function withParts(document: string, parts: Parts): string {
  const packed = JSON.stringify(parts).replaceAll('"', "&quot;");
  return document.replace('src="/first-paint.js"', `src="/first-paint.js" data-parts="${packed}"`);
}

/** What the document names, and every part whose code is fetched when it is needed. */
function partsOf(
  bundle: Rolldown.OutputBundle,
  document: string,
  isLazy: (module: string) => boolean,
): { pages: Parts; lazy: BuiltParts } {
  const chunks = chunksOf(bundle);
  const byFile = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const code = namedIn(document, /<script type="module"[^>]* src="\/([^"]+)"/g).toReversed();
  const sheets = namedIn(document, /<link rel="stylesheet"[^>]* href="\/([^"]+)"/g);
  const preloads = namedIn(document, /<link rel="modulepreload"[^>]* href="\/([^"]+)"/g);
  const first = new Set([...code, ...preloads, ...sheets]);

  // A part may share its chunk with another, and need not stand at its head.
  const lazy = new Map(
    chunks.flatMap((chunk) =>
      chunk.moduleIds.filter(isLazy).map((id) => [parse(id).name, chunk.fileName] as const),
    ),
  );
  const named = [...lazy].flatMap(([part, file]) => {
    const name = /^(?:texts\.(\w+)|(\w+)-page)$/.exec(part);
    const files = [...filesOf(byFile.get(file), byFile)].filter((one) => !first.has(one));
    return name === null ? [] : [[name[1] ?? name[2], files] as const];
  });

  // Each script stands behind what it imports.
  const pages = { first: [...preloads, ...code], ...Object.fromEntries(named) };
  return { pages, lazy: listed(lazy, byFile, first) };
}

/** What `files-of-parts.ts` reads: each file once, with what it needs itself. Pure. */
function listed(
  parts: ReadonlyMap<string, string>,
  byFile: ReadonlyMap<string, Rolldown.OutputChunk>,
  first: ReadonlySet<string>,
): BuiltParts {
  const all = [...parts.values()].flatMap((file) => [...filesOf(byFile.get(file), byFile)]);
  const files = [...new Set(all)].filter((file) => !first.has(file));
  const needs = files.map((file) => {
    const chunk = byFile.get(file);
    const own = [...(chunk?.imports ?? []), ...(chunk?.viteMetadata?.importedCss ?? [])];
    return own.map((one) => files.indexOf(one)).filter((index) => index >= 0);
  });
  const indexed = [...parts].map(([name, file]) => [name, files.indexOf(file)] as const);

  return { files, needs, parts: Object.fromEntries(indexed) };
}

function writeLazy(bundle: Rolldown.OutputBundle, lazy: BuiltParts): void {
  const chunks = chunksOf(bundle).filter(({ code }) => code.includes(FILES_OF_PARTS));
  if (chunks.length !== 1) throw new Error("No one chunk of the build fetches parts of the page.");

  // The lists that Vite's own would read.
  for (const chunk of chunksOf(bundle)) {
    chunk.code = chunk.code
      .replace(/^const __vite__mapDeps=.*\n/, "")
      .replaceAll(/__vite__mapDeps\(\[[\d,]*\]\)/g, "[]");
  }
  const packed = JSON.stringify(lazy);
  // In quotes of whichever kind: names of files have none, and no backslash.
  for (const chunk of chunks) chunk.code = chunk.code.replace(FILES_OF_PARTS, () => packed);
}

function chunksOf(bundle: Rolldown.OutputBundle): Rolldown.OutputChunk[] {
  return Object.values(bundle).filter((one) => one.type === "chunk");
}

function namedIn(document: string, pattern: RegExp): string[] {
  return Array.from(document.matchAll(pattern), ([, file = ""]) => file);
}

function filesOf(
  chunk: Rolldown.OutputChunk | undefined,
  byFile: ReadonlyMap<string, Rolldown.OutputChunk>,
  found = new Set<string>(),
): Set<string> {
  if (chunk === undefined || found.has(chunk.fileName)) return found;

  found.add(chunk.fileName);
  for (const sheet of chunk.viteMetadata?.importedCss ?? []) found.add(sheet);
  for (const file of chunk.imports) filesOf(byFile.get(file), byFile, found);

  return found;
}
