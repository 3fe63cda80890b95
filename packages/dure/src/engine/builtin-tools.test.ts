import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { calculate, clockTool, isPrivate, webFetch } from "./builtin-tools.ts";
import type { ToolContext } from "./tool.ts";

const context: ToolContext = { key: "k", attempt: 1, session: "s", turn: "t", agent: "a", signal: new AbortController().signal };

test.for([
  ["1 + 2 * 3", 7],
  ["(50,000 - 1,500) * 3", 145_500],
  ["-2 ^ 2", -4],
  ["2 ^ 3 ^ 2", 512],
  ["2 ^ -1", 0.5],
  ["7 % 4", 3],
  [".5 + 0.25", 0.75],
] as const)("%s is %d", ([expression, value]) => {
  expect(calculate(expression)).toBe(value);
});

test.for(["", "1 +", "2 2", "(1", "1)", "process.exit()", "1 / 0", "0x10", "1,00"])("%j is refused as an expression", (expression) => {
  expect(() => calculate(expression)).toThrow(expect.objectContaining({ code: "EXPRESSION_INVALID" }));
});

test("sums of products are what they are in the language", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: -99, max: 99 }), fc.integer({ min: -99, max: 99 })), { minLength: 1 }), (pairs) => {
      expect(calculate(pairs.map(([a, b]) => `${a} * ${b}`).join(" + "))).toBe(pairs.map(([a, b]) => a * b).reduce((sum, product) => sum + product));
    }),
  );
});

test("the clock tells date, time and weekday in a zone", async () => {
  const tool = clockTool({ now: () => Date.UTC(2026, 0, 31, 15, 30, 5) });

  expect(await tool.execute({ timeZone: "Asia/Seoul" }, context, { signal: context.signal })).toEqual({ iso: "2026-02-01T00:30:05", weekday: "Sunday", timeZone: "Asia/Seoul" });
});

test.for(["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "0.0.0.0", "::1", "::ffff:127.0.0.1", "fd00::1", "fe80::1", "100.64.0.1"])("%s is private", (address) => {
  expect(isPrivate(address)).toBe(true);
});

test.for(["1.1.1.1", "8.8.8.8", "2606:4700::1111", "172.32.0.1"])("%s is public", (address) => {
  expect(isPrivate(address)).toBe(false);
});

test.for(["http://127.0.0.1:1/", "http://[::1]/", "http://localhost:1/", "http://2130706433/", "http://[::ffff:7f00:1]/"])("a page at %s is not read", async (url) => {
  await expect(webFetch().execute({ url }, context, { signal: context.signal })).rejects.toMatchObject({ code: "WEB_ADDRESS_PRIVATE" });
});

test("an allowed host is read as text, and its redirect inside is refused", async () => {
  const server = createServer((request, response) => {
    if (request.url === "/inside") response.writeHead(302, { location: "http://127.0.0.1:1/secret" }).end();
    else response.writeHead(200, { "content-type": "text/html" }).end("<style>x{}</style><h1>안녕</h1>\n<p>hello</p>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fetchPage = webFetch({ allowHosts: [host] });
  try {
    expect(await fetchPage.execute({ url: `http://${host}/` }, context, { signal: context.signal })).toEqual({ status: 200, type: "text/html", text: "안녕 hello" });
    await expect(fetchPage.execute({ url: `http://${host}/inside` }, context, { signal: context.signal })).rejects.toMatchObject({ code: "WEB_ADDRESS_PRIVATE" });
  } finally {
    server.close();
  }
});
