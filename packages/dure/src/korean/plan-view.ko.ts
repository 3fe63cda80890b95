import type { SentenceForm } from "../kernel/sentence-forms.ts";

/** How a plan would be carried out and why, and what its runs say. */
export const PLAN_VIEW_KO: readonly SentenceForm[] = [
  ["the plan says mode: {0}", "계획에 `mode: {0}`(이)라고 적혀 있어요"],
  ["1 file is fewer than {0}", "파일이 1개라 {0}개보다 적어요"],
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
  ["It ended without a word.", "아무 말 없이 끝났어요."],

  // --- why an order changes nothing
  ["The port has begun anew meanwhile.", "그사이 포트가 새로 시작했어요."],
  ["The run is not being cancelled.", "취소하고 있는 실행이 아니에요."],
  ["The files of the run were cleaned away.", "실행의 파일은 이미 정리했어요."],
  ["The run still goes on.", "아직 진행 중인 실행이에요."],
  ["The run has succeeded.", "이미 성공한 실행이에요."],
  ["The run has no bound of tokens.", "토큰의 한도가 없는 실행이에요."],
  ["The port has succeeded meanwhile.", "그사이 포트가 성공했어요."],
  ["The port does not wait for a slot.", "자리를 기다리는 포트가 아니에요."],
  ["The port waits for no approval.", "승인을 기다리는 포트가 아니에요."],
  [
    "What the port needs is worked on again; wait for it.",
    "이 포트에 필요한 포트를 다시 하고 있어요. 끝날 때까지 기다려 주세요.",
  ],
  [
    "The port is still worked on; say it to its worker.",
    "아직 일하는 중인 포트예요. 작업자에게 말해 주세요.",
  ],
  [
    "The port has not begun; what it needs is still worked on.",
    "아직 시작하지 않은 포트예요. 필요한 포트가 일하는 중이에요.",
  ],
  ["The run has ended.", "이미 끝난 실행이에요."],
  ["The run is paused already.", "이미 멈춰 둔 실행이에요."],
  ["The run is not paused.", "멈춰 둔 실행이 아니에요."],
  ["The run is being cancelled already.", "이미 취소하고 있는 실행이에요."],
  ["The port has not failed.", "실패한 포트가 아니에요."],
  [
    "The port waits for another one that failed; retry that one.",
    "실패한 다른 포트를 기다려요. 그 포트를 다시 시도해 주세요.",
  ],
  ["The plan has no such port.", "계획에 이런 포트가 없어요."],
];
