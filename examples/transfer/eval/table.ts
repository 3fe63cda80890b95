import type { Judged, Verdict } from "./judge.ts";
import { CLASSES } from "./utterances.ts";

const VERDICTS: readonly Verdict[] = ["right", "asked", "missed", "wrong"];
/** Examples of one confusion. */
const MAX_EXAMPLES = 3;

/** How many of each class are right, asked, missed and wrong, and what was taken for what. Pure. */
export function tableOf(judged: readonly Judged[]): string {
  const lines = [row("class", ["said", ...VERDICTS])];
  for (const label of CLASSES) {
    const ofClass = judged.filter(({ utterance }) => utterance.class === label);
    if (ofClass.length > 0) lines.push(row(label, countsOf(ofClass)));
  }
  lines.push(row("all", countsOf(judged)));
  const confused = confusionsOf(judged);
  return [...lines, ...(confused.length > 0 ? ["", "taken for:", ...confused] : [])].join("\n");
}

export function countOf(judged: readonly Judged[], verdict: Verdict): number {
  return judged.filter((one) => one.verdict === verdict).length;
}

function countsOf(judged: readonly Judged[]): string[] {
  return [judged.length, ...VERDICTS.map((verdict) => countOf(judged, verdict))].map(String);
}

function row(name: string, cells: readonly string[]): string {
  return [name.padEnd(12), ...cells.map((cell) => cell.padStart(7))].join("");
}

function confusionsOf(judged: readonly Judged[]): string[] {
  const bad = judged.filter(({ verdict }) => verdict !== "right");
  const groups = Map.groupBy(
    bad,
    ({ utterance, outcome, verdict }) => `${utterance.class} → ${outcome.kind} (${verdict})`,
  );
  return [...groups]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([name, ones]) => {
      const examples = ones.slice(0, MAX_EXAMPLES).map(({ utterance }) => utterance.text);
      return `${String(ones.length).padStart(4)}  ${name}: ${examples.join(" | ")}`;
    });
}
