/**
 * `npm run vulnerabilities`: asks the registry what is known against the packages of the lock file.
 *
 * Exit codes: 0 nothing high or critical, 1 something high or critical, 2 the registry did not
 * answer.
 */

import { root, run } from "./processes.ts";

export type AuditResult =
  | { readonly kind: "answered"; readonly serious: readonly Finding[]; readonly total: number }
  | { readonly kind: "unanswered"; readonly reason: string };

export interface Finding {
  readonly name: string;
  readonly severity: string;
  readonly range: string;
}

/** Severities that fail the command. Source: npm audit's own order of severities. */
const SERIOUS = ["high", "critical"];

/** Reads what `npm audit --json` printed. Pure. An answer without counts is no answer. */
export function readAudit(output: string): AuditResult {
  const report = parseObject(output);
  if (report === undefined) return { kind: "unanswered", reason: "npm printed no JSON" };
  if (typeof report["message"] === "string") {
    return { kind: "unanswered", reason: withoutAddress(report["message"]) };
  }

  const total = totalOf(report);
  if (total === undefined) return { kind: "unanswered", reason: "the report has no counts" };
  const found = Object.entries(objectIn(report, "vulnerabilities"));
  const findings = found.map(([name, value]) => findingOf(name, value));
  const serious = findings.filter(({ severity }) => SERIOUS.includes(severity));
  return { kind: "answered", serious, total };
}

function findingOf(name: string, value: unknown): Finding {
  const entry = isObject(value) ? value : {};
  return { name, severity: String(entry["severity"]), range: String(entry["range"]) };
}

function totalOf(report: Record<string, unknown>): number | undefined {
  const counts = objectIn(objectIn(report, "metadata"), "vulnerabilities");
  return typeof counts["total"] === "number" ? counts["total"] : undefined;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  const start = text.indexOf("{");
  const end = text.lastIndexOf("}");
  if (start < 0 || end < start) return undefined;
  try {
    const value: unknown = JSON.parse(text.slice(start, end + 1));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function objectIn(value: Record<string, unknown>, key: string): Record<string, unknown> {
  const inner = value[key];
  return isObject(inner) ? inner : {};
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The reason without the registry's address, which differs from place to place. */
function withoutAddress(message: string): string {
  return message.replace(/\s*-?\s*[A-Z]+ https?:\/\/\S+/, "").trim();
}

/** Also what is installed for work on dure: code of such packages goes into ours. */
const AUDIT = ["audit", "--json", "--include=dev", "--include=optional"];

async function main(): Promise<number> {
  const { stdout } = await run("npm", AUDIT, { cwd: root });
  const result = readAudit(stdout);
  if (result.kind === "unanswered") {
    console.log(`not checked: the registry did not answer (${result.reason})`);
    return 2;
  }
  for (const { name, severity, range } of result.serious) {
    console.log(`${severity.padEnd(8)} ${name} ${range}`);
  }
  console.log(`${result.total} known vulnerabilities, ${result.serious.length} high or critical`);
  return result.serious.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exitCode = await main();
