/** A file that a message or a result of a tool carries: what is told of it. Its bytes are stored. */
export interface FileRef {
  /** `file_…`; of one session. */
  readonly id: string;
  /** Harmless in headers, prompts and folders: see {@link harmlessName}. */
  readonly name: string;
  /** As its first bytes say, not as its sender does. */
  readonly type: FileType;
  readonly bytes: number;
}

/** What came of the files that a tool gave. */
export interface MadeFiles {
  readonly kept: readonly FileRef[];
  /** The others: a line each, with the reason. */
  readonly refused: readonly string[];
}

/** What a model may do with a file. */
export type FileKind = "image" | "pdf" | "audio" | "text";

/** The types that are taken. None of them runs anything where a browser opens it as it is sent. */
export const FILE_TYPES = {
  "image/png": { kind: "image", ending: "png" },
  "image/jpeg": { kind: "image", ending: "jpg" },
  "image/webp": { kind: "image", ending: "webp" },
  "image/gif": { kind: "image", ending: "gif" },
  "application/pdf": { kind: "pdf", ending: "pdf" },
  "audio/wav": { kind: "audio", ending: "wav" },
  "audio/mpeg": { kind: "audio", ending: "mp3" },
  "audio/ogg": { kind: "audio", ending: "ogg" },
  "audio/flac": { kind: "audio", ending: "flac" },
  "audio/mp4": { kind: "audio", ending: "m4a" },
  "text/plain": { kind: "text", ending: "txt" },
} as const satisfies Record<string, { readonly kind: FileKind; readonly ending: string }>;

/** What a file is, as its first bytes say: a media type. */
export type FileType = keyof typeof FILE_TYPES;

/** Files of one message. A provider takes more; a person who sends more sends a folder. */
export const MAX_MESSAGE_FILES = 10;

/** What a model may do with a file of this type. Pure. */
export function kindOf(type: FileType): FileKind {
  return FILE_TYPES[type].kind;
}

/**
 * The type by the first bytes, whatever a sender says. Undefined: none that is taken. Text is what is
 * UTF-8 to its end, without U+0000; what looks like a document that runs (HTML, SVG) is text too, and
 * is only ever sent as text. Pure. Source: mimesniff.spec.whatwg.org, "Matching a MIME type pattern".
 */
export function sniffType(bytes: Uint8Array): FileType | undefined {
  const magic = MAGIC.find(({ parts }) => parts.every((part) => stands(bytes, part)));
  if (magic) return magic.type;
  if (isMpegFrame(bytes)) return "audio/mpeg";
  return isText(bytes) ? "text/plain" : undefined;
}

/** At an offset, these characters of Latin-1. */
type MagicBytes = readonly [at: number, characters: string];

const MAGIC: readonly { readonly type: FileType; readonly parts: readonly MagicBytes[] }[] = [
  { type: "image/png", parts: [[0, "\x89PNG\r\n\x1a\n"]] },
  { type: "image/jpeg", parts: [[0, "\xff\xd8\xff"]] },
  {
    type: "image/webp",
    parts: [
      [0, "RIFF"],
      [8, "WEBPVP"],
    ],
  },
  { type: "image/gif", parts: [[0, "GIF87a"]] },
  { type: "image/gif", parts: [[0, "GIF89a"]] },
  { type: "application/pdf", parts: [[0, "%PDF-"]] },
  {
    type: "audio/wav",
    parts: [
      [0, "RIFF"],
      [8, "WAVE"],
    ],
  },
  { type: "audio/mpeg", parts: [[0, "ID3"]] },
  { type: "audio/ogg", parts: [[0, "OggS\0"]] },
  { type: "audio/flac", parts: [[0, "fLaC"]] },
  { type: "audio/mp4", parts: [[4, "ftypM4A"]] },
];

function stands(bytes: Uint8Array, [at, characters]: MagicBytes): boolean {
  if (bytes.length < at + characters.length) return false;
  for (let index = 0; index < characters.length; index++) {
    if (bytes[at + index] !== characters.charCodeAt(index)) return false;
  }
  return true;
}

/** A frame of MPEG audio, layer III, with a rate that there is. Source: mimesniff, "MP3 without ID3". */
function isMpegFrame(bytes: Uint8Array): boolean {
  const [first = 0, second = 0, third = 0] = bytes;
  const isSync = first === 0xff && (second & 0xe0) === 0xe0;
  const isLayer3 = (second & 0x06) === 0x02 && (second & 0x18) !== 0x08;
  const hasRates = third >> 4 !== 0x0f && third >> 4 !== 0 && (third & 0x0c) !== 0x0c;
  return bytes.length >= 4 && isSync && isLayer3 && hasRates;
}

function isText(bytes: Uint8Array): boolean {
  if (bytes.length === 0 || bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Characters of a name. */
const MAX_NAME = 120;

/**
 * A sender's name for a file as it may stand in a header, a prompt or a folder: the last part of a
 * path, one line, without what steers a terminal or turns the direction of text, and with an ending
 * that fits what it is. Pure.
 */
export function harmlessName(given: string, type: FileType): string {
  const last = given.toWellFormed().normalize("NFC").split(/[/\\]/u).at(-1) ?? "";
  const plain = last
    .replace(UNSEEN, "")
    .replace(/[<>:"|?*;`&$']/gu, "_")
    .replace(/\s+/gu, " ")
    .replace(/^[. ]+|[. ]+$/gu, "");
  const { ending } = FILE_TYPES[type];
  const letters = Array.from(plain.replace(/\.[A-Za-z0-9]{1,8}$/u, ""));
  const stem = letters.slice(0, MAX_NAME).join("");
  const own = /\.([A-Za-z0-9]{1,8})$/u.exec(plain)?.[1];
  return `${stem || "file"}.${fitsType(own, type) ? own : ending}`;
}

/** The same of a file whose type is not known: its ending stays. Pure. */
export function harmlessWords(given: string): string {
  return given.toWellFormed().replace(UNSEEN, "").slice(0, MAX_NAME).toWellFormed() || "file";
}

/** Controls, format characters (also those that turn the direction), private and unassigned ones. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029\ufffd]/gu;

const TEXT_ENDINGS = ["txt", "md", "csv", "tsv", "json", "log", "yaml", "yml", "xml", "ts", "py"];

function fitsType(ending: string | undefined, type: FileType): boolean {
  if (ending === undefined) return false;
  const lower = ending.toLowerCase();
  if (type === "text/plain") return TEXT_ENDINGS.includes(lower);
  if (type === "image/jpeg" && lower === "jpeg") return true;
  return lower === FILE_TYPES[type].ending;
}

/** `report.pdf, application/pdf, 1.2 MB`. Pure. */
export function fileLine({ name, type, bytes }: FileRef): string {
  return `${name}, ${type}, ${sizeText(bytes)}`;
}

/** Bytes as people say them. Pure. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
