import type { WordsOf } from "../words.ts";

export const ko = {
  pageTitle: "비용",
  lead: "모델을 부르는 데 쓴 토큰과 돈, 그리고 예산이에요.",
  span: "기간",
  days: (count: number) => (count === 1 ? "오늘" : `최근 ${count}일`),
  search: "에이전트, 서비스 검색",
  empty: "이 기간에는 쓴 것이 없어요.",
  emptyHint:
    "대화를 시작하면 여기에 나타나요. 돈은 설정의 `prices`에 값을 적은 모델만 셀 수 있어요.",
  noMatch: (query: string) => `“${query}”에 맞는 에이전트나 서비스가 없어요.`,
  sum: (calls: number, tokens: number) =>
    `호출 ${calls.toLocaleString("ko")}번, ${tokens.toLocaleString("ko")} 토큰`,
  unpriced: (calls: number) =>
    `값이 없는 모델을 부른 ${calls.toLocaleString("ko")}번은 들어 있지 않아요. 설정의 \`prices\`에 적어 주세요.`,
  byAgent: "에이전트별",
  byService: "서비스별",
  byDay: (timeZone: string) => `날짜별 (${timeZone})`,
  byModel: "모델별",
  chart: {
    title: "날마다 쓴 것",
    by: "나누어 보기",
    sides: { agent: "에이전트", service: "서비스", model: "모델" },
    told: (side: string) => `날마다 쓴 것을 ${side}별로 쌓은 막대그래프. 숫자는 아래 표에 있어요.`,
    others: "나머지",
    asTable: "표로 보기",
    day: "날짜",
    sum: "합계",
  },
  name: "이름",
  tokens: "토큰",
  money: "금액",
  tokenCount: (count: number) => `${count.toLocaleString("ko")} 토큰`,
  budgets: "예산",
  noBudgets: "정해 둔 예산이 없어요. 설정의 `budgets`에 적으면 그만큼만 쓰게 돼요.",
  of: { team: "팀 전체, 하루", session: "대화마다", turn: "턴마다" },
  ofAgent: (name: string) => `${name}, 하루`,
  per: { day: "하루", session: "대화 하나", turn: "턴 하나" },
  used: (used: string, most: string) => `오늘 ${most} 중 ${used} 씀`,
  atMost: (most: string, per: string) => `${per}에 ${most}까지`,
};

export type CostsText = WordsOf<typeof ko>;
