import { Button, TextInput } from "@mantine/core";
import type { JsonObject, SlotInfo } from "dure/client";
import { useState, type FormEvent, type ReactNode } from "react";
import { isNumeric, shownFact } from "../fact-words.ts";
import { useLanguage } from "../language.tsx";
import { slotChanges, slotFields, unclearOf } from "./slots.ts";

/**
 * What the service has understood, editable: changes go as structured slots, not as a sentence to
 * be understood again.
 */
export function SlotCard(props: {
  slots: readonly SlotInfo[];
  state: JsonObject;
  /** `slots_card` of the last answer. */
  card: unknown;
  /** False when the flow has ended: there is nothing left to change. */
  editable: boolean;
  disabled: boolean;
  onSend: (words: string, slots: JsonObject) => void;
}): ReactNode {
  const { text } = useLanguage();
  const fields = slotFields(props.slots, props.state, props.card);
  const unclear = unclearOf(props.state);
  const [edited, setEdited] = useState<Edited>({});
  const [editing, setEditing] = useState(false);

  const send = (words: string, changes: JsonObject): void => {
    props.onSend(words, changes);
    setEditing(false);
  };

  const leave = (): void => {
    setEdited({});
    setEditing(false);
  };

  return (
    <section>
      <div className="row flush baseline between">
        <h2 className="panel-title small soft strong">{text.panel.slots}</h2>
        {!editing && props.editable && (
          <Button
            size="compact-xs"
            variant="subtle"
            disabled={props.disabled}
            onClick={() => setEditing(true)}
          >
            {text.panel.slotsEdit}
          </Button>
        )}
      </div>
      {editing ? (
        <SlotForm
          fields={fields}
          edited={edited}
          onEdit={setEdited}
          disabled={props.disabled}
          onSend={send}
          onLeave={leave}
        />
      ) : (
        <Slots fields={fields} />
      )}
      {unclear !== undefined && !editing && (
        <p className="slot-unclear small error-note">{text.panel.unclear}</p>
      )}
    </section>
  );
}

/** What a person has written, by slot. */
type Edited = Readonly<Record<string, string>>;
type SlotFields = ReturnType<typeof slotFields>;

function SlotForm({
  fields,
  edited,
  onEdit,
  disabled,
  onSend,
  onLeave,
}: {
  fields: SlotFields;
  edited: Edited;
  onEdit: (edited: Edited) => void;
  disabled: boolean;
  onSend: (words: string, changes: JsonObject) => void;
  onLeave: () => void;
}): ReactNode {
  const speaking = useLanguage();
  const { text } = speaking;
  const changes = slotChanges(fields, edited);
  const changed = Object.keys(changes).length > 0;
  const valueOf = (slot: SlotInfo): string =>
    shownFact(slot.name, changes[slot.name], speaking, slot) || text.panel.slotEmpty;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!changed) return;

    const words = fields
      .filter(({ slot }) => slot.name in changes)
      .map(({ slot }) => `${slot.label} ${valueOf(slot)}`)
      .join(", ");

    onSend(text.chat.slotsMessage(words), changes);
  };

  return (
    <form className="stack" onSubmit={submit}>
      {fields.map(({ slot, value, error }) => (
        <TextInput
          key={slot.name}
          size="sm"
          label={slot.label}
          withAsterisk={slot.required}
          type={slot.type === "date" ? "date" : "text"}
          inputMode={isNumeric(slot.type) ? "numeric" : undefined}
          value={edited[slot.name] ?? value}
          error={error}
          onChange={(event) => onEdit({ ...edited, [slot.name]: event.currentTarget.value })}
        />
      ))}
      <div className="row top">
        <Button type="submit" size="compact-sm" disabled={!changed || disabled}>
          {text.panel.slotsSend}
        </Button>
        <Button size="compact-sm" variant="subtle" color="gray" onClick={onLeave}>
          {text.panel.slotsReset}
        </Button>
      </div>
    </form>
  );
}

function Slots({ fields }: { fields: SlotFields }): ReactNode {
  const speaking = useLanguage();
  const { text } = speaking;
  const { slotEmpty, required } = text.panel;

  return (
    <dl className="slots card flush pairs divided">
      {fields.map(({ slot, value, error }) => (
        <div key={slot.name} data-missing={(slot.required && value === "") || undefined}>
          <dt>{slot.label}</dt>
          <dd className="stack tight">
            {value === "" ? (
              <span className="soft">
                {slot.required ? `${slotEmpty} · ${required}` : slotEmpty}
              </span>
            ) : (
              shownFact(slot.name, value, speaking, slot)
            )}
            {error !== undefined && <span className="error-note meta">{error}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
