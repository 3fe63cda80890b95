import type { Port } from "../plan.ts";
import { isTestPattern } from "../check-paths.ts";
import { weakenedTests, type TestFile, type Weakness } from "../results/weakened.ts";
import { isOfRunner, suspiciousCode } from "../results/suspicious.ts";
import { decideWrite, makeScope } from "../scope.ts";
import type { PortWork } from "./pair-parts.ts";
import type { PortFileChange } from "./port-files.ts";
import { PortFailure } from "./port-failure.ts";

/** Files of tests that are compared; a port that changes more is asked about by its diff. */
const MAX_FILES = 300;

const WEAKER_HINT =
  "Tell it to leave the tests as they are. If they have to say less, accept them, or write " +
  "weaker_tests: allowed at the port.";

/** What a port would be green for without having done its work. */
export interface Tampering {
  /** What the next try is told. */
  readonly says: string;
  /** The operator is asked before another try. */
  readonly failure?: PortFailure | undefined;
}

/**
 * Whether a port has done its work, beside that its acceptance passes: it changed what it is about,
 * its tests say no less than before, and its code does no more for them than for who uses it. Undefined: it has. `from`: what the port started from.
 *
 * @param judged what running the acceptance shows; asked where the files say nothing.
 */
export async function findTampering(
  { port, files, account }: Pick<PortWork, "port" | "files" | "account">,
  { from, to }: { readonly from: string; readonly to: string },
  judged: () => Promise<readonly Weakness[]>,
): Promise<Tampering | undefined> {
  const changes = await files.changes(from, to);
  if (port.noChange !== "allowed" && !hasWorked(port, changes)) return { says: nothingDone(port) };
  if (account.port.weakerTestsAccepted) return undefined;
  const weaker =
    port.weakerTests === "allowed"
      ? await judged()
      : await weakerIn({ port, files }, { from, to, changes }, judged);

  return weaker.length === 0 ? undefined : { says: sayWeaker(weaker), failure: failureOf(weaker) };
}

/** What its files say less of, else what running it shows. */
async function weakerIn(
  { port, files }: Pick<PortWork, "port" | "files">,
  {
    from,
    to,
    changes,
  }: { readonly from: string; readonly to: string; readonly changes: readonly PortFileChange[] },
  judged: () => Promise<readonly Weakness[]>,
): Promise<readonly Weakness[]> {
  const isTest = testsOf(port);
  const touched = changes.filter(({ path }) => isTest(path)).slice(0, MAX_FILES);
  const both = async ({ path }: PortFileChange): Promise<TestFile> => {
    const [before, after] = await Promise.all([files.read(from, path), files.read(to, path)]);
    return { path, before, after };
  };
  const tests = await Promise.all(touched.map(both));
  const told = weakenedTests(tests, (path) => isOwned(port.owns, path) && !isTest(path));
  const code = changes.filter(({ path }) => !isTest(path) && !isOfRunner(path));
  const links = await linkedTests(files, to, touched);
  const seen = [
    ...told,
    ...links,
    ...suspiciousCode(await Promise.all(code.slice(0, MAX_FILES).map(both))),
  ];

  return seen.length > 0 ? seen : judged();
}

/** Tests that are no files any more: what they lead to can be anything. */
async function linkedTests(
  files: PortWork["files"],
  to: string,
  touched: readonly PortFileChange[],
): Promise<readonly Weakness[]> {
  const linked = new Set(await files.links(to));
  return touched
    .filter(({ path }) => linked.has(path))
    .map(({ path }) => ({ kind: "removed", path, says: `${path} is a link now` }));
}

/**
 * A port that owns more than tests has changed some of that, or a file that it was granted; one that
 * owns tests has changed them.
 */
function hasWorked(port: Port, changes: readonly PortFileChange[]): boolean {
  if (port.owns.length === 0) return changes.length > 0;

  const isTest = testsOf(port);
  return changes.some(({ path }) => isOwned(port.owns, path) || !isTest(path));
}

function nothingDone({ owns }: Port): string {
  const what = owns.length === 0 ? "any of its tests" : owns.slice(0, 5).join(", ");
  return [
    `Nothing was changed of ${what}, so nothing was done, whatever the acceptance says.`,
    "Do what the goal says. Where nothing is to do, write no_change: allowed at the port.",
  ].join(" ");
}

export function isOwned(patterns: readonly string[], path: string): boolean {
  return decideWrite(makeScope({ writes: patterns, reads: [], contracts: [] }), path).allowed;
}

/** By the plan, or by its name. */
export function testsOf({ tests }: Port): (path: string) => boolean {
  return (path) => isTestPattern(path) || isOwned(tests, path);
}

function sayWeaker(weaker: readonly Weakness[]): string {
  return `Its tests say less than before: ${weaker.map(({ says }) => says).join("; ")}.`;
}

function failureOf(weaker: readonly Weakness[]): PortFailure {
  const paths = [...new Set(weaker.flatMap(({ path }) => path ?? []))];
  const message = sayWeaker(weaker).slice(0, 1_000);
  const because = { code: "TESTS_WEAKENED", message, hint: WEAKER_HINT };
  const kinds = [...new Set(weaker.map(({ kind }) => kind))];

  return new PortFailure("tests-weakened", because, { paths: paths.slice(0, 50), kinds });
}
