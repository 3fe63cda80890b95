import { SERVER_KOREAN, type ServerKorean } from "../korean/index.ts";
import { STEPS_KO } from "../korean/plan-steps.ko.ts";
import type { StepKind } from "../kernel/plans.ts";

/** What an editor's person reads that no agent and no service has said. */
export interface AcpWords {
  readonly task: string;
  readonly taskAbout: (owns: string, acceptance: string) => string;
  readonly steps: Readonly<Record<StepKind, string>>;
  /** The acceptance on what a port begins from, before its first try. */
  readonly acceptAtStart: string;
  readonly tryOf: (number: number, step: string) => string;
  readonly prepare: string;
  readonly approval: string;
  readonly bring: string;
  readonly cancelled: string;
  readonly done: (branch: string, run: string) => string;
  readonly ended: (status: string) => string;
  readonly look: (run: string) => string;
  readonly mergeTitle: (branch: string | undefined) => string;
  readonly merge: string;
  readonly leave: string;
  readonly more: (count: number) => string;
  readonly merged: (target: string, commit: string) => string;
  readonly cameAlong: (folder: string) => string;
  readonly noMode: (mode: string) => string;
  readonly noService: string;
  readonly noSession: string;
  /** Kinds of change of a file. */
  readonly changes: Readonly<Record<string, string>>;
  /** What the team says in English, where there are words for it. */
  readonly server: Pick<ServerKorean, "title" | "sentence" | "refusal" | "reason">;
}

/** A refusal, or a reason, as its reader reads it. */
interface ProblemText {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** A title that dure has made, or that of a service as it is. Pure. */
export function titleIn({ server }: AcpWords, title: string): string {
  return server.title(title) ?? title;
}

/** Pure. */
export function sentenceIn({ server }: AcpWords, sentence: string): string {
  return server.sentence(sentence) ?? sentence;
}

/** Pure. */
export function refusalIn({ server }: AcpWords, said: ProblemText): string {
  return server.refusal(said) ?? [said.message, said.hint].filter(Boolean).join(" ");
}

/** Why a run stands as it does. Pure. */
export function reasonIn({ server }: AcpWords, said: ProblemText): string {
  return server.reason(said) ?? said.message;
}

const en: AcpWords = {
  task: "Task",
  taskAbout: (owns, acceptance) => `Changes ${owns} until this passes: ${acceptance}`,
  steps: {
    contracts: "write the contracts",
    setup: "set up",
    implement: "implement",
    test: "write tests",
    accept: "run the acceptance",
    count: "count tests",
    base: "run the acceptance without the work",
    judge: "run tests that have to fail",
    check: "check",
    module: "build the module",
    merge: "merge",
    shared: "change shared files",
    integrate: "run the tests of the result",
    review: "review",
  },
  acceptAtStart: "Run the acceptance at the start",
  tryOf: (number, step) => `Try ${number}: ${step}`,
  prepare: "Prepare a tree of its own",
  approval: "Wait for a person's approval",
  bring: "Bring the result to its branch",
  cancelled: "The task was cancelled. What was made is kept.",
  done: (branch, run) => `The task is done: ${branch}. \`dure plan merge ${run}\` takes it over.`,
  ended: (status) => `The task has ended as ${status}.`,
  look: (run) => `\`dure plan status ${run}\` says more.`,
  mergeTitle: (branch = "the result") => `Merge ${branch}`,
  merge: "Merge it",
  leave: "Leave it on its branch",
  more: (count) => `and ${count} more`,
  merged: (target, commit) => `Merged into ${target}, which is now at ${commit}`,
  cameAlong: (folder) => `; the files in ${folder} came along`,
  noMode: (mode) => `There is no mode ${mode}.`,
  noService: "The team has no service.",
  noSession: "There is no such session.",
  changes: {},
  server: {
    title: () => undefined,
    sentence: () => undefined,
    refusal: () => undefined,
    reason: () => undefined,
  },
};

const ENDS_KO: Readonly<Record<string, string>> = {
  success: "성공",
  partial: "일부 성공",
  failed: "실패",
};

const ko: AcpWords = {
  task: "할 일 맡기기",
  taskAbout: (owns, acceptance) => `이 명령을 통과할 때까지 ${owns}을(를) 고쳐요: ${acceptance}`,
  steps: STEPS_KO,
  acceptAtStart: "시작 상태에서 통과하는지 확인하기",
  tryOf: (number, step) => `${number}번째 시도: ${step}`,
  prepare: "작업 폴더 만들기",
  approval: "사람의 승인 기다리기",
  bring: "결과를 브랜치에 올리기",
  cancelled: "맡긴 일을 취소했어요. 만든 것은 남아 있어요.",
  done: (branch, run) =>
    `맡긴 일을 마쳤어요: ${branch} \`dure plan merge ${run}\`을 실행하면 합쳐요.`,
  ended: (status) => `맡긴 일이 끝났어요(${ENDS_KO[status] ?? status}).`,
  look: (run) => `자세한 것은 \`dure plan status ${run}\`으로 볼 수 있어요.`,
  mergeTitle: (branch = "결과") => `${branch} 합치기`,
  merge: "합치기",
  leave: "브랜치에 두기",
  more: (count) => `그 밖에 ${count}개`,
  merged: (target, commit) => `${target} 브랜치에 합쳤어요. 지금 커밋: ${commit}`,
  cameAlong: (folder) => `, 바뀐 파일이 있는 폴더: ${folder}`,
  noMode: (mode) => `${mode} 모드가 없어요.`,
  noService: "팀에 서비스가 없어요.",
  noSession: "이런 세션이 없어요.",
  changes: { new: "새 파일", modified: "바뀜", deleted: "지워짐" },
  server: SERVER_KOREAN,
};

/** In the language of the team. Pure. */
export function acpWords(locale: string): AcpWords {
  return locale === "ko" ? ko : en;
}
