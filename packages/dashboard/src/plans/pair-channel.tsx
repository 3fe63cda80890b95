import {
  IconArrowBackUp,
  IconHelpCircle,
  IconMessage2,
  IconReportAnalytics,
  type Icon,
} from "@tabler/icons-react";
import { isObject, isPortOver, type ChannelMessage, type PortDetail } from "dure/client";
import type { ReactNode } from "react";
import { useLanguage, useText } from "../language.tsx";
import { clockOf, momentOf } from "../when.ts";
import { readFeedback } from "./port-tries.ts";
import { Feedback } from "./tries.tsx";

const ICONS = {
  result: IconReportAnalytics,
  feedback: IconMessage2,
  query: IconHelpCircle,
  ack: IconArrowBackUp,
} as const satisfies Record<ChannelMessage["type"], Icon>;

/** What the two members of a pair, and the operator, have said to each other; oldest first. */
export function PairChannel({ port }: { port: PortDetail }): ReactNode {
  const text = useText();
  if (port.messages.length === 0) {
    return <p className="soft port-part stack loose">{text.plans.port.noMessages}</p>;
  }

  return (
    <ol className="port-part stack loose pair-channel" aria-label={text.plans.port.tabs.channel}>
      {port.messages.map((message) => (
        <li className="card stack tight" key={message.id} data-from={message.from}>
          <Message port={port} message={message} />
        </li>
      ))}
    </ol>
  );
}

function Message({ port, message }: { port: PortDetail; message: ChannelMessage }): ReactNode {
  const { text, language } = useLanguage();
  const words = text.plans.port;
  const Icon = ICONS[message.type];
  const memberOf = (member: string): string => words.members[member] ?? member;

  return (
    <>
      <p className="small cluster">
        <Icon size={15} aria-hidden />
        <strong>{words.fromTo({ from: memberOf(message.from), to: memberOf(message.to) })}</strong>
        <span className="soft">{words.messageTypes[message.type]}</span>
        <time
          className="end meta"
          dateTime={new Date(message.createdAt).toISOString()}
          title={momentOf(message.createdAt, language)}
        >
          {clockOf(message.createdAt).slice(0, 8)}
        </time>
      </p>
      <Payload payload={message.payload} />
      <p className="meta">
        <Delivery port={port} message={message} />
      </p>
    </>
  );
}

/** Whether a message was read: sent, delivered, read, or not before its port ended. */
export function Delivery({
  port: { status },
  message: { processedAt, deliveredAt },
}: {
  port: PortDetail;
  message: ChannelMessage;
}): ReactNode {
  const words = useText().plans.port;
  if (processedAt !== null) return words.processed({ when: clockOf(processedAt).slice(0, 8) });
  if (isPortOver(status)) return words.neverRead;
  return deliveredAt === null
    ? words.notDelivered
    : words.delivered({ when: clockOf(deliveredAt).slice(0, 8) });
}

/** Words, a report of tests, or what an implementer hands over; anything else as it stands. */
function Payload({ payload }: { payload: unknown }): ReactNode {
  const words = useText().plans.port;
  const feedback = readFeedback(payload);

  if (feedback !== undefined) {
    return (
      <>
        <p>{words.outcomes[feedback.success ? "passed" : "failed"]}</p>
        <Feedback feedback={feedback} />
      </>
    );
  }

  if (!isObject(payload)) return <p>{String(payload)}</p>;

  const { text, summary, status, changedFiles } = payload;
  if (typeof text === "string") return <p className="verbatim">{text}</p>;
  if (typeof summary !== "string") {
    return <pre tabIndex={0}>{JSON.stringify(payload, undefined, 2)}</pre>;
  }

  return (
    <>
      <p className="verbatim">
        {typeof status === "string" && <strong>{words.results[status] ?? status}. </strong>}
        {summary}
      </p>
      {Array.isArray(changedFiles) && changedFiles.length > 0 && (
        <ul className="small stack tight">
          {changedFiles.map((path) => (
            <li key={String(path)}>
              <code>{String(path)}</code>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
