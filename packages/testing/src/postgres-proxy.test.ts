import pg from "pg";
import { expect, test } from "vitest";
import { testDatabaseUrl } from "../../dure/src/durable/test-database.ts";
import { PostgresProxy } from "./postgres-proxy.ts";

const ADD = { name: "add", text: "insert into noted (value) values ($1)" };

/** A proxied database with one table, and a way around the proxy. */
class Proxied implements AsyncDisposable {
  readonly proxy: PostgresProxy;
  readonly #direct: pg.Client;
  readonly #stack: AsyncDisposableStack;

  private constructor(proxy: PostgresProxy, direct: pg.Client, stack: AsyncDisposableStack) {
    this.proxy = proxy;
    this.#direct = direct;
    this.#stack = stack;
  }

  static async open(): Promise<Proxied> {
    await using stack = new AsyncDisposableStack();
    const { url } = stack.use(await testDatabaseUrl());
    const proxy = stack.use(await PostgresProxy.start(url));
    const direct = await connect(url);
    stack.defer(() => direct.end());
    await direct.query("create table noted (value text)");
    return new Proxied(proxy, direct, stack.move());
  }

  async client(): Promise<pg.Client> {
    const client = await connect(this.proxy.url);
    this.#stack.defer(() => client.end().catch(() => {}));
    return client;
  }

  async noted(): Promise<string[]> {
    const { rows } = await this.#direct.query<{ value: string }>(
      "select value from noted order by 1",
    );
    return rows.map(({ value }) => value);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  return client;
}

test("passes what is not stopped", async () => {
  await using t = await Proxied.open();
  const client = await t.client();

  await client.query({ ...ADD, values: ["한글"] });

  expect((await client.query("select 1 + 1 as two")).rows).toEqual([{ two: 2 }]);
  expect(await t.noted()).toEqual(["한글"]);
});

test("stops before the server sees a statement, chosen by its parameters, and lets it go on", async () => {
  await using t = await Proxied.open();
  const client = await t.client();
  const stop = t.proxy.stop(
    "before",
    ({ name, parameters }) => name === "add" && parameters.includes("두"),
  );

  await client.query({ ...ADD, values: ["하나"] });
  const second = client.query({ ...ADD, values: ["두울"] });
  expect(await stop.reached).toMatchObject({ name: "add", sql: ADD.text });
  expect(await t.noted()).toEqual(["하나"]);
  stop.release();
  await second;

  expect(await t.noted()).toEqual(["두울", "하나"]);
});

test("stops after the commit, before the client hears of it", async () => {
  await using t = await Proxied.open();
  const client = await t.client();
  const stop = t.proxy.stop("after", ({ name }) => name === "add");
  let answered = false;

  const adding = client.query({ ...ADD, values: ["a"] }).then(() => (answered = true));
  await stop.reached;

  expect(await t.noted()).toEqual(["a"]);
  expect(answered).toBe(false);
  stop.release();
  await adding;
});

test.each([
  ["Bind, which changes nothing", "B", []],
  ["Sync, whose commit is not reported", "S", ["a"]],
] as const)("cuts behind a client's %s", async (_what, type, expected) => {
  await using t = await Proxied.open();
  const client = await t.client();
  const cut = t.proxy.cut(
    1,
    (statement, message) =>
      statement.name === "add" && message.from === "client" && message.type === type,
  );

  await expect(client.query({ ...ADD, values: ["a"] })).rejects.toThrow();
  await cut.reached;

  await expect.poll(() => t.noted()).toEqual(expected);
  const again = await t.client();
  expect((await again.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
});
