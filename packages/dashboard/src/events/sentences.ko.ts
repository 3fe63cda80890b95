import { spanOf } from "../when.ts";
import { SERVER_KOREAN } from "../server-korean.ts";
import { withJosa } from "./josa.ts";
import { briefOf, type EventNames } from "./names.ts";
import type { Sentences } from "./sentences.ts";

const MEMBERS = {
  implementer: "구현 담당",
  tester: "테스트 담당",
  orchestrator: "조율 담당",
  operator: "운영자",
};
const OUTCOMES = {
  success: "모두 끝났어요",
  partial: "일부만 끝났어요",
  failed: "실패했어요",
  cancelled: "취소됐어요",
};
const ACCOUNTS = {
  starting: "켜지는 중이에요",
  ready: "온라인이에요",
  reconnecting: "다시 연결하는 중이에요",
  paused: "멈춰 있어요",
  refused: "거부됐어요",
  stopped: "꺼졌어요",
};
const HANDLED = {
  answered: "메시지에 답했어요",
  asked: "답하기 전에 사람에게 물었어요",
  silent: "이번에는 말하지 않기로 했어요",
  ended: "대화를 마쳤어요",
  left: "방에서 나갔어요",
  empty: "할 말이 없었어요",
  stopped: "답하다가 멈췄어요",
  failed: "답하지 못했어요",
  refused: "메시지를 받아들이지 않았어요",
  place_closed: "방이 닫혀 답하지 못했어요",
  gathered: "이어진 글과 함께 답했어요",
  deleted: "글이 지워져 답하지 않았어요",
} as Readonly<Record<string, string>>;
const CLOSED = {
  "thread-deleted": "스레드가 지워져 닫혔어요",
  "channel-removed": "채널이 없어져 닫혔어요",
  "not-configured": "설정에서 빠져 닫혔어요",
};
const STEPS = { worker: "작업 담당", operator: "운영 에이전트", person: "사람" };

const subject = (name: string): string => withJosa(name, "이");
/** Names alone are spoken of with respect. */
const by = (who: string): string => {
  if (who === "") return "";
  return `${subject(/(?:사용자|사람)$/u.test(who) ? who : `${who} 님`)} `;
};
const who = ({ agent }: EventNames, id: string | undefined): string =>
  subject(id === undefined ? "에이전트" : agent(id));
const quote = (text: string): string => (text === "" ? "" : `: “${briefOf(text)}”`);
const why = (text: string | null | undefined): string =>
  text ? `: ${briefOf(SERVER_KOREAN.sentence(text) ?? text)}` : "";
const asked = ({ title }: { title: string }): string => SERVER_KOREAN.title(title) ?? title;
const port = (data: { plan: string; port: string }): string =>
  `계획 ${data.plan}의 포트 ${data.port}`;
const worker = (data: { plan: string; port: string; member: keyof typeof MEMBERS }): string =>
  `${port(data)}에서 ${subject(MEMBERS[data.member])}`;
const exchange = ({ agent }: EventNames, data: { requester: string; target: string }): string =>
  `${subject(agent(data.requester))} ${agent(data.target)}에게 맡긴 일`;

/** Every event as a Korean sentence. */
export const ko: Sentences = {
  "turn.accepted": ({ data, service }, names) =>
    data.author === "person"
      ? `${subject(names.service(service))} 메시지를 받았어요.`
      : `${subject(names.service(service))} 알림을 받았어요.`,
  "turn.done": ({ data, service }, names) =>
    data.error === undefined
      ? `${subject(names.service(service))} ${spanOf(data.elapsedMs, "ko")} 만에 답했어요${quote(data.message)}`
      : `${subject(names.service(service))} 답하지 못했어요 (${data.error}).`,
  "hook.failed": ({ data }) => `밖으로 보내는 알림을 ${data.attempts}번 시도했지만 못 보냈어요.`,
  "process.taken_over": ({ data }) =>
    data.because === "silent"
      ? "응답이 없는 서버 프로세스의 일을 다른 프로세스가 이어받았어요."
      : "꺼진 서버 프로세스의 일을 다른 프로세스가 이어받았어요.",
  "outbox.failed": ({ data }) =>
    `내보낼 것을 ${data.attempts}번 시도했지만 보내지 못했어요${why(data.error?.message)}`,
  "outbox.unknown": () => "내보낸 것이 전해졌는지 알 수 없어요. 사람이 확인해 주세요.",

  "escalation.new": ({ data }) => `확인 요청이 생겼어요: ${asked(data)}`,
  "escalation.worsened": ({ data }) => `확인 요청이 더 급해졌어요: ${asked(data)}`,
  "escalation.first_yes": ({ data }) =>
    `두 사람 가운데 ${data.person ?? data.by} 님이 먼저 승인했어요: ${asked(data)}`,
  "escalation.routed": ({ data }) =>
    `확인 요청이 ${STEPS[data.step]}에게 넘어갔어요: ${asked(data)}`,
  "escalation.resolved": ({ data }, { actor }) =>
    `${by(actor(data.by))}확인 요청에 답했어요: ${asked(data)}`,
  "escalation.dismissed": ({ data }, { actor }) =>
    `${by(actor(data.by))}확인 요청을 결정 없이 닫았어요: ${asked(data)}`,

  "job.accepted": ({ data }, { agent }) =>
    `${subject(agent(data.requester))} ${agent(data.target)}에게 일을 맡겼어요${quote(data.message)}`,
  "job.started": ({ data }, names) =>
    data.resumed
      ? `${exchange(names, data)}이 이어서 시작됐어요.`
      : `${exchange(names, data)}이 시작됐어요.`,
  "job.resuming": ({ data }, names) =>
    `${exchange(names, data)}을 ${data.turn}번째 턴부터 다시 이어 가요.`,
  "job.retried": ({ data }, names) =>
    `${by(names.actor(data.by))}${exchange(names, data)}을 ${data.turn}번째 턴부터 다시 시도했어요.`,
  "job.turn": ({ data }, { agent }) =>
    `${subject(agent(data.speaker))} ${data.number}번째 턴에 말했어요${quote(data.text)}`,
  "job.waiting": ({ data }, names) =>
    data.for === "person"
      ? `${exchange(names, data)}이 사람의 답을 기다려요.`
      : `${exchange(names, data)}이 에이전트가 다시 시작하기를 기다려요.`,
  "job.spoken": ({ data }, names) =>
    `${by(names.actor(data.by))}${exchange(names, data)}에 말을 보탰어요${quote(data.text)}`,
  "job.completed": ({ data }, names) => `${exchange(names, data)}이 끝났어요.`,
  "job.failed": ({ data }, names) =>
    `${exchange(names, data)}이 실패했어요${why(data.error?.message)}`,
  "job.cancelled": ({ data }, names) =>
    `${by(names.actor(data.by))}${exchange(names, data)}을 취소했어요.`,
  "job.abandoned": ({ data }, names) => `${exchange(names, data)}을 더는 이어 갈 수 없어 접었어요.`,
  "jobs.recovered": ({ data }) =>
    data.resumed + data.abandoned === 0
      ? "서버가 시작됐어요."
      : `멈췄던 서버의 맡긴 일 ${data.resumed}건을 이어 가고 ${data.abandoned}건을 접었어요.`,

  "room.message": ({ data, room }, names) =>
    data.author_kind === "agent"
      ? `${subject(names.agent(data.author))} ${names.place(room)}에 글을 썼어요.`
      : `${by(names.actor(data.author))}${names.place(room)}에 글을 썼어요.`,
  "room.heard": ({ room }, names) => `${names.place(room)}에서 누가 답할지 정해졌어요.`,
  "room.edited": ({ room }, names) => `${names.place(room)}의 글이 고쳐졌어요.`,
  "room.handled": ({ data, room, agent }, names) =>
    `${names.place(room)}에서 ${who(names, agent)} ${HANDLED[data.outcome] ?? "일을 마쳤어요"}.`,
  "room.delivery_failed": ({ data, room }, names) =>
    data.outcome === "failed"
      ? `${names.place(room)}에 글을 전하지 못했어요${why(data.detail)}`
      : `${names.place(room)}에 글이 전해졌는지 알 수 없어요.`,
  "room.missed": ({ room }, names) =>
    `${names.place(room)}에서 오간 말 가운데 일부를 듣지 못했어요.`,
  "room.thread_opened": ({ data }, { agent }) =>
    `${withJosa(agent(data.from), "과")} ${subject(agent(data.to))} 함께 일할 스레드를 열었어요: ${data.name}`,
  "room.thread_made": ({ room }, names) => `${subject(names.place(room))} 플랫폼에 만들어졌어요.`,
  "room.closed": ({ data, room }, names) =>
    `${subject(names.place(room))} ${CLOSED[data.because] ?? "닫혔어요"}.`,
  "room.access_lost": ({ room, agent }, names) =>
    `${who(names, agent)} ${names.place(room)}에 더는 들어갈 수 없어요.`,
  "room.left": ({ room, agent }, names) =>
    `${who(names, agent)} ${names.place(room)}에서 나갔어요.`,
  "room.resting": ({ room }, names) =>
    `에이전트끼리 충분히 주고받아 ${subject(names.place(room))} 쉬고 있어요.`,
  "room.suspended": ({ room }, names) =>
    `에이전트의 글이 너무 빨라 ${withJosa(names.place(room), "을")} 잠시 멈췄어요.`,
  "room.resumed": ({ data, room }, names) =>
    `${by(names.actor(data.by))}${withJosa(names.place(room), "을")} 다시 이어 가게 했어요.`,
  "room.stopped": ({ data, room }, names) =>
    `${by(names.actor(data.by))}${names.place(room)}에서 하던 일을 멈췄어요 (답 ${data.answers}건, 부탁 ${data.requests}건, 맡긴 일 ${data.jobs}건).`,
  "room.guard_tripped": ({ data }, { agent }) =>
    `${withJosa(agent(data.from), "과")} ${agent(data.to)} 사이의 부탁이 너무 많아 더 잇지 않았어요.`,
  "agent.paused": ({ data, agent }, names) =>
    `${by(names.actor(data.by))}${withJosa(names.agent(agent ?? ""), "을")} 멈췄어요.`,
  "agent.resumed": ({ data, agent }, names) =>
    `${by(names.actor(data.by))}${withJosa(names.agent(agent ?? ""), "을")} 다시 시작했어요.`,
  "account.changed": ({ data, agent }, names) =>
    `${names.agent(agent ?? data.account)}의 ${data.adapter} 계정이 ${ACCOUNTS[data.state]}.`,

  "collaborate.asked": ({ data }, { agent }) =>
    `${subject(agent(data.from))} ${agent(data.to)}에게 스레드에서 부탁했어요.`,
  "collaborate.answered": ({ data }, { agent }) =>
    `${subject(agent(data.to))} ${agent(data.from)}에게 답했어요${quote(data.text ?? "")}`,
  "collaborate.failed": ({ data }, { agent }) =>
    `${agent(data.to)}에게 한 부탁이 답을 얻지 못했어요${why(data.why)}`,

  "session.start": ({ data }, { actor }) =>
    `${by(actor(data.by))}계획 ${withJosa(data.plan, "을")} 시작했어요 (포트 ${data.ports}개).`,
  "session.end": ({ data }) => `계획 ${subject(data.plan)} ${OUTCOMES[data.outcome]}.`,
  "run.start": ({ data }) => `계획 ${data.plan}의 포트 ${data.ports}개가 일을 시작했어요.`,
  "run.pause": ({ data }, { actor }) =>
    `${by(actor(data.by))}계획 ${withJosa(data.plan, "을")} 멈췄어요.`,
  "run.resume": ({ data }, { actor }) =>
    `${by(actor(data.by))}계획 ${withJosa(data.plan, "을")} 이어 가요.`,
  "run.cancel": ({ data }, { actor }) =>
    `${by(actor(data.by))}계획 ${withJosa(data.plan, "을")} 취소했어요.`,
  "run.refused": ({ data }) => `계획 ${data.plan}에 한 주문을 받지 못했어요 (${data.code}).`,
  "run.waiting_host": ({ data }) => `계획 ${subject(data.plan)} 일할 컴퓨터를 기다려요.`,
  "run.end": ({ data }) => `계획 ${data.plan}의 실행이 ${OUTCOMES[data.outcome]}.`,
  "run.cleaned": ({ data }) => `계획 ${data.plan}의 실행이 남긴 것을 치웠어요.`,

  "port.ready": ({ data }) => `${subject(port(data))} 시작할 차례가 됐어요.`,
  "port.start": ({ data }) => `${subject(port(data))} ${data.attempt}번째로 일을 시작했어요.`,
  "port.success": ({ data }) => `${subject(port(data))} 끝났어요.`,
  "port.failed": ({ data }) => `${subject(port(data))} 실패했어요 (${data.code}).`,
  "port.blocked": ({ data }) => `${subject(port(data))} ${data.by} 때문에 막혔어요.`,
  "port.held": ({ data }) => `${port(data)}의 결과가 사람의 승인을 기다려요.`,
  "port.recalled": ({ data }) => `${withJosa(port(data), "을")} 다시 하기로 했어요.`,

  "worker.spawn": ({ data }) => `${worker(data)} ${data.try}번째 시도를 시작했어요.`,
  "worker.progress": ({ data }) =>
    `${worker(data)} ${Math.round(data.progress * 100)}%까지 했어요${why(data.task)}`,
  "worker.stalled": ({ data }) => `${worker(data)} ${spanOf(data.silentMs, "ko")} 동안 조용해요.`,
  "worker.waiting": ({ data }) => `${worker(data)} 모델 제공자가 다시 응답하기를 기다려요.`,
  "worker.complete": ({ data }) => `${worker(data)} 일을 마쳤어요.`,
  "worker.feedback": ({ data }) => {
    if (data.try === 0) {
      return data.success
        ? `${port(data)}의 통과 조건은 시작할 때 이미 맞아요.`
        : `${port(data)}의 통과 조건은 아직 안 맞아요. 시작할 때는 그래야 해요.`;
    }
    return data.success
      ? `${port(data)}의 테스트 ${data.total}개가 모두 통과했어요.`
      : `${port(data)}의 테스트 ${data.total}개 가운데 ${data.failed}개가 통과하지 못했어요.`;
  },
  "direct.message": ({ data }) =>
    `포트 ${data.port}에서 ${subject(MEMBERS[data.from])} ${MEMBERS[data.to]}에게 말했어요.`,

  "merge.ready": ({ data }) => `계획 ${data.plan}의 결과 ${data.ports.length}개를 합칠 수 있어요.`,
  "merge.conflict": ({ data }) =>
    `계획 ${data.plan}의 결과를 합치다가 파일 ${data.paths.length}개가 부딪혔어요.`,
  "merge.done": ({ data }) => `계획 ${data.plan}의 결과를 합쳤어요.`,
};
