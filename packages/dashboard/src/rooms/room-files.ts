import { DureError } from "dure/client";
import { useEffect, useRef, useState } from "react";
import type { Speaker } from "./room-data.ts";

/** A file that goes with the next message of a place. */
export interface Attached {
  readonly key: number;
  readonly name: string;
  /** An address that shows it, of an image. */
  readonly preview: string | undefined;
  /** 0 to 1. */
  readonly sent: number;
  /** As the server has it. */
  readonly stored?: { readonly id: string; readonly name: string } | undefined;
  readonly problem?: DureError | undefined;
}

/** Source: docs/spec/collaboration §9. */
const MOST = 10;
let lastKey = 0;

/** Files beside what is being written in a place: each is uploaded at once. */
export function useAttached(place: string, who: Speaker) {
  const [all, setAll] = useState<readonly Attached[]>([]);
  const running = useRef(new Map<number, AbortController>());
  const change = (key: number, part: Partial<Attached>): void =>
    setAll((now) => now.map((one) => (one.key === key ? { ...one, ...part } : one)));

  useEffect(() => {
    const uploads = running.current;
    return () => {
      for (const upload of uploads.values()) upload.abort();
    };
  }, []);

  const add = (files: Iterable<File>): void => {
    for (const file of [...files].slice(0, Math.max(0, MOST - all.length))) {
      const key = (lastKey += 1);
      const preview = file.type.startsWith("image/") ? URL.createObjectURL(file) : undefined;
      const upload = new AbortController();
      running.current.set(key, upload);
      setAll((now) => [...now, { key, name: file.name || "file", preview, sent: 0 }]);
      const onSent = (sent: number): void => change(key, { sent });
      uploadFile({ place, who, file, onSent, signal: upload.signal })
        .then((stored) => change(key, { stored, sent: 1 }))
        .catch((error: unknown) => error instanceof DureError && change(key, { problem: error }))
        .finally(() => running.current.delete(key));
    }
  };
  const remove = (key: number): void => {
    running.current.get(key)?.abort();
    forgetPreviews(all.filter((one) => one.key === key));
    setAll((now) => now.filter((one) => one.key !== key));
  };
  const clear = (): void => {
    forgetPreviews(all);
    setAll([]);
  };
  const stored = all.flatMap((one) => one.stored ?? []);
  const isUploading = all.some((one) => one.stored === undefined && one.problem === undefined);

  return { all, stored, isUploading, add, remove, clear };
}

/** Else the browser keeps the images as long as the page is open. */
function forgetPreviews(all: readonly Attached[]): void {
  for (const { preview } of all) if (preview !== undefined) URL.revokeObjectURL(preview);
}

interface Upload {
  readonly place: string;
  readonly who: Speaker;
  readonly file: File;
  readonly onSent: (part: number) => void;
  readonly signal: AbortSignal;
}

/** `fetch` tells nothing of what has been sent. Rejects with a `DureError`. */
function uploadFile({ place, who, file, onSent, signal }: Upload) {
  const query = new URLSearchParams();
  const form = new FormData();
  form.set("file", file, file.name || "file");
  if (who !== undefined) query.set("as_person", who);
  const request = new XMLHttpRequest();
  const { promise, resolve, reject } = Promise.withResolvers<{ id: string; name: string }>();
  request.upload.addEventListener("progress", ({ loaded, total }) =>
    onSent(total > 0 ? loaded / total : 0),
  );
  request.addEventListener("load", () => {
    const answer = answerOf(request.responseText);
    const [stored] = answer.files ?? [];
    if (request.status === 201 && stored) resolve(stored);
    else reject(new DureError(answer.code ?? "INTERNAL", answer.detail ?? answer.title ?? ""));
  });
  request.addEventListener("error", () =>
    reject(new DureError("UNREACHABLE", "The server did not answer.")),
  );
  request.addEventListener("abort", () => reject(new DOMException("Taken away.", "AbortError")));
  signal.addEventListener("abort", () => request.abort(), { once: true });
  request.open("POST", `/v1/rooms/${encodeURIComponent(place)}/files?${query}`);
  request.send(form);
  return promise;
}

interface Answer {
  readonly files?: readonly { readonly id: string; readonly name: string }[];
  readonly code?: string;
  readonly detail?: string;
  readonly title?: string;
}

function answerOf(text: string): Answer {
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return {};
  }
}
