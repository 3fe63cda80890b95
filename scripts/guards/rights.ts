import type { Guard } from "../mutate.ts";
import { testsIn } from "./tests-in.ts";

const PLANS = "packages/dure/src/plans";
const NAMED = `${PLANS}/runs/named-repositories.ts`;
const LIBRARY = `${PLANS}/runs/plan-library.ts`;
const GUARD = `${PLANS}/runs/team-guard.ts`;
const GATE = `${PLANS}/runs/merge-gate.ts`;
const FILES = `${PLANS}/workspace/team-files.ts`;
const REQUESTS = `${PLANS}/runs/run-requests.ts`;
const folder = testsIn("packages/dure/test/tenants/team-folder.test.ts");
const files = testsIn(`${PLANS}/workspace/team-files.test.ts`);
const named = testsIn(`${PLANS}/runs/named-repositories.test.ts`);
const gate = testsIn(`${PLANS}/runs/merge-gate.test.ts`);
const drafts = testsIn(`${PLANS}/rows/draft-rows.test.ts`);
const requests = testsIn(`${PLANS}/runs/run-requests.test.ts`);
const jobRoutes = testsIn("packages/dure/src/server/job-routes.test.ts");
const leaving = testsIn("packages/dure/test/tenants/leaving.test.ts");
const YES = "no token says yes to findings at a merge";
const ANY_NAME = "a tenant's token begins no plan on the team's folder, however it names it";
const ALIKE = "a repository that does not exist and one of another tenant are refused alike";
const OWN = "the team's own folder is no plan's target unless the configuration allows it";
const ONLY_ADMIN = "only an administrator of all changes the team's files";
const AS_WRITTEN = "a plan of the team reaches out only with the code that it names";
const ONE_COMMIT = "an approval is of one commit";

/** Whose repository a plan may touch, and who lets its result out. */
export const RIGHT_GUARDS: readonly Guard[] = [
  {
    id: "repositories.tenant",
    at: { file: NAMED },
    find: "isTenant(tenant) ? own : [...own, ...(await this.#namedByFiles())]",
    replace: "[...own, ...(await this.#namedByFiles())]",
    tests: folder(ANY_NAME),
    why: "a tenant's plan works on the team's folder, and on those of plan files",
  },
  {
    id: "repositories.of",
    at: { file: NAMED },
    find: "isTenant(tenant) ? tenants?.includes(tenant) : tenants === undefined",
    replace: "true",
    tests: folder(ALIKE),
    why: "a tenant reaches the repository of another one",
  },
  {
    id: "repositories.admin",
    at: { file: NAMED },
    find: "const root = tenant === null ? folder :",
    replace: "const root = tenant !== undefined ? folder :",
    tests: folder(ALIKE),
    why: "a tenant's token reaches each path of the machine",
  },
  {
    id: "repositories.time",
    at: { file: NAMED },
    find: "for (const one of new Set(named)) {",
    replace: "for (const one of (await real(folder)) === undefined ? [] : new Set(named)) {",
    tests: named("a folder of others is refused with the same work as one that is not there"),
    why: "a tenant learns by the time of a refusal which folders the machine has",
  },
  {
    id: "repositories.default",
    at: { file: NAMED },
    find: "if (isTenant(tenant)) throw repositoryNeeded(own.map(([name]) => name));",
    replace: "",
    tests: folder("a tenant with two repositories names one"),
    why: "a tenant that names no repository gets the team's",
  },
  {
    id: "plans.reach.base",
    at: { file: LIBRARY },
    find: "if (base !== undefined && base !== plan.base) return false;",
    replace: "",
    tests: folder(AS_WRITTEN),
    why: "an unread branch runs with the secrets of a plan of the team",
  },
  {
    id: "plans.reach.tenant",
    at: { file: LIBRARY },
    find: "if (plan.repository === undefined) return !isTenant(tenant);",
    replace: "if (plan.repository === undefined) return true;",
    tests: folder(AS_WRITTEN),
    why: "a tenant's code runs with the secrets of a plan that names no repository",
  },
  {
    id: "plans.reach.repository",
    at: { file: LIBRARY },
    find: "return folder === this.#repositories.locate(undefined, plan, tenant);",
    replace: "return true;",
    tests: folder(AS_WRITTEN),
    why: "a tenant's code runs with the secrets of a plan of another repository",
  },
  {
    id: "team-folder.target",
    at: { file: GUARD },
    find: 'return within.includes("") && !this.#parts.ownFolder;',
    replace: "return false;",
    tests: folder(OWN),
    why: "a plan works on the code of the server",
  },
  {
    id: "team-folder.tenant",
    at: { file: GUARD },
    find: 'if (tenant !== null && tenant !== "") return within.length > 0;',
    replace: "",
    tests: folder("a tenant's repository that holds the team's folder is refused"),
    why: "a tenant works on a repository that holds the team's folder",
  },
  {
    id: "team-files.admin",
    at: { file: GUARD },
    find: "if (ownFolder && tenant === null) return;",
    replace: "if (ownFolder) return;",
    tests: files(ONLY_ADMIN),
    why: "who may merge changes the team where an administrator alone may",
  },
  {
    id: "team-files.changed",
    at: { file: GUARD },
    find: "if (changed.length > 0) throw teamFilesChanged(changed, ownFolder);",
    replace: "",
    tests: files(ONLY_ADMIN),
    why: "a merge of a repository around the team's folder changes the team",
  },
  {
    id: "team-files.worktrees",
    at: { file: FILES },
    find: "[...(isBare ? [] : [root]), ...listed]",
    replace: "[...(isBare ? [] : [root])]",
    tests: files("a linked worktree and a bare repository hold what"),
    why: "the team's folder is reached by another worktree of its repository",
  },
  {
    id: "team-files.links",
    at: { file: FILES },
    find: "if (isWithin(path, tree)) return [relative(tree, path)];",
    replace: "if (!isLinked && isWithin(path, tree)) return [relative(tree, path)];",
    tests: files("what links of a team lead to is the team's too"),
    why: "an agent that is a link is changed where the link leads",
  },
  {
    id: "team-files.runs",
    at: { file: FILES },
    find: "const runs = [...folders, ...files.filter((_, index) => areFiles[index])];",
    replace: "const runs: string[] = [];",
    tests: files("what a team runs from elsewhere is the team's too"),
    why: "a plan writes into a service that the server loads from another repository",
  },
  {
    id: "team-files.packages",
    at: { file: FILES },
    find: "        ...packagesAbove(folder),\n",
    replace: "",
    tests: files("packages that the team's code finds above its folder are the team's"),
    why: "a merge adds a package that the server imports where it is there",
  },
  {
    id: "team-files.told",
    at: { file: "packages/dure/src/team/plans.ts" },
    find: "git, runs: runsFromElsewhere(team) }",
    replace: "git }",
    tests: folder("a tenant's repository with code that the team runs is refused"),
    why: "a tenant changes a service that the server loads from its repository",
  },
  {
    id: "team-files.modules",
    at: { file: "packages/dure/src/team/fresh-modules.ts" },
    find: 'if (protocol === "file:" && isOutside) found.add(fileURLToPath(href));',
    replace: "",
    tests: testsIn("packages/dure/src/team/config.test.ts")("says which code of other folders"),
    why: "a plan writes into a module that the configuration imports from another repository",
  },
  {
    id: "team-files.letters",
    at: { file: FILES },
    find: 'return path.normalize("NFC").toLowerCase();',
    replace: "return path;",
    tests: files("changed paths below the team's folder are the team's"),
    why: "on a disk that knows no case another spelling changes the team",
  },
  {
    id: "merge-gate.names",
    at: { file: GATE },
    find: "not: rules.find(({ not }) => not !== undefined)?.not,",
    replace: "not: rules[0]?.not,",
    tests: gate("a repository that is named twice has what each name asks for"),
    why: "an author approves alone where another name of the repository forbids it",
  },
  {
    id: "merge.approvals",
    at: { file: GATE },
    find: "if (state.counted < state.needed) throw notApproved(result, state);",
    replace: "",
    tests: gate(ONE_COMMIT),
    why: "a result is merged that no second person has seen",
  },
  {
    id: "merge.author",
    at: { file: GATE },
    find: "people.delete(author);",
    replace: "",
    tests: gate("a result waits for another person's approval"),
    why: "the author is the second person",
  },
  {
    id: "merge.author.unknown",
    at: { file: GATE },
    find: "if (author === null) return Math.max(0, people.size - 1);",
    replace: "if (author === null) return people.size;",
    tests: gate("where nothing names the author"),
    why: "a person begins a run at the machine or with a shared token, and approves it by their own",
  },
  {
    id: "merge.author.shared",
    at: { file: GATE },
    find: "approvals.filter(({ isNamed }) => isNamed)",
    replace: "approvals",
    tests: gate("an approval by a token of no person"),
    why: "an author approves their own run with a token that several share",
  },
  {
    id: "leaving.confirm",
    at: { file: "packages/dure/src/server/leaving-routes.ts" },
    find: "if (confirm !== undefined && !mayConfirm(request)) throw confirmNeedsPerson();",
    replace: "",
    tests: leaving(YES),
    why: "a program that merges says yes to a secret in the place of a person",
  },
  {
    id: "leaving.confirm.environment",
    at: { file: "packages/dure/src/team/core.ts" },
    find: 'SCOPES.filter((scope) => scope !== "plans:confirm")',
    replace: "SCOPES",
    tests: leaving(YES),
    why: "the token that programs have says yes in the place of a person",
  },
  {
    id: "answers.repository",
    at: { file: "packages/dure/src/escalations/inbox.ts" },
    find: "const known = fits(escalation, match) && (await check(escalation, answer, by));",
    replace: "const known = undefined;",
    tests: leaving("an answer lets no run go on"),
    why: "an answer lets a run work on a repository that was taken away from its tenant",
  },
  {
    id: "merge.commit",
    at: { file: `${PLANS}/rows/approval-rows.ts` },
    find: "where run = $1 and result = $2",
    replace: "where run = $1 and ($2::text is not null)",
    tests: gate(ONE_COMMIT),
    why: "what was approved once lets all later work out",
  },
  {
    id: "merge.stale",
    at: { file: GATE },
    find: "if (seen !== result.commit) throw approvalStale(result, seen);",
    replace: "",
    tests: gate(ONE_COMMIT),
    why: "a person approves what came after the look",
  },
  {
    id: "drafts.tenant",
    at: { file: `${PLANS}/rows/draft-rows.ts` },
    find: "where tenant = $2\n",
    replace: "where $2::text is not null\n",
    tests: drafts("drafts make room for those of their own tenant alone"),
    why: "drafts of one tenant remove those of another",
  },
  {
    id: "run-requests.words",
    at: { file: REQUESTS },
    find: 'if (text !== "" && text.length <= MAX_WORDS) return;',
    replace: 'if (text !== "") return;',
    tests: requests("words of the operator have 1 to 8,000 characters"),
    why: "words without a bound go into a worker's prompt",
  },
  {
    id: "run-requests.tries",
    at: { file: REQUESTS },
    find: "if (had + (order.tries ?? 0) > MAX_TRIES) {",
    replace: "if (had > MAX_TRIES) {",
    tests: requests("a port is given no more tries than it may ever have"),
    why: "one request lets a port try without an end",
  },
  {
    id: "jobs.key.caller",
    at: { file: "packages/dure/src/server/job-routes.ts" },
    find: "`http:${caller.name}:${given}`",
    replace: "`http:${given}`",
    tests: jobRoutes("two callers of one key have a job each"),
    why: "a caller is given the job of another who had the same key",
  },
];
