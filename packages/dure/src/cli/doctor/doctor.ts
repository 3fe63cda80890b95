import type { LoadedTeam } from "../../team/config.ts";
import type { Environment } from "../../team/environment.ts";
import { originText, resolveLimits, type ResolvedSetting, settingsOf } from "../../team/limits.ts";
import { EXIT, type ExitCode, type Output } from "../output.ts";
import type { CliWords } from "../words/words.ts";
import { checkTeamAgents } from "./agents.ts";
import { checkDatabase } from "./database.ts";
import { checkFiles, readTeam } from "./files.ts";
import type { Finding } from "./finding.ts";
import { checkHooks } from "./hooks.ts";
import { checkDisk, checkGit, checkHome, checkIsolation, checkBounds, homeOf } from "./machine.ts";
import { checkMcp } from "./mcp.ts";
import { checkModels } from "./models.ts";
import { checkRooms } from "./rooms.ts";
import { checkServerAddress } from "./server.ts";
import { checkSkills } from "./skills.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { Schedule } from "../../schedules/schedule.ts";
import { nextMoment, schedulesOf } from "../../team/schedules.ts";

interface DoctorOptions {
  readonly folder: string;
  readonly environment: Environment;
  readonly output: Output;
  /** Whether each setting is printed. */
  readonly settings: boolean;
}

/**
 * Looks at everything that a start needs, without starting it and without a change on the disk.
 * Says first, in one line, what is wrong; then what to do about it, and what is right. Where nothing
 * is wrong, the last line says so.
 */
export async function doctor(options: DoctorOptions): Promise<ExitCode> {
  const { output, environment } = options;
  const { check: words, said } = output.words;
  output.note(words.looking);
  const { team, findings } = await examine(options);
  const ok = findings.every(({ status }) => status !== "fail");
  const verdict = verdictOf(findings, output.words);
  if (verdict !== undefined) output.line(verdict);
  for (const finding of inOrder(findings)) tell(finding, output);

  const limits = team ? resolveLimits(team, environment) : [];
  if (options.settings && limits.length > 0) {
    output.line();
    output.table(
      limits.map((limit) => [
        limit.key,
        valueText(limit, output.words),
        said(originText(limit.origin)),
      ]),
    );
  }
  if (verdict === undefined) output.line(words.nothing);
  output.result({
    ok,
    checks: findings,
    limits: limits.map((limit) => ({ ...limit, origin: originText(limit.origin) })),
  });
  return ok ? EXIT.ok : EXIT.failed;
}

async function examine({
  folder,
  environment,
}: DoctorOptions): Promise<{ team: LoadedTeam | undefined; findings: readonly Finding[] }> {
  const { team, findings: ofConfig } = await readTeam(folder, environment);
  const ofTeam = team
    ? await Promise.all([
        checkFiles(team),
        checkModels(team, environment),
        checkServerAddress(team, environment),
        checkRooms(team, environment),
        checkTeamAgents(team),
        checkMcp(team, homeOf(folder, environment)),
        checkSkills(team),
      ])
    : [];
  const home = checkHome(folder, environment);
  const ofMachine = await Promise.all([
    checkDatabase({ folder, environment, team }),
    checkGit(),
    checkIsolation(team?.config.plans ?? {}),
    checkDisk(home.folder),
  ]);
  const findings = [
    { name: "node", status: "ok", detail: process.version } as const,
    ...environment.warnings.map(warningOf),
    ...ofConfig,
    ...ofTeam.flat(),
    ...(team ? checkSchedules(team, environment) : []),
    ...(team ? checkHooks(team) : []),
    ...home.findings,
    ...checkBounds(team?.config.plans ?? {}, home.folder),
    ...ofMachine.flat(),
  ];
  return { team, findings };
}

function warningOf(detail: string): Finding {
  return { name: "environment", status: "warn", detail };
}

/** What is in the way, and of the first of it what to do about it, in one line. Pure. */
function verdictOf(
  findings: readonly Finding[],
  { check: words, said }: CliWords,
): string | undefined {
  const named = (status: "fail" | "warn"): string | undefined => {
    const names = findings
      .filter((finding) => finding.status === status)
      .map(({ name }) => words.about(name));
    if (names.length === 0) return undefined;
    return `${words.verdict[status](names.length)}: ${[...new Set(names)].join(", ")}`;
  };
  const told = [named("fail"), named("warn")].filter((part) => part !== undefined).join("; ");
  const [first] = inOrder(findings);
  if (told === "" || first === undefined) return undefined;
  return words.first(told, inOneLine(saidOf(first, said)));
}

/** What was found and its hint; of a list its first entry, which has its own. Pure. */
function inOneLine({ detail, hint = "" }: FindingText): string {
  const [line = "", entry] = detail.split("\n");
  if (entry !== undefined && line.endsWith(":")) return `${line} ${entry.trim()}`;
  const sentence = /[.!?]$/.test(line) ? line : `${line}.`;
  return `${sentence} ${hint.split("\n")[0]!}`.trim();
}

type FindingText = Pick<Finding, "detail" | "hint">;

/** A finding in the language of its reader. Its code is no word of the sentence behind it. Pure. */
function saidOf({ detail, hint }: FindingText, said: CliWords["said"]): FindingText {
  const [, code = "", sentence = detail] = /^([A-Z]+_[A-Z_]+ )(.*)$/s.exec(detail) ?? [];
  const behind = said(sentence);
  const words = behind === sentence ? said(detail) : `${code}${behind}`;
  return { detail: words, hint: hint && said(hint) };
}

/** Problems first, then warnings; each in the order in which it was found. Pure. */
function inOrder(findings: readonly Finding[]): readonly Finding[] {
  const urgency = { fail: 0, warn: 1, ok: 2 };
  return findings.toSorted((one, other) => urgency[one.status] - urgency[other.status]);
}

function tell(finding: Finding, output: Output): void {
  const { green, yellow, red, dim } = output.colors;
  const { check: words, said } = output.words;
  const { detail, hint } = saidOf(finding, said);
  const color = { ok: green, warn: yellow, fail: red }[finding.status];
  output.line(`${color(words.marks[finding.status])} ${words.about(finding.name)}: ${detail}`);
  if (hint) output.line(`     ${dim(hint)}`);
}

function valueText({ value, unit }: ResolvedSetting, { check: words, said }: CliWords): string {
  const text =
    value === undefined
      ? "–"
      : Array.isArray(value)
        ? value.join(", ") || words.none
        : typeof value === "string"
          ? said(value)
          : JSON.stringify(value);
  return unit === undefined || value === undefined ? text : `${text} ${words.unit(unit)}`;
}

// --- schedules

/** Each rule with its next moment. */
function checkSchedules(team: LoadedTeam, environment: Environment): Finding[] {
  const { timeZone } = settingsOf(team.config, environment);
  return schedulesOf(team.config, timeZone).map(findingOf);
}

function findingOf(schedule: Schedule): Finding {
  const { name, cron, timeZone, missed } = schedule;
  const next = nextMoment(schedule, systemClock.now());

  return {
    name: `schedule ${name}`,
    status: "ok",
    detail: `${cron} in ${timeZone}, next ${next}; missed moments: ${missed}`,
  };
}
