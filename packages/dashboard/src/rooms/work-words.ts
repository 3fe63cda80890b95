import { useLanguage } from "../language.tsx";

const ko = {
  composer: {
    label: "메시지 쓰기",
    placeholders: {
      channel: (name: string) => `${name} 채널에 쓰기`,
      thread: () => "이 스레드에 쓰기",
      direct: (name: string) => `${name}에게 쓰기`,
    },
    hint: "@로 에이전트나 사람을 부르고, Enter로 보내고, Shift+Enter로 줄을 바꿔요",
    send: "보내기",
    candidates: "부를 사람과 에이전트",
    offered: (count: number) => `후보 ${count}명. 위아래 화살표로 고르고 Enter로 넣어요.`,
    elsewhere: (adapter: string) => `이 방은 ${adapter}에 있어요. 글은 그곳에서 써 주세요.`,
    closed: "닫힌 방에는 쓸 수 없어요.",
  },
  writing: (names: readonly string[], more: number) => `${listedKo(names, more)} 작성 중…`,
  here: {
    title: "지금 보는 사람",
    names: listedKo,
    more: (count: number) => `그 밖에 ${count}명`,
  },
  thread: {
    answers: (count: number) => `답 ${count.toLocaleString("ko")}개`,
    open: "스레드 열기",
  },
  stop: {
    open: "하던 일 멈추기",
    question: {
      channel: "이 채널과 그 스레드에서 하던 일을 멈출까요?",
      thread: "이 스레드에서 하던 일을 멈출까요?",
      direct: "이 대화에서 하던 일을 멈출까요?",
    },
    hint: "쓰고 있던 답과 열린 부탁, 맡긴 일이 끝나요. 그다음에 하는 말에는 다시 답해요.",
    confirm: "모두 멈추기",
    close: "닫기",
    nothing: "하던 일이 없었어요.",
    ended: (what: string) => `멈췄어요: ${what}`,
    answers: (count: number) => `답 ${count}건`,
    requests: (count: number) => `부탁 ${count}건`,
    jobs: (count: number) => `맡긴 일 ${count}건`,
  },
  deeds: {
    deleted: "지운 메시지예요.",
    thread: "스레드에서 이어 가기",
    edit: "고치기",
    delete: "지우기",
    deleteQuestion: "이 메시지를 지울까요? 되돌릴 수 없어요.",
    good: "도움이 됐어요",
    bad: "도움이 안 됐어요",
    reactions: "반응",
    reaction: (emoji: string, count: number) => `${emoji} ${count}명`,
    reactedBy: listedKo,
    answering: { thread: "스레드에서 이어 가기", edit: "고치는 중" },
    leave: "그만두기",
  },
  found: {
    label: "메시지",
    filters: "메시지 찾기 조건",
    author: "쓴 사람",
    anyone: "누구나",
    people: "사람",
    time: "쓴 때",
    anyTime: "언제든",
    days: (days: number) => (days === 1 ? "하루 안" : `${days}일 안`),
    none: (query: string) => `“${query}”에 맞는 메시지가 없어요.`,
    older: "더 오래된 메시지에서 찾기",
  },
  ended: {
    answered: "답함",
    asked: "사람에게 물어봄",
    silent: "답하지 않음",
    ended: "대화를 마침",
    left: "나감",
    empty: "할 말이 없었음",
    stopped: "멈춤",
    failed: "답하지 못함",
    refused: "거절됨",
    place_closed: "방이 닫힘",
    gathered: "이어진 글과 함께 답함",
    deleted: "글이 지워짐",
  },
  later: "이후 메시지 보기",
  messageGone: "그 메시지는 이 방에 없어요.",
  linkTo: (moment: string) => `${moment}, 이 메시지로 가는 링크`,
  picked: {
    label: "고른 메시지",
    close: "고른 메시지 닫기",
  },
};

/** Such as `민준, 지우 외 3명`. */
function listedKo(names: readonly string[], more: number): string {
  return `${names.join(", ")}${more > 0 ? ` 외 ${more}명` : ""}`;
}

/** Such as `Minjun and Jiwoo`, or `Minjun, Jiwoo and 3 more`. */
function listedEn(names: readonly string[], more: number): string {
  const parts = more > 0 ? [...names, `${more} more`] : names;
  return [parts.slice(0, -1).join(", "), parts.at(-1)].filter(Boolean).join(" and ");
}

/** Words that only a page of rooms has; fetched with it. */
export type WorkWords = typeof ko;

const en: WorkWords = {
  composer: {
    label: "Write a message",
    placeholders: {
      channel: (name) => `Write in ${name}`,
      thread: () => "Write in this thread",
      direct: (name) => `Write to ${name}`,
    },
    hint: "@ calls an agent or a person, Enter sends, Shift+Enter starts a new line",
    send: "Send",
    candidates: "People and agents to mention",
    offered: (count) =>
      count === 1
        ? "1 candidate. Enter takes it."
        : `${count} candidates. Choose with the arrow keys, Enter takes one.`,
    elsewhere: (adapter) => `This room is on ${adapter}. Write there.`,
    closed: "A closed room takes no messages.",
  },
  writing: (names, more) =>
    `${listedEn(names, more)} ${names.length + more === 1 ? "is" : "are"} writing…`,
  here: { title: "Also here", names: listedEn, more: (count) => `and ${count} more` },
  thread: {
    answers: (count) => (count === 1 ? "1 answer" : `${count.toLocaleString("en")} answers`),
    open: "Open the thread",
  },
  stop: {
    open: "Stop what runs here",
    question: {
      channel: "Stop what runs in this channel and its threads?",
      thread: "Stop what runs in this thread?",
      direct: "Stop what runs in this conversation?",
    },
    hint: "Answers under way, open requests and jobs end. What is said later is answered again.",
    confirm: "Stop all",
    close: "Close",
    nothing: "Nothing was running.",
    ended: (what) => `Stopped: ${what}`,
    answers: (count) => `${count} ${count === 1 ? "answer" : "answers"}`,
    requests: (count) => `${count} ${count === 1 ? "request" : "requests"}`,
    jobs: (count) => `${count} ${count === 1 ? "job" : "jobs"}`,
  },
  deeds: {
    deleted: "This message was deleted.",
    thread: "Continue in a thread",
    edit: "Edit",
    delete: "Delete",
    deleteQuestion: "Delete this message? It cannot be undone.",
    good: "Good answer",
    bad: "Bad answer",
    reactions: "Reactions",
    reactedBy: listedEn,
    reaction: (emoji, count) => `${emoji}, ${count === 1 ? "1 person" : `${count} people`}`,
    answering: { thread: "Continuing in a thread", edit: "Editing" },
    leave: "Cancel",
  },
  found: {
    label: "Messages",
    filters: "Which messages",
    author: "Written by",
    anyone: "Anyone",
    people: "People",
    time: "Written",
    anyTime: "Any time",
    days: (days) => (days === 1 ? "Last day" : `Last ${days} days`),
    none: (query) => `No message matches “${query}”.`,
    older: "Search older messages",
  },
  ended: {
    answered: "answered",
    asked: "asked a person",
    silent: "did not answer",
    ended: "ended the talk",
    left: "left",
    empty: "had nothing to say",
    stopped: "stopped",
    failed: "could not answer",
    refused: "was refused",
    place_closed: "the room closed",
    gathered: "answered with what followed",
    deleted: "the message was deleted",
  },
  later: "Show later messages",
  messageGone: "That message is not in this room.",
  linkTo: (moment) => `${moment}, link to this message`,
  picked: {
    label: "Picked message",
    close: "Close the picked message",
  },
};

const WORDS = { ko, en };

export function useWorkWords(): WorkWords {
  return WORDS[useLanguage().language];
}
