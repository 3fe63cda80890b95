import { useWords } from "../language.tsx";
import type { FileInfo } from "dure/client";
import type { ReactNode } from "react";
import { FILES_WORDS } from "words:later/files";

/**
 * Files that stand below words: images are shown, all else is a link. Their names are harmless;
 * opened, they are only ever saved.
 */
export function FileLinks(props: {
  files: readonly Pick<FileInfo, "id" | "name" | "type">[] | undefined;
  /** Default: those of conversations. */
  addressOf?: (id: string) => string;
}): ReactNode {
  const { files = [], addressOf = addressInConversation } = props;
  const words = useWords(FILES_WORDS);
  if (files.length === 0) return null;

  return (
    <ul className="file-links stack tight" aria-label={words.files}>
      {files.map(({ id, name, type }) => {
        const address = addressOf(encodeURIComponent(id));
        const isImage = type.startsWith("image/");
        return (
          <li key={id}>
            <a href={address} download={name}>
              {isImage ? <img src={address} alt={name} loading="lazy" /> : name}
            </a>
          </li>
        );
      })}
    </ul>
  );
}

function addressInConversation(id: string): string {
  return `/v1/agent/files/${id}`;
}
