import type { Because } from "dure/client";
import type { ReactNode } from "react";
import { ServerWords } from "../coded.tsx";
import { useText } from "../language.tsx";

/**
 * Why something stands as it does and what to do, in the page's language where it has words for the
 * code; the facts stand as they were written down.
 */
export function BecauseWords({
  because: { code, message, hint },
}: {
  because: Because;
}): ReactNode {
  const known = useText().plans.becauses[code];
  if (known === undefined) {
    return (
      <>
        <ServerWords>
          {message} {hint}
        </ServerWords>{" "}
        <code>{code}</code>
      </>
    );
  }

  return (
    <>
      <strong>{known.says}</strong> {known.hint !== undefined && <span>{known.hint}</span>}{" "}
      <span className="soft small" lang="en">
        {message}
      </span>{" "}
      <code>{code}</code>
    </>
  );
}

/** In one line: the words for the code, else what was written down. */
export function BecauseLine({ because: { code, message } }: { because: Because }): ReactNode {
  return useText().plans.becauses[code]?.says ?? <ServerWords>{message}</ServerWords>;
}
