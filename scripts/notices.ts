/** What the package tells about the code of others in its pages: their licences, and a list for audits. */

import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

/** A package whose code is built into the pages, as Vite's `build.license` tells it. */
export interface BuiltIn {
  readonly name: string;
  readonly version: string;
  /** By SPDX. */
  readonly identifier: string;
  /** The text that goes with its code. */
  readonly text: string;
}

/** Packages that bring no text of their licence, and a neighbour of the same holder that does. */
const NEIGHBOURS: Readonly<Record<string, string>> = {
  "react-remove-scroll-bar": "react-remove-scroll",
};

/** Reads what Vite wrote. Throws where a licence or the text of it is missing. */
export async function readBuiltIn(written: string, modules: string): Promise<readonly BuiltIn[]> {
  const entries = JSON.parse(written) as readonly (Omit<BuiltIn, "text"> & { text?: string })[];

  return Promise.all(
    entries.map(async ({ name, version, identifier, text }) => {
      const found = text || (await textIn(path.join(modules, NEIGHBOURS[name] ?? name)));
      if (identifier && found) return { name, version, identifier, text: found };
      throw new Error(`${name} is built into the pages and has no text of its licence.`);
    }),
  );
}

/** Texts of licences and notices in a folder, else the page that holds one. */
async function textIn(folder: string): Promise<string> {
  const names = (await readdir(folder)).toSorted();
  const meant = names.filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  const read = (name: string): Promise<string> => readFile(path.join(folder, name), "utf8");
  const texts = await Promise.all(meant.map(read));
  const page = names.find((name) => /^readme/i.test(name));
  if (texts.length === 0 && page !== undefined) texts.push(licenceOn(await read(page)));

  return texts.map((text) => text.trim()).join("\n\n");
}

/** The licence that a page ends with. Pure. A link to one is none. */
export function licenceOn(page: string): string {
  const [, part = ""] = page.split(/^#+ *(?:mit )?licen[cs]e.*$/im);

  return /permission is hereby granted/i.test(part) ? part.trim() : "";
}

/** The page of all licences; packages with one text share it. Pure. */
export function licencePage(packages: readonly BuiltIn[]): string {
  const byText = Map.groupBy(packages, ({ text }) => text);
  const parts = [...byText].map(([text, all]) => {
    const names = all.map(({ name, version, identifier }) => `${name} ${version} (${identifier})`);
    const indented = text.replace(/\r\n?/g, "\n").replace(/^(?=.)/gm, "    ");
    return `## ${[...new Set(names)].join(", ")}\n\n${indented}\n`;
  });
  const intro =
    "# Code of others in the pages of this package\n\n" +
    "Each part has its own licence. `sbom.cdx.json` lists the same packages for programs.\n";

  return [intro, ...parts].join("\n");
}

/** The same packages as CycloneDX 1.6, which scanners read. Pure; no date, so that it is stable. */
export function billOf(
  owner: { readonly name: string; readonly version: string },
  packages: readonly BuiltIn[],
): string {
  const components = [...Map.groupBy(packages, addressOf)].map(([purl, [one]]) => ({
    type: "library",
    "bom-ref": purl,
    name: one!.name,
    version: one!.version,
    purl,
    licenses: [
      /[ ()]/.test(one!.identifier)
        ? { expression: one!.identifier }
        : { license: { id: one!.identifier } },
    ],
  }));
  const purl = addressOf(owner);
  const bill = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: { type: "library", ...owner, purl, "bom-ref": purl } },
    components,
  };

  return `${JSON.stringify(bill, null, 2)}\n`;
}

function addressOf({ name, version }: { name: string; version: string }): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}
