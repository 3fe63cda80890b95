import { useLanguage } from "../language.tsx";

const ko = {
  on: "알림 받기",
  off: "알림 그만 받기",
  states: {
    off: "",
    push: "페이지를 닫아도 알림이 와요",
    page: "이 브라우저에서는 페이지가 열려 있을 때만 알림이 와요",
  },
  refused: "브라우저가 알림을 막고 있어요. 브라우저 설정에서 풀 수 있어요.",
  title: (count: number) => `답을 기다리는 확인 요청이 ${count}건 있어요`,
  choice: "알림 내용",
  told: {
    all: "모두",
    "mentions-and-answers": "멘션과 답",
    nothing: "받지 않음",
  },
  mute: "이 방 알림 끄기",
  unmute: "이 방 알림 켜기",
};

type NoticeWords = typeof ko;

const en: NoticeWords = {
  on: "Turn on notifications",
  off: "Turn notifications off",
  states: {
    off: "",
    push: "You are notified also while the page is closed",
    page: "This browser notifies you only while the page is open",
  },
  refused: "The browser blocks notifications. Its settings can allow them.",
  title: (count) =>
    count === 1 ? "1 escalation waits for an answer" : `${count} escalations wait for an answer`,
  choice: "Notify me of",
  told: {
    all: "Everything",
    "mentions-and-answers": "Mentions and answers",
    nothing: "Nothing",
  },
  mute: "Mute this room",
  unmute: "Unmute this room",
};

const WORDS = { ko, en };

/** Words of notifications; fetched with what shows them. */
export function useNoticeWords(): NoticeWords {
  return WORDS[useLanguage().language];
}
