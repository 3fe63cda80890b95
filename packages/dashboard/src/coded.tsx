import type { Coded } from "dure/client";
import type { ReactNode } from "react";
import { wordsOf, type CodedWords } from "./words.ts";
import { useText } from "./language.tsx";
import { Prose } from "./prose.tsx";

/** What the server says, in the page's words; where it has none, in the server's. */
export function CodedText({
  words,
  coded,
  sentence,
}: {
  words: CodedWords;
  coded: Coded | null | undefined;
  sentence: string;
}): ReactNode {
  const own = wordsOf(words, coded);
  return own === undefined ? <ServerWords>{sentence}</ServerWords> : <Prose text={own} />;
}

/** A sentence of the server, marked as such: it is in the server's language. */
export function ServerWords({ children }: { children: ReactNode }): ReactNode {
  const text = useText();
  return (
    <span className="server-words">
      <span className="server-words-mark">{text.common.server}</span> {children}
    </span>
  );
}
