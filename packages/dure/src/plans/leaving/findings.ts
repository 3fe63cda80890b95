import type { Clock } from "../../kernel/clock.ts";
import type { ResultFinding } from "../../wire/runs.ts";
import type { Concealer } from "../workers/concealer.ts";
import { textOf } from "../workspace/paths.ts";
import type { Repository } from "../workspace/repository.ts";
import { blobTexts, type BlobText } from "./blob-texts.ts";
import {
  isAttributesFile,
  isPackageFile,
  newDrivers,
  newInstallScripts,
  rulesOfPath,
} from "./file-rules.ts";
import { findSecrets } from "./find-secrets.ts";
import { outgoingFiles, type OutgoingFile } from "./outgoing.ts";
import { GIVEN_SECRET } from "./secret-rules.ts";
import { runByGit } from "./run-by-git.ts";

/** Bytes of files that are looked at for one result. */
const MAX_BYTES = 128 * 1024 * 1024;
/** Milliseconds of one look; 128 MiB take some 8 s. */
const MAX_MS = 30_000;
/** Findings of one result. */
const MAX_FINDINGS = 1_000;

interface Looked {
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
  { commit, known, clock, env, given, signal }: Looked,
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
function nameRulesOf({ key, new: { mode } }: OutgoingFile): readonly string[] {
  return mode === "160000" ? ["submodule"] : rulesOfPath(textOf(key));
}

function filesById(files: readonly OutgoingFile[]): Map<string, OutgoingFile[]> {
  const byId = new Map<string, OutgoingFile[]>();
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
  file: OutgoingFile,
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
  { old }: OutgoingFile,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (old === undefined || old.mode === "160000") return undefined;
  const texts = blobTexts(repository, [old.id], { bytes: MAX_BYTES, signal });
  for await (const [, { text }] of texts) return text;

  return undefined;
}

function at({ key, commit }: OutgoingFile, rule: string): ResultFinding {
  return { rule, path: textOf(key), line: null, excerpt: null, commit };
}

function notLookedAt(path: string, commit: string, files: number | undefined): ResultFinding {
  const excerpt = files === undefined ? null : `${files} files`;
  return { rule: "not-looked-at", path, line: null, excerpt, commit };
}
