import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { calculate, clockToolOf, textOfHtml, webFetch } from "./builtin-tools.ts";
import { isPrivate } from "./public-web.ts";
import type { ToolContext } from "./tool.ts";

const context: ToolContext = {
  key: "k",
  attempt: 1,
  session: "s",
  turn: "t",
  agent: "a",
  signal: new AbortController().signal,
};

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

test.for(["", "1 +", "2 2", "(1", "1)", "process.exit()", "1 / 0", "0x10", "1,00"])(
  "%j is refused as an expression",
  (expression) => {
    expect(() => calculate(expression)).toThrow(
      expect.objectContaining({ code: "EXPRESSION_INVALID" }),
    );
  },
);

test("sums of products are what they are in the language", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: -99, max: 99 }), fc.integer({ min: -99, max: 99 })), {
        minLength: 1,
      }),
      (pairs) => {
        expect(calculate(pairs.map(([a, b]) => `${a} * ${b}`).join(" + "))).toBe(
          pairs.map(([a, b]) => a * b).reduce((sum, product) => sum + product),
        );
      },
    ),
  );
});

test("the clock tells date, time and weekday in a zone", async () => {
  const tool = clockToolOf({ now: () => Date.UTC(2026, 0, 31, 15, 30, 5) });

  expect(
    await tool.execute({ timeZone: "Asia/Seoul" }, context, { signal: context.signal }),
  ).toEqual({ iso: "2026-02-01T00:30:05", weekday: "Sunday", timeZone: "Asia/Seoul" });
});

test.for([
  "127.0.0.1",
  "10.1.2.3",
  "172.16.0.1",
  "192.168.0.1",
  "169.254.169.254",
  "168.63.129.16",
  "::ffff:168.63.129.16",
  "::ffff:a83f:8110",
  "64:ff9b::a83f:8110",
  "100.100.100.200",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd20:ce::254",
  "0.0.0.0",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "fd00::1",
  "fe80::1",
  "fe80::1%lo",
  "100.64.0.1",
  "::127.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b:1::a00:1",
  "2002:7f00:1::",
  "2001:0:7f00:1::",
  "fec0::1",
  "ff02::1",
])("%s is private", (address) => {
  expect(isPrivate(address)).toBe(true);
});

test.for(["1.1.1.1", "8.8.8.8", "2606:4700::1111", "172.32.0.1"])("%s is public", (address) => {
  expect(isPrivate(address)).toBe(false);
});

test.for([
  "http://127.0.0.1:1/",
  "http://[::1]/",
  "http://localhost:1/",
  "http://2130706433/",
  "http://0x7f.1/",
  "http://127.0.0.1./",
  "http://①②⑦.0.0.1/",
  "http://[::ffff:7f00:1]/",
  "http://[64:ff9b::7f00:1]/",
  "https://169.254.169.254/latest",
])("a page at %s is not read", async (url) => {
  await expect(
    webFetch().execute({ url }, context, { signal: context.signal }),
  ).rejects.toMatchObject({ code: "WEB_ADDRESS_PRIVATE" });
});

describe("of an allowed host", () => {
  /** Where a path leads; a path that stands here is answered with a redirect. */
  const redirects: Record<string, string> = {
    "/number": "http://127.0.0.1:1/secret",
    "/name": "http://localhost:1/secret",
    "/decimal": "http://2130706433/secret",
    "/mapped": "http://[::ffff:7f00:1]/secret",
    "/file": "file:///etc/passwd",
    "/twice": "/number",
    "/round": "/round",
  };
  const server = createServer((request, response) => {
    const location = redirects[request.url!];
    if (location !== undefined) return void response.writeHead(302, { location }).end();
    if (request.url === "/silent") return;
    response.writeHead(200, { "content-type": "text/html" });
    if (request.url === "/endless") return endless(response);
    response.end("<style>x{}</style><h1>안녕</h1>\n<p>hello</p>");
  });
  let host = "";
  const read = (page: string, signal = context.signal) =>
    webFetch({ allowHosts: [host] }).execute(
      { url: `http://${host}${page}` },
      { ...context, signal },
      { signal },
    );

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  test("a page is read as text", async () => {
    expect(await read("/")).toEqual({ status: 200, type: "text/html", text: "안녕 hello" });
  });

  test.for(["/number", "/name", "/decimal", "/mapped", "/file", "/twice"])(
    "a redirect inside is refused: %s",
    async (page) => {
      await expect(read(page)).rejects.toMatchObject({ code: "WEB_ADDRESS_PRIVATE" });
    },
  );

  test("a redirect without an end is given up, and a page without an end is cut", async () => {
    await expect(read("/round")).rejects.toMatchObject({ code: "WEB_REDIRECTS" });

    const { text } = (await read("/endless")) as { text: string };

    expect(text.length).toBe(1_048_576);
  });

  test("who does not answer is left when the tool's time is over", async () => {
    const over = new AbortController();
    const asked = read("/silent", over.signal);
    server.once("request", () => over.abort());

    await expect(asked).rejects.toMatchObject({ name: "AbortError" });
  });
});

test.for([
  ["<p>a</p><!-- <b>no</b> --><script>if (a > b) no()</script >b<STYLE>no</STYLE>c", "a b c"],
  ["1 < 2 and <b>3</b> > 2", "1 < 2 and 3 > 2"],
  ["a<script>never closed", "a"],
  ["a<b never closed", "a"],
  ["<scripted>yes</scripted>", "yes"],
] as const)("the words of %j are %j", ([html, words]) => {
  expect(textOfHtml(html)).toBe(words);
});

test.for(["<", "<a", "<a ", "<script>", "<!--", "</script ", "<script></script "])(
  "a page of nothing but %j costs no more than its length",
  (piece) => {
    const cost = (times: number): number => {
      const startedAt = process.cpuUsage().user;
      textOfHtml(piece.repeat(times));
      return process.cpuUsage(undefined).user - startedAt;
    };

    // Read tag by tag against the rest of the page, this would be minutes.
    expect(cost(1_048_576 / piece.length)).toBeLessThan(5_000_000);
  },
);

/** Sends letters until the reader is gone. */
function endless(response: ServerResponse): void {
  const more = (): void => {
    while (!response.destroyed && response.write("a".repeat(65_536)));
  };
  response.on("drain", more);
  more();
}
