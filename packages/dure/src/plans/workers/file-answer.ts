import { codeOf } from "../../kernel/errors.ts";
import type { ScopeReason } from "../scope.ts";

/** A file that a worker asked for, or why it does not get it. */
export type FileAnswer<Value> = ({ readonly ok: true } & Value) | FileRefusal;

export interface FileRefusal {
  readonly ok: false;
  /** `violation`: outside of the scope. Everything else is the way things are, and no offence. */
  readonly kind:
    | "violation"
    | "missing"
    | "not-a-file"
    | "too-large"
    | "not-text"
    | "stale"
    | "failed";
  readonly path: string;
  readonly wanted: "read" | "write";
  /** With a violation. */
  readonly because?: ScopeReason | undefined;
  /** For the worker, in words. */
  readonly message: string;
}

export function violation(
  path: string,
  wanted: "read" | "write",
  because: ScopeReason,
  detail?: string,
): FileRefusal {
  return { ok: false, kind: "violation", path, wanted, because, message: detail ?? "" };
}

export function refusal(
  kind: Exclude<FileRefusal["kind"], "violation">,
  path: string,
  wanted: "read" | "write",
  message: string,
): FileRefusal {
  return { ok: false, kind, path, wanted, message };
}

export function fileError(error: unknown, path: string, wanted: "read" | "write"): FileRefusal {
  const code = codeOf(error);
  const done = wanted === "read" ? "read" : "written";
  switch (code) {
    case "ENOENT":
      return refusal("missing", path, wanted, `There is no file ${path}.`);
    case "ELOOP":
    case "ENOTDIR":
    case "EISDIR":
    case "ENXIO":
      return noFile(path, wanted);
    default:
      return refusal("failed", path, wanted, `${path} cannot be ${done} (${code ?? "unknown"}).`);
  }
}

function noFile(path: string, wanted: "read" | "write"): FileRefusal {
  const message = `${path} is no file, or is behind a symbolic link.`;
  return refusal("not-a-file", path, wanted, message);
}
