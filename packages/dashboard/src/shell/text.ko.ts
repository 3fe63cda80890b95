import type { WordsOf } from "../words.ts";

export const ko = {
  appName: "두레",
  skipToContent: "본문으로 건너뛰기",
  nav: {
    label: "주 메뉴",
    start: "홈",
    rooms: "방",
    jobs: "맡긴 일",
    plans: "계획",
    agents: "에이전트",
    chat: "대화",
    escalations: "확인 요청",
    events: "이벤트",
    costs: "비용",
    audit: "감사 기록",
    open: "메뉴 열기",
    close: "메뉴 닫기",
  },
  find: "찾기",
  keys: "단축키",
  waiting: (count: number) => `기다리는 요청 ${count}건`,
  settings: {
    language: "언어",
    scheme: "화면 밝기",
    light: "밝게",
    dark: "어둡게",
    auto: "자동",
    logout: "로그아웃",
  },
  login: {
    title: "들어가기",
    lead: "이 서버는 토큰이나 로그인 링크가 있어야 볼 수 있어요. 토큰은 브라우저에 남지 않아요.",
    token: "토큰",
    showToken: "토큰 보이기",
    submit: "들어가기",
    hint: "서버가 있는 컴퓨터에서는 `dure login`이 한 번 쓰는 링크를 알려 줘요. 토큰은 `dure token create`로 만들어요.",
  },
  connection: {
    unreachable: "서버에 닿지 않아요",
    notNow: "지금은 화면을 열 수 없어요",
    unreachableHint:
      "`dure dev`나 `dure start`가 켜져 있는지 봐 주세요. 켜지면 이 화면이 이어져요.",
    reconnecting: "연결이 끊겨 다시 잇는 중이에요",
    gone: "서버와 연결이 끊겼어요. 아래는 끊기기 전 모습이에요. 이어지면 바로 알려 드릴게요.",
    starved: "데이터베이스가 답하지 않아요. 아래는 그 전 모습이에요. 돌아오면 저절로 이어져요.",
    back: "서버와 다시 이어졌어요.",
    unknownNow: "지금은 알 수 없음",
    lastSeen: (status: string) => `${status} (끊기기 전)`,
  },
  release: {
    isNew: "새 버전이 나왔어요. 새로 고치면 이어서 쓸 수 있어요. 쓰던 메시지는 남아 있어요.",
    reload: "새로 고침",
  },
  broken: {
    partTitle: "이 화면을 불러오지 못했어요",
    part: "잠시 뒤에 다시 시도해 주세요. 다른 메뉴는 그대로 쓸 수 있어요.",
    partGone: "서버와 연결이 끊겨 있어요. 다시 이어지면 이 화면이 저절로 열려요.",
    title: "이 화면에 문제가 생겼어요",
    lead: "다시 시도하거나 다른 메뉴를 열어 주세요. 자꾸 생기면 아래 내용을 관리자에게 알려 주세요.",
    details: "자세한 내용",
    home: "처음 화면으로",
    trying: "다시 불러오는 중",
  },
  unknown: {
    pageTitle: "없는 주소",
    title: "이 주소에는 아무것도 없어요",
    lead: "주소를 잘못 적었거나, 있던 것이 옮겨졌거나 지워졌을 수 있어요.",
    back: "이전 화면으로",
  },
};

export type ShellText = WordsOf<typeof ko>;
