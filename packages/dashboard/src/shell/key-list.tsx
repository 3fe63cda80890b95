import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { OverPage } from "./over-page.tsx";
import { useFindWords } from "./palette-words.ts";

/** The keys of the page. */
export function KeyList({ onClose }: { onClose: () => void }): ReactNode {
  const { keys: words } = useFindWords();
  const rows: readonly (readonly [string, string])[] = [
    ["⌘K / Ctrl+K", words.find],
    ["?", words.keys],
    ["Enter", words.send],
    ["Shift+Enter", words.line],
    ["@", words.mention],
    ["↑ ↓", words.move],
    ["Esc", words.leave],
  ];

  return (
    <OverPage label={words.title} onClose={onClose}>
      <h2>{words.title}</h2>
      <dl className="stack pairs">
        {rows.map(([key, deed]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{deed}</dd>
          </div>
        ))}
      </dl>
      <Button variant="default" onClick={onClose}>
        {words.close}
      </Button>
    </OverPage>
  );
}
