import { codeOf, DureClient, DureError, messageOf, type FileInfo } from "dure/client";
import { useEffect, useRef, useState, type RefObject } from "react";
import { ownCode, Unreachable } from "../unreachable.ts";

/** A file that goes with the next message. */
export interface Attached {
  readonly key: number;
  readonly file: File;
  /** As the server has it, once it does. */
  readonly name: string;
  /** An address that shows it, of an image. */
  readonly preview: string | undefined;
  /** 0 to 1. */
  readonly sent: number;
  /** What the server has. */
  readonly stored?: FileInfo | undefined;
  readonly problem?: DureError | undefined;
}

/** Files beside what is being written. */
export interface AttachedFiles {
  readonly all: readonly Attached[];
  /** Files that the last choice was too many by. */
  readonly leftOut: number;
  /** Each of them is at the server. */
  readonly isReady: boolean;
  add(files: Iterable<File>): void;
  retry(key: number): void;
  remove(key: number): void;
  clear(): void;
}

/** Of one message. Sources: docs/spec/collaboration §9, docs/spec/conversation §9. */
const MOST_FILES = 10;
let lastKey = 0;

/** Stores a file where the message will be. */
type UploadFiles = (
  client: DureClient,
  files: readonly File[],
  options: { readonly signal: AbortSignal },
) => Promise<readonly FileInfo[]>;

/** Each file is uploaded at once. */
export function useAttached(uploadWith: UploadFiles): AttachedFiles {
  const [all, setAll] = useState<readonly Attached[]>([]);
  const [leftOut, setLeftOut] = useState(0);
  const running = useRef(new Map<number, AbortController>());
  const change = (key: number, part: Partial<Attached>): void =>
    setAll((now) => now.map((one) => (one.key === key ? { ...one, ...part } : one)));
  useForgotten(all, running);

  const upload = (key: number, file: File): void => {
    const controller = new AbortController();
    const { signal } = controller;
    running.current.set(key, controller);
    const onSent = (sent: number): void => change(key, { sent });
    const client = new DureClient({ baseUrl: "", fetch: sendCounted(onSent) });
    uploadWith(client, [file], { signal })
      .then(([stored]) => change(key, { stored, name: stored!.name, sent: 1 }))
      .catch((error: unknown) => signal.aborted || change(key, { problem: problemOf(error, file) }))
      .finally(() => running.current.delete(key));
  };
  const add = (files: Iterable<File>): void => {
    const chosen = [...files];
    const taken = chosen.slice(0, Math.max(0, MOST_FILES - all.length));
    setLeftOut(chosen.length - taken.length);
    for (const file of taken) {
      const key = (lastKey += 1);
      const preview = file.type.startsWith("image/") ? URL.createObjectURL(file) : undefined;
      setAll((now) => [...now, { key, file, name: file.name || "file", preview, sent: 0 }]);
      upload(key, file);
    }
  };
  const retry = (key: number): void => {
    const file = all.find((one) => one.key === key)?.file;
    if (file === undefined) return;
    change(key, { problem: undefined, sent: 0 });
    upload(key, file);
  };
  const remove = (key: number): void => {
    running.current.get(key)?.abort();
    forgetPreviews(all.filter((one) => one.key === key));
    setAll((now) => now.filter((one) => one.key !== key));
    setLeftOut(0);
  };
  const clear = (): void => {
    forgetPreviews(all);
    setAll([]);
    setLeftOut(0);
  };
  const isReady = all.every((one) => one.stored !== undefined);

  return { all, leftOut, isReady, add, retry, remove, clear };
}

/** When the place is left, its uploads end and its previews go. */
function useForgotten(
  all: readonly Attached[],
  running: RefObject<ReadonlyMap<number, AbortController>>,
): void {
  const newest = useRef(all);
  useEffect(() => {
    newest.current = all;
  }, [all]);
  useEffect(
    () => () => {
      for (const upload of running.current.values()) upload.abort();
      forgetPreviews(newest.current);
    },
    [running],
  );
}

/** Else the browser keeps the images as long as the page is open. */
function forgetPreviews(all: readonly Attached[]): void {
  for (const { preview } of all) if (preview !== undefined) URL.revokeObjectURL(preview);
}

/** Files that are let go anywhere on the page; else the page is left for the file. */
export function useDroppedFiles(onFiles: ((files: Iterable<File>) => void) | undefined): void {
  useEffect(() => {
    if (onFiles === undefined) return undefined;
    const over = (event: DragEvent): void => {
      if (hasFiles(event)) event.preventDefault();
    };
    const drop = (event: DragEvent): void => {
      if (!hasFiles(event)) return; // words are dropped into the field
      event.preventDefault();
      onFiles(event.dataTransfer!.files);
    };
    document.addEventListener("dragover", over);
    document.addEventListener("drop", drop);
    return () => {
      document.removeEventListener("dragover", over);
      document.removeEventListener("drop", drop);
    };
  }, [onFiles]);
}

function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer?.types.includes("Files") ?? false;
}

function problemOf(error: unknown, { name }: File): DureError {
  if (codeOf(error) === "BODY_TOO_LARGE") {
    // Of a body that is one file, this says what to do.
    return new DureError("FILE_TOO_LARGE", `${name} is too large.`, {
      class: "input",
      hint: "Send a smaller file.",
    });
  }
  return error instanceof DureError ? error : new DureError(ownCode(error), messageOf(error));
}

/** As `fetch`, which tells nothing of what has been sent. */
function sendCounted(onSent: (part: number) => void): typeof fetch {
  return (input, { method = "GET", body, signal } = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", ({ loaded, total }) =>
      onSent(total > 0 ? loaded / total : 0),
    );
    request.addEventListener("load", () => {
      const { status, responseText } = request;
      resolve(new Response(responseText, { status }));
    });
    request.addEventListener("error", () => reject(new Unreachable(undefined)));
    request.addEventListener("abort", () => reject(signal?.reason as Error));
    signal?.addEventListener("abort", () => request.abort(), { once: true });
    request.open(method, new Request(input).url);
    request.send(body as FormData);
    return promise;
  };
}
