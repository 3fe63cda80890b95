import type { Guard } from "../mutate.ts";
import { leader, testsIn } from "./tests-in.ts";

const PLANS = "packages/dure/src/plans";
const modelWorker = testsIn(`${PLANS}/workers/model.test.ts`);
const workerRun = testsIn(`${PLANS}/workers/worker-run.test.ts`);
const scope = testsIn(`${PLANS}/scope.test.ts`);

const planFile = testsIn(`${PLANS}/plan-file.test.ts`);
const routes = testsIn("packages/dure/test/plans/routes.test.ts");
const leaving = testsIn(`${PLANS}/leaving/review.test.ts`);
const pairTalk = testsIn(`${PLANS}/port/pair-talk.test.ts`);
const secrets = testsIn(`${PLANS}/leaving/find-secrets.test.ts`);
const delivery = testsIn("packages/dure/test/plans/publish.test.ts");
const effort = testsIn(`${PLANS}/plan-effort.test.ts`);
const threads = testsIn(`${PLANS}/threads/plan-threads.test.ts`);
const named = testsIn(`${PLANS}/runs/named-repositories.test.ts`);
const concealed = testsIn(`${PLANS}/workers/without-secrets.test.ts`);
const records = testsIn(`${PLANS}/rows/records.test.ts`);
const taken = testsIn("packages/dure/test/tenants/taken-repository.test.ts");
const treeLease = testsIn(`${PLANS}/workspace/tree-lease.test.ts`);

const LEAVES =
  "a result with a secret is neither merged nor pushed until a person has said yes to it";
const TOGETHER = "workers that share their tokens stop together, and none begins with nothing left";

/** What workers of plans may use, write and see. */
export const PLAN_GUARDS: readonly Guard[] = [
  {
    id: "plan.repository.shown",
    at: { file: `${PLANS}/runs/named-repositories.ts` },
    find: "if (!isTenant(tenant)) return repository;",
    replace: "if (tenant !== undefined) return repository;",
    tests: named("a tenant is shown a repository by its name, an operator by its folder"),
    why: "a tenant is told where its repository lies on the machine",
  },

  // --- a repository that was taken away
  {
    id: "plan.taken.lead",
    at: { file: `${PLANS}/lead/run-leading.ts` },
    find: "if (refused) return this.#stopRefused(run, lease, refused);",
    replace: "",
    tests: leader(
      "a run that may not have its repository any more is stopped before anything is read",
    ),
    why: "a run works on in a repository that its tenant has no more",
  },
  {
    id: "plan.taken.asked",
    at: { file: "packages/dure/src/team/plans.ts" },
    find: "    whyRefused,\n",
    replace: "",
    tests: taken("a tenant's run is stopped when its repository is taken away while it works"),
    why: "a process does not ask whether a run may still have its repository",
  },
  {
    id: "plan.taken.diff",
    at: { file: `${PLANS}/runs/run-results.ts` },
    find: "const run = isTenant(tenant)",
    replace: "const run = false",
    tests: taken("a tenant's run is stopped when its repository is taken away while it works"),
    why: "a tenant reads what stands in a repository that it has no more",
  },
  {
    id: "plan.taken.elsewhere",
    at: { file: "packages/dure/src/team/repositories.ts" },
    find: "const own = named.filter(({ tenants }) => tenants?.includes(tenant));",
    replace: "const own = named;",
    tests: taken("a run that comes from another machine goes on in no other tenant's repository"),
    why: "a machine goes on with a tenant's run in a repository of another tenant",
  },

  // --- what is no end of a try
  {
    id: "plan.worker.fault",
    at: { file: `${PLANS}/workers/worker-run.ts` },
    find: "if (!endsTry(reason)) {",
    replace: "if (reason === undefined) {",
    tests: workerRun("an error that says nothing of the work is thrown: a defect of dure"),
    why: "a defect of dure, or an outage of its database, uses up a try of a port",
  },

  // --- secrets of workers
  {
    id: "plan.secrets.stream",
    at: { file: `${PLANS}/workers/concealer.ts` },
    find: "const begun = this.#begunIn(seen);",
    replace: "const begun = 0;",
    tests: concealed("a worker's secrets are in none of its words, wherever they are cut"),
    why: "a secret that a worker prints in two pieces is stored",
  },
  {
    id: "plan.secrets.bound",
    at: { file: `${PLANS}/workers/concealer.ts` },
    find: "const begun = this.#begunIn(seen);",
    replace: "const begun = seen.length;",
    tests: concealed("no more is held back of a stream than one secret is long"),
    why: "a worker's output stays in memory until its end",
  },
  {
    id: "plan.secrets.result",
    at: { file: `${PLANS}/workers/without-secrets.ts` },
    find: "return { ...event, result: wholeResult(event.result, concealer) };",
    replace: "return event;",
    tests: concealed("every kind of event is stored without the secrets of its worker"),
    why: "the summary of a worker holds a secret that it was given",
  },

  {
    id: "plan.secrets.hook-words",
    at: { file: `${PLANS}/runs/hook-requests.ts` },
    find: "this.#concealerOf(step, token).conceal(words)",
    replace: "words",
    tests: records(
      "what a worker's programs say to dure is stored without the secrets that it was given",
    ),
    why: "a question to a partner stores the token of its worker, where people read it",
  },
  {
    id: "plan.secrets.diff",
    at: { file: `${PLANS}/agents/given-secrets.ts` },
    find: "const patch = text.push(diff.patch);",
    replace: "const { patch } = diff;",
    tests: testsIn(`${PLANS}/agents/given-secrets.test.ts`)(
      "a diff shows no secret that a worker of its plan was given, in whole, by lines or cut",
    ),
    why: "the diff of a port shows a secret that a worker wrote into its files",
  },
  {
    id: "plan.hook.over",
    at: { file: `${PLANS}/port/hooks.ts` },
    find: "and s.status = 'running' and r.finished_at is null`",
    replace: "and s.status = 'running'`",
    tests: records("the token of a step is worth nothing when its step or its run has ended"),
    why: "the token of a step counts after its run was given up",
  },

  // --- what git runs by itself
  {
    id: "plan.leaves.hooks",
    at: { file: `${PLANS}/leaving/findings.ts` },
    find: 'if (isHook(textOf(file.key))) add(at(file, "git-hook"));',
    replace: "",
    tests: leaving("what the repository's own settings run or include is named as a hook of git"),
    why: "a result brings a hook that git runs at the next commit, without a word",
  },
  {
    id: "plan.leaves.commands",
    at: { file: `${PLANS}/leaving/run-by-git.ts` },
    find: ": pathsOfCommand(value);",
    replace: ": [];",
    tests: leaving(
      "a command in git's settings names the files that it runs, in the repository's and the person's",
    ),
    why: "a result brings the program that a filter of the repository runs, without a word",
  },
  {
    id: "plan.leaves.commands.modules",
    at: { file: `${PLANS}/leaving/run-by-git.ts` },
    find: '(word) => word === "-m").flatMap(packagesOf)',
    replace: '(word) => word === "-m").slice(0, 0)',
    tests: leaving(
      "a command that leaves out an extension, a module or a folder names the files it runs",
    ),
    why: "a result brings the module of Python that a filter runs, without a word",
  },
  {
    id: "plan.leaves.commands.extension",
    at: { file: `${PLANS}/leaving/run-by-git.ts` },
    find: "[name, ...shortNamesOf(name)]",
    replace: "[name]",
    tests: leaving(
      "a command that leaves out an extension, a module or a folder names the files it runs",
    ),
    why: "a result brings a program that a command names without its extension, without a word",
  },
  {
    id: "plan.leaves.commands.folder",
    at: { file: `${PLANS}/leaving/run-by-git.ts` },
    find: "folders.map((path) => ({ path, isWhole: true }))",
    replace: "folders.map((path) => ({ path, isWhole: false }))",
    tests: leaving(
      "a command that leaves out an extension, a module or a folder names the files it runs",
    ),
    why: "a result brings a program of the folder into which a command goes, without a word",
  },
  {
    id: "plan.leaves.commands.root",
    at: { file: `${PLANS}/leaving/run-by-git.ts` },
    find: "below === undefined ? [word] : [word, below]",
    replace: "[word]",
    tests: leaving(
      "a command that leaves out an extension, a module or a folder names the files it runs",
    ),
    why: "a result brings a program that a command names from the root, without a word",
  },
  {
    id: "plan.leaves.commands.runner",
    at: { file: `${PLANS}/leaving/run-by-git.ts` },
    find: "RUN_BY[word] ?? []",
    replace: "[]",
    tests: leaving(
      "a command that leaves out an extension, a module or a folder names the files it runs",
    ),
    why: "a result brings the Makefile that an alias runs, without a word",
  },
  {
    id: "plan.leaves.persons-settings",
    at: { file: `${PLANS}/leaving/run-by-git.ts` },
    find: "git.run(listing, { at, network: env, signal })",
    replace: "git.run(listing, { at, signal })",
    tests: leaving(
      "a command in git's settings names the files that it runs, in the repository's and the person's",
    ),
    why: "settings of the person or the machine run a file of a result, without a word",
  },
  {
    id: "plan.leaves.given",
    at: { file: `${PLANS}/leaving/findings.ts` },
    find: "[...given.placesIn(text)].filter(([name]) => !known.has(name))",
    replace: "[...known]",
    tests: leaving(
      "a value that dure gave a worker is named, whatever its form, where it was not before",
    ),
    why: "a worker writes the secret that it was given into a result, without a word",
  },
  {
    id: "plan.leaves.drivers",
    at: { file: `${PLANS}/leaving/findings.ts` },
    find: 'isAttributes ? newDrivers(text, before ?? "") : []',
    replace: "[]",
    tests: leaving(
      "attributes that choose a filter or driver, behind which a command may stand, are named",
    ),
    why: "a result chooses a filter that is a command of the person's, without a word",
  },

  {
    id: "plan.disk.before",
    at: { file: `${PLANS}/sandbox/disk-watch.ts` },
    find: "grownBy(before.size, now, lost)",
    replace: "grownBy(now, now, lost)",
    tests: testsIn(`${PLANS}/sandbox/disk-watch.test.ts`)(
      "what a tree writes before the first look counts, and what was there before it does not",
    ),
    why: "what a worker writes at once, before dure first looks, counts for nothing",
  },

  // --- what a member asks its partner
  {
    id: "plan.talk.away",
    at: { file: `${PLANS}/port/pair-talk.ts` },
    find: "return wordsIn(await this.#retryUntilAnswered(wait, signal));",
    replace: "return wordsIn(await wait());",
    tests: pairTalk(
      "a database that is away while a question is asked is waited for, and is no answer",
    ),
    why: "an outage of the database becomes the answer of a partner",
  },
  {
    id: "plan.talk.taken-over",
    at: { file: `${PLANS}/port/pair-talk.ts` },
    find: "if (signal.aborted || !endsTry(error)) throw error;",
    replace: "if (signal.aborted) throw error;",
    tests: pairTalk("a question of a process that has lost the run has no answer there"),
    why: "the loss of a run to another process becomes the answer of a partner",
  },

  // --- a model that is away
  {
    id: "plan.away.time",
    at: { file: `${PLANS}/workers/model.ts` },
    find: "time.stop(); this.#ends.push(sign, () => time.run(), assignment.hold!());",
    replace: "this.#ends.push(sign);",
    tests: modelWorker(
      "for three minutes ends ready in one try, and its wait takes nothing of its time",
    ),
    why: "a provider that is away for three minutes takes the time of a port, and its try",
  },
  {
    id: "plan.away.patience",
    at: { file: "packages/dure/src/models/patient-attempts.ts" },
    find: "if (leftMs <= 0 || askedMs > leftMs) return false;",
    replace: "",
    tests: modelWorker(
      "for 40 minutes fails with the provider's error when its patience is over",
      "leaves a limit that lasts longer than its patience to its port, with the moment",
    ),
    why: "a worker waits for ever for a model that does not come back",
  },
  {
    id: "plan.away.final",
    at: { file: "packages/dure/src/models/patient-attempts.ts" },
    find: "if (!patience || !isAway(failure.class)) return false;",
    replace: "if (!patience) return false;",
    tests: modelWorker("does not wait for one that refuses its key"),
    why: "a key that is refused is asked with for half an hour",
  },
  {
    id: "plan.away.answer",
    at: { file: `${PLANS}/workers/model.ts` },
    find: "patience: assignment.hold && patience,",
    replace: "patience,",
    tests: modelWorker("does not wait with an answer for which its partner waits"),
    why: "a worker that asks its partner runs out of time while that waits for its model",
  },
  {
    id: "plan.away.overlap",
    at: { file: `${PLANS}/port/port-account.ts` },
    find: "if (this.#holds > 0) return;",
    replace: "",
    tests: testsIn(`${PLANS}/port/port-account.test.ts`)(
      "two waits of a port that overlap take nothing of its time, and give it none",
    ),
    why: "a port of which two workers wait gets time that it was not given",
  },
  // --- tokens
  {
    id: "plan.tokens.together",
    at: { file: `${PLANS}/workers/worker-run.ts` },
    find: "shared?.onUsedUp((of) => report.stop(nothingLeft(of)))",
    replace: "shared?.onUsedUp(() => {})",
    tests: workerRun(TOGETHER),
    why: "each of many ports side by side uses up all tokens of their run",
  },
  {
    id: "plan.tokens.begin",
    at: { file: `${PLANS}/workers/worker-run.ts` },
    find: "shared !== undefined && shared.left <= 0 ? refused() : begun(report, work)",
    replace: "begun(report, work)",
    tests: workerRun(TOGETHER),
    why: "an agent is begun, and calls its model, although nothing is left",
  },
  {
    id: "plan.calls.counted",
    at: { file: `${PLANS}/workers/worker-run.ts` },
    find: "shared?.add(tokens.input + tokens.output, calls)",
    replace: "shared?.add(tokens.input + tokens.output, 0)",
    tests: workerRun("workers that share their calls stop together; a start counts as one"),
    why: "a loop of small calls goes on for as long as its tokens last",
  },
  {
    id: "plan.scope.tools",
    at: { file: `${PLANS}/scope.ts` },
    find: "if (isTakenOut(scope.tools) && refuses(scope.writes, folded)) {",
    replace: "if (isTakenOut(undefined)) {",
    tests: scope("what a person's tools run is no port's that only owns all"),
    why: "a worker that owns all plants a hook that runs for the person after the merge",
  },
  {
    id: "plan.reads-home.secret",
    at: { file: `${PLANS}/plan-check.ts` },
    find: "if (!isHomeSecret(place)) return [];",
    replace: 'if (place !== "") return [];',
    tests: planFile("names what a worker may not get: reads_home: [.ssh/config]"),
    why: "a plan lends keys without the scope for it",
  },
  {
    id: "plan.reads-home.reach",
    at: { file: `${PLANS}/plan-reach.ts` },
    find: "reads_home: readsHome,",
    replace: "",
    tests: routes("what a text asks for beyond its own tree only an admin may run"),
    why: "who may only run plans reads the home folder of the server's user",
  },

  // --- what leaves a run
  {
    id: "plan.leaving.merge",
    at: { file: `${PLANS}/workspace/merge-into-branch.ts` },
    find: "await options.review?.(old);",
    replace: "",
    tests: delivery(LEAVES),
    why: "a secret of a worker is merged without a word",
  },
  {
    id: "plan.leaving.push",
    at: { file: `${PLANS}/workspace/push-branch.ts` },
    find: "await push.review?.(await knownHere(repository, [...there.values()], signal));",
    replace: "",
    tests: delivery(LEAVES),
    why: "a secret of a worker is pushed without a word",
  },
  {
    id: "plans.leaving.encoded",
    at: { file: `${PLANS}/leaving/find-secrets.ts` },
    find: "return [...formed, ...general, ...encoded];",
    replace: "return [...formed, ...general];",
    tests: secrets("a secret that stands in base64 in one line is found"),
    why: "a key in base64 leaves with a result unseen",
  },
  {
    id: "plans.leaving.encoded.inside",
    at: { file: `${PLANS}/leaving/find-secrets.ts` },
    find: "const offsets = isInside && at === 0 ? OFFSETS : [0];",
    replace: "const offsets = isInside && at === 0 ? [] : [0];",
    tests: secrets("a secret far inside of a long text in base64 is found"),
    why: "a key in a long text in base64 leaves unseen",
  },
  {
    id: "plans.threads.run",
    at: { file: `${PLANS}/threads/plan-threads.ts` },
    find: "return whole.length <= FEW_PORTS && files.length <= FEW_FILES;",
    replace: "return whole.length > 0;",
    tests: threads("the mode of a run of many ports is found while"),
    why: "a run of 10,000 ports holds up every caller of the server for seconds",
  },
  {
    id: "plans.leaving.yields",
    at: { file: `${PLANS}/leaving/find-secrets.ts` },
    find: "if (start > 0) await new Promise((resolve) => setImmediate(resolve));",
    replace: "",
    tests: secrets("other work goes on while a line of 10 MB is read"),
    why: "one long file holds up every caller of the server",
  },
  {
    id: "plan.leaving.confirm",
    at: { file: `${PLANS}/leaving/review.ts` },
    find: "const text = JSON.stringify([commit, places]);",
    replace: "const text = JSON.stringify([places]);",
    tests: leaving("a yes holds for exactly these findings at exactly this commit"),
    why: "a yes to one build file lets every later one leave",
  },
  {
    id: "plan.leaving.history",
    at: { file: `${PLANS}/leaving/outgoing.ts` },
    find: "lines.slice(-MAX_COMMITS)",
    replace: "lines.slice(-1)",
    tests: leaving("what one commit writes and a later one takes away leaves with the history"),
    why: "a secret that a later commit takes away leaves with the history unseen",
  },
  {
    id: "plan.leaving.reach",
    at: { file: `${PLANS}/plan-reach.ts` },
    find: '...(plan.mayLeave === undefined ? [] : ["may_leave"]),',
    replace: "",
    tests: leaving("a text that lets files leave by itself reaches beyond its tree"),
    why: "a caller's text allows itself to take a build file along",
  },

  // --- the work of one plan
  {
    id: "plan.effort.lengths",
    at: { file: `${PLANS}/plan-file.ts` },
    find: "assertWithinEffort(document.value, effort);",
    replace: "",
    tests: effort("by aliases are counted, not read"),
    why: "an alias makes millions of patterns of a short text",
  },
  {
    id: "plan.effort.comparisons",
    at: { file: `${PLANS}/plan-effort.ts` },
    find: "if (this.#spent <= this.#most) return;",
    replace: "if (this.#spent > 0) return;",
    tests: effort("patterns that need more comparisons than a plan may have"),
    why: "a short text keeps the thread that answers busy for minutes",
  },
  {
    id: "plan.threads.share",
    at: { file: `${PLANS}/threads/plan-threads.ts` },
    find: "if (own.length >= shareWaiting)",
    replace: "if (own.length < 0)",
    tests: threads("one share fills no more than its part of the queue"),
    why: "one caller's plans fill the queue of all",
  },
  {
    id: "plan.threads.turns",
    at: { file: `${PLANS}/threads/plan-threads.ts` },
    find: "const [next] = this.#waiting.toSorted((a, b) => turnOf(a) - turnOf(b));",
    replace: "const [next] = this.#waiting.toSorted((a, b) => turnOf(a) * 0 + turnOf(b) * 0);",
    tests: threads("one share fills no more than its part of the queue"),
    why: "all wait for every plan of one caller",
  },
  {
    id: "plan.tree-lease.epoch",
    at: { file: `${PLANS}/workspace/tree-lease.ts` },
    find: "one.run === other.run && one.epoch === other.epoch",
    replace: "one.run === other.run",
    tests: treeLease(
      "a process that held a tree under an earlier epoch takes it anew under the later one",
    ),
    why: "a process of an older epoch takes the tree of a living one",
  },
  {
    id: "plan.tree-lease.older",
    at: { file: `${PLANS}/workspace/tree-lease.ts` },
    find: "if (holder && holder.epoch >= lease.epoch) {",
    replace: "if (holder && holder.epoch > lease.epoch + 1_000) {",
    tests: treeLease("one process holds a tree, and one with a higher epoch takes it"),
    why: "two processes write in one tree",
  },
  {
    id: "plan.pair-talk.bound",
    at: { file: `${PLANS}/port/pair-talk.ts` },
    find: "if (number > MAX_QUERIES) {",
    replace: "if (number > 1_000 * MAX_QUERIES) {",
    tests: testsIn(`${PLANS}/port/pair-talk.test.ts`)(
      "a member gets an answer to five questions of one step, and is told so at the sixth",
    ),
    why: "two members of a pair ask each other for as long as the step lasts",
  },
  {
    id: "plan.shared-work.left",
    at: { file: `${PLANS}/runs/shared-work.ts` },
    find: "if (this.#callers === 0) this.#stop",
    replace: "if (this.#callers >= 0) this.#stop",
    tests: testsIn(`${PLANS}/runs/remembered-looks.test.ts`)(
      "a look goes on for the others when the caller who began it has left",
    ),
    why: "one reader who leaves takes the look from all others",
  },
];
