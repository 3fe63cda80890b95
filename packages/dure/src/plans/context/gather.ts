import { estimateTokens } from "../../models/prices.ts";
import { globMatches, globOf, type Glob } from "../glob.ts";
import { decideRead, decideWrite, makeScope, type ScopeInput } from "../scope.ts";
import { TESTS, withoutSections, type ContextScope } from "./context-scopes.ts";
import { isFor, subjectOf, subjectOfName } from "./document-topics.ts";
import { conventionsOf, type Conventions } from "./conventions.ts";
import { cutTo } from "./cut-file.ts";
import type { PromptFile } from "./prompt.ts";
import type { WorkerSpec } from "../plan.ts";
import { withheldOf } from "../workspace/confinement.ts";
import type { ReadSignatures } from "./outlines.ts";
import { signaturesOf } from "./signatures.ts";

/** The repository at one commit. */
export interface CommitFiles {
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
  /** Undefined: there is no such file, or it is no text. */
  readFile(path: string): Promise<string | undefined>;
}

/**
 * Tokens of all references of one prompt, and of one file in it: a reference is a help, the worker
 * can read more.
 */
const MAX_REFERENCES = 12_000;
const MAX_REFERENCE = 4_000;
/** Tokens of all documents that a role gets by the table: what it builds upon has the rest. */
const MAX_DOCUMENTS = 6_000;
/** Documents whose front matter is read, in the order of their paths. */
const MAX_LOOKED = 200;
/**
 * Tokens of a file of others whose signatures cannot be read: a role of the table gets no other layer
 * whole.
 */
const MAX_WITHOUT_SIGNATURES = 500;
/** Files for which there was no room, before no more are tried: shorter ones may still fit. */
const MAX_MISSED = 50;
/** Tokens of one contract that is shown. What is longer is cut and can be read. */
const MAX_CONTRACT = 8_000;
/** Bytes of a file that counts as text for the full context: what is bigger is data. */
const MAX_TEXT_FILE = 256_000;
/** Files that are looked at. */
const MAX_FILES = 50_000;
/** Files that are decided in one go. */
const CHUNK = 500;

export interface GatherInput {
  readonly scope: ScopeInput;
  readonly context: ContextScope;
  /** Written by this worker, so nothing is cut out of them. */
  readonly writesContracts?: boolean | undefined;
  /** Of the worker. Default: a program. */
  readonly kind?: WorkerSpec["kind"] | undefined;
  /**
   * What all ports of the plan own and read: without the scope a worker would be given that, with every
   * document. Default: what its own scope lets it read.
   */
  readonly ofPlan?: readonly string[] | undefined;
}

export interface GatheredFiles {
  readonly contracts: readonly PromptFile[];
  readonly references: readonly PromptFile[];
  readonly conventions: Conventions;
  readonly ownFiles: readonly string[];
  readonly readable: readonly string[];
  /**
   * Tokens of what it would be given without the scope, whole: the contracts, the documents, and what
   * the plan's ports own and read. Its own files count nowhere.
   */
  readonly wholeTokens: number;
  /** The fewest folders and files that stand for what its processes do not see. */
  readonly hidden: readonly string[];
}

export interface GatherOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default: of TypeScript and JavaScript alone. */
  readonly signatures?: ReadSignatures | undefined;
}

const plainSignatures: ReadSignatures = async (path, text) => signaturesOf(path, text);

/**
 * The files of a prompt: contracts, references, names of its own and of what can be read. Reads
 * only what the scope allows.
 */
export async function gatherFiles(
  { scope, context, writesContracts = false, kind = "command", ofPlan = [] }: GatherInput,
  commit: CommitFiles,
  { signal, signatures = plainSignatures }: GatherOptions = {},
): Promise<GatheredFiles> {
  const { ownFiles, others } = await sortByScope(scope, commit, signal);

  const contracts: PromptFile[] = [];
  for (const path of scope.contracts) {
    signal?.throwIfAborted();
    const text = await commit.readFile(path);
    contracts.push(await contractFile(path, text, writesContracts ? undefined : signatures));
  }

  const conventions = await conventionsOf(
    { scope, kind, readable: [...ownFiles, ...others] },
    commit,
  );
  const guides = conventions.guides.map(({ path }) => path);

  const candidates = candidatesOf(others, scope, context).filter(
    ({ path }) => !guides.includes(path),
  );
  const references = await referencesOf(candidates, commit, { context, signal, signatures });

  const names = commit.files.slice(0, MAX_FILES).map(({ path }) => path);
  const hidden = withheldOf(makeScope(scope), names);

  const whole = [...references, ...conventions.guides].filter(({ form }) => form === "whole");
  const shown = new Set(whole.map(({ path }) => path));
  const exclude = context.exclude.map(globOf);
  const isNear = nearIn(scope);

  const readable = others.filter(
    (path) =>
      isNear(path) && !shown.has(path) && !matches(exclude, path) && isNamedFor(path, context),
  );

  const near = others.filter(isNear);
  const planned = ofPlan.map(globOf);
  const own = new Set(ownFiles);
  const isOfPlan = (path: string): boolean => matches(planned, path) || isDocument(path);
  const unfiltered =
    ofPlan.length > 0 ? names.filter((path) => !own.has(path) && isOfPlan(path)) : [];
  const wholly = [...candidates.map(({ path }) => path), ...guides, ...near, ...unfiltered];
  const wholeTokens = wholeTokensOf([...scope.contracts, ...wholly], commit.files);

  return { contracts, references, conventions, ownFiles, readable, wholeTokens, hidden };
}

/** Files of the commit that the worker may write, and others that it may read but its contracts. */
async function sortByScope(
  patterns: ScopeInput,
  commit: CommitFiles,
  signal: AbortSignal | undefined,
): Promise<{ ownFiles: string[]; others: string[] }> {
  const scope = makeScope(patterns);
  const contracts = new Set(patterns.contracts);
  const ownFiles: string[] = [];
  const others: string[] = [];
  for (const [index, { path }] of commit.files.slice(0, MAX_FILES).entries()) {
    // One decision costs some 0.1 ms; other work of the process runs in between.
    if (index % CHUNK === CHUNK - 1) await new Promise((resolve) => setImmediate(resolve));
    signal?.throwIfAborted();
    if (decideWrite(scope, path).allowed) ownFiles.push(path);
    else if (!contracts.has(path) && decideRead(scope, path).allowed) others.push(path);
  }

  return { ownFiles, others };
}

/**
 * Whether a path that may be read is worth a name in the prompt: the plan or the role gives it. The
 * rest of the tree may be read too, under most scopes, and would only cost tokens.
 */
function nearIn(scope: ScopeInput): (path: string) => boolean {
  if (scope.readsVisible !== true) return () => true;
  const patterns = [
    ...scope.reads,
    ...(scope.dependencies ?? []),
    ...(scope.byRole?.patterns ?? []),
  ];
  const near = patterns.map(globOf);

  return (path) => matches(near, path);
}

/** A file that may be shown as a reference, and why. */
interface ReferenceCandidate {
  readonly path: string;
  readonly because: "document" | "dependency" | "named" | "role";
}

/**
 * What may be shown as a reference: documents that are for the role, what the port depends on, then
 * what the plan names, then what the role's context includes.
 */
function candidatesOf(
  paths: readonly string[],
  scope: ScopeInput,
  context: ContextScope,
): readonly ReferenceCandidate[] {
  const [include, exclude] = [context.include.map(globOf), context.exclude.map(globOf)];
  const reads = scope.reads.map(globOf);
  const needed = (scope.dependencies ?? []).map(globOf);
  const texts = paths.filter(isText);
  const never = (context.neverShown ?? []).map(globOf);

  const depended = texts.filter(
    (path) => matches(needed, path) && !isTest(path) && !matches(never, path),
  );
  const shown = texts.filter((path) => !matches(needed, path) && !matches(exclude, path));

  const named = shown.filter((path) => matches(reads, path));
  // A port that names what it reads knows its documents; its role's own layer is shown all the same.
  const hasOwnReads = scope.readsVisible === true && scope.byRole === undefined;
  const others = shown.filter((path) => !matches(reads, path));
  const byTable = context.documents !== undefined;
  const documents = hasOwnReads ? [] : others.filter(byTable ? isProjectDocument : () => false);
  const included = others.filter(
    (path) => matches(include, path) && !(isDocument(path) && (hasOwnReads || byTable)),
  );
  const as = (
    some: readonly string[],
    because: ReferenceCandidate["because"],
  ): readonly ReferenceCandidate[] => some.map((path) => ({ path, because }));

  return [
    ...as(documents.slice(0, MAX_LOOKED), "document"),
    ...as(depended, "dependency"),
    ...as(named, "named"),
    ...as(included, "role"),
  ];
}

/** The references that there is room for, in the order of the candidates. */
async function referencesOf(
  candidates: readonly ReferenceCandidate[],
  commit: CommitFiles,
  options: {
    readonly context: ContextScope;
    readonly signal: AbortSignal | undefined;
    readonly signatures: ReadSignatures;
  },
): Promise<readonly PromptFile[]> {
  const { context, signal, signatures } = options;
  const references: PromptFile[] = [];
  const left = { all: MAX_REFERENCES, documents: MAX_DOCUMENTS };
  let missed = 0;
  for (const { path, because } of candidates) {
    if (missed > MAX_MISSED) break;
    signal?.throwIfAborted();
    const isByTable = because === "document";
    const text = await commit.readFile(path);
    if (text === undefined || text.trim() === "") continue;
    if (isByTable && !isFor(subjectOf(path, text), context.documents!)) continue;
    const reference = await referenceFile(path, text, context, signatures);
    const isUnread = because === "dependency" && reference.form === "whole" && !isDocument(path);
    const isForeign = isUnread && context.documents !== undefined;
    const file = cutTo(reference, isForeign ? MAX_WITHOUT_SIGNATURES : MAX_REFERENCE);
    const tokens = estimateTokens(file.text);
    if (tokens > (isByTable ? Math.min(left.all, left.documents) : left.all)) {
      missed += 1;
      continue;
    }
    left.all -= tokens;
    if (isByTable) left.documents -= tokens;
    references.push(file);
  }

  return references;
}

/** Without `signatures` it is whole. */
async function contractFile(
  path: string,
  text: string | undefined,
  signatures: ReadSignatures | undefined,
): Promise<PromptFile> {
  if (text === undefined) return { path, text: "", form: "missing" };
  const shown = signatures ? await signatures(path, text) : { text, form: "whole" as const };

  return cutTo({ path, ...shown }, MAX_CONTRACT);
}

function isDocument(path: string): boolean {
  return /\.(?:md|markdown)$/i.test(path);
}

/** A document of the whole, as the table means them. */
function isProjectDocument(path: string): boolean {
  return isDocument(path) && /^(?:docs?\/|readme\.|contributing\.)/iu.test(path);
}

/** Whether a document that stands for other roles by its name is not named to this one. Others are. */
function isNamedFor(path: string, { documents }: ContextScope): boolean {
  if (documents === undefined || !isProjectDocument(path)) return true;
  const { topics } = subjectOfName(path);
  return topics.length === 0 || isFor({ topics, roles: undefined }, documents);
}

async function referenceFile(
  path: string,
  text: string,
  context: ContextScope,
  signatures: ReadSignatures,
): Promise<PromptFile> {
  if (isDocument(path)) {
    const parts = withoutSections(text, context.withoutSections);
    return { path, text: parts, form: parts === text ? "whole" : "sections" };
  }

  return { path, ...(await signatures(path, text)) };
}

/**
 * Tokens of files that are read whole. Pure. Files are counted by their size, bytes / 4, so a text
 * that is not ASCII counts less than in a prompt: what a prompt spares is rather told too small.
 * Lock files, binaries by their ending, and files over 256 kB do not count: they are never sent.
 */
export function wholeTokensOf(paths: Iterable<string>, files: CommitFiles["files"]): number {
  const wanted = new Set(paths);
  const bytes = files
    .slice(0, MAX_FILES)
    .filter((file) => wanted.has(file.path) && file.bytes <= MAX_TEXT_FILE && isText(file.path))
    .reduce((sum, file) => sum + file.bytes, 0);
  return Math.ceil(bytes / 4);
}

const NO_TEXT = new RegExp(
  `\\.(?:${[
    "png|jpe?g|gif|webp|ico|bmp|svg|pdf",
    "zip|gz|tgz|bz2|xz|7z|jar|war",
    "class|o|a|so|dll|exe|wasm",
    "woff2?|ttf|otf|eot",
    "mp[34]|mov|webm|wav",
    "sqlite3?|db|bin|dat",
    "lock|map|snap|min\\.js",
  ].join("|")})$`,
  "i",
);
const LOCK_FILES = /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum)$/;

function isText(path: string): boolean {
  return !NO_TEXT.test(path) && !LOCK_FILES.test(path);
}

const TEST_GLOBS = TESTS.map(globOf);

function isTest(path: string): boolean {
  return matches(TEST_GLOBS, path);
}

function matches(globs: readonly Glob[], path: string): boolean {
  return globs.some((glob) => globMatches(glob, path));
}
