import type { WordsOf } from "./words.ts";

export const ko = {
  /** Stands before words that the server wrote. */
  server: "서버 메시지:",
  errors: {
    UNREACHABLE: "서버에 닿지 않아요. 연결을 확인하고 다시 시도해 주세요.",
    PAGE_DEFECT: "서버가 아니라 이 화면에 문제가 생겼어요. 자세한 내용은 브라우저 콘솔에 있어요.",
    TOKEN_NEEDED: "로그인해야 볼 수 있어요.",
    TOKEN_INVALID: "토큰이 맞지 않거나 기한이 지났어요. 새 토큰으로 다시 로그인해 주세요.",
    LOGIN_LINK_INVALID:
      "이미 쓴 링크이거나 시간이 지났어요. `dure login`으로 새 링크를 받아 주세요.",
    AGENT_PAUSED: "이 에이전트는 멈춰 있어요. 에이전트 화면에서 다시 시작할 수 있어요.",
    SERVER_BUSY: "서버가 바빠요. 잠시 뒤에 다시 시도해 주세요.",
    SERVER_DRAINING: "서버가 꺼지는 중이에요. 다시 켜지면 시도해 주세요.",
    SERVER_STOPPING: "서버가 꺼지는 중이에요. 다시 켜지면 시도해 주세요.",
    INTERNAL: "서버 안에서 문제가 생겼어요. 서버 로그를 봐 주세요.",
  } as Readonly<Record<string, string>>,
  chain: "일의 흐름 보기",
  retry: "다시 시도",
  you: "나",
  /** Who did something, where no name was given. */
  actors: { atMachine: "이 컴퓨터의 사용자", withToken: "토큰으로 들어온 사람" },
  notSent: "보내지 못했어요",
  sendAgain: "다시 보내기",
  discard: "지우기",
  toBottom: "맨 아래로",
  /** Names and values that many services share; others are shown as the service writes them. */
  facts: {
    names: {
      status: "상태",
      transaction_id: "거래 번호",
      target: "받는 분",
      to: "받는 분",
      amount: "금액",
      reason: "사유",
      memo: "메모",
      date: "날짜",
      received_at: "처리 시각",
      index: "순서",
      error: "오류",
      code: "오류 코드",
      tool: "하려는 일",
      order: "주문",
      message: "메시지",
      LIMIT_EXCEEDED: "한도 초과",
      INSUFFICIENT_FUNDS: "잔액 부족",
      UNKNOWN_ACCOUNT: "없는 계좌",
      BANK_UNREACHABLE: "은행 연결 안 됨",
      NOT_HAPPENED: "처리되지 않음",
      task: "할 일",
      context: "배경",
      constraints: "지킬 것",
      acceptance: "끝난 것으로 볼 때",
      deadline: "기한",
      subject: "대상",
      summary: "요약",
      progress: "진행률",
      blockers: "막힌 것",
      question: "질문",
      answer: "답",
      options: "고를 것",
    } as Readonly<Record<string, string>>,
    values: { booked: "완료" } as Readonly<Record<string, string>>,
  },
};

export type CommonText = WordsOf<typeof ko>;
