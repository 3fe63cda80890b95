import { spanOf } from "../when.ts";
import { briefOf, type EventNames } from "./names.ts";
import type { Sentences } from "./sentences.ts";

const MEMBERS = {
  implementer: "the implementer",
  tester: "the tester",
  orchestrator: "the orchestrator",
  operator: "an operator",
};
const OUTCOMES = {
  success: "succeeded",
  partial: "succeeded in part",
  failed: "failed",
  cancelled: "was cancelled",
};
const ACCOUNTS = {
  starting: "is starting",
  ready: "is online",
  reconnecting: "is reconnecting",
  paused: "is paused",
  refused: "was refused",
  stopped: "is off",
};
const HANDLED = {
  answered: "answered a message",
  asked: "asked a person before answering",
  silent: "chose to say nothing",
  ended: "ended the conversation",
  left: "left",
  empty: "had nothing to say",
  stopped: "was stopped while answering",
  failed: "could not answer",
  refused: "did not take a message",
  place_closed: "could not answer, for the room was closed",
  gathered: "answered with what followed",
  deleted: "did not answer, for the message was deleted",
} as Readonly<Record<string, string>>;
const CLOSED = {
  "thread-deleted": "was closed: the thread was deleted",
  "channel-removed": "was closed: the channel is gone",
  "not-configured": "was closed: it is no longer in the configuration",
};
const STEPS = { worker: "the worker", operator: "the operating agent", person: "people" };

const by = (who: string, deed: string): string => `${who === "" ? "A person" : who} ${deed}`;
const who = ({ agent }: EventNames, id: string | undefined): string =>
  id === undefined ? "An agent" : agent(id);
const quote = (text: string): string => (text === "" ? "." : `: “${briefOf(text)}”`);
const why = (text: string | null | undefined): string => (text ? `: ${briefOf(text)}` : ".");
const filesOf = (count: number): string => (count === 1 ? "1 file" : `${count} files`);
const port = (data: { plan: string; port: string }): string =>
  `Port ${data.port} of plan ${data.plan}`;
const worker = (data: { plan: string; port: string; member: keyof typeof MEMBERS }): string =>
  `${port(data)}: ${MEMBERS[data.member]}`;
const exchange = ({ agent }: EventNames, data: { requester: string; target: string }): string =>
  `${agent(data.requester)}'s job for ${agent(data.target)}`;

/** Every event as an English sentence. */
export const en: Sentences = {
  "turn.accepted": ({ data, service }, names) =>
    data.author === "person"
      ? `${names.service(service)} received a message.`
      : `${names.service(service)} received a notice.`,
  "turn.done": ({ data, service }, names) =>
    data.error === undefined
      ? `${names.service(service)} answered in ${spanOf(data.elapsedMs, "en")}${quote(data.message)}`
      : `${names.service(service)} could not answer (${data.error}).`,
  "hook.failed": ({ data }) => `A notice to the outside failed after ${data.attempts} tries.`,
  "process.taken_over": ({ data }) =>
    data.because === "silent"
      ? "Another process took over the work of a server process that was silent."
      : "Another process took over the work of a server process that was gone.",
  "outbox.failed": ({ data }) =>
    `Something could not leave after ${data.attempts} tries${why(data.error?.message)}`,
  "outbox.unknown": () => "It is not known whether something has left. A person should look.",

  "escalation.new": ({ data }) => `An escalation was raised: ${data.title}`,
  "escalation.worsened": ({ data }) => `An escalation became more urgent: ${data.title}`,
  "escalation.first_yes": ({ data }) =>
    `${data.person ?? data.by} approved it as the first of two: ${data.title}`,
  "escalation.routed": ({ data }) => `An escalation went to ${STEPS[data.step]}: ${data.title}`,
  "escalation.resolved": ({ data }, { actor }) =>
    by(actor(data.by), `answered an escalation: ${data.title}`),
  "escalation.dismissed": ({ data }, { actor }) =>
    by(actor(data.by), `closed an escalation without a decision: ${data.title}`),

  "job.accepted": ({ data }, { agent }) =>
    `${agent(data.requester)} gave ${agent(data.target)} a job${quote(data.message)}`,
  "job.started": ({ data }, names) =>
    data.resumed ? `${exchange(names, data)} goes on.` : `${exchange(names, data)} began.`,
  "job.resuming": ({ data }, names) => `${exchange(names, data)} goes on from turn ${data.turn}.`,
  "job.retried": ({ data }, names) =>
    by(names.actor(data.by), `had ${exchange(names, data)} tried again, from turn ${data.turn}.`),
  "job.turn": ({ data }, { agent }) =>
    `${agent(data.speaker)} spoke in turn ${data.number}${quote(data.text)}`,
  "job.waiting": ({ data }, names) =>
    data.for === "person"
      ? `${exchange(names, data)} waits for a person.`
      : `${exchange(names, data)} waits until the agent is resumed.`,
  "job.spoken": ({ data }, names) =>
    by(names.actor(data.by), `spoke into ${exchange(names, data)}${quote(data.text)}`),
  "job.completed": ({ data }, names) => `${exchange(names, data)} is done.`,
  "job.failed": ({ data }, names) => `${exchange(names, data)} failed${why(data.error?.message)}`,
  "job.cancelled": ({ data }, names) =>
    by(names.actor(data.by), `cancelled ${exchange(names, data)}.`),
  "job.abandoned": ({ data }, names) =>
    `${exchange(names, data)} could not go on and was given up.`,
  "jobs.recovered": ({ data }) =>
    data.resumed + data.abandoned === 0
      ? "The server started."
      : `Of a server that had stopped, ${data.resumed} jobs go on and ${data.abandoned} were given up.`,

  "room.message": ({ data, room }, names) =>
    data.author_kind === "agent"
      ? `${names.agent(data.author)} wrote in ${names.place(room)}.`
      : by(names.actor(data.author), `wrote in ${names.place(room)}.`),
  "room.heard": ({ room }, names) => `It was decided who answers in ${names.place(room)}.`,
  "room.edited": ({ room }, names) => `A message in ${names.place(room)} was edited.`,
  "room.handled": ({ data, room, agent }, names) =>
    `${who(names, agent)} ${HANDLED[data.outcome] ?? "was done"} in ${names.place(room)}.`,
  "room.delivery_failed": ({ data, room }, names) =>
    data.outcome === "failed"
      ? `A message could not be delivered to ${names.place(room)}${why(data.detail)}`
      : `It is not known whether a message reached ${names.place(room)}.`,
  "room.missed": ({ room }, names) => `Some of what was said in ${names.place(room)} was missed.`,
  "room.thread_opened": ({ data }, { agent }) =>
    `${agent(data.from)} opened a thread with ${agent(data.to)}: ${data.name}`,
  "room.thread_made": ({ room }, names) => `${names.place(room)} was made on the platform.`,
  "room.closed": ({ data, room }, names) =>
    `${names.place(room)} ${CLOSED[data.because] ?? "was closed"}.`,
  "room.access_lost": ({ room, agent }, names) =>
    `${who(names, agent)} can no longer enter ${names.place(room)}.`,
  "room.left": ({ room, agent }, names) => `${who(names, agent)} left ${names.place(room)}.`,
  "room.resting": ({ room }, names) => `${names.place(room)} rests: the agents have said enough.`,
  "room.suspended": ({ room }, names) =>
    `${names.place(room)} is suspended: its agents wrote too fast.`,
  "room.resumed": ({ data, room }, names) =>
    by(names.actor(data.by), `let ${names.place(room)} go on.`),
  "room.stopped": ({ data, room }, names) =>
    by(
      names.actor(data.by),
      `stopped what ran in ${names.place(room)} (${data.answers} answers, ${data.requests} requests, ${data.jobs} jobs).`,
    ),
  "room.guard_tripped": ({ data }, { agent }) =>
    `${agent(data.from)} asked ${agent(data.to)} too often, so it goes no further.`,
  "agent.paused": ({ data, agent }, names) =>
    by(names.actor(data.by), `paused ${names.agent(agent ?? "")}.`),
  "agent.resumed": ({ data, agent }, names) =>
    by(names.actor(data.by), `resumed ${names.agent(agent ?? "")}.`),
  "account.changed": ({ data, agent }, names) =>
    `The ${data.adapter} account of ${names.agent(agent ?? data.account)} ${ACCOUNTS[data.state]}.`,

  "collaborate.asked": ({ data }, { agent }) =>
    `${agent(data.from)} asked ${agent(data.to)} in a thread.`,
  "collaborate.answered": ({ data }, { agent }) =>
    `${agent(data.to)} answered ${agent(data.from)}${quote(data.text ?? "")}`,
  "collaborate.failed": ({ data }, { agent }) =>
    `A request to ${agent(data.to)} got no answer${why(data.why)}`,

  "session.start": ({ data }, { actor }) =>
    by(actor(data.by), `started plan ${data.plan} (${data.ports} ports).`),
  "session.end": ({ data }) => `Plan ${data.plan} ${OUTCOMES[data.outcome]}.`,
  "run.start": ({ data }) => `Plan ${data.plan} began work on ${data.ports} ports.`,
  "run.pause": ({ data }, { actor }) => by(actor(data.by), `paused plan ${data.plan}.`),
  "run.resume": ({ data }, { actor }) => {
    const name = actor(data.by);
    return name === "" ? `Plan ${data.plan} goes on.` : by(name, `resumed plan ${data.plan}.`);
  },
  "run.cancel": ({ data }, { actor }) => by(actor(data.by), `cancelled plan ${data.plan}.`),
  "run.refused": ({ data }) => `An order to plan ${data.plan} was refused (${data.code}).`,
  "run.waiting_host": ({ data }) => `Plan ${data.plan} waits for a machine.`,
  "run.end": ({ data }) => `The run of plan ${data.plan} ${OUTCOMES[data.outcome]}.`,
  "run.cleaned": ({ data }) => `What a run of plan ${data.plan} had left was cleaned up.`,

  "port.ready": ({ data }) => `${port(data)} is ready to begin.`,
  "port.start": ({ data }) => `${port(data)} began, attempt ${data.attempt}.`,
  "port.success": ({ data }) => `${port(data)} is done.`,
  "port.failed": ({ data }) => `${port(data)} failed (${data.code}).`,
  "port.blocked": ({ data }) => `${port(data)} is blocked by ${data.by}.`,
  "port.held": ({ data }) => `${port(data)} waits for a person to approve its result.`,
  "port.recalled": ({ data }) => `${port(data)} is to be done again.`,

  "worker.spawn": ({ data }) => `${worker(data)} began try ${data.try}.`,
  "worker.progress": ({ data }) =>
    `${worker(data)} is at ${Math.round(data.progress * 100)} %${why(data.task)}`,
  "worker.stalled": ({ data }) =>
    `${worker(data)} has been silent for ${spanOf(data.silentMs, "en")}.`,
  "worker.waiting": ({ data }) => `${worker(data)} waits for its model's provider.`,
  "worker.complete": ({ data }) => `${worker(data)} finished.`,
  "worker.feedback": ({ data }) => {
    if (data.try === 0) {
      return data.success
        ? `${port(data)} passes before any work.`
        : `${port(data)} does not pass yet, as it should be before any work.`;
    }
    return data.success
      ? `${port(data)}: all ${data.total} tests passed.`
      : `${port(data)}: ${data.failed} of ${data.total} tests failed.`;
  },
  "direct.message": ({ data }) =>
    `Port ${data.port}: ${MEMBERS[data.from]} spoke to ${MEMBERS[data.to]}.`,

  "merge.ready": ({ data }) => `${data.ports.length} results of plan ${data.plan} can be merged.`,
  "merge.conflict": ({ data }) =>
    `Merging plan ${data.plan} met conflicts in ${filesOf(data.paths.length)}.`,
  "merge.done": ({ data }) => `The results of plan ${data.plan} were merged.`,
};
