import type { SentenceForm } from "../kernel/sentence-forms.ts";

/** How a plan would be carried out, and why. */
export const PLAN_VIEW_KO: readonly SentenceForm[] = [
  ["the plan says mode: {0}", "계획에 `mode: {0}`(이)라고 적혀 있어요"],
  ["{0} files are fewer than {1}", "파일이 {0}개라 {1}개보다 적어요"],
  ["{0} ports wait for no other one", "다른 포트를 기다리지 않는 포트가 {0}개예요"],
  ["every condition for working side by side holds", "함께 일하는 데 필요한 조건을 모두 갖췄어요"],
  ["between the bounds: not “{0}” ({1})", "기준의 사이인데, 맞지 않는 조건이 있어요: {0}({1})"],
  ["not “{0}” ({1})", "맞지 않는 조건이 있어요: {0}({1})"],
  ["fewer than {0} files", "파일이 {0}개보다 적음"],
  ["at least {0} files", "파일이 {0}개 이상"],
  ["at least {0} layers", "층이 {0}개 이상"],
  ["at least {0} ports wait for no other one", "다른 포트를 기다리지 않는 포트가 {0}개 이상"],
  ["at least {0} modules in the project", "프로젝트의 모듈이 {0}개 이상"],
  ["at least {0} modules are worked on", "손대는 모듈이 {0}개 이상"],
  ["at least {0} files change", "바뀌는 파일이 {0}개 이상"],
  ["modules do not depend on each other in a circle", "모듈끼리 돌고 도는 의존이 없음"],
  ["every contract is fixed before", "계약이 모두 먼저 정해짐"],
];
