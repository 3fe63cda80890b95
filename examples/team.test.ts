import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadTeam, readEnvironment, silentLogger, startTeam } from "dure/team";
import { expect, test } from "vitest";
import { startBank } from "./transfer/bank/bank.ts";

test("no service imports the model that stands in for one", async () => {
  const files = await readdir(import.meta.dirname, { recursive: true });
  const services = files.filter((name) => /(?:^|\/)(?:service|agents|slots|flows)\.ts$/.test(name));
  expect(services.length).toBeGreaterThan(4);

  for (const name of services) {
    const text = await readFile(path.join(import.meta.dirname, name), "utf8");
    expect(text, name).not.toMatch(/from ".*offline/);
  }
});

test("the example team starts as it stands, and every service answers", async () => {
  await using stack = new AsyncDisposableStack();
  const home = await mkdtemp(path.join(tmpdir(), "dure-team-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const bank = await startBank();
  stack.defer(() => bank.stop());
  const before = process.env["BANK_URL"];
  process.env["BANK_URL"] = bank.url;
  stack.defer(
    () =>
      void (before === undefined
        ? delete process.env["BANK_URL"]
        : (process.env["BANK_URL"] = before)),
  );
  const team = await startTeam(
    await loadTeam(import.meta.dirname),
    { ...readEnvironment({ PORT: "0" }), home },
    { logger: silentLogger },
  );
  stack.defer(() => team.stop());
  const say = async (service: string, message: string) =>
    (await team.engine.turn({ session: `s-${service}`, service, message }).done).message;

  expect(await say("minimal", "안녕")).toContain("안녕");
  expect(await say("declared", "안녕")).toContain("안녕");
  expect(await say("faq", "이체 한도가 얼마예요?")).toContain("1,000만 원");
  expect(await say("transfer", "홍길동에게 5만원 보내줘")).toBe(
    "홍길동님에게 50,000원을 보낼까요?",
  );
  expect(await say("transfer", "네")).toContain("tx_000001");
  expect(bank.bookings()).toHaveLength(1);
  expect(await say("meeting-room", "내일 오후 3시에 소회의실 5명 예약해줘")).toContain(
    "예약할까요?",
  );
  expect(await say("meeting-room", "네")).toContain("예약했어요");
});
