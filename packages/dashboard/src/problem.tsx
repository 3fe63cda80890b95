import { Button } from "@mantine/core";
import { DureError } from "dure/client";
import { type ReactNode, useEffect, useState } from "react";
import { ServerWords } from "./coded.tsx";
import { useLanguage, useText } from "./language.tsx";

/** A refusal, and a button that tries again. */
export function Problem({
  error,
  onRetry,
}: {
  error: Error;
  onRetry?: (() => void) | undefined;
}): ReactNode {
  const text = useText();
  return (
    <div className="problem" role="alert">
      <p>
        <ErrorWords error={error} />
      </p>
      {onRetry !== undefined && (
        <div className="problem-actions">
          <Button size="compact-sm" variant="default" onClick={onRetry}>
            {text.common.retry}
          </Button>
        </div>
      )}
    </div>
  );
}

/** Why something was refused: the page's words for its code, else the server's with their hint. */
export function ErrorWords({ error }: { error: unknown }): ReactNode {
  const { errors } = useText().common;
  if (!(error instanceof DureError)) {
    return errors[error instanceof TypeError ? "UNREACHABLE" : "UNEXPECTED"];
  }

  return Object.hasOwn(errors, error.code) ? errors[error.code] : <RefusalWords error={error} />;
}

/** A page in Korean fetches its words for codes when it needs them first. */
function RefusalWords({ error: { code, message, hint } }: { error: DureError }): ReactNode {
  const { language } = useLanguage();
  const words = useKoreanWords(language === "ko");
  if (words === "fetched-soon") return null;
  if (Object.hasOwn(words, code)) return words[code];

  return <ServerWords>{[message, hint].filter(Boolean).join(" ")}</ServerWords>;
}

type ErrorWordsByCode = Readonly<Record<string, string>>;

const NO_WORDS: ErrorWordsByCode = {};

/** No words where they are not wanted, or cannot be fetched now. */
function useKoreanWords(areWanted: boolean): ErrorWordsByCode | "fetched-soon" {
  const [words, setWords] = useState<ErrorWordsByCode>();
  useEffect(() => {
    if (!areWanted) return;
    import("./error-words.ko.ts").then(
      ({ ERROR_WORDS_KO }) => setWords(ERROR_WORDS_KO),
      () => setWords(NO_WORDS),
    );
  }, [areWanted]);

  if (!areWanted) return NO_WORDS;
  return words ?? "fetched-soon";
}
