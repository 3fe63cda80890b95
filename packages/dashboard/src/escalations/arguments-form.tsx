import "@mantine/core/styles/Checkbox.css";
import "@mantine/core/styles/NumberInput.css";
import { Button, Checkbox, NumberInput, Textarea } from "@mantine/core";
import type { Json, JsonObject } from "dure/client";
import { useState, type KeyboardEvent, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { nameOf } from "./context-facts.tsx";

/**
 * The arguments of a call, to be changed before it is allowed. Words stay words and numbers numbers;
 * what is neither is written as JSON.
 */
export function ArgumentsForm(props: {
  input: JsonObject;
  isRunning: boolean;
  onSend: (input: JsonObject) => Promise<void>;
  onLeave: () => void;
}): ReactNode {
  const { input, isRunning, onSend, onLeave } = props;
  const text = useText();
  const before = Object.entries(input).filter(
    (entry): entry is [string, Json] => entry[1] !== undefined,
  );
  const [written, setWritten] = useState<Readonly<Record<string, WrittenValue>>>(() =>
    Object.fromEntries(before.map(([name, value]) => [name, writtenOf(value)])),
  );
  const read = before.map(([name, value]) => [name, valueOf(written[name]!, value)] as const);
  const isReadable = read.every(([, value]) => value !== undefined);

  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReadable) void onSend(Object.fromEntries<Json | undefined>(read));
      }}
    >
      {read.map(([name, value], index) => (
        <Argument
          key={name}
          label={nameOf(name, text, true)}
          value={written[name]!}
          isFirst={index === 0}
          isReadable={value !== undefined}
          onChange={(next) => setWritten({ ...written, [name]: next })}
          onLeave={onLeave}
        />
      ))}
      <div className="choices toolbar">
        <Button type="submit" size="sm" loading={isRunning} disabled={!isReadable}>
          {text.escalations.approveChanged}
        </Button>
        <Button size="sm" variant="default" disabled={isRunning} onClick={onLeave}>
          {text.escalations.back}
        </Button>
      </div>
    </form>
  );
}

/** As it stands in its field. */
type WrittenValue = string | number | boolean;

function Argument(props: {
  label: string;
  value: WrittenValue;
  isFirst: boolean;
  isReadable: boolean;
  onChange: (value: WrittenValue) => void;
  onLeave: () => void;
}): ReactNode {
  const { label, value, isFirst, isReadable, onChange, onLeave } = props;
  const text = useText();
  const onKeyDown = ({ key, nativeEvent }: KeyboardEvent): void => {
    if (key === "Escape" && !nativeEvent.isComposing) onLeave();
  };
  if (typeof value === "boolean") {
    return (
      <Checkbox
        label={label}
        checked={value}
        autoFocus={isFirst}
        onKeyDown={onKeyDown}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  }
  const error = isReadable ? undefined : text.escalations.unreadable;
  if (typeof value === "number") {
    return (
      <NumberInput
        label={label}
        value={Number.isNaN(value) ? "" : value}
        thousandSeparator=","
        error={error}
        autoFocus={isFirst}
        onKeyDown={onKeyDown}
        onChange={(next) => onChange(typeof next === "number" ? next : Number.NaN)}
      />
    );
  }

  return (
    <Textarea
      label={label}
      value={value}
      autosize
      maxRows={8}
      error={error}
      autoFocus={isFirst}
      onKeyDown={onKeyDown}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function writtenOf(value: Json): WrittenValue {
  return typeof value === "object" ? JSON.stringify(value) : value;
}

/** Undefined: it cannot be read as what it was. Pure. */
function valueOf(written: WrittenValue, before: Json): Json | undefined {
  if (typeof written === "number") return Number.isFinite(written) ? written : undefined;
  if (typeof written === "boolean" || typeof before === "string") return written;
  try {
    return JSON.parse(written) as Json;
  } catch {
    return undefined;
  }
}
