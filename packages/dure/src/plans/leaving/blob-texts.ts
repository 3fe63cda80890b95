import type { Repository } from "../workspace/repository.ts";

/** Bytes of one file that are looked at. */
const MAX_FILE = 8 * 1024 * 1024;
/** Bytes of one reading: what is in memory at once. */
const MAX_READING = 16 * 1024 * 1024;

export interface BlobText {
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
export async function* blobTexts(
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
