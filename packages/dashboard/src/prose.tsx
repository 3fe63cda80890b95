import type { ReactNode } from "react";

/** Words of ours in which `names of code` stand between backticks, set as code. */
export function Prose({ text }: { text: string }): ReactNode {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
