import type { ReactNode } from "react";
import { useText } from "./language.tsx";

interface Linked {
  readonly id: string;
  readonly name: string;
}

/** Files that stand below words. Their names are harmless; opened, they are only ever saved. */
export function FileLinks(props: {
  files: readonly Linked[] | undefined;
  addressOf: (id: string) => string;
}): ReactNode {
  const { files = [], addressOf } = props;
  const text = useText();
  if (files.length === 0) return null;

  return (
    <ul className="answer-files" aria-label={text.chat.files}>
      {files.map(({ id, name }) => (
        <li key={id}>
          <a href={addressOf(encodeURIComponent(id))} download={name}>
            {name}
          </a>
        </li>
      ))}
    </ul>
  );
}
