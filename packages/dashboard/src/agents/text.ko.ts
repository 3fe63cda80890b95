import { factOf, type CodedWords } from "../coded-words.ts";
import type { WordsOf } from "../words.ts";

export const ko = {
  pageTitle: "에이전트",
  lead: "누가 있고, 지금 무엇을 하고, 얼마나 썼는지 보여요.",
  search: "에이전트 찾기",
  empty: "아직 에이전트가 없어요.",
  emptyHint: "`dure.config.ts`의 `agents`에 에이전트를 넣고 서버를 다시 켜 주세요.",
  noMatch: (query: string) => `“${query}”에 맞는 에이전트가 없어요.`,
  leads: "팀 리더",
  states: {
    starting: "켜는 중",
    ready: "온라인",
    reconnecting: "다시 잇는 중",
    paused: "멈춰 둠",
    refused: "거부됨",
    stopped: "꺼짐",
  },
  offline: "계정 없음",
  accounts: "계정",
  persona: "인격 (SOUL.md)",
  noAccounts: "연결된 계정이 없어요.",
  service: "서비스",
  models: "모델",
  noModel: "자기 모델이 없어요",
  channel: "기본 채널",
  noChannel: "팀의 기본 채널",
  load: "하는 일",
  working: (count: number) => `답하는 중 ${count}`,
  waiting: (count: number) => `기다림 ${count}`,
  idle: "쉬는 중",
  spend: "24시간 사용",
  tokens: (count: number) => `토큰 ${count.toLocaleString("ko")}`,
  pause: "멈추기",
  resume: "다시 시작하기",
  pausedSince: (when: string, by: string) =>
    by === "" ? `${when}부터 멈춰 있어요.` : `${by} 님이 ${when}부터 멈춰 두었어요.`,
  pausedHint: "모델을 새로 부르지 않아요. 받은 일은 기다렸다가 이어서 해요.",
  since: (when: string) => `${when}부터`,
  /** What an account tells of itself. */
  reasons: {
    "token-refused": () =>
      "봇의 토큰이 받아들여지지 않아요. 개발자 포털에서 토큰을 새로 만들어 넣고 서버를 다시 시작해 주세요.",
    "intent-refused": () =>
      "개발자 포털의 Bot에서 Message Content Intent를 켜고 서버를 다시 시작해 주세요.",
    "token-missing": ({ account }) =>
      `이 계정(${factOf(account)})의 봇 토큰이 없어요. 토큰을 넣고 서버를 다시 시작해 주세요.`,
    outage: ({ servers }) =>
      `Discord의 서버 ${factOf(servers)}에 장애가 있어요. 거기서 할 말은 장애가 끝날 때까지 기다려요.`,
    "event-left-out": ({ event }) =>
      `Discord가 보낸 것(${factOf(event)}) 하나를 이해하지 못해 건너뛰었어요. 자세한 내용은 로그에 있어요.`,
    "starts-low": ({ remaining }) =>
      `오늘 이 봇이 더 연결할 수 있는 횟수가 ${factOf(remaining)}번뿐이라 쉬고 있어요. 횟수가 다시 차면 스스로 연결해요.`,
    "no-server": () => "봇이 아무 서버에도 없어요. `dure doctor`가 초대 링크를 알려 줘요.",
  } as CodedWords,
};

export type AgentsText = WordsOf<typeof ko>;
