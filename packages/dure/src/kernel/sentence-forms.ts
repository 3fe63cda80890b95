/** A sentence with `{0}`, `{1}` where names and values stand, and the same in another language. */
export type SentenceForm = readonly [form: string, translation: string];

/** Longest sentence that is said otherwise, characters: a form with holes is slow in a long one. */
const MAX_SENTENCE = 1_000;

/** Says a sentence in another language; undefined where no form fits. */
export type Translator = (sentence: string) => string | undefined;

/**
 * What says a sentence in the language of `forms`; undefined for one that no form fits, or that has
 * more than 1,000 characters. The first form that fits wins. The last full stop does not count.
 *
 * @param inner Says what stands in a place of a form, such as a reason; names stay as they are
 */
export function translatorOf(
  forms: readonly SentenceForm[],
  inner: Translator = () => undefined,
): Translator {
  let patterns: readonly Pattern[] | undefined;
  return (sentence) => {
    if (sentence.length > MAX_SENTENCE) return undefined;
    patterns ??= forms.map(([form, words]) => ({ pattern: patternOf(form), words }));
    return translated(withoutStop(sentence), patterns, inner);
  };
}

/**
 * The same forms, those with the most words of their own first: `{0} with {1}` takes no sentence that
 * another form says as a whole. Pure.
 */
export function specificFirst(forms: readonly SentenceForm[]): readonly SentenceForm[] {
  const own = ([form]: SentenceForm): number => form.replaceAll(/\{\d\}/g, "").length;
  return forms.toSorted((one, other) => own(other) - own(one));
}

interface Pattern {
  readonly pattern: RegExp;
  readonly words: string;
}

function translated(
  sentence: string,
  patterns: readonly Pattern[],
  inner: Translator,
): string | undefined {
  for (const { pattern, words } of patterns) {
    const holes = pattern.exec(sentence);
    if (!holes) continue;
    return words.replace(/\{(\d)\}/g, (_, hole: string) => {
      const value = holes[Number(hole) + 1]!;
      return isSentence(value) ? (inner(value) ?? value) : value;
    });
  }

  return undefined;
}

/** A reason, not a name or a value. */
function isSentence(value: string): boolean {
  return value.trim().split(/\s+/).length >= 3;
}

/** `port {0} owns nothing` as a pattern of the whole sentence, with a group for each hole. */
function patternOf(form: string): RegExp {
  const parts = withoutStop(form)
    .split(/\{\d\}/)
    .map(escaped);
  return new RegExp(`^${parts.join("(.+?)")}$`, "s");
}

function withoutStop(sentence: string): string {
  return sentence.replace(/(?<!\.)\.$/, "");
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
