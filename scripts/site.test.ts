/** The site has every page, and no link of it leads nowhere. What draws it is tried by `npm run site`. */

import path from "node:path";
import { expect, test } from "vitest";
import { ENGLISH, KOREAN } from "../site/structure.ts";
import { placeOf, readSite, sitePageOf } from "./site.ts";

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
