import type { Because } from "dure/client";
import { BECAUSES_KO, type BecauseTexts } from "dure/korean";
import type { ReactNode } from "react";
import { ServerWords } from "../coded.tsx";
import { useLanguage } from "../language.tsx";
import { Prose } from "../prose.tsx";
import { useServerKorean } from "../use-server-korean.ts";
import { BECAUSES_EN } from "./because-text.en.ts";

const BECAUSES = { ko: BECAUSES_KO, en: BECAUSES_EN };

function useBecauses(): BecauseTexts {
  return BECAUSES[useLanguage().language];
}

/**
 * Why something stands as it does and what to do, in the page's language where it has words for the
 * code, with the facts.
 */
export function BecauseWords({
  because: { code, message, hint },
}: {
  because: Because;
}): ReactNode {
  const known = useBecauses()[code];
  const korean = useServerKorean();
  if (known === undefined) {
    const refusal = korean.refusal({ code, message, hint });
    return (
      <>
        {refusal === undefined ? (
          <ServerWords>
            {message} {hint}
          </ServerWords>
        ) : (
          <Prose text={refusal} />
        )}{" "}
        <code>{code}</code>
      </>
    );
  }

  return (
    <>
      <strong>{known.says}</strong> {known.hint !== undefined && <span>{known.hint}</span>}{" "}
      <BecauseFacts message={message} /> <code>{code}</code>
    </>
  );
}

/** What was written down of it, with its names and values. */
export function BecauseFacts({ message }: { message: string }): ReactNode {
  const facts = useServerKorean().sentence(message);
  return facts === undefined ? (
    <span className="soft small" lang="en">
      {message}
    </span>
  ) : (
    <span className="soft small">
      <Prose text={facts} />
    </span>
  );
}

/** In one line: the words for the code, else what was written down. */
export function BecauseLine({ because: { code, message } }: { because: Because }): ReactNode {
  const known = useBecauses()[code]?.says;
  const korean = useServerKorean().refusal({ code, message });

  return known ?? korean ?? <ServerWords>{message}</ServerWords>;
}
