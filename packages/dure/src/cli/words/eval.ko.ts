import type { UnmetExpectation } from "../../team/evals/expectation.ts";
import type { EvalWords } from "./eval.en.ts";

const MOST = 300;
const cut = (text: string): string => (text.length > MOST ? `${text.slice(0, MOST)}…` : text);

export const EVAL_KO: EvalWords = {
  playing: ({ cases, model }) => `${model} 모델로 사례 ${cases}개를 돌려 보고 있어요…`,
  seconds: (ms) => `${(ms / 1_000).toFixed(1)}초`,
  share: (share) => `${(100 * share).toFixed(1)}%`,
  head: ["평가", "통과", "점수", "기준"],
  figures: ["실행", "모델", "사례", "점수", "중앙값", "입력 토큰", "출력 토큰"],
  run: (run) => `실행 ${run}. 앞의 실행과 견주려면: dure eval compare`,
  interrupted: "중간에 멈췄어요. 이어서 하려면: dure eval --resume",
  same: "달라진 사례가 없어요.",
  failure: ({ kind, wanted, found = "" }) => {
    const told = {
      says: `답에 있어야 할 말이 없어요: ${wanted} (답: “${cut(found)}”)`,
      neverSays: `답에 없어야 할 말이 있어요: ${wanted} (답: “${cut(found)}”)`,
      calls: `부르지 않은 도구: ${wanted} (부른 도구: ${cut(found) || "없음"})`,
      neverCalls: `부르면 안 되는 도구를 불렀어요: ${wanted} (${cut(found)})`,
      state: `상태가 달라요. 있어야 할 값: ${wanted}, 실제 값: ${cut(found)}`,
      next: `다음 동작이 달라요. 있어야 할 값: ${wanted}, 실제 값: ${found}`,
      hooks: `없는 훅: ${wanted} (있는 훅: ${found || "없음"})`,
      schema: `스키마에 맞지 않아요: ${cut(found)}`,
      error: `끝난 오류: ${found || "없음"}, 기대한 오류: ${wanted || "없음"}`,
      check: wanted,
      judge: `맞지 않는 조건: ${wanted} (${cut(found)})`,
      broken: `중간에 끊겼어요: ${wanted}${found === "" ? "" : ` (${found})`}`,
    } satisfies Record<UnmetExpectation["kind"], string>;
    return told[kind];
  },
};
