import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { notKorean } from "../../test/languages/mixed-lines.ts";
import { toWire } from "../kernel/wire.ts";
import { main } from "./program.ts";

/** What a terminal says of a call that a role or two people approve. */

const FIRST = { by: "token_1", person: "mina", at: 1, note: null };
const ESCALATION = {
  id: "esc_1",
  source: { session: "s1" },
  type: "decision",
  severity: "medium",
  status: "open",
  title: "pay",
  description: "",
  context: { tool: "pay" },
  suggestedActions: [{ value: "approve", label: "Approve" }],
  approval: { role: "treasury", two: true, first: FIRST, refused: "given" },
  resolution: null,
  resolvedBy: null,
  resolvedByPerson: null,
  createdAt: 1,
  expiresAt: null,
  step: "person",
};

afterEach(() => vi.unstubAllEnvs());

async function dure(language: string, args: readonly string[]): Promise<string> {
  const page = { items: [ESCALATION], nextCursor: null };
  const answers: Readonly<Record<string, object>> = {
    "/v1/me": {},
    "/healthz": {},
    "/v1/escalations": page,
    "/v1/escalations/esc_1": ESCALATION,
    "/v1/escalations/esc_1/answer": { escalation: ESCALATION, turnId: null },
  };
  const server = createServer((request, response) => {
    const answer = answers[request.url!.replace(/\?.*$/, "")];
    response
      .writeHead(answer ? 200 : 404, { "content-type": "application/json" })
      .end(JSON.stringify(toWire(answer ?? {})));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());

  vi.stubEnv("LANG", language);
  let text = "";
  const into = (): NodeJS.WriteStream =>
    new Writable({
      write: (part: Buffer, _, done) => ((text += part.toString()), done()),
    }) as unknown as NodeJS.WriteStream;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await main([...args, "--url", url], {
    stdin: process.stdin,
    stdout: into(),
    stderr: into(),
  });
  server.closeAllConnections();
  return text;
}

test.each([["list"], ["show", "esc_1"]])(
  "escalations %s says who approves a call, and who of two has done so",
  async (...args) => {
    const english = await dure("en_US.UTF-8", ["escalations", ...args]);
    const korean = await dure("ko_KR.UTF-8", ["escalations", ...args]);

    expect(english).toContain("two people with the role treasury");
    expect(english).toMatch(/1 of 2, by mina at /u);
    expect(korean).toContain("treasury 역할인 사람 두 명");
    expect(korean).toContain("2명 가운데 1명이 승인했어요(mina 님");
    const lines = korean.split("\n").filter((line) => /역할|가운데/u.test(line));
    expect(notKorean(lines.join("\n"), ["treasury", "mina"])).toEqual([]);
  },
);

test("the first of two yeses is said to be kept, and that another one is needed", async () => {
  const args = ["escalations", "answer", "esc_1", "approve"];

  const english = await dure("en_US.UTF-8", args);
  const korean = await dure("ko_KR.UTF-8", args);

  expect(english).toContain("esc_1: your yes is kept (1 of 2); another person's is needed");
  expect(korean).toContain("esc_1");
  expect(notKorean(korean)).toEqual([]);
});
