import type { JsonObject, ServiceInfo, SlotInfo } from "dure/client";
import { useMemo, type ReactNode } from "react";
import type { ConversationView } from "dure/react";
import { ReceiptCard } from "../chat/receipt-card.tsx";
import { receiptsByEntry } from "../chat/receipts.ts";
import { labelOf, shownFact } from "../fact-words.ts";
import { useLanguage, useText } from "../language.tsx";
import { batchOf, type Batch, type BatchTask } from "./batch.ts";
import { SlotCard } from "./slot-card.tsx";
import { StageMachineView } from "./stage-machine.tsx";

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
        aria-label={text.panel.queueNow(index, total)}
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
