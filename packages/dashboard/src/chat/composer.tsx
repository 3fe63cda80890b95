import { ActionIcon } from "@mantine/core";
import { IconArrowUp, IconPlayerStopFilled } from "@tabler/icons-react";
import { useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { useText } from "../language.tsx";

/** What an input method reports while it still works on a syllable; some browsers say only this. */
const IME_KEY = 229;
/** The tallest the field grows, pixels; then it scrolls. */
const MAX_HEIGHT = 220;

/** Where a message is written. Enter sends, but never while a syllable is being composed. */
export function Composer(props: { running: boolean; stopping: boolean; onSend: (message: string) => void; onStop: () => void }): ReactNode {
  const text = useText();
  const [message, setMessage] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);

  useLayoutEffect(() => {
    const element = field.current!;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, MAX_HEIGHT)}px`;
  }, [message]);

  const submit = (): void => {
    if (message.trim() === "") return;
    props.onSend(message.trim());
    setMessage("");
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey) return;
    if (event.nativeEvent.isComposing || event.keyCode === IME_KEY) return; // this Enter ends a syllable
    event.preventDefault();
    submit();
  };
  return (
    <div className="composer">
      <div className="composer-box">
        <textarea
          ref={field}
          rows={1}
          value={message}
          onChange={(event) => setMessage(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          placeholder={props.running ? text.chat.placeholderRunning : text.chat.placeholder}
          aria-label={text.chat.placeholder}
          aria-describedby="composer-hint"
          enterKeyHint="send"
        />
        {props.running && (
          <ActionIcon size={36} radius="xl" variant="default" aria-label={props.stopping ? text.chat.stopping : text.chat.stop} loading={props.stopping} onClick={props.onStop}>
            <IconPlayerStopFilled size={15} />
          </ActionIcon>
        )}
        <ActionIcon size={36} radius="xl" aria-label={text.chat.send} disabled={message.trim() === ""} onClick={submit}>
          <IconArrowUp size={19} />
        </ActionIcon>
      </div>
      <p id="composer-hint" className="composer-hint">
        {text.chat.inputHint}
      </p>
    </div>
  );
}
