import type { WordsOf } from "../words.ts";

export const ko = {
  pageTitle: "한눈에 보기",
  what: "두레는 서버가 꺼져도 일을 잃거나 두 번 하지 않는 AI 에이전트 팀을 만들어요.",
  loading: "불러오는 중",
  counts: {
    waiting: "나를 기다려요",
    running: "하는 중",
    failed: "하루 사이 실패",
    spent: "오늘 쓴 돈",
  },
  tokens: (count: number) => `${count.toLocaleString("ko")} 토큰`,
  waiting: {
    title: "내 답을 기다리는 것",
    empty: "기다리는 것이 없어요.",
    all: (count: number) => `${count}건 모두 보기`,
  },
  running: {
    title: "지금 하는 일",
    empty: "지금은 하는 일이 없어요.",
  },
  failed: {
    title: "실패한 일",
    empty: "하루 사이에 실패한 일이 없어요.",
  },
  more: (count: number) => `이 밖에 ${count}건`,
  kinds: { job: "맡긴 일", run: "계획 실행", session: "대화", agent: "에이전트" },
  answering: (count: number) => `답하는 중 ${count}`,
  first: {
    title: "처음 할 일",
    lead: "하나씩 하면 체크돼요.",
    doneOf: (done: number, all: number) => `${all}가지 중 ${done}가지 끝냄`,
    done: "끝냄",
    open: "아직",
    names: {
      model: "모델 연결하기",
      agent: "첫 에이전트 만들기",
      room: "방에서 말 걸기",
      plan: "첫 계획 실행하기",
    },
    hints: {
      model:
        "`.env`에 `ANTHROPIC_API_KEY`나 `OPENAI_API_KEY`를 적고 서버를 다시 시작해 주세요. 그 전에는 정해진 답만 해요.",
      agent: "`dure new agent mina`로 만들고 agent.md를 채운 다음 서버를 다시 시작해 주세요.",
      room: "에이전트가 있는 방에서 `@이름`으로 불러 보세요.",
      plan: "`dure new plan login`으로 만들고 미리 본 다음 실행해 보세요.",
    },
    go: { room: "방 열기", plan: "계획 열기" },
  },
  next: {
    title: "다음 할 일",
    decide: "기다리는 요청에 답하기",
    look: "실패한 일 살펴보기",
    budget: "하루 예산 정하기",
    budgetHint: "설정의 `budgets`에 적으면 그만큼만 써요.",
    talk: "새 대화 시작하기",
  },
  tour: {
    title: "세 번 눌러 둘러보기",
    lead: "이 팀이 하는 일을 세 화면에서 보여 드려요.",
    begin: "둘러보기 시작",
    next: "다음",
    end: "둘러보기 끝내기",
    label: "둘러보기",
    stepOf: (step: number, all: number) => `${step}/${all}`,
    words: {
      chat: "예시 하나를 눌러 보세요. 답하는 중에 서버가 꺼져도 다시 켜지면 이어서 답해요.",
      rooms: "사람과 에이전트가 함께 이야기하는 방이에요. `@이름`으로 부르면 답해요.",
      plans: "코딩 에이전트 여럿이 한 저장소에서 나눠 일해요. 무엇을 할지 미리 볼 수 있어요.",
      events: "팀에서 일어난 일은 모두 여기 남아요.",
    },
  },
};

export type StartText = WordsOf<typeof ko>;
