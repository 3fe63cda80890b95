import { Button } from "@mantine/core";
import { DureError } from "dure/client";
import type { ReactNode } from "react";
import { ServerWords } from "./coded.tsx";
import { useText } from "./language.tsx";

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

  const { code, message, hint } = error;
  if (Object.hasOwn(errors, code)) return errors[code];

  return <ServerWords>{[message, hint].filter(Boolean).join(" ")}</ServerWords>;
}
