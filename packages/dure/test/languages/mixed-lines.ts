/** Names that a Korean sentence of ours writes in Latin letters. */
const NAMES = /\b(dure|Node|PostgreSQL|Discord|Slack|git|npm|MCP|GiB|MiB|ms|SOUL|MEMORY|ID)\b/g;
/** Three words of English that follow each other. */
const ENGLISH = /[A-Za-z]{2,},? [a-z]+,? [A-Za-z]{2,}/;
const HANGUL = /\p{Script=Hangul}/u;

/**
 * Lines that a Korean terminal should not show: English sentences, and lines that mix the languages.
 * Commands in backquotes, values in quotes, paths and addresses are no words. `given`: names that the person chose, and what other programs say. Pure.
 */
export function notKorean(text: string, given: readonly string[] = []): readonly string[] {
  return linesOf(text).filter((line) => {
    const words = wordsOf(given.reduce((left, name) => left.replaceAll(name, " "), line));
    if (!HANGUL.test(words)) return ENGLISH.test(words);
    return (words.replaceAll(NAMES, " ").match(/[A-Za-z]{3,}/g) ?? []).some(isWord);
  });
}

/** Lines with Korean in them. Pure. */
export function korean(text: string): readonly string[] {
  return linesOf(text).filter((line) => HANGUL.test(line));
}

/** Without lines of the log, which are English for machines. */
function linesOf(text: string): readonly string[] {
  const isLog = (line: string): boolean => /^\{"level"|^\d\d:\d\d:\d\d /.test(line);
  return text.split("\n").filter((line) => line.trim() !== "" && !isLog(line));
}

function wordsOf(line: string): string {
  return line
    .replaceAll(/`[^`]*`|"[^"]*"/g, " ")
    .replaceAll(/(?:https?|postgres):\S+/g, " ")
    .replaceAll(/\S*[/.:_=-]\S*/g, " ")
    .replaceAll(/--?[a-z][\w-]*|<[^>]*>|\[[^\]]*\]/g, " ");
}

/** No code, and no name with a capital. */
function isWord(word: string): boolean {
  return /^[a-z]/.test(word);
}
