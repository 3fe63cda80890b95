import { fold } from "./text.ts";

/** A folded line that knows where its characters stood in what was written. */
export interface PlacedLine {
  readonly text: string;
  /** As it was written, in NFC. */
  readonly written: string;
  /** Where each character of `text` stands in `written`; one more for the end. */
  readonly places: readonly number[];
}

/** Folds a sentence character by character. Pure. */
export function placedLine(sentence: string): PlacedLine {
  const written = sentence.normalize("NFC");
  const places: number[] = [];
  let text = "";
  let at = 0;
  for (const character of written) {
    const folded = PLAIN.test(character) ? character : fold(character);
    const isSecondSpace = folded === " " && text.endsWith(" ");
    if (!isSecondSpace) {
      text += folded;
      while (places.length < text.length) places.push(at);
    }
    at += character.length;
  }
  return { text, written, places: [...places, written.length] };
}

/** What folds to itself. */
const PLAIN = /^[!-@[-~a-z가-힣]$/u;

/** What was written between two places of the text, without spaces at its end. Pure. */
export function writtenBetween({ written, places }: PlacedLine, at: number, end: number): string {
  return written.slice(places[at], places[end]).trimEnd();
}
