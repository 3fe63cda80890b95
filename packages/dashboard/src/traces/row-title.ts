import { actorOf } from "../actor.ts";
import { useLanguage, useWords } from "../language.tsx";
import { useAgents } from "../rooms/use-rooms.ts";
import { useServerKorean } from "../use-server-korean.ts";
import { TRACES_WORDS } from "words:later/traces";
import type { RowMatter } from "./trace-rows.ts";

/** What a row is called: its words, or the name of what is called. */
export function useRowTitle(): (row: RowMatter) => string {
  const words = useWords(TRACES_WORDS);
  const korean = useServerKorean();
  const { text } = useLanguage();
  const agents = useAgents();
  const nameOf = (id: string): string =>
    agents.data?.find((agent) => agent.id === id)?.displayName ?? id;

  return ({ node, step }) => {
    if (step) return step.kind === "model" ? (step.model ?? step.title) : nameOf(step.title);
    const said = node.title === "" ? words.noWords : (korean.title(node.title) ?? node.title);
    if (node.kind === "turn" && node.beganBy !== null) return nameOf(node.who);
    if (node.kind === "escalation" || node.kind === "port") return said;
    const who =
      node.kind === "run"
        ? actorOf(node.who, { text, nameOf })
        : node.who.split(" → ").map(nameOf).join(" → ");
    return who === "" ? said : `${who}: ${said}`;
  };
}
