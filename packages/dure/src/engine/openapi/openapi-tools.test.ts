import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { once } from "node:events";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../kernel/json.ts";
import { jsonSchemaOf } from "../../models/json-schema.ts";
import { offlineModel } from "../../models/offline.ts";
import { assertToolNames, chatAgent } from "../agent/agent.ts";
import type { AnyTool } from "../agent/tool.ts";
import { defineService, flow } from "../service/service.ts";
import { startTestEngine } from "../test-engine.ts";
import { openapiTools, type OpenApiOptions } from "./openapi-tools.ts";
import type { LeftOutOperation } from "./operations.ts";

/** Documents that others have published, as a package. */
const require = createRequire(import.meta.url);
const EXAMPLES = path.dirname(require.resolve("@readme/oas-examples/package.json"));
const published = async (name: string): Promise<JsonObject> =>
  JSON.parse(await readFile(path.join(EXAMPLES, name), "utf8")) as JsonObject;

interface Heard {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A server that notes what it is asked, and answers as told. */
async function serverThat(
  answer: (heard: Heard) => { status?: number; body?: Json; headers?: Record<string, string> },
) {
  const heard: Heard[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url = "", headers } = request;
    const one = { method, url, headers, body: await text(request) };
    heard.push(one);
    const { status = 200, body, headers: sent = {} } = answer(one);
    response.writeHead(status, { "content-type": "application/json", ...sent });
    response.end(body === undefined ? "" : JSON.stringify(body));
  };
  return { heard, ...(await listening((request, response) => void serve(request, response))) };
}

async function listening(serve: RequestListener) {
  const server = createServer(serve).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function callOf(made: AnyTool | undefined, input: object): Promise<unknown> {
  const { signal } = new AbortController();
  const context = { key: "key-1", attempt: 1, signal, session: "s", turn: "t", agent: "a" };
  return Promise.resolve(made!.execute(made!.inputSchema.parse(input), context, { signal }));
}

const OPERATION = { summary: "Does it.", responses: {} };
const documentOf = (paths: object, more: object = {}): object => ({
  openapi: "3.1.0",
  info: { title: "t", version: "1" },
  servers: [{ url: "https://api.example/v1" }],
  paths,
  ...more,
});

describe("a published document", () => {
  test("of the pet shop, in 3.0, gives its operations as tools that call it", async () => {
    await using shop = await serverThat(({ url }) =>
      url.includes("findByTags") ? { body: [{ id: 7 }] } : { body: { status: "ok" } },
    );
    const document = await published("3.0/json/petstore.json");
    const left: string[] = [];
    const tools = await openapiTools(document, {
      baseUrl: `${shop.url}/v2`,
      auth: { header: "api_key", value: "secret-key" },
      onLeftOut: ({ operation, because }) => void left.push(`${operation}: ${because}`),
    });

    const found = await callOf(tools["findPetsByTags"], { tags: ["a b", "c"] });
    await callOf(tools["updatePetWithForm"], { petId: 7, body: { name: "Bo & Co" } });
    await callOf(tools["addPet"], { body: { name: "Bo", photoUrls: ["https://a.example"] } });

    expect(left).toEqual(["uploadFile: its body is multipart/form-data"]);
    expect(found).toEqual([{ id: 7 }]);
    expect(shop.heard).toMatchObject([
      { method: "GET", url: "/v2/pet/findByTags?tags=a+b&tags=c" },
      { method: "POST", url: "/v2/pet/7", body: "name=Bo+%26+Co" },
      { method: "POST", url: "/v2/pet", body: '{"name":"Bo","photoUrls":["https://a.example"]}' },
    ]);
    for (const { headers } of shop.heard) expect(headers["api_key"]).toBe("secret-key");
    expect([tools["getPetById"]!.effect, tools["addPet"]!.effect]).toEqual(["none", "once"]);
    expect(() => tools["placeOrder"]!.inputSchema.parse({ body: { quantity: "many" } })).toThrow(
      "quantity",
    );
  });

  test("of train journeys, in 3.1, gives arguments as its parameters and bodies say", async () => {
    const document = await published("3.1/json/train-travel.json");

    const tools = await openapiTools(document, { only: ["get-trips", "create-booking*"] });

    expect(Object.keys(tools)).toEqual(["get-trips", "create-booking", "create-booking-payment"]);
    expect(jsonSchemaOf(tools["get-trips"]!.inputSchema)).toMatchObject({
      properties: { origin: { type: "string", format: "uuid" }, bicycles: { type: "boolean" } },
      required: ["origin", "destination", "date"],
    });
  });

  test("gives tools that every provider takes, whichever one it is", async () => {
    let made = 0;
    for (const version of ["3.0", "3.1"]) {
      const folder = path.join(EXAMPLES, version, "json");
      for (const name of await readdir(folder, { recursive: true })) {
        if (!name.endsWith(".json") || name.includes("openapi-workshop")) continue;
        const left: LeftOutOperation[] = [];
        const document = await published(path.join(version, "json", name));
        const tools = await openapiTools(document, {
          baseUrl: "https://api.example",
          onLeftOut: (one) => void left.push(one),
        });

        made += Object.keys(tools).length;
        assertToolNames(tools, name);
        for (const { because } of left) expect(because).not.toBe("");
      }
    }
    expect(made).toBeGreaterThan(300);
  }, 60_000);
});

describe("a document that", () => {
  test.each<[string, object, OpenApiOptions, string]>([
    ["is none", { swagger: "2.0" }, {}, "no document of OpenAPI 3.0 or 3.1"],
    ["has no address", { openapi: "3.1.0", paths: { "/a": { get: OPERATION } } }, {}, "no address"],
    [
      "lacks what only names",
      documentOf({ "/a": { get: { operationId: "a" } } }),
      { only: ["b"] },
      'no operation "b"',
    ],
    [
      "holds a file to be sent",
      documentOf({
        "/a": { post: { operationId: "a", requestBody: { content: { "image/png": {} } } } },
      }),
      {},
      "a: its body is image/png",
    ],
    [
      "refers to nothing",
      documentOf({
        "/a": { get: { operationId: "a", parameters: [{ $ref: "#/components/parameters/x" }] } },
      }),
      {},
      "leads nowhere",
    ],
    [
      "refers to itself for ever",
      documentOf(
        {
          "/a": { get: { operationId: "a", parameters: [{ $ref: "#/components/parameters/x" }] } },
        },
        { components: { parameters: { x: { $ref: "#/components/parameters/x" } } } },
      ),
      {},
      "leads nowhere",
    ],
    [
      "refers to another document",
      documentOf({
        "/a": { get: { operationId: "a", parameters: [{ $ref: "http://127.0.0.1/x#/y" }] } },
      }),
      {},
      "refers to another document",
    ],
    [
      "would have a model set a header of the connection",
      documentOf({
        "/a": {
          get: {
            operationId: "a",
            parameters: [{ in: "header", name: "Host", schema: { type: "string" } }],
          },
        },
      }),
      {},
      "is not a caller's to set",
    ],
  ])("%s is refused with its reason", async (_name, document, options, because) => {
    await expect(openapiTools(document, options)).rejects.toMatchObject({
      code: "OPENAPI_INVALID",
      message: expect.stringContaining(because) as string,
    });
  });

  test("refers in a circle through members gives a tool whose schema does so too", async () => {
    const node = { type: "object", properties: { next: { $ref: "#/components/schemas/Node" } } };
    const body = {
      content: { "application/json": { schema: { $ref: "#/components/schemas/Node" } } },
    };
    const document = documentOf(
      { "/a": { post: { operationId: "a", requestBody: body } } },
      { components: { schemas: { Node: node } } },
    );

    const { a } = await openapiTools(document);

    expect(() => a!.inputSchema.parse({ body: { next: { next: {} } } })).not.toThrow();
    expect(() => a!.inputSchema.parse({ body: { next: { next: 1 } } })).toThrow();
  });

  test("is of 3.0 has its nullable and exclusive marks read as JSON Schema", async () => {
    const parameters = [
      { in: "query", name: "filter[size]", schema: { type: "integer", nullable: true } },
      { in: "query", name: "over", schema: { type: "number", minimum: 1, exclusiveMinimum: true } },
    ];
    const document = {
      ...documentOf({ "/a": { get: { operationId: "a", parameters } } }),
      openapi: "3.0.3",
    };

    const { a } = await openapiTools(document);

    expect(jsonSchemaOf(a!.inputSchema)).toMatchObject({
      properties: {
        filter_size_: { type: ["integer", "null"] },
        over: { type: "number", exclusiveMinimum: 1 },
      },
    });
  });

  test("was read from an address sends no key to another origin", async () => {
    const paths = { "/a": { get: { operationId: "a" } } };
    const document = documentOf(paths, { servers: [{ url: "https://evil.example" }] });
    await using server = await serverThat(() => ({ body: document as Json }));
    const auth = { bearer: "secret" };

    const made = openapiTools(`${server.url}/openapi.json`, { auth });

    await expect(made).rejects.toMatchObject({
      code: "OPENAPI_INVALID",
      message: `The document at ${server.url} names a server at https://evil.example.`,
    });
    const tools = await openapiTools(`${server.url}/openapi.json`, { auth, baseUrl: server.url });
    await callOf(tools["a"], {});
    expect(server.heard.at(-1)?.headers.authorization).toBe("Bearer secret");
  });

  test("is larger than 16 MB and never ends is not read to its end", async () => {
    await using server = await listening((_request, response) => {
      response.write("x".repeat(17_000_000)); // and no end
    });

    await expect(openapiTools(server.url)).rejects.toMatchObject({
      code: "OPENAPI_INVALID",
      message: expect.stringContaining("more than 16777216 bytes") as string,
    });
  });
});

describe("a call", () => {
  const parameters = [
    { in: "path", name: "id", required: true, schema: { type: "string" } },
    { in: "header", name: "Idempotency-Key", schema: { type: "string" } },
    { in: "header", name: "X-Note", schema: { type: "string" } },
  ];
  const pay = { operationId: "pay", parameters, requestBody: undefined };
  const document = documentOf({ "/orders/{id}/pay": { post: pay } });

  test("carries the key of its effect where the operation declares one, which no model sees", async () => {
    await using server = await serverThat(() => ({ status: 204 }));
    const tools = await openapiTools(document, { baseUrl: server.url });

    const answer = await callOf(tools["pay"], { id: "a/b", "X-Note": "a\r\nHost: evil" });

    expect(answer).toEqual({ status: 204 });
    expect(server.heard).toMatchObject([
      {
        url: "/orders/a%2Fb/pay",
        headers: { "idempotency-key": "key-1", "x-note": "a  Host: evil" },
      },
    ]);
    expect(tools["pay"]).toMatchObject({ effect: "once", recover: "replay" });
    expect(jsonSchemaOf(tools["pay"]!.inputSchema)["properties"]).not.toHaveProperty(
      "Idempotency-Key",
    );
  });

  test.each(["..", ".", ""])(
    "whose argument would lead out of its path (%j) is not sent",
    async (id) => {
      await using server = await serverThat(() => ({}));
      const tools = await openapiTools(document, { baseUrl: server.url });

      await expect(callOf(tools["pay"], { id })).rejects.toMatchObject({ sent: false });
      expect(server.heard).toEqual([]);
    },
  );

  test.each([
    [422, { sent: false, code: "OPENAPI_REFUSED" }],
    [409, { code: "OPENAPI_FAILED" }],
    [503, { code: "OPENAPI_FAILED" }],
  ])("that is answered %i fails with words, without the key", async (status, error) => {
    await using server = await serverThat(({ headers }) => ({
      status,
      body: { detail: `no stock, ${headers.authorization}` },
    }));
    const auth = { basic: { user: "dure", password: "pass-word" } };
    const tools = await openapiTools(document, { baseUrl: server.url, auth });

    const failed = await callOf(tools["pay"], { id: "1" }).catch((thrown: unknown) => thrown);

    expect(failed).toMatchObject({
      ...error,
      message: `POST /orders/{id}/pay answered ${status}: {"detail":"no stock, Basic [secret]"}`,
    });
    expect("sent" in (failed as object)).toBe("sent" in error);
  });

  test("is not redirected to another origin", async () => {
    await using other = await serverThat(() => ({}));
    await using server = await serverThat(() => ({
      status: 307,
      headers: { location: `${other.url}/x` },
    }));
    const tools = await openapiTools(document, { baseUrl: server.url, auth: { bearer: "k" } });

    await expect(callOf(tools["pay"], { id: "1" })).rejects.toMatchObject({
      code: "REDIRECT_REFUSED",
    });
    expect(other.heard).toEqual([]);
  });

  test("gets an answer that is cut at 1 MiB", async () => {
    await using server = await serverThat(() => ({ body: "x".repeat(2_000_000) }));
    const tools = await openapiTools(document, { baseUrl: server.url });

    const answer = (await callOf(tools["pay"], { id: "1" })) as string;

    expect(answer.length).toBeLessThan(1_100_000);
    expect(answer).toContain("[cut:");
  });

  test("without a value of its auth is an error when the tools are made", async () => {
    await expect(openapiTools(document, { auth: { bearer: undefined } })).rejects.toMatchObject({
      code: "OPENAPI_AUTH_MISSING",
    });
  });

  test("of an operation with an approval waits for a person's yes", async () => {
    await using server = await serverThat(() => ({ body: { paid: true } }));
    const tools = await openapiTools(document, { baseUrl: server.url, approvals: ["p*"] });
    const model = offlineModel("payer", ({ messages }) => {
      const isAnswered = messages.some(({ role }) => role === "tool");
      return isAnswered ? { text: "Asked." } : { toolCalls: [{ name: "pay", args: { id: "7" } }] };
    });
    const service = defineService({
      name: "desk",
      agents: { clerk: chatAgent({ name: "clerk", prompt: "Pay.", tools }) },
      flows: {
        DEFAULT: flow(async (turn) =>
          turn.done({ message: (await turn.agent("clerk", "…")).text }),
        ),
      },
    });
    await using t = await startTestEngine(service, { offline: [model] });

    const { done } = await t.say("pay 7");

    expect(done.error).toMatchObject({ code: "APPROVAL_PENDING" });
    expect(server.heard).toEqual([]);
  });
});

test("patterns of operations fit their ids, with a star for any letters", async () => {
  const ids = ["getOrder", "getOrders", "refund", "refundAll"];
  const paths = Object.fromEntries(ids.map((id) => [`/${id}`, { get: { operationId: id } }]));
  const found = async (only: string[]) =>
    Object.keys(await openapiTools(documentOf(paths), { only }));

  expect(await found(["getOrder"])).toEqual(["getOrder"]);
  expect(await found(["get*s"])).toEqual(["getOrders"]);
  expect(await found(["*"])).toEqual(ids);
  expect(await found(["r*f*d*"])).toEqual(["refund", "refundAll"]);
});

test("operations whose ids are one name when they are made safe have a name each", async () => {
  const ids = ["pay.now", "pay now", "pay_now", "x".repeat(100)];
  const paths = Object.fromEntries(ids.map((id, at) => [`/${at}`, { get: { operationId: id } }]));

  const names = Object.keys(await openapiTools(documentOf(paths)));

  expect(new Set(names).size).toBe(4);
  for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(names[0]).toBe("pay_now");
});
