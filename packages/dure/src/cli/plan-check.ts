import { existsSync } from "node:fs";
import path from "node:path";
import { importModule } from "../engine/load-service.ts";
import type { Problem } from "../engine/load-service-document.ts";
import { DureError } from "../kernel/errors.ts";
import { planFilesIn, readPlanFile } from "../plans/plan-folder.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

/** Checks plans without a server: one by its file or name, or all of the team's folder `plans`. 1 when something was found. */
export async function checkPlans(what: string | undefined, { folder, output }: { folder: string; output: Output }): Promise<ExitCode> {
  const plans = path.resolve(folder, "plans");
  const files = what === undefined ? (await planFilesIn(plans)).map((name) => path.join(plans, name)) : [await findPlan(what, plans)];
  const checked: { file: string; plan: string | undefined; ports: number; problems: readonly Problem[] }[] = [];
  for (const file of files) {
    const shown = path.relative(process.cwd(), file);
    const { plan, problems } = await readPlanFile(file, shown.startsWith("..") ? file : shown, importModule);
    checked.push({ file: shown, plan: plan?.name, ports: plan?.ports.length ?? 0, problems });
    if (plan) output.line(`${output.colors.green("ok  ")} ${plan.name} (${shown}): ${plan.ports.length} ${plan.ports.length === 1 ? "port" : "ports"}`);
    for (const problem of problems) output.line(planProblemText(problem));
  }
  if (files.length === 0) output.note(`There is no plan in ${plans}. Make one with: dure new plan NAME`);
  const found = checked.reduce((sum, { problems }) => sum + problems.length, 0);
  output.result({ ok: found === 0, plans: checked });
  return found === 0 ? EXIT.ok : EXIT.failed;
}

/** `plan.yaml:12:5 ports.0.owns: message — hint`. Pure. */
export function planProblemText({ file, line, column, key, message, found, allowed, hint }: Problem): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(":");
  const facts = [...(found === undefined ? [] : [`found ${found}`]), ...(allowed === undefined ? [] : [`allowed: ${allowed}`]), ...(hint === undefined ? [] : [hint])];
  return `${place} ${key === "" ? "" : `${key}: `}${message}${facts.length === 0 ? "" : ` — ${facts.join("; ")}`}`;
}

async function findPlan(what: string, plans: string): Promise<string> {
  for (const file of [path.resolve(what), path.join(plans, what)]) if (path.extname(file) !== "" && existsSync(file)) return file;
  const names: string[] = [];
  for (const name of await planFilesIn(plans)) {
    const file = path.join(plans, name);
    const { plan } = await readPlanFile(file, name, importModule);
    const known = plan?.name ?? path.basename(name, path.extname(name));
    if (known === what) return file;
    names.push(known);
  }
  throw new DureError("PLAN_UNKNOWN", `There is no file ${what}, and no plan of this name in ${plans}.`, { class: "input", hint: names.length > 0 ? `There are ${names.join(", ")}.` : "Make one with: dure new plan NAME" });
}
