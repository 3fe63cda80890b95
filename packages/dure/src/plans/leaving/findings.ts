/** What is found in the changes that are about to leave: secrets, and files that rules name. */

import type { Clock } from "../../kernel/clock.ts";
import type { ResultFinding } from "../../wire/runs.ts";
import type { Concealer } from "../workers/concealer.ts";
import { textOf } from "../workspace/paths.ts";
import type { Repository } from "../workspace/repository.ts";
import {
  isAttributesFile,
  isPackageFile,
  newDrivers,
  newInstallScripts,
  rulesOfPath,
} from "./file-rules.ts";
import { findSecrets } from "./find-secrets.ts";
import { outgoingFiles, type LeavingFile } from "./outgoing.ts";
import { GIVEN_SECRET } from "./secret-rules.ts";
import { runByGit } from "./run-by-git.ts";

/** Bytes of files that are looked at for one result. */
const MAX_BYTES = 128 * 1024 * 1024;
/** Milliseconds of one look; 128 MiB take some 8 s. */
const MAX_MS = 30_000;
/** Findings of one result. */
const MAX_FINDINGS = 1_000;

interface LookedThrough {
  readonly commit: string;
  readonly known: readonly string[];
  readonly clock: Pick<Clock, "monotonic">;
  /** It leads to the person's settings of git. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Knows what workers of the run were given as secrets. */
  readonly given: Concealer;
  readonly signal: AbortSignal;
}

/**
 * What of a result holds a secret, or runs where it arrives: in every commit that its target has
 * not. What is too much to be looked at is a finding too.
 */
export async function findingsOf(
  repository: Repository,
  { commit, known, clock, env, given, signal }: LookedThrough,
): Promise<readonly ResultFinding[]> {
  const outgoing = await outgoingFiles(repository, { commit, known, signal });
  const findings = new Map<string, ResultFinding>();
  const add = (finding: ResultFinding): void => {
    const { rule, path, line, excerpt } = finding;
    const name = JSON.stringify([rule, path, line, excerpt]);
    if (!findings.has(name)) findings.set(name, finding);
  };
  const isHook = await runByGit(repository, { env, signal });
  for (const file of outgoing.files) {
    for (const rule of nameRulesOf(file)) add(at(file, rule));
    if (isHook(textOf(file.key))) add(at(file, "git-hook"));
  }

  const unread = filesById(outgoing.files);
  const until = clock.monotonic() + MAX_MS;
  const texts = blobTexts(repository, [...unread.keys()], { bytes: MAX_BYTES, signal });
  for await (const [id, blob] of texts) {
    if (clock.monotonic() > until || findings.size > MAX_FINDINGS) break;
    for (const file of unread.get(id) ?? []) {
      (await findingsInText(repository, file, { blob, given, signal })).forEach(add);
    }
    unread.delete(id);
  }
  const left = [...unread.values()].flat();
  if (left.length > 0) add(notLookedAt(textOf(left[0]!.key), commit, left.length));
  if (outgoing.isCut) add(notLookedAt("*", commit, undefined));

  return [...findings.values()];
}

/** A submodule is code of another repository. */
function nameRulesOf({ key, new: { mode } }: LeavingFile): readonly string[] {
  return mode === "160000" ? ["submodule"] : rulesOfPath(textOf(key));
}

function filesById(files: readonly LeavingFile[]): Map<string, LeavingFile[]> {
  const byId = new Map<string, LeavingFile[]>();
  for (const file of files) {
    if (file.new.mode === "160000") continue;
    const same = byId.get(file.new.id);
    if (same === undefined) byId.set(file.new.id, [file]);
    else same.push(file);
  }

  return byId;
}

/** What stood there before is not new, and no finding. */
async function findingsInText(
  repository: Repository,
  file: LeavingFile,
  {
    blob: { text, isCut },
    given,
    signal,
  }: { blob: BlobText; given: Concealer; signal: AbortSignal },
): Promise<readonly ResultFinding[]> {
  const path = textOf(file.key);
  const [isPackage, isAttributes] = [isPackageFile(path), isAttributesFile(path)];
  const whole = isCut ? [notLookedAt(path, file.commit, undefined)] : [];
  const isPlain = !isPackage && !isAttributes && given.placesIn(text).size === 0;
  if (isPlain && (await findSecrets(path, text, "")).length === 0) return whole;

  const before = await textBefore(repository, file, signal);
  const secrets = await findSecrets(path, text, before ?? "");
  const known = given.placesIn(before ?? "");
  const written = [...given.placesIn(text)].filter(([name]) => !known.has(name));
  const scripts = isPackage ? newInstallScripts(text, before) : [];
  const drivers = isAttributes ? newDrivers(text, before ?? "") : [];

  return [
    ...whole,
    ...secrets.map(({ rule, line, excerpt }) => ({ ...at(file, rule), line, excerpt })),
    ...written.map(([name, start]) => ({
      ...at(file, GIVEN_SECRET),
      line: text.slice(0, start).split("\n").length,
      excerpt: name,
    })),
    ...scripts.map((key) => ({ ...at(file, "install-script"), excerpt: key })),
    ...drivers.map((driver) => ({ ...at(file, "git-hook"), excerpt: driver })),
  ];
}

async function textBefore(
  repository: Repository,
  { old }: LeavingFile,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (old === undefined || old.mode === "160000") return undefined;
  const texts = blobTexts(repository, [old.id], { bytes: MAX_BYTES, signal });
  for await (const [, { text }] of texts) return text;

  return undefined;
}

function at({ key, commit }: LeavingFile, rule: string): ResultFinding {
  return { rule, path: textOf(key), line: null, excerpt: null, commit };
}

function notLookedAt(path: string, commit: string, files: number | undefined): ResultFinding {
  const some = files === 1 ? "1 file" : `${files} files`;
  const excerpt = files === undefined ? null : some;
  return { rule: "not-looked-at", path, line: null, excerpt, commit };
}

/** Bytes of one file that are looked at. */
const MAX_FILE = 8 * 1024 * 1024;
/** Bytes of one reading: what is in memory at once. */
const MAX_READING = 16 * 1024 * 1024;

interface BlobText {
  readonly text: string;
  /** The file is longer. */
  readonly isCut: boolean;
}

interface Sized {
  readonly id: string;
  readonly bytes: number;
}

/**
 * Texts of blobs, several with one call of git. A blob that is long stands alone, and only its
 * beginning is read. `bytes`: of all of them together; what is beyond is left out.
 */
async function* blobTexts(
  repository: Repository,
  ids: readonly string[],
  { bytes: most, signal }: { bytes: number; signal: AbortSignal },
): AsyncGenerator<readonly [string, BlobText]> {
  let left = most;
  for (const group of grouped(await sizesOf(repository, ids, signal))) {
    left -= group.reduce((sum, { bytes }) => sum + Math.min(bytes, MAX_FILE), 0);
    if (left < 0) return;
    const [only] = group;
    if (only !== undefined && only.bytes > MAX_FILE) {
      yield [only.id, await beginningOf(repository, only.id, signal)];
    } else yield* await textsOf(repository, group, signal);
  }
}

async function sizesOf(
  { git, at }: Repository,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly Sized[]> {
  if (ids.length === 0) return [];
  const asked = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
  const said = await git.text(asked, { at, input: `${ids.join("\n")}\n`, signal });

  return said.split("\n").map((line) => {
    const [id = "", bytes] = line.split(" ");
    return { id, bytes: Number(bytes) };
  });
}

/** As many as fit into one reading. Pure. */
function grouped(blobs: readonly Sized[]): readonly (readonly Sized[])[] {
  const groups: Sized[][] = [];
  let room = 0;
  for (const blob of blobs) {
    const group = groups.at(-1);
    if (group === undefined || blob.bytes > room) {
      groups.push([blob]);
      room = MAX_READING - blob.bytes;
    } else {
      group.push(blob);
      room -= blob.bytes;
    }
  }

  return groups;
}

async function beginningOf(
  { git, at }: Repository,
  id: string,
  signal: AbortSignal,
): Promise<BlobText> {
  const call = { at, outputBytes: MAX_FILE, cut: true, signal };
  const { stdout } = await git.run(["cat-file", "blob", id], call);

  return { text: textIn(stdout), isCut: true };
}

async function textsOf(
  { git, at }: Repository,
  group: readonly Sized[],
  signal: AbortSignal,
): Promise<readonly (readonly [string, BlobText])[]> {
  const input = `${group.map(({ id }) => id).join("\n")}\n`;
  const { stdout } = await git.run(["cat-file", "--batch"], { at, input, signal });
  let place = 0;
  return group.map(({ id, bytes }) => {
    const start = stdout.indexOf(10, place) + 1;
    place = start + bytes + 1;

    return [id, { text: textIn(stdout.subarray(start, start + bytes)), isCut: false }] as const;
  });
}

/** UTF-16 by its mark; else a character a byte, which keeps every secret as it stands. */
function textIn(bytes: Buffer): string {
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
  return bytes.toString(isWide ? "utf16le" : "latin1");
}
