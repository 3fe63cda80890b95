import type { Words } from "../words.ts";

export const ko = {
  pageTitle: "이벤트",
  lead: "지금 일어나는 모든 일. 연결이 끊겨도 빠짐없이 이어져요.",
  search: "받은 이벤트에서 찾기",
  types: "종류",
  typesHint: "turn.*",
  session: "세션",
  role: "역할",
  allRoles: "모든 역할",
  roles: { conversation: "대화", delegation: "위임", orchestration: "작업", system: "시스템" },
  pause: "잠시 멈춤",
  resume: "이어 보기",
  paused: (count: number) => `멈춘 사이 ${count.toLocaleString("ko")}건이 왔어요`,
  waiting: "이벤트를 기다리는 중이에요. 대화를 시작하면 여기에 나타나요.",
  noMatch: "찾는 말에 맞는 이벤트가 없어요. 검색어나 거르개를 바꿔 보세요.",
  kept: (shown: number, limit: number) =>
    `${shown.toLocaleString("ko")}건 · 최근 ${limit.toLocaleString("ko")}건만 두어요`,
  dropped: (count: number) => `오래된 ${count.toLocaleString("ko")}건은 내려놓았어요`,
  newer: (count: number) => `새 이벤트 ${count.toLocaleString("ko")}건`,
  reset: "보관 기간이 지난 이벤트는 건너뛰고 이어 왔어요.",
  live: "받는 중",
  reconnecting: "다시 잇는 중",
  detail: "이벤트 내용",
  pick: "이벤트를 고르면 내용이 여기에 보여요.",
  close: "닫기",
  list: "이벤트 목록",
  clear: "비우기",
  stopped: "이벤트를 받지 못했어요",
};

export type EventsText = Words<typeof ko>;
