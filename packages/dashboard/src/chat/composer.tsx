import { ActionIcon } from "@mantine/core";
import { IconArrowUp, IconPlayerStopFilled } from "@tabler/icons-react";
import {
  useLayoutEffect,
  useRef,
  useState,
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactNode,
} from "react";
import type { FileInfo } from "dure/client";
import { useParts } from "../app-parts.tsx";
import { useAttached, useDroppedFiles } from "../files/attached.ts";
import { AttachButton, FileTray } from "../files/file-tray.tsx";
import { useText } from "../language.tsx";

/** What an input method reports while it still works on a syllable; some browsers say only this. */
const IME_KEY = 229;
/** The tallest the field grows, pixels; then it scrolls. */
const MAX_HEIGHT = 220;

interface ComposerProps {
  readonly sessionId: string;
  /** Under this name an unfinished message is kept. */
  readonly place: string;
  readonly running: boolean;
  readonly stopping: boolean;
  readonly onSend: (message: string, files: readonly FileInfo[]) => void;
  readonly onStop: () => void;
}

/** The message that is being written, with its files. */
function useComposed(props: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [message, write] = useDraft(props.place);
  const attached = useAttached(async (client, ...upload) => {
    const { files } = await client.uploadFiles(props.sessionId, ...upload);
    return files;
  });
  const attach = (files: Iterable<File>): void => {
    attached.add(files);
    field.current?.focus();
  };
  useDroppedFiles(attach);
  const isEmpty = message.trim() === "" && attached.all.length === 0;
  const maySend = !isEmpty && attached.isReady;

  const submit = (): void => {
    if (!maySend) return;

    props.onSend(
      message.trim(),
      attached.all.flatMap(({ stored }) => stored ?? []),
    );
    write("");
    attached.clear();
    field.current!.style.height = ""; // one line again
    field.current!.focus();
  };

  useLayoutEffect(() => fitHeight(field.current!), []); // a draft may have lines

  return { field, message, write, attached, attach, maySend, submit };
}

/** Where a message is written. Enter sends, but never while a syllable is being composed. */
export function Composer(props: ComposerProps): ReactNode {
  const text = useText();
  const { field, message, write, attached, attach, maySend, submit } = useComposed(props);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey) return;
    if (isComposing(event)) return; // this Enter ends a syllable

    event.preventDefault();
    submit();
  };

  return (
    <div className="composer" onPaste={(event) => takePasted(event, attach)}>
      <FileTray attached={attached} />
      <div className="composer-box row bottom">
        <AttachButton onFiles={attach} />
        <textarea
          ref={field}
          rows={1}
          value={message}
          onChange={(event) => {
            write(event.currentTarget.value);
            fitHeight(event.currentTarget);
          }}
          onKeyDown={onKeyDown}
          placeholder={props.running ? text.chat.placeholderRunning : text.chat.placeholder}
          aria-label={text.chat.placeholder}
          aria-describedby="composer-hint"
          enterKeyHint="send"
        />
        {props.running && <StopButton stopping={props.stopping} onStop={props.onStop} />}
        <ActionIcon
          size={36}
          radius="xl"
          aria-label={text.chat.send}
          disabled={!maySend}
          onClick={submit}
        >
          <IconArrowUp size={19} />
        </ActionIcon>
      </div>
      <p id="composer-hint" className="composer-hint meta">
        {text.chat.inputHint}
      </p>
    </div>
  );
}

/** Files of the clipboard are attached; words go into the field. */
export function takePasted(
  event: ClipboardEvent<HTMLElement>,
  onFiles: (files: Iterable<File>) => void,
): void {
  const { files } = event.clipboardData;
  if (files.length === 0) return;
  event.preventDefault();
  onFiles(files);
}

function useDraft(place: string): [message: string, write: (next: string) => void] {
  const { drafts } = useParts();
  const [message, setMessage] = useState(() => drafts.of(place));

  const write = (next: string): void => {
    setMessage(next);
    drafts.keep(place, next);
  };

  return [message, write];
}

function StopButton({ stopping, onStop }: { stopping: boolean; onStop: () => void }): ReactNode {
  const text = useText();
  return (
    <ActionIcon
      size={36}
      radius="xl"
      variant="default"
      aria-label={stopping ? text.chat.stopping : text.chat.stop}
      loading={stopping}
      onClick={onStop}
    >
      <IconPlayerStopFilled size={15} />
    </ActionIcon>
  );
}

/** Whether an input method still works on a syllable, so that the key is its own. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.nativeEvent.isComposing || event.keyCode === IME_KEY;
}

/** As tall as its text. */
export function fitHeight(field: HTMLTextAreaElement): void {
  field.style.height = "auto"; // else it would never shrink
  field.style.height = `${Math.min(field.scrollHeight, MAX_HEIGHT)}px`;
}
