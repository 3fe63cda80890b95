import { readFileSync } from "node:fs";

/** Of the package, as in its package.json. */
export const DURE_VERSION: string = (
  JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  }
).version;
