import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, test } from "vitest";
import { startBank, type Bank, type BankOptions } from "./bank.ts";
import { bankClient, BankError } from "./client.ts";

const TO_HONG = { to: "홍길동", amount: 50_000 };
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).toReversed()) await cleanUp();
});

async function aBank(options?: BankOptions): Promise<Bank> {
  const bank = await startBank(options);
  cleanups.push(() => bank.stop());
  return bank;
}

async function aFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "bank-"));
  cleanups.push(() => rm(folder, { recursive: true }));
  return join(folder, "bookings.ndjson");
}

function post(
  bank: Bank,
  body: unknown,
  headers: Record<string, string> = { "idempotency-key": "k1" },
): Promise<Response> {
  return fetch(`${bank.url}/transfers`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

async function thrownBy(promise: Promise<unknown>): Promise<BankError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof BankError)) throw new Error(`Expected a BankError, got ${String(error)}.`);
  return error;
}

describe("the bank over HTTP", () => {
  test("books once per key and gives the same answer again", async () => {
    const bank = await aBank();

    const first = await post(bank, { ...TO_HONG, memo: "생일", date: "2027-03-05" });
    const second = await post(bank, { ...TO_HONG, memo: "생일", date: "2027-03-05" });

    expect(first.status).toBe(201);
    const answer = await first.json();
    expect(answer).toEqual({ transaction_id: "tx_000001", status: "booked" });
    expect(second.status).toBe(201);
    expect(await second.json()).toEqual(answer);
    expect(await (await fetch(`${bank.url}/transfers`)).json()).toEqual([
      { ...TO_HONG, memo: "생일", date: "2027-03-05", key: "k1", ...(answer as object) },
    ]);
  });

  test("books one transfer for a hundred requests at once under one key, another for another key", async () => {
    const bank = await aBank({ faults: [{ kind: "delay", when: "before", ms: 20, times: 50 }] });

    await Promise.all(Array.from({ length: 100 }, () => post(bank, TO_HONG)));
    await post(bank, TO_HONG, { "idempotency-key": "k2" });

    expect(bank.bookings().map(({ key }) => key)).toEqual(["k1", "k2"]);
  });

  test("tells of a key whether it was booked", async () => {
    const bank = await aBank();
    await post(bank, TO_HONG, { "idempotency-key": "a/b" });

    const found = await fetch(`${bank.url}/transfers/a%2Fb`);
    expect([found.status, await found.json()]).toEqual([
      200,
      { ...TO_HONG, key: "a/b", transaction_id: "tx_000001", status: "booked" },
    ]);
    const missing = await fetch(`${bank.url}/transfers/other`);
    expect([missing.status, await missing.json()]).toEqual([
      404,
      { code: "NOT_FOUND", message: expect.any(String) },
    ]);
  });

  test("refuses for its three reasons, keeps to the refusal, and books nothing", async () => {
    const bank = await aBank({ accounts: { balance: 60_000, limit: 100_000 } });
    const order = async (key: string, body: unknown) => {
      const response = await post(bank, body, { "idempotency-key": key });
      return [response.status, ((await response.json()) as { code: string }).code];
    };

    expect(await order("a", { to: "없는사람", amount: 1 })).toEqual([422, "UNKNOWN_ACCOUNT"]);
    expect(await order("b", { to: "홍길동", amount: 100_001 })).toEqual([422, "LIMIT_EXCEEDED"]);
    expect(await order("c", { to: "홍길동", amount: 60_001 })).toEqual([422, "INSUFFICIENT_FUNDS"]);
    expect(await order("c", { to: "홍길동", amount: 60_001 })).toEqual([422, "INSUFFICIENT_FUNDS"]);
    expect(bank.bookings()).toEqual([]);
    expect((await fetch(`${bank.url}/transfers/c`)).status).toBe(404);
    await order("d", { to: "홍길동", amount: 60_000 });
    expect(await order("e", { to: "홍길동", amount: 1 })).toEqual([422, "INSUFFICIENT_FUNDS"]);
  });

  test("says beforehand what it would answer and what it goes by, and books nothing", async () => {
    const bank = await aBank({ accounts: { balance: 60_000, limit: 100_000 } });
    const look = async (body: unknown) => {
      const response = await fetch(`${bank.url}/previews`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return [response.status, await response.json()];
    };
    const seen = { balance: 60_000, limit: 100_000 };

    expect(await look(TO_HONG)).toEqual([200, { possible: true, ...seen }]);
    expect(await look({ ...TO_HONG, amount: 60_001 })).toEqual([
      200,
      { possible: false, code: "INSUFFICIENT_FUNDS", ...seen },
    ]);
    expect(await look({ to: "없는사람", amount: 1 })).toEqual([
      200,
      { possible: false, code: "UNKNOWN_ACCOUNT", ...seen },
    ]);
    expect((await look({ to: "홍길동" }))[0]).toBe(400);
    expect(bank.bookings()).toEqual([]);
    await post(bank, TO_HONG);
    expect(await look(TO_HONG)).toMatchObject([200, { possible: false, balance: 10_000 }]);
  });

  test("goes by what has changed meanwhile", async () => {
    const bank = await aBank();

    bank.changeAccounts({ unknown: ["홍길동"] });

    expect((await post(bank, TO_HONG)).status).toBe(422);
  });

  test("knows only the accounts that it was given, if it was given any", async () => {
    const bank = await aBank({ accounts: { known: ["김철수"] } });

    expect((await post(bank, TO_HONG, { "idempotency-key": "a" })).status).toBe(422);
    expect((await post(bank, { to: "김철수", amount: 1 }, { "idempotency-key": "b" })).status).toBe(
      201,
    );
  });

  test("does not book another transfer under a key that is taken", async () => {
    const bank = await aBank();
    await post(bank, TO_HONG);

    const response = await post(bank, { ...TO_HONG, amount: 1 });

    expect([response.status, await response.json()]).toEqual([
      422,
      { code: "KEY_REUSED", message: expect.any(String) },
    ]);
    expect(bank.bookings()).toHaveLength(1);
  });

  test.each([
    [{ to: "", amount: 1 }],
    [{ to: "홍길동" }],
    [{ amount: 1 }],
    [{ ...TO_HONG, amount: 0 }],
    [{ ...TO_HONG, amount: -1 }],
    [{ ...TO_HONG, amount: 1.5 }],
    [{ ...TO_HONG, amount: "50000" }],
    [{ ...TO_HONG, amount: 2 ** 60 }],
    [{ ...TO_HONG, date: "2027-02-30" }],
    [{ ...TO_HONG, date: "내일" }],
    [{ ...TO_HONG, memo: 5 }],
    [{ ...TO_HONG, extra: true }],
    [[]],
    ["null"],
    ["{"],
    [""],
  ])("does not understand %j", async (body) => {
    const bank = await aBank();

    const response = await post(bank, body);

    expect([response.status, await response.json()]).toEqual([
      400,
      { code: "INVALID_REQUEST", message: expect.any(String) },
    ]);
    expect(bank.bookings()).toEqual([]);
  });

  test("asks for a key", async () => {
    const bank = await aBank();

    expect((await post(bank, TO_HONG, {})).status).toBe(400);
    expect((await post(bank, TO_HONG, { "idempotency-key": "x".repeat(256) })).status).toBe(400);
    expect((await fetch(`${bank.url}/nowhere`)).status).toBe(404);
  });
});

describe("the client", () => {
  test("takes only the bank's own word for a no, not any 404", async () => {
    const proxy = createServer(
      (_request, response) =>
        void response.writeHead(404, { "content-type": "text/html" }).end("<h1>no such page</h1>"),
    ).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const client = bankClient(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    const bank = await aBank();

    const answers = [
      await client.find("k"),
      await bankClient(`${bank.url}/elsewhere`).find("k"),
      await bankClient(bank.url).find("k"),
    ];
    proxy.close();

    expect(answers.map(({ outcome }) => outcome)).toEqual(["unknown", "unknown", "not_happened"]);
  });

  test("tells booked from refused", async () => {
    const bank = await aBank();
    const client = bankClient(bank.url);

    expect(await client.transfer(TO_HONG, { key: "a" })).toEqual({
      status: "booked",
      transactionId: "tx_000001",
    });
    expect(await client.transfer({ to: "없는사람", amount: 1 }, { key: "b" })).toEqual({
      status: "refused",
      code: "UNKNOWN_ACCOUNT",
      message: expect.any(String),
    });
    expect(await client.transfer({ to: "", amount: 1 }, { key: "c" })).toMatchObject({
      status: "refused",
      code: "INVALID_REQUEST",
    });
    expect(await client.find("a")).toEqual({ outcome: "happened", transactionId: "tx_000001" });
    expect(await client.find("b")).toEqual({ outcome: "not_happened" });
  });

  test("claims nothing of a preview that the bank does not answer plainly", async () => {
    const bank = await aBank({
      faults: [
        { kind: "status", when: "before", on: "preview" },
        { kind: "cut", when: "before", on: "preview" },
      ],
    });
    const client = bankClient(bank.url);

    expect(await thrownBy(client.preview(TO_HONG))).toMatchObject({ outcome: "unknown" });
    expect(await thrownBy(client.preview(TO_HONG))).toMatchObject({ outcome: "unknown" });
    expect(await thrownBy(bankClient(`${bank.url}/elsewhere`).preview(TO_HONG))).toMatchObject({
      outcome: "unknown",
    });
    expect(await client.preview(TO_HONG)).toMatchObject({ possible: true, limit: 10_000_000 });
  });

  test("knows that nothing was sent when no bank listens", async () => {
    const bank = await startBank();
    await bank.stop();
    const client = bankClient(bank.url);

    expect(await thrownBy(client.transfer(TO_HONG, { key: "a" }))).toMatchObject({
      outcome: "not_sent",
      code: "BANK_UNREACHABLE",
    });
    expect(await client.find("a")).toMatchObject({ outcome: "unknown" });
  });

  test("claims neither when a signal ends the wait, and sends nothing after one", async () => {
    const bank = await aBank({ faults: [{ kind: "delay", when: "after", ms: 60_000 }] });
    const client = bankClient(bank.url);
    const abort = new AbortController();

    const pending = thrownBy(client.transfer(TO_HONG, { key: "a", signal: abort.signal }));
    await expect.poll(() => bank.bookings().length).toBe(1);
    abort.abort(new Error("stopped"));

    expect(await pending).toMatchObject({ outcome: "unknown", code: "BANK_UNCLEAR" });
    await expect(client.transfer(TO_HONG, { key: "b", signal: abort.signal })).rejects.toThrow(
      "stopped",
    );
    expect(bank.bookings()).toHaveLength(1);
  });

  test("waits no longer than its timeout", async () => {
    const bank = await aBank({
      faults: [
        { kind: "delay", when: "before", ms: 60_000 },
        { kind: "delay", when: "before", ms: 60_000, on: "probe" },
      ],
    });
    const client = bankClient(bank.url, { timeoutMs: 100 });

    expect(await thrownBy(client.transfer(TO_HONG, { key: "a" }))).toMatchObject({
      outcome: "unknown",
    });
    expect(await client.find("a")).toMatchObject({ outcome: "unknown" });
  });
});

describe("faults", () => {
  test.each([
    [{ kind: "status", when: "before" } as const, "not_happened"],
    [{ kind: "status", when: "after", status: 500 } as const, "happened"],
    [{ kind: "cut", when: "before" } as const, "not_happened"],
    [{ kind: "cut", when: "after" } as const, "happened"],
  ])(
    "%j leaves the client unsure, the probe knows %s, and the same key books once",
    async (fault, outcome) => {
      const bank = await aBank();
      const client = bankClient(bank.url);
      bank.addFaults(fault);

      expect(await thrownBy(client.transfer(TO_HONG, { key: "a" }))).toMatchObject({
        outcome: "unknown",
      });
      expect(await client.find("a")).toMatchObject({ outcome });
      expect(await client.transfer(TO_HONG, { key: "a" })).toMatchObject({ status: "booked" });
      expect(bank.bookings()).toHaveLength(1);
    },
  );

  test("a request that was given up may still be travelling and is booked later", async () => {
    const bank = await aBank({ faults: [{ kind: "delay", when: "before", ms: 300 }] });
    const client = bankClient(bank.url, { timeoutMs: 100 });

    expect(await thrownBy(client.transfer(TO_HONG, { key: "a" }))).toMatchObject({
      outcome: "unknown",
    });
    expect(await client.find("a")).toEqual({ outcome: "not_happened" });
    await expect.poll(() => client.find("a")).toMatchObject({ outcome: "happened" });
  });

  test("a bank that ignores keys books every request and still answers for the key with the first", async () => {
    const bank = await aBank({ faults: [{ kind: "ignore_keys", times: "always" }] });
    const client = bankClient(bank.url);

    const first = await client.transfer(TO_HONG, { key: "a" });
    const second = await client.transfer(TO_HONG, { key: "a" });

    expect([first, second]).toEqual([
      { status: "booked", transactionId: "tx_000001" },
      { status: "booked", transactionId: "tx_000002" },
    ]);
    expect(bank.bookings()).toHaveLength(2);
    expect(await client.find("a")).toEqual({ outcome: "happened", transactionId: "tx_000001" });
  });

  test.each(["status", "cut"] as const)("a probe may fail as well (%s)", async (kind) => {
    const bank = await aBank({ faults: [{ kind, when: "before", on: "probe" }] });
    const client = bankClient(bank.url);

    expect(await client.find("a")).toMatchObject({ outcome: "unknown" });
    expect(await client.find("a")).toEqual({ outcome: "not_happened" });
  });

  test("are set, shown and removed over HTTP, once or as often as they say", async () => {
    const bank = await aBank();
    const faults = (method: string, body?: unknown) =>
      fetch(`${bank.url}/faults`, {
        method,
        ...(body !== undefined && {
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      });

    expect((await faults("POST", { kind: "status", when: "before", times: 2 })).status).toBe(201);
    expect(
      (await faults("POST", [{ kind: "delay", when: "after", ms: 1, times: "always" }])).status,
    ).toBe(201);
    expect((await faults("POST", { kind: "flood" })).status).toBe(400);
    expect(
      await Promise.all([1, 2, 3].map(async () => (await post(bank, TO_HONG)).status)).then(
        (statuses) => statuses.sort((a, b) => a - b),
      ),
    ).toEqual([201, 503, 503]);
    expect(await (await faults("GET")).json()).toEqual({
      faults: [{ kind: "delay", when: "after", ms: 1, times: "always", on: "transfer" }],
    });
    expect((await faults("DELETE")).status).toBe(204);
    expect(bank.faults()).toEqual([]);
  });
});

describe("the file", () => {
  test("keeps bookings, refusals and the balance over a restart, and drops a torn last line", async () => {
    const file = await aFile();
    const accounts = { balance: 60_000 };
    const first = await startBank({ file, accounts });
    await bankClient(first.url).transfer(TO_HONG, { key: "a" });
    await bankClient(first.url).transfer({ to: "홍길동", amount: 20_000 }, { key: "b" });
    await first.stop();
    await appendFile(file, '{"key":"c","booking":{"to":"홍');

    const second = await aBank({ file, accounts: { balance: 1_000_000 } });
    const client = bankClient(second.url);
    expect(await client.transfer(TO_HONG, { key: "a" })).toEqual({
      status: "booked",
      transactionId: "tx_000001",
    });
    expect(await client.transfer({ to: "홍길동", amount: 20_000 }, { key: "b" })).toMatchObject({
      status: "refused",
      code: "INSUFFICIENT_FUNDS",
    });
    expect(await client.find("c")).toEqual({ outcome: "not_happened" });
    expect(await client.transfer(TO_HONG, { key: "c" })).toEqual({
      status: "booked",
      transactionId: "tx_000002",
    });
    for (const line of (await readFile(file, "utf8")).trim().split("\n")) JSON.parse(line);
  });

  test("survives SIGKILL of the bank's process", async () => {
    const file = await aFile();
    const first = await aProcess(file);
    await bankClient(first.url).transfer(TO_HONG, { key: "a" });
    first.child.kill("SIGKILL");
    await once(first.child, "exit");

    const second = await aProcess(file);

    expect(await bankClient(second.url).find("a")).toEqual({
      outcome: "happened",
      transactionId: "tx_000001",
    });
    second.child.kill("SIGTERM");
    expect(await once(second.child, "exit")).toEqual([0, null]);
  });
});

async function aProcess(file: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts"), "--file", file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  cleanups.push(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return { child, url: (JSON.parse(line) as { url: string }).url };
}
