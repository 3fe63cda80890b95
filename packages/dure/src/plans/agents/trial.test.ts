import { FULL } from "../../kernel/test-tiers.ts";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import { isAgent, tryAgent, type AcpAgentSpec } from "./trial.ts";

const AGENT = fileURLToPath(new URL("../../../test/plans/acp-agent/agent.ts", import.meta.url));

async function trial(spec: AcpAgentSpec) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "dure-trial-")));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const home = join(folder, "person");
  await mkdir(join(home, ".claude"), { recursive: true });
  await writeFile(join(home, ".claude/.credentials.json"), "the-login");
  const clock = systemClock;
  const sandbox = await openSandbox({
    wanted: "enforced",
    folder: join(folder, "sandbox"),
    home,
    clock,
  });
  const network = { team: {}, env: { PATH: process.env["PATH"] } };
  const { signal } = new AbortController();
  return tryAgent(spec, { sandbox, clock, folder, home, network }, { signal });
}

test(
  "an agent is asked once in the sandbox: its program, version, login and answer show",
  {
    ...FULL,
    timeout: 60_000,
  },
  async () => {
    const there = await trial({ kind: "acp", command: [process.execPath, AGENT] });
    const copied = await trial({
      kind: "command",
      agent: "claude",
      command: ["sh", "-c", 'cat "$HOME/.claude/.credentials.json"; cat > /dev/null'],
      prompt: "stdin",
      copyHome: [".claude/.credentials.json"],
    });

    expect(there).toMatchObject({ version: "test-agent 1", answer: expect.any(String) as string });
    expect(there.error).toBeUndefined();
    expect(copied).toMatchObject({ name: "claude", answer: "the-login" });
  },
);

test(
  "what is missing is told: the program, or the login with how to sign in",
  {
    ...FULL,
    timeout: 60_000,
  },
  async () => {
    const missing = await trial({ kind: "acp", command: ["no-such-agent-here"] });
    const stranger = await trial({
      kind: "acp",
      agent: "codex",
      command: [process.execPath, AGENT, "wants-login"],
    });

    expect(missing.error?.code).toBe("WORKER_NOT_STARTED");
    expect(stranger.error).toMatchObject({
      code: "WORKER_LOGIN",
      hint: expect.stringContaining("codex login") as string,
    });
  },
);

test("models, scripts and programs that are no agents are not asked", () => {
  expect(isAgent({ kind: "model", model: "offline" })).toBe(false);
  expect(isAgent({ kind: "command", command: ["make"], prompt: "stdin" })).toBe(false);
  expect(isAgent({ kind: "acp", command: ["x"] })).toBe(true);
});
