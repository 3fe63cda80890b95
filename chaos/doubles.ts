import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Booking } from "../examples/transfer/bank/ledger.ts";
import type { FaultInput } from "../examples/transfer/bank/faults.ts";
import type { Journal } from "./journal.ts";
import type { ModelCall, ProviderFault } from "./provider.ts";

export interface BankReport {
  readonly bookings: readonly Booking[];
  readonly orders: number;
  readonly keysHonoured: number;
  readonly probes: number;
  readonly faults: number;
}

/** A double that runs apart: the bank or the provider. */
export class Double implements AsyncDisposable {
  readonly host = "127.0.0.1";
  readonly port: number;
  readonly #url: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
    this.port = Number(new URL(url).port);
  }

  static async start(
    name: "bank" | "provider",
    journal: Journal,
    args: readonly string[] = [],
  ): Promise<Double> {
    const file = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
    const child = spawn(process.execPath, ["--conditions=dure-source", file, ...args], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const ready = Promise.withResolvers<string>();
    createInterface({ input: child.stdout }).on("line", (line) => {
      journal.note(name, line);
      if (line.startsWith('{"url"')) ready.resolve((JSON.parse(line) as { url: string }).url);
    });
    child.once("exit", (code) =>
      ready.reject(new Error(`the ${name} ended with ${code} before it was ready`)),
    );
    return new Double(child, await ready.promise);
  }

  async suffer(fault: FaultInput | { kind: ProviderFault; times: number }): Promise<void> {
    await fetch(`${this.#url}/faults`, { method: "POST", body: JSON.stringify(fault) });
  }

  async report<Report extends BankReport | readonly ModelCall[]>(): Promise<Report> {
    return (await (await fetch(`${this.#url}/report`)).json()) as Report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin?.end();
  }
}
