import type { JsonObject, ServiceInfo, SlotInfo, StageMachine } from "dure/client";
import { useMemo, type ReactNode, useState, type FormEvent } from "react";
import type { ConversationView } from "dure/react";
import { ReceiptCard } from "../chat/receipt-card.tsx";
import { receiptsByEntry } from "../chat/receipts.ts";
import { labelOf, shownFact, isNumeric } from "../fact-words.ts";
import { useLanguage, useText } from "../language.tsx";
import { batchOf, type Batch, type BatchTask } from "./batch.ts";
import { layoutStages } from "./stage-layout.ts";
import { Button, TextInput } from "@mantine/core";
import { slotChanges, slotFields, unclearOf } from "./slots.ts";

export function StateView(props: {
  view: ConversationView;
  service: ServiceInfo | undefined;
  onSlots: (words: string, slots: JsonObject) => void;
}): ReactNode {
  const { view, service } = props;
  const { state, entries } = view;
  const answer = entries.findLast((entry) => entry.done !== undefined);
  const batch = batchOf(state, progressOf(view, answer?.turnId));
  const slots = service?.slots ?? [];

  return (
    <div className="panel-sections stack wide">
      <Stages view={view} service={service} />
      {slots.length > 0 && (
        <SlotCard
          key={JSON.stringify([state["slots"] ?? null, state["index"] ?? null])}
          slots={slots}
          state={state}
          card={answer?.done?.slotsCard}
          editable={!hasEnded(state, service)}
          disabled={view.turn !== undefined}
          onSend={props.onSlots}
        />
      )}
      {batch !== undefined && <Queue batch={batch} service={service} />}
      <Receipts entries={entries} slots={slots} />
      <RawState state={state} />
    </div>
  );
}

/** Of the turn that runs, else of the one that was answered last. */
function progressOf(view: ConversationView, answered: string | undefined): TurnProgress {
  const turn = view.turn?.view ?? view.seen.get(answered ?? "");
  return turn?.progress ?? [];
}

type TurnProgress = Parameters<typeof batchOf>[1];

function hasEnded(state: JsonObject, service: ServiceInfo | undefined): boolean {
  const stage = stageOf(state);
  return stage !== undefined && service?.stages?.terminal.includes(stage) === true;
}

function stageOf(state: JsonObject): string | undefined {
  return typeof state["stage"] === "string" ? state["stage"] : undefined;
}

/** The stages of the service; where an agent tells its own now, that one is marked. */
function Stages({
  view,
  service,
}: {
  view: ConversationView;
  service: ServiceInfo | undefined;
}): ReactNode {
  const text = useText();
  const machine = service?.stages;
  if (machine === undefined) return null;

  const told = view.turn?.view.runs.findLast((run) => run.stage !== undefined)?.stage;
  const current = told ?? stageOf(view.state) ?? machine.initial;

  return (
    <section>
      <h2 className="panel-title small soft strong">{text.panel.stages}</h2>
      <StageMachineView machine={machine} current={current} />
    </section>
  );
}

function Receipts({
  entries,
  slots,
}: {
  entries: ConversationView["entries"];
  slots: readonly SlotInfo[];
}): ReactNode {
  const text = useText();
  const receipts = useMemo(() => receiptsByEntry(entries), [entries]);
  if (receipts.size === 0) return null;

  return (
    <section>
      <h2 className="panel-title small soft strong">{text.panel.receipts}</h2>
      <ul className="receipts stack">
        {entries.toReversed().flatMap(({ key, at }) =>
          (receipts.get(key) ?? []).toReversed().map((receipt, index) => (
            <li key={`${key}:${index}`}>
              <ReceiptCard receipt={receipt} at={at} slots={slots} />
            </li>
          )),
        )}
      </ul>
    </section>
  );
}

function RawState({ state }: { state: JsonObject }): ReactNode {
  const text = useText();
  if (Object.keys(state).length === 0) return <p className="panel-empty">{text.panel.noState}</p>;

  return (
    <details className="raw more">
      <summary>{text.panel.raw}</summary>
      <pre tabIndex={0}>{JSON.stringify(state, null, 2)}</pre>
    </details>
  );
}

/** The tasks of a batch in their order, each with what became of it. */
function Queue({ batch, service }: { batch: Batch; service: ServiceInfo | undefined }): ReactNode {
  const text = useText();
  const { index, total, tasks } = batch;

  return (
    <section>
      <h2 className="panel-title small soft strong">
        {text.panel.queue}
        <span className="soft">
          {" "}
          ({index}/{total})
        </span>
      </h2>
      <div
        className="queue-bar row tight top"
        role="progressbar"
        aria-label={text.panel.queueNow({ index, total })}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={index}
      >
        {tasks.map((task) => (
          <span key={task.index} data-mark={task.mark} />
        ))}
      </div>
      <ol className="queue stack">
        {tasks.map((task) => (
          <Task key={task.index} task={task} service={service} />
        ))}
      </ol>
    </section>
  );
}

function Task({ task, service }: { task: BatchTask; service: ServiceInfo | undefined }): ReactNode {
  const speaking = useLanguage();
  const { text } = speaking;
  const words = Object.entries(task.slots)
    .map(([name, value]) =>
      shownFact(
        name,
        value,
        speaking,
        service?.slots?.find((slot) => slot.name === name),
      ),
    )
    .filter((one) => one !== "");

  return (
    <li data-mark={task.mark}>
      <span className="soft">{task.index}</span>
      <span>
        {words.join(" · ")}
        {task.code !== undefined && (
          <span className="queue-why error-note meta">{labelOf(task.code, text)}</span>
        )}
      </span>
      <span className="queue-mark meta strong">{text.panel.marks[task.mark]}</span>
    </li>
  );
}

// --- stage machine

/** The stages of a service as a drawing, with the current one and the ways on from it marked. */
function StageMachineView({
  machine,
  current,
}: {
  machine: StageMachine;
  current: string;
}): ReactNode {
  const text = useText();
  const { width, height, boxes, arrows } = useMemo(() => layoutStages(machine), [machine]);
  const open = new Set(arrows.filter((arrow) => arrow.from === current).map((arrow) => arrow.to));

  return (
    <svg
      className="stages"
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={text.panel.stageNow({ stage: current, next: [...open].join(", ") })}
    >
      <ArrowHeads />
      {arrows.map((arrow) => {
        const kind = arrow.from === current ? "open" : "rest";
        return (
          <path
            key={`${arrow.from}→${arrow.to}`}
            d={arrow.path}
            className="stage-arrow"
            data-kind={kind}
            data-back={arrow.back || undefined}
            markerEnd={`url(#stage-arrow-${kind})`}
          />
        );
      })}
      {boxes.map((box) => (
        <StageBox
          key={box.stage}
          box={box}
          isCurrent={box.stage === current}
          isOpen={open.has(box.stage)}
        />
      ))}
    </svg>
  );
}

function ArrowHeads(): ReactNode {
  return (
    <defs>
      {["rest", "open"].map((kind) => (
        <marker
          key={kind}
          id={`stage-arrow-${kind}`}
          viewBox="0 0 8 8"
          refX="4"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto-start-reverse"
        >
          <path d="M1 1 L7 4 L1 7 z" className="stage-head" data-kind={kind} />
        </marker>
      ))}
    </defs>
  );
}

function StageBox({
  box,
  isCurrent,
  isOpen,
}: {
  box: ReturnType<typeof layoutStages>["boxes"][number];
  isCurrent: boolean;
  /** Can be reached from the current one. */
  isOpen: boolean;
}): ReactNode {
  const { stage, x, y, width, height, terminal } = box;
  return (
    <g
      className="stage-box"
      data-current={isCurrent || undefined}
      data-open={isOpen || undefined}
      data-terminal={terminal || undefined}
    >
      <rect x={x} y={y} width={width} height={height} rx={terminal ? height / 2 : 8} />
      <text x={x + width / 2} y={y + height / 2} dominantBaseline="central" textAnchor="middle">
        {stage}
      </text>
    </g>
  );
}

// --- slot card

/**
 * What the service has understood, editable: changes go as structured slots, not as a sentence to
 * be understood again.
 */
function SlotCard(props: {
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

    onSend(text.chat.slotsMessage({ changes: words }), changes);
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
