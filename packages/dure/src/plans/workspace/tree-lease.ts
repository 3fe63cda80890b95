import { rm } from "node:fs/promises";
import { join } from "node:path";
import { DureError } from "../../kernel/errors.ts";
import { onDisk, readJson, writeWhole } from "./files.ts";

/**
 * Which process works in a tree. The higher epoch wins: it is the database that gives epochs out.
 */
export interface TreeLease {
  readonly run: string;
  readonly processId: string;
  readonly epoch: number;
}

/** The file beside a tree that names the process which works in it. */
export class LeaseFile {
  readonly #folder: string;
  readonly #port: string;

  constructor(folder: string, port: string) {
    this.#folder = folder;
    this.#port = port;
  }

  /** Throws `TREE_LEASED`. */
  async take(lease: TreeLease): Promise<void> {
    const holder = await this.holder();
    if (holder && isSame(holder, lease)) return;
    if (holder && holder.epoch >= lease.epoch) {
      const process = `process ${holder.processId} (epoch ${holder.epoch})`;
      throw new DureError("TREE_LEASED", `The tree of port ${this.#port} is held by ${process}.`, {
        class: "conflict",
        hint: "That process works on this run; this one must take the run over first.",
      });
    }
    await onDisk(this.#folder, () => writeWhole(this.#path, JSON.stringify(lease)));
  }

  async holder(): Promise<TreeLease | undefined> {
    return readJson<TreeLease>(this.#path);
  }

  async release(lease: TreeLease): Promise<void> {
    const holder = await this.holder();
    if (holder?.processId === lease.processId) await rm(this.#path, { force: true });
  }

  get #path(): string {
    return join(this.#folder, "lease.json");
  }
}

function isSame(one: TreeLease, other: TreeLease): boolean {
  return one.processId === other.processId && one.run === other.run && one.epoch === other.epoch;
}
