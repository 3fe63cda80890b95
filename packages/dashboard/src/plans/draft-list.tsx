import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useLanguage } from "../language.tsx";
import { Problem } from "../problem.tsx";
import { whenOf } from "../when.ts";
import { useDraftWords } from "./draft-words.ts";
import { useDrafts } from "./use-drafts.ts";

/** Drafts that are shown at once. */
const SHOWN = 10;

/** Plans that are made ready; nothing where there is none. */
export function DraftList(): ReactNode {
  const words = useDraftWords();
  const { language } = useLanguage();
  const drafts = useDrafts();
  if (drafts.error !== null) {
    return <Problem error={drafts.error} onRetry={() => void drafts.refetch()} />;
  }
  if (drafts.data === undefined || drafts.data.length === 0) return null;

  return (
    <section aria-label={words.list}>
      <h3>{words.list}</h3>
      <ul className="stack tight">
        {drafts.data.slice(0, SHOWN).map(({ id, goal, unanswered, updatedAt }) => (
          <li key={id}>
            <Link to="/plans/drafts/$draft" params={{ draft: id }}>
              {words.listOf(goal === "" ? words.untitled : goal, unanswered)}
            </Link>{" "}
            <span className="soft small">{whenOf(updatedAt, language)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
