import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from "@ai-sdk/provider";
import { messageOf } from "../kernel/errors.ts";
import { fileLine, type FileRef, type FileType, kindOf, sizeText } from "../kernel/files.ts";
import { quoted } from "../kernel/quoted.ts";
import { failureError } from "./failures.ts";
import type { ReadableKind } from "./asking.ts";
import type { LlmRef, ModelMessage } from "./model.ts";

/** The bytes of a file that a message carries. Undefined: they are gone. */
export type ReadFile = (
  file: FileRef,
  options: { readonly signal: AbortSignal },
) => Promise<Uint8Array | undefined>;

/** What the model gets of each file, by the reference that stands in the messages. */
export type ShownFiles = ReadonlyMap<FileRef, ShownFile>;

type ShownFile =
  | { readonly as: "part"; readonly bytes: Uint8Array }
  | { readonly as: "text"; readonly text: string; readonly isCut: boolean }
  /** Why it does not get it. */
  | { readonly as: "line"; readonly because: string };

/**
 * Files and bytes of one request, the newest first. In base 64 they are 28 MB, so that a request of
 * Anthropic has room for words. Sources: docs.claude.com, "API overview" (32 MB), "Vision" (more than
 * 20 images are bounded more narrowly).
 */
const MOST = { files: 20, bytes: 20_971_520 } as const;

/** Bytes of a text file that stand in a request: as many as a message may have. */
const TEXT_BYTES = 65_536;

/** What a provider takes of which model, where a card does not say. */
interface Reads {
  readonly kinds: (model: string) => readonly ReadableKind[];
  /** Types of these kinds that it refuses. */
  readonly except: readonly FileType[];
  /** Bytes of one image. */
  readonly imageBytes: number;
  /** Whether a result of a tool may hold an image. */
  readonly inResults: boolean;
}

const ANY: Omit<Reads, "kinds"> = { except: [], imageBytes: Infinity, inResults: false };

/**
 * Sources: docs.claude.com, "Vision" (JPEG, PNG, GIF, WebP; 5 MB of base 64 each), "PDF support",
 * "Tool use" (images in results); platform.openai.com, "Images and vision" (20 MB each), "PDF files",
 * "Audio and speech" (wav and mp3, of the models that are named for it).
 */
const READS: Readonly<Record<LlmRef["provider"], Reads>> = {
  anthropic: {
    kinds: (model) => (/^claude-(?:[12]|instant)/u.test(model) ? [] : ["image", "pdf"]),
    except: [],
    imageBytes: 3_932_160,
    inResults: true,
  },
  openai: {
    kinds: openAiKinds,
    except: ["audio/ogg", "audio/flac", "audio/mp4"],
    imageBytes: 20_971_520,
    inResults: false,
  },
  "openai-compatible": {
    ...ANY,
    kinds: () => [],
    except: ["audio/ogg", "audio/flac", "audio/mp4"],
  },
  "ai-sdk": {
    ...ANY,
    kinds: (model) => (model.startsWith("google") ? ["image", "pdf", "audio"] : []),
  },
  offline: { ...ANY, kinds: () => ["image", "pdf", "audio"], inResults: true },
};

function openAiKinds(model: string): readonly ReadableKind[] {
  if (/audio/u.test(model)) return ["audio"];
  const isBlind = /^(?:gpt-3|gpt-4$|gpt-4-(?!turbo)|o1-mini|o1-preview|o3-mini)/u.test(model);
  return isBlind ? [] : ["image", "pdf"];
}

/** What this model can read besides text. What its card says goes before what is known. Pure. */
function readableKinds(llm: LlmRef): readonly ReadableKind[] {
  return llm.reads ?? READS[llm.provider].kinds(llm.model);
}

/** Whether a result of a tool may hold more than one text for this model. Pure. */
export function takesParts(llm: LlmRef): boolean {
  return READS[llm.provider].inResults;
}

/** Whether a result of a tool may hold this file for this model. Pure. */
function fitsResult(file: FileRef, llm: LlmRef): boolean {
  return takesParts(llm) && kindOf(file.type) === "image";
}

/**
 * Reads what the model can read of the files of these messages. Of the others it gets a line that
 * says so. Throws a failure that is tried again where the bytes cannot be read now.
 */
export async function shownFiles(
  messages: readonly ModelMessage[],
  llm: LlmRef,
  read: ReadFile | undefined,
  signal: AbortSignal,
): Promise<ShownFiles> {
  const shown = new Map<FileRef, ShownFile>();
  for (const { file, because } of plannedFiles(messages, llm)) {
    if (because !== undefined) shown.set(file, { as: "line", because });
    else shown.set(file, await shownFile(file, read, signal));
  }
  return shown;
}

/** Which files a request holds, the newest first, and why the others not. Pure. */
function plannedFiles(
  messages: readonly ModelMessage[],
  llm: LlmRef,
): readonly { readonly file: FileRef; readonly because: string | undefined }[] {
  const seen = new Set<string>();
  let bytes = 0;
  return filesOf(messages)
    .toReversed()
    .map(({ file, isResult }) => {
      const because = unreadable(file, llm, isResult) ?? (seen.has(file.id) ? AGAIN : undefined);
      if (because !== undefined) return { file, because };
      if (seen.size >= MOST.files || bytes + file.bytes > MOST.bytes) {
        return { file, because: OLDER };
      }
      seen.add(file.id);
      bytes += file.bytes;
      return { file, because };
    });
}

const AGAIN = "it comes again further down";
const OLDER = "it was sent longer ago than files are shown again";
const NOT_IN_RESULTS = "this model reads no such files in results of tools";
const GONE = "it is not kept any more";

function filesOf(
  messages: readonly ModelMessage[],
): readonly { readonly file: FileRef; readonly isResult: boolean }[] {
  return messages.flatMap((message) => {
    if (message.role === "assistant") return [];
    const isResult = message.role === "tool";
    return (message.files ?? []).map((file) => ({ file, isResult }));
  });
}

function unreadable(file: FileRef, llm: LlmRef, isResult: boolean): string | undefined {
  const kind = kindOf(file.type);
  const { except, imageBytes } = READS[llm.provider];
  if (kind === "text") return undefined;
  if (isResult && !fitsResult(file, llm)) return NOT_IN_RESULTS;
  if (!readableKinds(llm).includes(kind) || except.includes(file.type)) {
    return "this model cannot read such files";
  }
  if (kind === "image" && file.bytes > imageBytes) {
    return `this model reads images of at most ${sizeText(imageBytes)}`;
  }
  return undefined;
}

async function shownFile(
  file: FileRef,
  read: ReadFile | undefined,
  signal: AbortSignal,
): Promise<ShownFile> {
  const bytes = await bytesOf(file, read, signal);
  if (bytes === undefined) return { as: "line", because: GONE };
  if (kindOf(file.type) !== "text") return { as: "part", bytes };
  const isCut = bytes.length > TEXT_BYTES;
  const text = new TextDecoder().decode(bytes.subarray(0, TEXT_BYTES));
  return { as: "text", text, isCut };
}

async function bytesOf(
  file: FileRef,
  read: ReadFile | undefined,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  try {
    return await read?.(file, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw failureError("network", `${file.name} could not be read: ${messageOf(error)}`);
  }
}

type PromptPart = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** Marks what stands for a file, for `filesIn`. */
type OfFile = { readonly dure: { readonly file: Readonly<Record<string, string | number>> } };

/** What stands in a message for its files: each with a line that names it. Pure. */
export function fileParts(files: readonly FileRef[], shown: ShownFiles): readonly PromptPart[] {
  return files.flatMap((file): readonly PromptPart[] => {
    const providerOptions: OfFile = { dure: { file: { ...file } } };
    const what = shown.get(file) ?? { as: "line", because: GONE };
    if (what.as !== "part") {
      return [{ type: "text", text: lineOf(file, what), providerOptions }];
    }
    const { name: filename, type: mediaType } = file;
    return [
      { type: "text", text: `[File ${fileLine(file)}]`, providerOptions },
      { type: "file", filename, mediaType, data: { type: "data", data: what.bytes } },
    ];
  });
}

function lineOf(file: FileRef, what: Exclude<ShownFile, { as: "part" }>): string {
  if (what.as === "line") return `[File ${fileLine(file)}: you have not read it, ${what.because}]`;
  const cut = what.isCut ? `\n[cut after ${sizeText(TEXT_BYTES)}]` : "";
  return `<file name="${file.name}">\n${quoted(what.text)}${cut}\n</file>`;
}

/** The files that parts of a prompt stand for: for models that are functions. Pure. */
export function filesIn(parts: readonly { readonly providerOptions?: object }[]): FileRef[] {
  return parts.flatMap((part) => {
    const { dure } = (part.providerOptions ?? {}) as Partial<OfFile>;
    return dure ? [dure.file as unknown as FileRef] : [];
  });
}

/** About how many tokens a file is for a model that reads it. Pure. */
export function estimateFileTokens({ type, bytes }: FileRef): number {
  return FILE_TOKENS[kindOf(type)](bytes);
}

/**
 * Sources: docs.claude.com, "Vision" (about 1,600 of an image at its largest), "PDF support" (1,500 to
 * 3,000 of text each page, and its image; a page is taken for 50 kB); platform.openai.com, "Audio" (10
 * a second, taken for MP3 of 16 kB a second).
 */
const FILE_TOKENS = {
  image: () => 1_600,
  pdf: (bytes: number) => Math.ceil(bytes / 50_000) * 4_000,
  audio: (bytes: number) => Math.ceil(bytes / 1_600),
  text: (bytes: number) => Math.ceil(Math.min(bytes, TEXT_BYTES) / 3),
} as const;
