import type { WordsOf } from "../words.ts";

/** Words of the page that replays a turn; fetched with it. */
export const ko = {
  title: "다시 해 보기",
  lead:
    "저장된 답을 다른 모델이나 프롬프트로 다시 만들어 나란히 봐요. 도구는 실제로 부르지 않고, 그때의 " +
    "결과를 다시 써요. 모델 비용만 들어요.",
  toChat: "대화로 돌아가기",
  toChats: "대화 목록으로",
  said: "받은 메시지",
  bySystem: "두레가 시작한 일이라 메시지가 없어요.",
  model: "모델",
  modelHint: (names: string) => `비워 두면 지금 설정대로 해요: ${names}`,
  prompt: (agent: string) => `${agent} 프롬프트`,
  promptHint: "여기서 고친 것은 이번에만 쓰여요. 파일은 그대로예요.",
  isCustom: (agent: string) => `${agent}은(는) 코드로 된 에이전트예요. 그때의 결과를 그대로 써요.`,
  noAgents: "이 답에는 모델을 쓰는 에이전트가 없었어요.",
  run: "다시 해 보기",
  stop: "그만하기",
  running: "모델이 답하고 있어요",
  stored: "저장된 답",
  replayed: "다시 한 답",
  none: "아직 해 보지 않았어요.",
  empty: "말이 없었어요.",
  time: "걸린 시간",
  tokens: "토큰",
  tokensOf: (taken: number, given: number) =>
    `입력 ${taken.toLocaleString("ko")} · 출력 ${given.toLocaleString("ko")}`,
  cost: "비용",
  noPrice: "가격을 몰라요",
  calls: "도구 호출",
  recorded: "그때의 결과를 썼어요",
  refused: "그때는 없던 호출이라 부르지 않았어요",
  ended: (code: string) => `여기서 멈췄어요 (${code})`,
  otherWay:
    "그때와 다른 길로 갔어요. 그때의 기록이 없는 일은 하지 않으니, 여기까지 한 말만 보여 드려요.",
  loading: "불러오는 중",
  failed: "다시 해 볼 수 없어요",
};

export type ReplayText = WordsOf<typeof ko>;
