import type { TranscriptKind } from "../../kernel/plans.ts";
import { headAndTail } from "../workers/bounded-text.ts";
import { MAX_ENTRY, type TranscriptEntry } from "../workers/worker.ts";

/** Of one step. What is beyond is left out, and the transcript says so once. */
const MAX_ENTRIES = 4_000;
const MAX_CHARACTERS = 2_000_000;
/** Of entries that wait to be stored; beyond it they are asked to be stored at once. */
const FULL_AT = 100;
/** What comes in pieces and reads as one. */
const JOINED: ReadonlySet<TranscriptKind> = new Set(["thought", "message", "stdout", "stderr"]);

/** What one worker said and did in one step, until it is stored. Bounded. */
export class TranscriptBuffer {
  #waiting: TranscriptEntry[] = [];
  #entries = 0;
  #characters = 0;
  #isCut = false;

  /** Whether there is so much that it should be stored now. */
  get isFull(): boolean {
    return this.#waiting.length >= FULL_AT;
  }

  add(entry: TranscriptEntry): void {
    if (entry.text === "" && (entry.title ?? "") === "") return;
    const text = headAndTail(entry.text, MAX_ENTRY);
    const last = this.#waiting.at(-1);
    this.#characters += text.length;
    if (this.#entries >= MAX_ENTRIES || this.#characters > MAX_CHARACTERS) return this.#cut(entry);
    if (last && isSame(last, entry) && last.text.length + text.length <= MAX_ENTRY) {
      this.#waiting[this.#waiting.length - 1] = { ...last, text: last.text + text };
      return;
    }
    this.#entries++;
    this.#waiting.push({ ...entry, title: entry.title?.slice(0, 500), text });
  }

  /** What waits, once. */
  take(): readonly TranscriptEntry[] {
    const taken = this.#waiting;
    this.#waiting = [];
    return taken;
  }

  /** The end of a worker is told whatever was left out before. */
  #cut(entry: TranscriptEntry): void {
    if (!this.#isCut) {
      this.#isCut = true;
      this.#waiting.push({
        kind: "end",
        title: "cut",
        text: "The rest is left out: this step has said too much.",
      });
    }
    if (entry.kind === "end") this.#waiting.push({ ...entry, text: entry.text.slice(0, 4_000) });
  }
}

function isSame(last: TranscriptEntry, next: TranscriptEntry): boolean {
  return JOINED.has(next.kind) && last.kind === next.kind && last.title === next.title;
}
