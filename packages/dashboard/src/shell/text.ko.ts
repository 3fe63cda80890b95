import type { Words } from "../words.ts";

export const ko = {
  appName: "두레",
  skipToContent: "본문으로 건너뛰기",
  nav: {
    label: "주 메뉴",
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
    unreachableHint:
      "`dure dev`나 `dure start`가 켜져 있는지 봐 주세요. 켜지면 이 화면이 이어져요.",
    reconnecting: "연결이 끊겨 다시 잇는 중이에요",
  },
};

export type ShellText = Words<typeof ko>;
