/** The site has every page, no link of it leads nowhere, and it can be built. */

import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { ENGLISH, KOREAN } from "../site/structure.ts";
import { FULL } from "../packages/dure/src/kernel/test-tiers.ts";
import { root, run } from "./processes.ts";
import { isInternal, llmsText, placeOf, readSite, sitePageOf } from "./site.ts";

const PAGES = await readSite();
const PLACES = new Set(PAGES.map(({ place }) => place));

test("the sidebars name pages that are there, and every guide and reference is named", () => {
  const named = [...ENGLISH, ...KOREAN].flatMap(({ pages }) =>
    pages.map(([, page]) => `${page}.md`),
  );
  const wanted = [...PLACES].filter((place) => /^(?:guides|reference|ko)\/(?!index)/.test(place));

  expect(named.filter((place) => !PLACES.has(place))).toEqual([]);
  expect(wanted.filter((place) => !named.includes(place))).toEqual([]);
});

test("a Korean reader finds every guide, and is told which pages are English", () => {
  const named = KOREAN.flatMap(({ pages }) => pages.map(([, page]) => page));
  const guides = [...PLACES].filter((place) => place.startsWith("guides/"));
  const koreanOf = (place: string): string => place.replace(/^guides\/(.*)\.md$/, "ko/$1");
  const groups = KOREAN.map(({ title, pages }) => ({
    isMarked: title.endsWith("(영어)"),
    isKorean: pages.every(([, page]) => page.startsWith("ko/")),
  }));

  expect(
    guides.filter(
      (place) => !named.includes(place.slice(0, -3)) && !named.includes(koreanOf(place)),
    ),
  ).toEqual([]);
  expect(groups.filter(({ isMarked, isKorean }) => isMarked === isKorean)).toEqual([]);
});

test("no guide is Korean where it is not about Korean", () => {
  /** Korean that they are about: words of Korean in what people write. */
  const about = new Set(["understanding", "slot-service", "knowledge", "rooms", "write-a-service"]);
  const hangul = PAGES.filter(
    ({ place, text }) => place.startsWith("guides/") && /[가-힣]/.test(text),
  );
  const names = hangul.map(({ place }) => path.basename(place, ".md"));

  expect(names.filter((name) => !about.has(name))).toEqual([]);
});

test("llms.txt names each page for users with its first sentence, and no internal one", () => {
  const text = llmsText(ENGLISH, PAGES);
  const named = [...text.matchAll(/^- \[[^\]]+\]\(\/([^)]+)\): \S.{10,}/gm)].map(
    ([, place]) => place!,
  );

  expect(text).toMatch(/^# dure\n\n> \S.*dure/);
  expect(named.length).toBe(text.match(/^- /gm)!.length);
  expect(named.filter((place) => /^(?:guides|reference)\//.test(place)).length).toBeGreaterThan(30);
  expect(named.filter((place) => isInternal(place) || !PLACES.has(place))).toEqual([]);
});

test(
  "the site is built: no page is empty, and the search finds no internal page",
  { ...FULL, timeout: 600_000 },
  async () => {
    const built = await run("npm", ["run", "-s", "site"], {});
    const dist = path.join(root, "site/dist");
    const chunks = path.join(dist, "assets/chunks");
    const indexes = (await readdir(chunks)).filter((name) => name.startsWith("@localSearchIndex"));
    const found = await Promise.all(
      indexes.map((name) => readFile(path.join(chunks, name), "utf8")),
    );

    expect(built).toMatchObject({ exitCode: 0 });
    expect(indexes).toHaveLength(2);
    expect(found.join("")).toContain("/guides/first-steps");
    expect(found.join("")).not.toMatch(/\/(?:spec|decisions)\/|\/(?:ARCHITECTURE|CONTRIBUTING)/);
    expect(await readFile(path.join(dist, "llms.txt"), "utf8")).toContain("/guides/first-steps.md");
    expect(await readFile(path.join(dist, "guides/first-steps.md"), "utf8")).toMatch(/^# /);
  },
);

test("every link to a page leads to one that is there", () => {
  const links = PAGES.flatMap(({ place, text }) =>
    [...text.replaceAll(/^```[^]*?^```$/gm, "").matchAll(/\]\((\.[^)#\s]+\.md)/g)].map(
      ([, target]) => ({ place, to: path.posix.join(path.posix.dirname(place), target!) }),
    ),
  );

  expect(links.length).toBeGreaterThan(80);
  expect(links.filter(({ to }) => !PLACES.has(to))).toEqual([]);
});

test("no two pages differ in capitals alone: a site may stand on a disk that takes them for one", () => {
  const lower = [...PLACES].map((place) => place.toLowerCase());
  expect(lower.filter((place, index) => lower.indexOf(place) !== index)).toEqual([]);
});

test("a link is led to the page's place, or becomes words; code and its comments stay", () => {
  const known = new Set(["README.md", "docs/guides/jobs.md"]);
  const fence = "```";
  const text =
    "[jobs](docs/guides/jobs.md#end), [tests](packages/dure/test), [out](https://a.b)\n" +
    `<!-- given\nx\n-->\n${fence}md\n[a](b.md) <!-- kept -->\n${fence}\n`;

  expect(sitePageOf("README.md", text, known)).toBe(
    "[jobs](./guides/jobs.md#end), tests, [out](https://a.b)\n" +
      `${fence}md\n[a](b.md) <!-- kept -->\n${fence}\n`,
  );
  expect(placeOf("packages/dure/README.md")).toBeUndefined();
});
