import { Button } from "@mantine/core";
import { DureError } from "dure/client";
import type { ReactNode } from "react";
import { ServerWords } from "./coded.tsx";
import { useText } from "./language.tsx";
import { Prose } from "./prose.tsx";
import { ownCode } from "./unreachable.ts";
import { useServerKorean } from "./use-server-korean.ts";

/** What could not be read or done, and what tries again. */
export interface Trouble {
  readonly error: Error;
  readonly onRetry?: (() => void) | undefined;
}

/** A refusal, and a button that tries again. */
export function Problem({ error, onRetry }: Trouble): ReactNode {
  const text = useText();
  return (
    <div className="problem" role="alert">
      <p>
        <ErrorWords error={error} />
      </p>
      {onRetry !== undefined && (
        <div className="toolbar">
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
    const code = ownCode(error);
    return Object.hasOwn(errors, code) ? errors[code] : errors.PAGE_DEFECT;
  }

  return Object.hasOwn(errors, error.code) ? errors[error.code] : <ToldError error={error} />;
}

/** What failed elsewhere, and was written down: in the page's words, else in the server's. */
export function ToldError({
  error: { code, message, hint },
}: {
  error: { readonly code: string; readonly message: string; readonly hint?: string | undefined };
}): ReactNode {
  const korean = useServerKorean();
  const known = korean.refusal({ code, message, hint });
  if (known === undefined) {
    return <ServerWords>{[message, hint].filter(Boolean).join(" ")}</ServerWords>;
  }
  if (!korean.leavesOut({ code, message })) return <Prose text={known} />;

  return (
    <>
      <Prose text={known} /> <ServerWords>{message}</ServerWords>
    </>
  );
}
