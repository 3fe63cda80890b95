/** What the package tells about the code of others in it: their licences, and a list for audits. */

import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

/** Where the code of a package is: in the server's files or in those of the pages. */
export type Place = "server" | "pages";

/** A package whose code is in ours. */
export interface BuiltIn {
  readonly name: string;
  readonly version: string;
  /** By SPDX. */
  readonly license: string;
  /** The text that goes with its code. */
  readonly text: string;
}

/** Licences of packages that bring no text. A neighbour is of the same holder. */
const TEXTS: Readonly<Record<string, (modules: string) => Promise<string>>> = {
  "@ai-sdk/provider-utils": (modules) => textIn(path.join(modules, "@ai-sdk/provider")),
  "react-remove-scroll-bar": (modules) => textIn(path.join(modules, "react-remove-scroll")),
  // Its page names http://jsumners.mit-license.org, which is this text.
  "abstract-logging": async () => mit("James Sumners"),
};

/** Reads what a package says of itself. Throws where its licence or the text of it is missing. */
export async function readBuiltIn(folder: string): Promise<BuiltIn> {
  const { name, version, license } = JSON.parse(
    await readFile(path.join(folder, "package.json"), "utf8"),
  ) as { name: string; version: string; license?: string };
  const modules = folder.slice(0, folder.lastIndexOf("node_modules") + "node_modules".length);
  const text = (await textIn(folder)) || (await TEXTS[name]?.(modules));
  if (!license || !text) throw new Error(`${name} is built in and has no text of its licence.`);

  return { name, version, license, text };
}

/** Texts of licences and notices in a folder, else the part of its page that is one; else empty. */
async function textIn(folder: string): Promise<string> {
  const names = (await readdir(folder)).toSorted();
  const meant = names.filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  const texts = await Promise.all(meant.map((name) => readFile(path.join(folder, name), "utf8")));
  if (texts.length > 0) return texts.map((text) => text.trim()).join("\n\n");

  const page = names.find((name) => /^readme/i.test(name));
  return page === undefined ? "" : licenceOn(await readFile(path.join(folder, page), "utf8"));
}

/** The licence that a page ends with. Pure. A link to one is none. */
export function licenceOn(page: string): string {
  const [, part = ""] = page.split(/^#+ *(?:mit )?licen[cs]e.*$/im);

  return /permission is hereby granted/i.test(part) ? part.trim() : "";
}

function mit(holder: string): string {
  return `The MIT License (MIT)

Copyright (c) ${holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;
}

/** The page of all licences; packages with one text share it. Pure. */
export function licencePage(places: Readonly<Record<Place, readonly BuiltIn[]>>): string {
  const all = inOrder([...places.server, ...places.pages]);
  const byText = Map.groupBy(all, ({ text }) => text);
  const parts = [...byText].map(([text, packages]) => {
    const names = packages.map(({ name, version, license }) => `${name} ${version} (${license})`);
    return `## ${[...new Set(names)].join(", ")}\n\n${indented(text)}\n`;
  });
  const intro =
    "# Code of others in this package\n\n" +
    "Each part has its own licence. `sbom.cdx.json` lists the same packages for programs.\n";

  return [intro, ...parts].join("\n");
}

/** As it was written, whatever signs it has. */
function indented(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/^(?=.)/gm, "    ");
}

/** The same packages as CycloneDX 1.6, which scanners read. Pure; no date, so that it is stable. */
export function billOf(
  owner: { readonly name: string; readonly version: string },
  places: Readonly<Record<Place, readonly BuiltIn[]>>,
): string {
  const found = (["server", "pages"] as const).flatMap((place) =>
    places[place].map((one) => ({ ...one, place })),
  );
  const components = [...Map.groupBy(inOrder(found), addressOf)].map(([purl, copies]) => ({
    type: "library",
    "bom-ref": purl,
    name: copies[0]!.name,
    version: copies[0]!.version,
    purl,
    licenses: [licenceEntry(copies[0]!.license)],
    properties: [...new Set(copies.map(({ place }) => place))].map((value) => ({
      name: "dure:place",
      value,
    })),
  }));
  const component = { type: "library", ...owner, purl: addressOf(owner) };
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { ...component, "bom-ref": component.purl } },
    components,
  };

  return `${JSON.stringify(bill, null, 2)}\n`;
}

function licenceEntry(license: string): object {
  return /[ ()]/.test(license) ? { expression: license } : { license: { id: license } };
}

function addressOf({ name, version }: { name: string; version: string }): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function inOrder<One extends { readonly name: string; readonly version: string }>(
  packages: readonly One[],
): readonly One[] {
  const key = ({ name, version }: One): string => `${name}@${version}`;

  return packages.toSorted((one, other) => (key(one) < key(other) ? -1 : 1));
}
