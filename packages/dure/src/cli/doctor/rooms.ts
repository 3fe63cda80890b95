import { systemClock, withTimeout } from "../../kernel/clock.ts";
import { silentLogger } from "../../kernel/logger.ts";
import type { LoadedTeam } from "../../team/config.ts";
import type { Environment } from "../../team/environment.ts";
import { checkAccounts, type AccountFinding } from "../../team/rooms.ts";
import { failed, type Finding } from "./finding.ts";

/** Longest wait for what a platform says about all accounts, milliseconds. */
const PLATFORM_WAIT = 20_000;

export async function checkRooms(team: LoadedTeam, environment: Environment): Promise<Finding[]> {
  try {
    const late = (): Error => new Error(`no answer within ${PLATFORM_WAIT / 1_000} s`);
    const findings = await withTimeout(systemClock, PLATFORM_WAIT, late, (signal) =>
      checkAccounts(team, environment, { clock: systemClock, logger: silentLogger, signal }),
    );
    const agents = Object.keys(team.config.agents ?? {});
    const mapping: Finding[] =
      agents.length === 0 ? [] : [{ name: "agents", status: "ok", detail: agents.join(", ") }];
    return [...mapping, ...findings.map(findingOf)];
  } catch (error) {
    return [failed("rooms", error)];
  }
}

export function findingOf(finding: AccountFinding): Finding {
  const { adapter, agent, ok, isWarning = false, what, hint } = finding;
  const trouble = isWarning ? "warn" : "fail";
  return {
    name: `${adapter} ${agent}`,
    status: ok ? "ok" : trouble,
    detail: what,
    hint,
  };
}
