/** What rooms say to people, in both languages. */

import type { Locale } from "../kernel/locales.ts";
import type { GoneReason } from "../kernel/rooms.ts";
/** Every sentence that rooms say to people, in both languages. */

/** Why a place is gone with all that was asked there. Its row says it in English. */
export const GONE = {
  "thread-deleted": { ko: "스레드가 지워졌어요.", en: "the thread was deleted" },
  "channel-removed": {
    ko: "채널이 없어졌거나 더는 볼 수 없어요.",
    en: "the channel was removed, or may not be seen any more",
  },
  "not-configured": {
    ko: "채널이 설정에서 빠졌어요.",
    en: "its channel is not in the configuration",
  },
} as const satisfies Record<GoneReason, Record<Locale, string>>;

/** Why a request ended that was stopped with its place. */
export const STOPPED = {
  ko: "사람이 멈췄어요.",
  en: "a person has stopped it",
} as const satisfies Record<Locale, string>;

/** Of a place whose channel has another key in the configuration now. */
export const OTHER_KEY = "it stands under another key now";
/** Begins the sentence of a thread that the platform did not make; the reason follows. */
export const THREAD_NOT_MADE = "the thread could not be made: ";

/** What a stop has ended, by kind. */
interface EndedWork {
  readonly answers: number;
  readonly requests: number;
  readonly jobs: number;
}

const KO_ENDED: EndedWords = {
  answers: (count) => `답 ${count}건`,
  requests: (count) => `부탁 ${count}건`,
  jobs: (count) => `작업 ${count}건`,
};
const EN_ENDED: EndedWords = {
  answers: (count) => `${count} ${count === 1 ? "answer" : "answers"}`,
  requests: (count) => `${count} ${count === 1 ? "request" : "requests"}`,
  jobs: (count) => `${count} ${count === 1 ? "job" : "jobs"}`,
};
type EndedWords = Readonly<Record<keyof EndedWork, (count: number) => string>>;

function isNothing({ answers, requests, jobs }: EndedWork): boolean {
  return answers + requests + jobs === 0;
}

/** What an agent has to do, and whether it may. */
interface Working {
  readonly displayName: string;
  readonly paused: { readonly by: string } | null;
  readonly working: number;
  readonly waiting: number;
}

function endedIn(ended: EndedWork, words: EndedWords): string {
  const kinds = ["answers", "requests", "jobs"] as const;
  const some = kinds.filter((kind) => ended[kind] > 0);

  return some.map((kind) => words[kind](ended[kind])).join(", ");
}

const TEXTS = {
  ko: {
    suspended: (seconds: number, minutes: number, count: number) =>
      `에이전트 메시지가 ${seconds}초 동안 ${count}건을 넘어 이 대화를 ${minutes}분간 멈춰요. 사람이 바로 풀 수 있어요.`,
    resting: (count: number) =>
      `에이전트끼리 ${count}건을 주고받아 이 대화를 쉬어요. 사람이 말하거나 새로 부탁하면 다시 이어져요.`,
    pairBlocked: (one: string, other: string, minutes: number) =>
      `${one} ↔ ${other} 부탁이 너무 잦아 ${minutes}분간 막았어요.`,
    pairUnled: (one: string, other: string, count: number) =>
      `${one} ↔ ${other} 사람 없이 ${count}번이나 서로 부탁해서 막았어요. 사람이 말하면 다시 이어져요.`,
    keptPrivate: (target: string) =>
      `여기는 비공개라 ${target}에게 맡기지 않았어요. ${target}에게 직접 말을 걸어 주세요. ` +
      "모두 읽어도 괜찮다면 채널에서 다시 부탁해 주세요.",
    noSuchAgent: (name: string, there: string) =>
      `지금은 ‘${name}’ 에이전트가 없어요. 여기 있는 에이전트: ${there}`,
    chainStopped: (names: string) => `부탁이 돌고 돌아 멈췄어요: ${names}.`,
    reminder: (who: string, asker: string, minutes: number) =>
      `${who} ${asker} 님의 부탁을 기다린 지 ${minutes}분이 지났어요. 답해 주세요.`,
    answered: (who: string, place: string) => `${who} 님이 답했어요 → ${place}`,
    deliveryFailed: (who: string, why: string) =>
      `${who} 님에게 보낸 부탁이 전달되지 않았어요: ${why}`,
    withdrawn: (who: string, why: string) =>
      `${who} 님에게 한 부탁은 답을 받을 수 없게 됐어요: ${why}`,
    unanswered: (who: string, minutes: number) =>
      `${who} 님이 ${minutes}분째 답하지 않아 운영자에게 알렸어요.`,
    expired: (who: string, hours: number) =>
      `${who} 님이 ${hours}시간 동안 답하지 않아 부탁을 거둬요. 아직 필요하면 다시 부탁해 주세요.`,
    removed: (who: string, by: string) =>
      by === ""
        ? `${who} 님이 이 대화에서 나갔어요. 부르면 다시 들어와요.`
        : `${by} 님이 ${who} 님을 이 대화에서 내보냈어요. 부르면 다시 들어와요.`,
    missed: () => "자리를 비운 사이에 온 부름이라 답하지 못했어요. 아직 필요하면 다시 불러 주세요.",
    leftOut: (count: number) =>
      `자리를 비운 사이에 글이 많이 쌓여 최근 ${count}개만 읽었어요. 그 앞의 글에 답이 필요하면 다시 불러 주세요.`,
    failed: () => "지금은 답하지 못했어요. 잠시 뒤에 다시 불러 주세요.",
    broken: () =>
      "모델을 쓸 수 없어 답하지 못했어요. 운영자에게 알렸으니, 고친 뒤에 다시 불러 주세요.",
    cut: (characters: number) => `… (뒤의 ${characters}자는 너무 길어 뺐어요)`,
    answeredBy: (who: string, label: string) => `${who} 님이 ‘${label}’(으)로 답했어요.`,
    asksPerson: (who: string) =>
      `${who} 님이 답해 주세요. 버튼을 누르거나 “응”, “아니”라고 답하면 돼요.`,
    asksOperator: () => "운영자에게 승인을 요청했어요. 답이 오면 여기서 이어서 할게요.",
    asksRole: (role: string) =>
      `${role} 역할을 가진 분에게 승인을 요청했어요. 답이 오면 여기서 이어서 할게요.`,
    asksTwo: () => "두 분의 승인을 요청했어요. 두 분이 답하면 여기서 이어서 할게요.",
    lacksRole: () =>
      "이 승인은 그 역할을 가진 분이 할 수 있어요. rooms.roles에 적힌 분은 버튼으로, 다른 분은 확인 요청 페이지나 CLI에서 답해요.",
    unknownPerson: () =>
      "이 승인은 두 분이 확인 요청 페이지나 CLI에서 각자의 토큰으로 할 수 있어요.",
    wholeAbove: () => "전체 내용은 바로 위에 있어요.",
    approvedBy: (who: string) => `${who} 님이 승인했어요.`,
    rejectedBy: (who: string) => `${who} 님이 거절했어요.`,
    leftBy: (who: string) => `${who} 님이 다른 이야기를 해서 이 물음을 닫았어요.`,
    dismissedBy: (who: string) => `${who} 님이 이 물음을 닫았어요.`,
    timedOut: () => "답할 시간이 지나서 이 물음을 닫았어요.",
    notNeeded: () => "더 필요하지 않아서 이 물음을 닫았어요.",
    operator: () => "운영자",
    waitsForPerson: (who: string) => `이미 ${who} 님에게 물어 두었어요. 답을 기다리고 있어요.`,
    waitsForOperator: () => "이미 운영자에게 물어 두었어요. 답을 기다리고 있어요.",
    asksOther: (who: string) => `${who} 님에게 물은 거라서 ${who} 님만 답할 수 있어요.`,
    noSuchQuestion: () => "더는 없거나 여기에서 답할 수 없는 물음이에요.",
    closedAlready: () => "이미 답이 끝난 물음이에요.",
    notYours: () =>
      "이 물음에 답할 수 있는 분이 아니에요. 서버 관리자나 rooms.approvers에 적힌 분이 답할 수 있어요.",
    notYoursToLift: () => "이 자리에 글을 쓸 수 있는 분만 풀 수 있어요.",
    pressFailed: () => "지금은 처리하지 못했어요. 잠시 뒤에 다시 눌러 주세요.",
    lift: () => "풀기",
    stop: () => "멈추기",
    working: () => "답을 준비하고 있어요 …",
    filesStay: (names: string) =>
      `파일을 여기로 보내지 못했어요: ${names}. 대시보드의 방에서 볼 수 있어요.`,
    namesake: (name: string, kind: "person" | "foreign") =>
      `${name} (${kind === "person" ? "사람" : "다른 봇"})`,
    waiting: () => "모델에 연결되지 않아요. 다시 연결되면 답할게요.",
    reconnected: () => "모델에 다시 연결됐어요.",
    retry: () => "지금 다시 시도",
    retrying: () => "지금 다시 연결해 볼게요.",
    resume: () => "이어서 다시 시도",
    resuming: () => "멈춘 곳에서 이어서 답하고 있어요.",
    resumingAlready: () => "이미 이어서 답하고 있어요.",
    notResumable: () =>
      "이미 답했거나 여기서는 더 이어 갈 수 없어요. 필요하면 새 글로 다시 불러 주세요.",
    passed: () =>
      "그 뒤로 이야기가 이어져서 이 답은 다시 시도할 수 없어요. 새 글로 다시 불러 주세요.",
    gaveUp: () => "모델에 다시 연결되지 않아 더 기다리지 않아요.",
    waitStopped: () => "더 기다리지 않고 멈췄어요.",
    answerStopped: () => "답하기 전에 멈췄어요.",
    stoppedFor: (ended: EndedWork) =>
      isNothing(ended) ? "여기서 하던 일이 없어요." : `멈췄어요: ${endedIn(ended, KO_ENDED)}.`,
    pausedFor: (who: string, isNew: boolean) =>
      isNew ? `${who} 님을 멈춰 두었어요.` : `${who} 님은 이미 멈춰 있어요.`,
    resumedFor: (who: string, isNew: boolean) =>
      isNew ? `${who} 님을 다시 시작했어요.` : `${who} 님은 멈춰 있지 않아요.`,
    whoLine: ({ displayName, paused, working, waiting }: Working) =>
      `• ${displayName}: ${paused === null ? "" : `멈춰 둠${paused.by === "" ? "" : ` (${paused.by})`}, `}` +
      (working + waiting === 0 ? "쉬는 중" : `답하는 중 ${working}, 기다림 ${waiting}`),
    noJobs: () => "여기서 맡긴 작업이 없어요.",
    notHere: () => "에이전트가 일하는 채널이 아니에요.",
    notYoursToStop: () => "이 자리에 글을 쓸 수 있는 분만 멈출 수 있어요.",
    notYoursToRetry: () => "이 자리에 글을 쓸 수 있는 분만 다시 시도할 수 있어요.",
    notYoursToPause: () =>
      "서버 관리자나 rooms.approvers에 적힌 분만 에이전트를 멈추거나 다시 시작할 수 있어요.",
    paused: (who: string, by: string) =>
      by === ""
        ? `${who} 님을 멈춰 두었어요. 다시 시작하면 이어서 답해요.`
        : `${by} 님이 ${who} 님을 멈춰 두었어요. 다시 시작하면 이어서 답해요.`,
    goesOn: (who: string, by: string) =>
      by === "" ? `${who} 님이 다시 시작했어요.` : `${by} 님이 ${who} 님을 다시 시작했어요.`,
    stopped: (by: string, ended: EndedWork) =>
      by === ""
        ? `여기서 하던 일을 멈췄어요: ${endedIn(ended, KO_ENDED)}.`
        : `${by} 님이 여기서 하던 일을 멈췄어요: ${endedIn(ended, KO_ENDED)}.`,
  },
  en: {
    suspended: (seconds: number, minutes: number, count: number) =>
      `More than ${count} agent messages within ${seconds} s: this conversation pauses for ` +
      `${minutes} min. A person can lift it at once.`,
    resting: (count: number) =>
      `The agents have exchanged ${count} messages; this conversation rests until a person ` +
      "speaks or something new is asked.",
    pairBlocked: (one: string, other: string, minutes: number) =>
      `${one} ↔ ${other}: too many requests; blocked for ${minutes} min.`,
    pairUnled: (one: string, other: string, count: number) =>
      `${one} ↔ ${other}: ${count} requests without a person; blocked until a person speaks.`,
    keptPrivate: (target: string) =>
      `This conversation is private, so nothing was handed to ${target}. Write to ${target} ` +
      "directly. Or ask again in a channel, if everybody there may read it.",
    noSuchAgent: (name: string, there: string) =>
      `There is no agent “${name}” any more. Agents here: ${there}`,
    chainStopped: (names: string) => `The request went in a circle and was stopped: ${names}.`,
    reminder: (who: string, asker: string, minutes: number) =>
      `${who} the request of ${asker} has waited for ${minutes} min. Please answer.`,
    answered: (who: string, place: string) => `${who} has answered → ${place}`,
    deliveryFailed: (who: string, why: string) =>
      `The request to ${who} could not be delivered: ${why}`,
    withdrawn: (who: string, why: string) =>
      `The request to ${who} cannot be answered any more: ${why}`,
    unanswered: (who: string, minutes: number) =>
      `${who} has not answered for ${minutes} min; an operator has been told.`,
    expired: (who: string, hours: number) =>
      `${who} has not answered for ${hours} h, so the request has ended. Ask again if you still need it.`,
    removed: (who: string, by: string) =>
      by === ""
        ? `${who} has left this conversation; a mention brings it back.`
        : `${by} has taken ${who} out of this conversation; a mention brings it back.`,
    missed: () =>
      "You were calling while I was away, so this went unanswered. Call again if you still need it.",
    leftOut: (count: number) =>
      `So much was written while I was away that I read only the newest ${count} messages. Call again if something before them needs an answer.`,
    failed: () => "I could not answer just now. Please call again in a moment.",
    broken: () =>
      "I cannot answer: my model refuses my calls. An operator has been told; call again when it is mended.",
    cut: (characters: number) => `… (${characters} more characters were left out)`,
    answeredBy: (who: string, label: string) => `${who} answered “${label}”.`,
    asksPerson: (who: string) => `${who}, please answer: press a button, or reply “yes” or “no”.`,
    asksOperator: () =>
      "An operator has been asked for approval. I go on here when the answer comes.",
    asksRole: (role: string) =>
      `A person with the role ${role} has been asked for approval. I go on here when the answer comes.`,
    asksTwo: () => "Two people have been asked for approval. I go on here when both have answered.",
    lacksRole: () =>
      "A person with the role approves this: by the button, where rooms.roles names them, else on the escalations page or by the CLI.",
    unknownPerson: () =>
      "Two people approve this, on the escalations page or by the CLI, each with a token of their own.",
    wholeAbove: () => "All of it stands right above.",
    approvedBy: (who: string) => `${who} approved it.`,
    rejectedBy: (who: string) => `${who} rejected it.`,
    leftBy: (who: string) => `${who} went on with something else, so this question is closed.`,
    dismissedBy: (who: string) => `${who} closed this question.`,
    timedOut: () => "The time to answer is over, so this question is closed.",
    notNeeded: () => "This question is closed; no answer is needed any more.",
    operator: () => "An operator",
    waitsForPerson: (who: string) => `I have asked ${who} already, and wait for the answer.`,
    waitsForOperator: () => "I have asked an operator already, and wait for the answer.",
    asksOther: (who: string) => `I have asked ${who}, so only ${who} may answer.`,
    noSuchQuestion: () => "This question is gone, or it cannot be answered here.",
    closedAlready: () => "This question has been answered already.",
    notYours: () =>
      "You may not answer this. Those who manage the server may, or those named in rooms.approvers.",
    notYoursToLift: () => "Only those who may write here can lift it.",
    pressFailed: () => "This could not be done just now. Press again in a moment.",
    lift: () => "Lift",
    stop: () => "Stop",
    working: () => "I am working on an answer …",
    filesStay: (names: string) =>
      `These files could not be sent here: ${names}. The room of the dashboard has them.`,
    namesake: (name: string, kind: "person" | "foreign") =>
      `${name} (${kind === "person" ? "a person" : "another bot"})`,
    waiting: () => "The model is not reachable. I will answer when it is back.",
    reconnected: () => "The model is reachable again.",
    retry: () => "Retry now",
    retrying: () => "I am trying to reach it now.",
    resume: () => "Try again from here",
    resuming: () => "I go on where I had stopped.",
    resumingAlready: () => "I go on with it already.",
    notResumable: () =>
      "This has been answered already, or it cannot go on from here. Write a new message if you " +
      "still need it.",
    passed: () =>
      "The conversation has gone on since, so this answer cannot be tried again. Write a new message.",
    gaveUp: () => "The model did not come back, and I have stopped waiting.",
    waitStopped: () => "I was stopped while I waited.",
    answerStopped: () => "I was stopped before I could answer.",
    stoppedFor: (ended: EndedWork) =>
      isNothing(ended) ? "Nothing was running here." : `Stopped: ${endedIn(ended, EN_ENDED)}.`,
    pausedFor: (who: string, isNew: boolean) =>
      isNew ? `${who} is paused now.` : `${who} is paused already.`,
    resumedFor: (who: string, isNew: boolean) =>
      isNew ? `${who} goes on.` : `${who} is not paused.`,
    whoLine: ({ displayName, paused, working, waiting }: Working) =>
      `• ${displayName}: ${paused === null ? "" : `paused${paused.by === "" ? "" : ` (${paused.by})`}, `}` +
      (working + waiting === 0 ? "idle" : `${working} answering, ${waiting} waiting`),
    noJobs: () => "No job was asked for here.",
    notHere: () => "The agents do not work in this channel.",
    notYoursToStop: () => "Only those who may write here can stop what runs here.",
    notYoursToRetry: () => "Only those who may write here can try again.",
    notYoursToPause: () =>
      "Only those who manage the server, or those named in rooms.approvers, may pause an agent.",
    paused: (who: string, by: string) =>
      `${by === "" ? `${who} is paused` : `${by} has paused ${who}`}; ` +
      "what you ask is answered after it resumes.",
    goesOn: (who: string, by: string) =>
      by === "" ? `${who} goes on.` : `${by} has resumed ${who}.`,
    stopped: (by: string, ended: EndedWork) =>
      `${by === "" ? "What ran here was stopped" : `${by} has stopped what ran here`}: ` +
      `${endedIn(ended, EN_ENDED)}.`,
  },
} as const;

export function roomTexts(locale: Locale): (typeof TEXTS)[Locale] {
  return TEXTS[locale];
}
