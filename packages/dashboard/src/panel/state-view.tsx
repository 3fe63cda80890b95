import type { JsonObject, ServiceInfo } from "dure/client";
import { useMemo, type ReactNode } from "react";
import type { ConversationView } from "../chat/conversation.ts";
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
  const text = useText();
  const { view, service } = props;
  const { state, entries } = view;
  const stage = typeof state["stage"] === "string" ? state["stage"] : undefined;
  const liveStage = view.turn?.view.runs.findLast((run) => run.stage !== undefined)?.stage ?? stage;
  const answer = entries.findLast((entry) => entry.done !== undefined);
  const progress = (view.turn?.view ?? view.seen.get(answer?.turnId ?? ""))?.progress ?? [];
  const batch = batchOf(state, progress);
  const receipts = useMemo(() => receiptsByEntry(entries), [entries]);
  const ended = stage !== undefined && service?.stages?.terminal.includes(stage) === true;
  return (
    <div className="panel-sections">
      {service?.stages !== undefined && (
        <section>
          <h2 className="panel-title">{text.panel.stages}</h2>
          <StageMachineView
            machine={service.stages}
            current={liveStage ?? service.stages.initial}
          />
        </section>
      )}
      {service?.slots !== undefined && service.slots.length > 0 && (
        <SlotCard
          key={JSON.stringify([state["slots"] ?? null, state["index"] ?? null])}
          slots={service.slots}
          state={state}
          card={answer?.done?.slotsCard}
          editable={!ended}
          disabled={view.turn !== undefined}
          onSend={props.onSlots}
        />
      )}
      {batch !== undefined && <Queue batch={batch} service={service} />}
      {receipts.size > 0 && (
        <section>
          <h2 className="panel-title">{text.panel.receipts}</h2>
          <ul className="receipts">
            {entries.toReversed().flatMap(({ key, at }) =>
              (receipts.get(key) ?? []).toReversed().map((receipt, index) => (
                <li key={`${key}:${index}`}>
                  <ReceiptCard receipt={receipt} at={at} slots={service?.slots ?? []} />
                </li>
              )),
            )}
          </ul>
        </section>
      )}
      {Object.keys(state).length === 0 ? (
        <p className="panel-empty">{text.panel.noState}</p>
      ) : (
        <details className="raw">
          <summary>{text.panel.raw}</summary>
          <pre tabIndex={0}>{JSON.stringify(state, null, 2)}</pre>
        </details>
      )}
    </div>
  );
}

/** The tasks of a batch in their order, each with what became of it. */
function Queue({ batch, service }: { batch: Batch; service: ServiceInfo | undefined }): ReactNode {
  const text = useText();
  const { index, total, tasks } = batch;
  return (
    <section>
      <h2 className="panel-title">
        {text.panel.queue}
        <span className="queue-count">
          {" "}
          ({index}/{total})
        </span>
      </h2>
      <div
        className="queue-bar"
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
      <ol className="queue">
        {tasks.map((task) => (
          <Task key={task.index} task={task} service={service} />
        ))}
      </ol>
    </section>
  );
}

function Task({ task, service }: { task: BatchTask; service: ServiceInfo | undefined }): ReactNode {
  const { text, language } = useLanguage();
  const words = Object.entries(task.slots)
    .map(([name, value]) =>
      shownFact(
        name,
        value,
        language,
        service?.slots?.find((slot) => slot.name === name),
      ),
    )
    .filter((one) => one !== "");
  return (
    <li data-mark={task.mark}>
      <span className="queue-place">{task.index}</span>
      <span>
        {words.join(" · ")}
        {task.code !== undefined && (
          <span className="queue-why">{labelOf(task.code, language)}</span>
        )}
      </span>
      <span className="queue-mark">{text.panel.marks[task.mark]}</span>
    </li>
  );
}
