import { rm } from "node:fs/promises";
import { join } from "node:path";
import { onDisk, readJson, writeWhole } from "./files.ts";
import type { TreeEntry } from "./listing.ts";
import type { Residue } from "./owned-changes.ts";
import type { PathKey } from "./paths.ts";

/** That the setup of a tree is done, and what it left that is neither ignored nor in the commit. */
export interface SetupRecord {
  readonly commit: string;
  readonly residue: Residue;
}

/** As it is written: paths as base64, since they may be no text. */
interface StoredSetup {
  readonly commit: string;
  readonly residue: readonly (readonly [string, TreeEntry | "missing"])[];
}

/** The file beside a tree that says that its setup is done. */
export class SetupFile {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(): Promise<SetupRecord | undefined> {
    const stored = await readJson<StoredSetup>(this.#path);
    if (!stored) return undefined;
    const residue = stored.residue.map(([path, entry]) => [fromBase64(path), entry] as const);
    return { commit: stored.commit, residue: new Map(residue) };
  }

  async write({ commit, residue }: SetupRecord): Promise<void> {
    const stored: StoredSetup = {
      commit,
      residue: [...residue].map(([key, entry]) => [toBase64(key), entry] as const),
    };
    await onDisk(this.#folder, () => writeWhole(this.#path, JSON.stringify(stored)));
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
  }

  get #path(): string {
    return join(this.#folder, "setup.json");
  }
}

function toBase64(key: PathKey): string {
  return Buffer.from(key, "latin1").toString("base64");
}

function fromBase64(path: string): PathKey {
  return Buffer.from(path, "base64").toString("latin1") as PathKey;
}
