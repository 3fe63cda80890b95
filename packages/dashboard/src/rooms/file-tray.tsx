import { ActionIcon } from "@mantine/core";
import { IconPaperclip, IconX } from "@tabler/icons-react";
import { useRef, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { ErrorWords } from "../problem.tsx";
import type { Attached } from "./room-files.ts";

/** Opens the choice of files. */
export function AttachButton({ onFiles }: { onFiles: (files: Iterable<File>) => void }): ReactNode {
  const words = useText().rooms.composer;
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
        onClick={() => input.current?.click()}
      >
        <IconPaperclip size={19} aria-hidden />
      </ActionIcon>
    </>
  );
}

/** What goes with the message: previews, how much is sent, what went wrong. */
export function FileTray({
  files,
  onRemove,
}: {
  files: readonly Attached[];
  onRemove: (key: number) => void;
}): ReactNode {
  const words = useText().rooms.composer;
  if (files.length === 0) return null;
  return (
    <ul className="file-tray" aria-label={words.files}>
      {files.map((file) => (
        <li key={file.key} data-failed={file.problem !== undefined}>
          {file.preview !== undefined && <img src={file.preview} alt="" />}
          <span className="file-name">{file.name}</span>
          <FileState file={file} />
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={words.detach(file.name)}
            onClick={() => onRemove(file.key)}
          >
            <IconX size={14} aria-hidden />
          </ActionIcon>
        </li>
      ))}
    </ul>
  );
}

function FileState({ file }: { file: Attached }): ReactNode {
  const words = useText().rooms.composer;
  if (file.problem !== undefined) {
    return (
      <span className="file-problem" role="alert">
        <ErrorWords error={file.problem} />
      </span>
    );
  }
  if (file.stored !== undefined) return null;
  return <progress value={file.sent} max={1} aria-label={words.uploading(file.name)} />;
}
