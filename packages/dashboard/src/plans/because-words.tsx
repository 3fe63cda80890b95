import type { Because } from "dure/client";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";

/** Why something stands as it does: in a few words of the page's language where it has them, then as it was written down, and what to do. */
export function BecauseWords({ because: { code, message, hint } }: { because: Because }): ReactNode {
  const known = useText().plans.becauses[code];
  return (
    <>
      {known !== undefined && <strong>{known} </strong>}
      <span>{message}</span> {hint !== undefined && <span className="soft">{hint}</span>} <code>{code}</code>
    </>
  );
}
