import type { Plugin, Rolldown } from "vite";
import { firstWordsOf } from "./first-words.ts";
import { LANGUAGES, type Language } from "./src/words.ts";

/** Files of one part of the page: its code and its sheets. */
type Files = readonly string[];

/** By name: `first` for every page, `ko`, `en`, and the first part of a page's path. */
type Parts = Readonly<Record<string, Files>>;

/**
 * Writes, for each page and language, the document that the server sends: with the page's sheets
 * and first words, which are painted before any code has come, and with the names of its code,
 * which `first-paint.js` then asks for at once. `index.html` is for every page, without words.
 */
export function writePages(): Plugin {
  return {
    name: "dure-pages",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        const index = bundle["index.html"];
        if (index?.type !== "asset") throw new Error("The build has no index.html.");
        const parts = partsOf(bundle, String(index.source));
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
  const { first = [], ko = [], en = [], [page]: files } = parts;
  if (files === undefined) return worded(withParts(document, parts), page, language);

  const sheets = files.filter((file) => file.endsWith(".css"));
  const links = sheets.map((file) => `<link rel="stylesheet" crossorigin href="/${file}">`);
  const code = files.filter((file) => file.endsWith(".js"));
  const own = withParts(document, { first, ko, en, [page]: code });

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

function partsOf(bundle: Rolldown.OutputBundle, document: string): Parts {
  const chunks = Object.values(bundle).filter((one) => one.type === "chunk");
  const byFile = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  const code = namedIn(document, /<script type="module"[^>]* src="\/([^"]+)"/g).toReversed();
  const sheets = namedIn(document, /<link rel="stylesheet"[^>]* href="\/([^"]+)"/g);
  const preloads = namedIn(document, /<link rel="modulepreload"[^>]* href="\/([^"]+)"/g);
  const first = new Set([...code, ...preloads, ...sheets]);

  const named = chunks.flatMap((chunk) => {
    const name = /^(?:texts\.(ko|en)|(\w+)-page)$/.exec(chunk.name);
    if (!chunk.isDynamicEntry || name === null) return [];
    const files = [...filesOf(chunk, byFile)].filter((file) => !first.has(file));

    return [[name[1] ?? name[2], files] as const];
  });

  // Each script stands behind what it imports.
  return { first: [...preloads, ...code], ...Object.fromEntries(named) };
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
