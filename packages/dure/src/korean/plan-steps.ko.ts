import type { StepKind } from "../kernel/plans.ts";

/** Steps of a port, for the terminal and for editors. */
export const STEPS_KO = {
  contracts: "계약 쓰기",
  setup: "준비하기",
  implement: "구현하기",
  test: "테스트 쓰기",
  accept: "통과하는지 확인하기",
  count: "테스트 세기",
  base: "작업 없이 확인하기",
  judge: "실패해야 하는 테스트 돌려 보기",
  check: "검사하기",
  module: "모듈 만들기",
  merge: "합치기",
  shared: "함께 쓰는 파일 고치기",
  integrate: "합친 결과 테스트하기",
  review: "검토하기",
} satisfies Record<StepKind, string>;
