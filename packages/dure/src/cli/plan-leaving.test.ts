import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { main } from "./program.ts";

const CONFIRM = "0123456789abcdef".repeat(2);
/** Its path could command a terminal. */
const REFUSAL = {
  code: "RESULT_NEEDS_REVIEW",
  detail: "Look at what leaves with the run run_1 first: ci in a.yml.",
  confirm: CONFIRM,
  commit: "d".repeat(40),
  count: 2,
  findings: [
    { rule: "github-token", path: "src/a.ts", line: 3, excerpt: "ghp_… (+36)" },
    { rule: "ci", path: "\u001b]0;t\u0007.github/a.yml", line: null, excerpt: null },
  ],
};
/** The findings before a merge; mina began the run. */
const LEAVING = {
  target: "main",
  review: REFUSAL,
  allowed: [],
  gate: {
    commit: "d".repeat(40),
    needed: 2,
    counted: 1,
    approvals: [{ person: "junho", by: "token_1", created_at: 0 }],
    not: "author",
    author: "mina",
  },
  may_confirm: false,
};
const MERGED = { kind: "merged", target: "main", commit: "e".repeat(40), updated: null };
const PUSHED = { remote: "origin", branch: "dure/a", commit: "e".repeat(40), is_new: true };

/** Refuses until the request says yes to the findings. */
async function serve(): Promise<{ readonly url: string; readonly bodies: unknown[] }> {
  const bodies: unknown[] = [];
  const answer = async (request: IncomingMessage): Promise<readonly [number, object]> => {
    const { url = "" } = request;
    if (url.endsWith("/diff")) return [200, { changes: [], patch: "", is_cut: false }];
    if (url.endsWith("/leaving")) return [200, LEAVING];
    if (!/merge$|publish$/.test(url)) return [200, {}];
    const body = JSON.parse((await text(request)) || "{}") as { confirm?: string };
    bodies.push(body);
    if (body.confirm !== CONFIRM) return [409, REFUSAL];
    return [200, url.endsWith("merge") ? MERGED : PUSHED];
  };
  const server = createServer((request, response) => {
    void answer(request).then(([status, said]) => {
      const type = status === 409 ? "application/problem+json" : "application/json";
      response.writeHead(status, { "content-type": type }).end(JSON.stringify(said));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  onTestFinished(() => server.closeAllConnections());

  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

async function dure(...args: readonly string[]): Promise<{ code: number; shown: string }> {
  let shown = "";
  const stream = (): NodeJS.WriteStream =>
    new Writable({
      write: (part: Buffer, _, done) => ((shown += part.toString()), done()),
    }) as unknown as NodeJS.WriteStream;
  const streams = { stdin: process.stdin, stdout: stream(), stderr: stream() };
  const code = await main([...args], streams);

  return { code, shown };
}

test.each(["merge", "publish"])(
  "plan %s names what leaves and does nothing until the code of it is given",
  async (verb) => {
    const { url, bodies } = await serve();

    const refused = await dure("plan", verb, "run_1", "--url", url);
    const done = await dure("plan", verb, "run_1", "--confirm", CONFIRM, "--url", url);

    expect(refused.code).toBe(1);
    expect(refused.shown).toMatch(/GitHub token +src\/a\.ts:3 +ghp_… \(\+36\)/);
    expect(refused.shown).toMatch(/Build server +.*\.github\/a\.yml/);
    expect(refused.shown).not.toContain("\u0007");
    expect(done.code).toBe(0);
    expect(bodies).toEqual([{}, { confirm: CONFIRM }]);
  },
);

test("plan diff names what leaves, and whose approvals count, below the patch", async () => {
  const { url } = await serve();

  const { code, shown } = await dure("plan", "diff", "run_1", "--url", url);

  expect(code).toBe(0);
  expect(shown).toMatch(/GitHub token +src\/a\.ts:3 +ghp_… \(\+36\)/);
  expect(shown).toContain(`dure plan merge run_1 --confirm ${CONFIRM}`);
  expect(shown).toContain("1 of 2 approvals before it leaves, by junho");
  expect(shown).toContain("mina began the run, so their approval does not count.");
  vi.stubEnv("LC_ALL", undefined);
  vi.stubEnv("LANG", "ko_KR.UTF-8");
  onTestFinished(() => void vi.unstubAllEnvs());
  const korean = await dure("plan", "diff", "run_1", "--url", url);
  expect(korean.shown).toMatch(/GitHub 토큰 +src\/a\.ts:3/);
});
