import { isObject, type Done, type JsonObject, type ServiceInfo, type TaskProgress } from "dure/client";
import type { ReactNode } from "react";
import type { ConversationView } from "../chat/conversation.ts";
import { useText } from "../language.tsx";
import { SlotCard } from "./slot-card.tsx";
import { labelOf, shownValue } from "./slots.ts";
import { StageMachineView } from "./stage-machine.tsx";

export function StateView(props: { view: ConversationView; service: ServiceInfo | undefined; onSlots: (words: string, slots: JsonObject) => void }): ReactNode {
  const text = useText();
  const { view, service } = props;
  const { state } = view;
  const stage = typeof state["stage"] === "string" ? state["stage"] : undefined;
  const running = view.turn?.view ?? view.lastView;
  const liveStage = view.turn?.view.runs.findLast((run) => run.stage !== undefined)?.stage ?? stage;
  const receipts = view.entries.flatMap((entry) => receiptsOf(entry.done)).toReversed();
  return (
    <div className="panel-sections">
      {service?.stages !== undefined && (
        <section>
          <h2 className="panel-title">{text.panel.stages}</h2>
          <StageMachineView machine={service.stages} current={liveStage ?? service.stages.initial} />
        </section>
      )}
      {service?.slots !== undefined && service.slots.length > 0 && (
        <SlotCard key={JSON.stringify(state["slots"] ?? null)} slots={service.slots} state={state} disabled={view.turn !== undefined} onSend={props.onSlots} />
      )}
      <Queue progress={running.progress} state={state} service={service} />
      {receipts.length > 0 && (
        <section>
          <h2 className="panel-title">{text.panel.receipts}</h2>
          <ul className="receipts">
            {receipts.map((receipt, index) => (
              <li key={receipts.length - index} className="receipt">
                <Facts value={receipt} service={service} />
              </li>
            ))}
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

/** Tasks of a batch: where it stands, and what comes next. */
function Queue({ progress, state, service }: { progress: readonly TaskProgress[]; state: JsonObject; service: ServiceInfo | undefined }): ReactNode {
  const text = useText();
  const now = progress.at(-1);
  const listed = state["queue"] ?? state["tasks"];
  const waiting = Array.isArray(listed) ? listed.filter(isObject) : [];
  if (now === undefined && waiting.length === 0) return null;
  return (
    <section>
      <h2 className="panel-title">
        {text.panel.queue}
        {now !== undefined && <span className="queue-count"> ({now.index}/{now.total})</span>}
      </h2>
      {now !== undefined && (
        <div className="queue-bar" role="progressbar" aria-label={text.panel.queueNow(now.index, now.total)} aria-valuemin={0} aria-valuemax={now.total} aria-valuenow={now.index}>
          {Array.from({ length: now.total }, (_, index) => (
            <span key={index} data-state={index + 1 < now.index ? "past" : index + 1 === now.index ? "now" : undefined} />
          ))}
        </div>
      )}
      <ol className="queue">
        {waiting.map((task, index) => (
          <li key={index}>
            <span className="queue-next">{index === 0 ? text.panel.queueNext : ""}</span>
            <span>
              {Object.entries(isObject(task["slots"]) ? task["slots"] : task)
                .map(([name, value]) => shownValue(value, service?.slots?.find((slot) => slot.name === name)))
                .filter((words) => words !== "")
                .join(" · ")}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Facts({ value, service }: { value: unknown; service: ServiceInfo | undefined }): ReactNode {
  const words: Readonly<Record<string, string>> = useText().panel.facts;
  if (!isObject(value)) return <p>{shownValue(value)}</p>;
  return (
    <dl className="facts">
      {Object.entries(value)
        .filter(([, member]) => member !== null && member !== undefined && member !== "")
        .map(([name, member]) => (
          <div key={name}>
            <dt>{words[name] ?? labelOf(name, service?.slots ?? [])}</dt>
            <dd>{shownValue(member, service?.slots?.find((slot) => slot.name === name))}</dd>
          </div>
        ))}
    </dl>
  );
}

function receiptsOf(done: Done | undefined): readonly unknown[] {
  if (done?.receipts !== undefined && done.receipts.length > 0) return done.receipts;
  return done?.receipt === undefined || done.receipt === null ? [] : [done.receipt];
}
