import type { Locale } from "../kernel/locales.ts";
import type { SuggestedAction } from "../kernel/escalation.ts";

/** What the answers that dure itself suggests are called, by their code. */
const ACTION_WORDS: Readonly<Record<string, Readonly<Record<Locale, string>>>> = {
  approve: { ko: "승인", en: "Approve" },
  reject: { ko: "거절", en: "Reject" },
  happened: { ko: "처리됐어요", en: "It happened" },
  "not-happened": { ko: "처리되지 않았어요", en: "It did not happen" },
  seen: { ko: "확인", en: "Seen" },
  retry: { ko: "다시 시도", en: "Retry" },
  "more-tokens": { ko: "한도를 늘려 다시", en: "Retry with more" },
  "more-time": { ko: "시간을 더 주고 다시", en: "Retry with more time" },
  "own-path": { ko: "경로를 소유하게 하고 다시", en: "Let it own the path" },
  "read-path": { ko: "읽게 하고 다시", en: "Let it read the path" },
  "to-orchestrator": { ko: "조율 담당에게 맡기기", en: "Give it to the orchestrator" },
  "send-back": { ko: "돌려보내기", en: "Send it back" },
  "accept-weaker-tests": { ko: "약해진 테스트 받아들이기", en: "Accept the weaker tests" },
  skip: { ko: "빼고 계속", en: "Go on without it" },
  "solve-again": {
    ko: "조율 담당이 다시 합치기",
    en: "Let the orchestrator write it again",
  },
  "take-result": { ko: "결과의 파일로 하기", en: "Take the files of the result" },
  "take-branch": { ko: "브랜치의 파일로 하기", en: "Take the files of the branch" },
  "by-hand": { ko: "직접 합칠게요", en: "I merge it by hand" },
  "cancel-run": { ko: "실행 취소", en: "Cancel the run" },
  lift: { ko: "풀기", en: "Lift" },
  arrived: { ko: "도착했어요", en: "It arrived" },
  "send-again": { ko: "다시 보내기", en: "Send again" },
  "give-up": { ko: "그만두기", en: "Give up" },
  "thread-there": { ko: "있어요: 링크나 ID", en: "It is there: its link or id" },
  "thread-missing": { ko: "없어요: 새로 만들기", en: "It is not: make it" },
  "try-again": { ko: "다시 시도", en: "Try again" },
  leave: { ko: "그대로 두기", en: "Leave it" },
};

/** The action with its label in one language; an answer of a tool keeps its own. Pure. */
export function inLocale<Action extends Pick<SuggestedAction, "code" | "label">>(
  action: Action,
  locale: Locale,
): Action {
  const words = action.code === undefined ? undefined : ACTION_WORDS[action.code];
  return words ? { ...action, label: words[locale] } : action;
}
