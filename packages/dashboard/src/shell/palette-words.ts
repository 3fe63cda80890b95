import { useLanguage } from "../language.tsx";

const ko = {
  label: "찾기",
  placeholder: "방, 메시지, 대화, 맡긴 일, 계획, 에이전트 찾기",
  hint: "위아래 화살표로 고르고 Enter로 열어요. Esc로 닫아요.",
  none: (query: string) => `“${query}”에 맞는 것이 없어요.`,
  inEvents: (query: string) => `이벤트에서 “${query}” 찾기`,
  kinds: {
    page: "화면",
    agent: "에이전트",
    room: "방",
    message: "메시지",
    session: "대화",
    job: "맡긴 일",
    run: "계획 실행",
    events: "이벤트",
  },
  keys: {
    title: "단축키",
    close: "닫기",
    find: "무엇이든 찾기",
    keys: "이 단축키 목록 보기",
    send: "메시지 보내기",
    line: "메시지에서 줄 바꾸기",
    mention: "방에서 에이전트 부르기",
    move: "목록에서 앞뒤로 옮기기",
    messages: "방에서 다음 메시지, 앞 메시지로 가기",
    reply: "고른 메시지에 답장하기",
    thread: "고른 메시지의 스레드 열기",
    leave: "열린 창 닫기",
  },
};

type FindWords = typeof ko;

const en: FindWords = {
  label: "Find",
  placeholder: "Find rooms, messages, conversations, jobs, plans, agents",
  hint: "Choose with the arrow keys, open with Enter, close with Esc.",
  none: (query) => `Nothing matches “${query}”.`,
  inEvents: (query) => `Find “${query}” in events`,
  kinds: {
    page: "Page",
    agent: "Agent",
    room: "Room",
    message: "Message",
    session: "Conversation",
    job: "Job",
    run: "Run of a plan",
    events: "Events",
  },
  keys: {
    title: "Keys",
    close: "Close",
    find: "Find anything",
    keys: "Show these keys",
    send: "Send a message",
    line: "New line in a message",
    mention: "Call an agent in a room",
    move: "Go up and down a list",
    messages: "Next and previous message of a room",
    reply: "Reply to the picked message",
    thread: "Open the thread of the picked message",
    leave: "Close what is open",
  },
};

const WORDS = { ko, en };

/** Words of the palette and the keys; fetched with them. */
export function useFindWords(): FindWords {
  return WORDS[useLanguage().language];
}
