import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { FULL } from "../../packages/dure/src/kernel/test-tiers.ts";
import { testDatabaseUrl } from "../../packages/dure/src/durable/test-database.ts";
import { startBank } from "./bank/bank.ts";

/**
 * From the confirmation to SIGKILL, milliseconds; the bank books after 60 and answers after 240.
 */
const KILL_AFTER = process.env["DURE_TEST_LONG"]
  ? Array.from({ length: 25 }, (_, index) => index * 12)
  : [0, 40, 150];

test(
  "killed at any point after 확인, the bank has booked exactly one transfer per confirmation",
  { ...FULL, timeout: 60_000 + KILL_AFTER.length * 30_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const home = await mkdtemp(path.join(tmpdir(), "dure-kill-"));
    stack.defer(() => rm(home, { recursive: true, force: true }));
    const database = stack.use(await testDatabaseUrl());
    const bank = await startBank({
      faults: [
        { kind: "delay", when: "before", ms: 60, times: "always" },
        { kind: "delay", when: "after", ms: 180, times: "always" },
      ],
    });
    stack.defer(() => bank.stop());
    const environment = { DATABASE_URL: database.url, BANK_URL: bank.url, DURE_HOME: home };

    let team = await startTeamProcess(environment);
    stack.defer(() => kill(team.process));
    for (const [round, killAfter] of KILL_AFTER.entries()) {
      const session = `kill-${round}`;
      const { interaction } = await team.chat({
        session_id: session,
        service: "transfer",
        message: "홍길동에게 5만원 보내줘",
      });
      void team
        .chat({ session_id: session, message: "확인", confirm_id: interaction.ui_hint.confirm_id })
        .catch(() => {});
      await sleep(killAfter);
      await kill(team.process);

      team = await startTeamProcess(environment);
      // Whether it was accepted before the kill is the draw; if it was not, the person says it
      // again.
      const stage = await settled(team, session);
      if (stage === "READY") await team.chat({ session_id: session, message: "네" });

      expect
        .soft(await team.completed(session), `killed after ${killAfter} ms`)
        .toMatchObject([{ stage: "EXECUTED" }]);
      expect(bank.bookings()).toHaveLength(round + 1);
    }
  },
);

interface TeamProcess {
  readonly process: ChildProcess;
  chat(
    body: object,
  ): Promise<{ interaction: { message: string; ui_hint: { confirm_id: string } } }>;
  completed(session: string): Promise<readonly { readonly stage: string }[]>;
  session(
    session: string,
  ): Promise<{ readonly stage: string; readonly running_turn: string | null }>;
}

async function startTeamProcess(
  environment: Readonly<Record<string, string>>,
): Promise<TeamProcess> {
  const examples = path.resolve(import.meta.dirname, "..");
  const main = path.resolve(examples, "../packages/dure/src/cli/main.ts");
  const child = spawn(process.execPath, ["--conditions=dure-source", main, "start", "--json"], {
    cwd: examples,
    env: { ...process.env, ...environment, PORT: "0", LOG_LEVEL: "silent" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const { url } = JSON.parse(line) as { url: string };
  const get = async (place: string): Promise<unknown> => (await fetch(`${url}${place}`)).json();
  return {
    process: child,
    async chat(body) {
      const response = await fetch(`${url}/v1/agent/chat`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return (await response.json()) as Awaited<ReturnType<TeamProcess["chat"]>>;
    },
    completed: async (session) =>
      ((await get(`/v1/agent/completed?session_id=${session}`)) as { items: { stage: string }[] })
        .items,
    session: async (session) =>
      (await get(`/v1/agent/sessions/${session}`)) as {
        stage: string;
        running_turn: string | null;
      },
  };
}

/** The stage when nothing runs in the session any more. */
async function settled(team: TeamProcess, session: string): Promise<string> {
  for (;;) {
    const { stage, running_turn: running } = await team.session(session);
    if (running === null) return stage;
    await sleep(50);
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
