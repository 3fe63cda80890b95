import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { newId } from "../kernel/ids.ts";
import { type Logger, silentLogger } from "../kernel/logger.ts";
import { Database } from "./database.ts";
import { applicationName, ProcessLease } from "./processes.ts";
import { testDatabase } from "./test-database.ts";

test("a process that stops in good order warns of no lost session; one that is cut does", async () => {
  const stored = await testDatabase();
  onTestFinished(() => stored[Symbol.asyncDispose]());
  const warnings: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (_, words) => void warnings.push(words) };
  const id = newId("process");
  const name = applicationName(id);
  const database = await Database.open({ url: stored.url, applicationName: name, logger });
  onTestFinished(() => database.close());
  const lease = new ProcessLease({ database, id, appVersion: "test", logger });
  await lease.start();
  const other = await database.connectSession();
  const cut = new Promise<void>((resolve) => other.once("end", () => resolve()));

  await lease.stop();
  await setImmediate();
  expect(warnings).toEqual([]);

  const pid = (other as unknown as { processID: number }).processID;
  await stored.database.query({ text: "select pg_terminate_backend($1)" }, [pid]);
  await cut;
  expect(warnings).toContain("database session lost");
});
