import { useWords } from "../language.tsx";
import { ActionIcon } from "@mantine/core";
import { IconPaperclip, IconRefresh, IconX } from "@tabler/icons-react";
import { useRef, type ReactNode } from "react";
import { ErrorWords } from "../problem.tsx";
import { FILES_WORDS } from "words:later/files";
import type { Attached, AttachedFiles } from "./attached.ts";

/** Opens the choice of files. */
export function AttachButton({ onFiles }: { onFiles: (files: Iterable<File>) => void }): ReactNode {
  const words = useWords(FILES_WORDS);
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = ""; // the same file may be chosen again
        }}
      />
      <ActionIcon
        variant="subtle"
        color="gray"
        size={36}
        radius="xl"
        aria-label={words.attach}
        title={words.attach}
        onClick={() => input.current?.click()}
      >
        <IconPaperclip size={19} aria-hidden />
      </ActionIcon>
    </>
  );
}

/** What goes with the message: previews, how much is sent, what went wrong. */
export function FileTray({ attached }: { attached: AttachedFiles }): ReactNode {
  const words = useWords(FILES_WORDS);
  const { all, leftOut } = attached;
  const isBlocked = all.some(({ problem }) => problem !== undefined);
  if (all.length === 0) return null;
  return (
    <>
      <ul className="file-tray toolbar scroll" aria-label={words.files}>
        {all.map((file) => (
          <li key={file.key} data-failed={file.problem !== undefined}>
            {file.preview !== undefined && <img src={file.preview} alt="" />}
            <span className="file-name clip" title={file.name}>
              {file.name}
            </span>
            <FileState file={file} onRetry={() => attached.retry(file.key)} />
            <ActionIcon
              variant="subtle"
              color="gray"
              size="sm"
              aria-label={words.detach({ name: file.name })}
              onClick={() => attached.remove(file.key)}
            >
              <IconX size={14} aria-hidden />
            </ActionIcon>
          </li>
        ))}
      </ul>
      <p className="file-note small soft" role="status">
        {leftOut > 0 && <span>{words.leftOut({ count: leftOut })}</span>}
        {isBlocked && <span>{words.blocked}</span>}
      </p>
    </>
  );
}

function FileState({ file, onRetry }: { file: Attached; onRetry: () => void }): ReactNode {
  const words = useWords(FILES_WORDS);
  const { problem } = file;
  if (problem === undefined) {
    if (file.stored !== undefined) return null;
    return <progress value={file.sent} max={1} aria-label={words.uploading({ name: file.name })} />;
  }
  return (
    <>
      <span className="file-problem error-note" role="alert">
        <ErrorWords error={problem} />
      </span>
      {problem.class !== "input" && (
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={words.again({ name: file.name })}
          title={words.again({ name: file.name })}
          onClick={onRetry}
        >
          <IconRefresh size={14} aria-hidden />
        </ActionIcon>
      )}
    </>
  );
}
