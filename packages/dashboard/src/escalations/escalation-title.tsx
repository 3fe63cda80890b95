import type { ReactNode } from "react";
import { Prose } from "../prose.tsx";
import { useServerKorean } from "../use-server-korean.ts";

/** What is asked: as its raiser wrote it, or in the page's words for a sentence of dure's own. */
export function EscalationTitle({ title }: { title: string }): ReactNode {
  const known = useServerKorean().title(title);
  return known === undefined ? title : <Prose text={known} />;
}
