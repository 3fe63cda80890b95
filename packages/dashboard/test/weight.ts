import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { pagesOf } from "../parts-of-pages.ts";

/** What a browser fetches before a page is shown. */
export interface PageWeight {
  readonly page: string;
  readonly language: string;
  readonly scripts: number;
  readonly sheets: number;
  /** Bytes of JavaScript as they travel, packed with gzip. */
  readonly scriptBytes: number;
  readonly sheetBytes: number;
}

/** The built pages' weights, by the files that `index.html` names. */
export async function weightsOf(site: string): Promise<PageWeight[]> {
  const html = await readFile(join(site, "index.html"), "utf8");
  const packed = /data-parts="([^"]+)"/.exec(html)?.[1] ?? "{}";
  const parts = JSON.parse(packed.replaceAll("&quot;", '"')) as Record<string, string[]>;
  const named = [...html.matchAll(/(?:src|href)="\/([^"]+\.(?:js|css))"/g)].map((one) => one[1]!);
  const first = [...named, ...parts["first"]!];

  const pages = pagesOf(parts);
  const wanted = pages.flatMap((page) => ["ko", "en"].map((language) => ({ page, language })));
  return Promise.all(
    wanted.map(async ({ page, language }) => {
      const files = [...new Set([...first, ...parts[language]!, ...parts[page]!])];
      return { page, language, ...(await weightOf(site, files)) };
    }),
  );
}

async function weightOf(site: string, files: readonly string[]) {
  const sizes = await Promise.all(
    files.map(async (file) => ({
      isScript: file.endsWith(".js"),
      bytes: gzipSync(await readFile(join(site, file))).length,
    })),
  );
  const scripts = sizes.filter(({ isScript }) => isScript);
  const sheets = sizes.filter(({ isScript }) => !isScript);
  const sum = (some: typeof sizes): number => some.reduce((total, { bytes }) => total + bytes, 0);
  return {
    scripts: scripts.length,
    sheets: sheets.length,
    scriptBytes: sum(scripts),
    sheetBytes: sum(sheets),
  };
}
