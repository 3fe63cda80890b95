import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bankClient } from "./client.ts";
import { exampleBank, findOrStartBank } from "./start.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "dure-bank-"));
  file = path.join(folder, "bank", "bookings.ndjson");
});
afterEach(async () => {
  await kill(await findOrStartBank(file));
  await rm(folder, { recursive: true, force: true });
});

test("many who need the bank at once find one bank", async () => {
  const urls = await Promise.all(Array.from({ length: 5 }, () => findOrStartBank(file)));

  expect(new Set(urls).size).toBe(1);
  expect(await identity(urls[0]!)).toMatchObject({ service: "example-bank", file });
});

test("a bank that was killed is started again with its book, at the same address", async () => {
  const url = await findOrStartBank(file);
  await bankClient(url).transfer({ to: "홍길동", amount: 1_000 }, { key: "k1" });
  await kill(url);

  const again = await findOrStartBank(file);

  expect(again).toBe(url);
  expect(await bankClient(again).find("k1")).toEqual({
    outcome: "happened",
    transactionId: "tx_000001",
  });
});

test("BANK_URL names another bank, and none is started", async () => {
  expect(await exampleBank({ BANK_URL: "http://bank.example:1" })()).toBe("http://bank.example:1");
});

test("the book lies in the data folder of the team", async () => {
  const url = await exampleBank({ DURE_HOME: folder })();

  expect(await identity(url)).toMatchObject({ file });
});

async function identity(url: string): Promise<{ file: string; pid: number }> {
  return (await (await fetch(url)).json()) as { file: string; pid: number };
}

/** SIGKILL, and it is gone when this returns. */
async function kill(url: string): Promise<void> {
  const { pid } = await identity(url);
  process.kill(pid, "SIGKILL");
  await expect
    .poll(() =>
      fetch(url).then(
        () => "listens",
        () => "gone",
      ),
    )
    .toBe("gone");
}
