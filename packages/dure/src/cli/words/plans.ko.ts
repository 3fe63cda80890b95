import { isIP } from "node:net";
import type { PlanRunStatus, PortStatus } from "../../client/index.ts";
import { FINDING_WORDS_KO } from "../../kernel/finding-words.ts";
import type { ResultDelivery, RunPhase } from "../../kernel/plans.ts";
import { STEPS_KO } from "../../korean/plan-steps.ko.ts";
import type { PlansWords } from "./plans.en.ts";

const RUN_STATUSES = {
  running: "진행 중",
  paused: "멈춰 둠",
  cancelling: "취소하는 중",
  waiting_host: "컴퓨터를 기다림",
  success: "성공",
  partial: "일부 성공",
  failed: "실패",
  cancelled: "취소됨",
} satisfies Record<PlanRunStatus, string>;

const DELIVERIES = {
  kept: "브랜치에 둠",
  merged: "합침",
  published: "푸시함",
  undone: "되돌림",
  superseded: "다음 실행이 대신함",
} satisfies Record<ResultDelivery, string>;

const PORT_STATUSES = {
  waiting: "앞의 일 기다림",
  ready: "자리 기다림",
  running: "일하는 중",
  held: "승인 기다림",
  succeeded: "성공",
  failed: "실패",
  blocked: "막힘",
  cancelled: "취소됨",
} satisfies Record<PortStatus, string>;

const PHASES = {
  preparing: "준비하는 중",
  building: "만드는 중",
  merging: "합치는 중",
  over: "끝남",
} satisfies Record<RunPhase, string>;

const MEMBERS: Readonly<Record<string, string>> = {
  implementer: "구현 담당",
  tester: "테스트 담당",
  orchestrator: "조율 담당",
  reviewer: "검토 담당",
};

const WORKER_ENDS: Readonly<Record<string, string>> = {
  ready: "다 했어요",
  partial: "일부만 했어요",
  failed: "하지 못했어요",
};

const FILES_KEPT = {
  enforced: "다른 파일은 볼 수 없어요",
  "by-modes": "다른 파일은 권한이 허락하는 것만 볼 수 있어요",
  not: "다른 파일도 볼 수 있어요",
};

const MEMORY_BOUND = {
  group: "메모리는 커널이 제한해요",
  watched: "메모리는 dure가 지켜보면서 제한해요",
};
const CPU_BOUND = {
  group: "CPU는 커널이 제한해요",
  yields: "CPU는 다른 프로세스가 먼저 써요",
};

const VALUES: Readonly<Record<string, string>> = { none: "없음", all: "모두" };

const codeOf = (status: number | null | undefined): string =>
  status === undefined || status === null ? "" : ` (${status})`;
const memberOf = (member: string): string => MEMBERS[member] ?? member;

/** What the acceptance came to before any work. */
function atBase({
  success,
  passed,
  total,
}: Parameters<PlansWords["event"]["feedback"]>[1]): string {
  if (success) return "시작 지점에서 이미 통과해요";
  const tests =
    total === 0 ? "센 테스트가 없어요" : `테스트 ${total}개 가운데 ${total - passed}개가 실패해요`;
  return `시작 지점에서 통과하지 못해요. ${tests}`;
}

export const PLANS_KO: PlansWords = {
  ports: (count) => `포트 ${count}개`,
  seconds: (value) => `${value}초`,
  andMore: (shown, more) => `${shown} 그 밖에 ${more}개`,
  runStatus: (status) => RUN_STATUSES[status],
  delivery: (delivery) => DELIVERIES[delivery],
  portStatus: (status) => PORT_STATUSES[status],
  phase: (phase) => PHASES[phase],
  step: (step) => STEPS_KO[step],
  member: memberOf,
  workerEnd: (status) => WORKER_ENDS[status] ?? status,

  list: {
    head: ["계획", "포트", "파일", "지난 실행", ""],
    problems: (count, plan) => `고칠 곳 ${count}군데: dure plan check ${plan}`,
    none: "계획이 없어요. 이렇게 만들 수 있어요: dure new plan 이름",
    noneIn: (folder) => `${folder} 폴더에 계획이 없어요. 이렇게 만들 수 있어요: dure new plan 이름`,
    runsHead: ["id", "시작", "계획", "상태", "포트", "브랜치", "결과"],
    noRun: "이런 실행이 없어요. 이렇게 시작할 수 있어요: dure plan run 이름",
  },

  view: {
    on: (plan, ports, base) => `${plan}  ${ports}, 시작하는 곳: ${base}`,
    level: (number, ports) => `  ${number}단계: ${ports}`,
    path: (ports) => `가장 긴 길: ${ports}`,
    parallel: (count) => `함께 일하는 포트: ${count}개까지`,
    mode: (mode, because) => `방식: ${mode}, 이유: ${because}`,
    value: (value) => VALUES[value] ?? value,
    holds: { yes: "예    ", no: "아니요" },
    workers: (workers) => `작업자: ${workers}`,
    network: (of, policy) => `${of}의 네트워크: ${policy}`,
    audit:
      "보호 없이 일해요(isolation: audit). 작업자가 다른 파일도 바꿀 수 있고, 무엇을 바꿨는지 나중에 확인해요.",
    unowned: (files) => `맡은 포트가 없는 파일: ${files}`,
    warning: (message) => `살펴봐 주세요: ${message}`,
    graph: { owns: "맡은 곳    ", tests: "테스트     ", passes: "통과 조건  " },
  },

  draft: {
    good: "제안한 계획이에요. 읽고 고쳐서 plans 폴더에 저장한 뒤 dure plan check를 해 주세요.",
    bad: "제안한 계획에 고칠 곳이 있어요. 고친 뒤에 실행할 수 있어요.",
    begins: "모델이 저장소를 읽고 계획을 쓰고 있어요. 몇 분 걸릴 수 있어요.",
    asAssumed: (question) => `${question} (그대로 두려면 Enter)`,
    edit: (file) => `${file} 파일을 고친 뒤: dure plan check ${file}; dure plan run --file ${file}`,
    choose: (file) => `${file} 파일을 고쳐 주세요. s는 시작, Enter는 다시 보기, q는 그만두기예요.`,
    later: (file) => `나중에 시작하려면: dure plan run --file ${file}`,
    page: (path) => `화면에서 그래프로 보고 고칠 수도 있어요: ${path}`,
    marks: { wrote: "저장", open: "미정", asks: "질문", look: "확인" },
  },

  task: {
    setup: (command, from, hosts) =>
      `준비: ${command} (${from})${hosts === "" ? "" : `, 연결할 수 있는 곳: ${hosts}`}`,
    unused: (file, command) => `${file}에 ${command} 명령이 있지만 실행하지 않아요`,
    guess: ({ own, from }) => {
      const why = from.length === 0 ? "코드가 있는 곳" : `할 일에 나온 말: ${from.join(", ")}`;
      return `바꿔도 되는 곳: ${own.join(", ")} (${why}). Enter: 좋아요, n: 아니요, e: 고치기`;
    },
    edit: (own) => `어떤 경로인가요? 빈칸으로 나눠 적어 주세요. (Enter: ${own})`,
    left: "아무것도 시작하지 않았어요. 바꿔도 되는 곳을 --own으로 알려 주세요.",
    starting: "이 할 일만을 위한 서버를 시작해요. 할 일이 끝나면 같이 끝나요.",
    more: (count) => `  그리고 ${count}개 더`,
    merge: "지금 합칠까요? Enter: 네, n: 아니요",
    later: (id) => `나중에 합치려면: dure plan merge ${id}`,
    laterLocal: (branch) => `나중에 합치려면: git merge ${branch}`,
  },

  check: {
    look: "확인",
    more: (plan, count) => `${plan}: 고칠 곳이 ${count}군데 더 있어요`,
    unowned: (files) => `맡은 포트가 없어서 바꿀 수 없는 파일: ${files}`,
  },

  run: {
    nothingBegun: "아무것도 시작하지 않았어요.",
    watch: (id) => `지켜보려면: dure plan watch ${id}`,
    goesOn: (id) => `실행은 이어져요. 다시 보려면: dure plan watch ${id}`,
    nothingChanged: "바뀐 것이 없어요.",
    patchCut:
      "너무 길어서 일부만 보여 줘요. 전체는 저장소의 refs/dure/ 아래 커밋을 git으로 봐 주세요.",
    stands: {
      running: "진행 중이에요",
      paused: "멈춰 뒀어요. 하던 일은 이어지고, 새로 시작하지 않아요",
      cancelling: "취소하고 있어요",
      waiting_host: "파일이 있는 컴퓨터가 꺼졌어요. 거기서 서버를 켜면 이어져요",
      success: "모든 포트가 성공했어요",
      partial: "성공한 것은 남겼고, 나머지는 없어요",
      failed: "남은 것이 없어요",
      cancelled: "취소했어요",
    },
  },

  leaving: {
    rules: FINDING_WORDS_KO,
    nothingFound: (branch) => `${branch} 브랜치로 나갈 비밀 값이나 저절로 실행되는 파일이 없어요.`,
    found: (count, branch) => `${branch} 브랜치로 나가기 전에 확인할 곳이 ${count}곳 있어요.`,
    yes: (run, confirm) =>
      `확인한 사람이 이대로 내보내려면: dure plan merge ${run} --confirm ${confirm}`,
    approvals: (counted, needed, people) =>
      `내보내려면 승인이 ${needed}개 필요해요. 지금은 ${counted}개예요.${people === "" ? "" : ` 승인한 사람: ${people}`}`,
    notAuthor: (author) =>
      author === null
        ? "누가 실행을 시작했는지 이름이 없어서, 한 명이 더 승인해야 해요."
        : `실행을 시작한 ${author} 님의 승인은 세지 않아요.`,
  },

  event: {
    begins: "실행을 시작해요",
    paused: "멈춰 뒀어요. 하던 일은 이어지고, 새로 시작하지 않아요",
    resumed: "이어서 해요",
    refused: (by, because) => `${by} 님이 시킨 일을 하지 않았어요: ${because}`,
    cancelling: "취소하고 있어요",
    waitingHost: "파일이 있는 컴퓨터를 기다려요",
    ended: (outcome, because) =>
      because === undefined
        ? `끝났어요: ${RUN_STATUSES[outcome]}`
        : `끝났어요: ${RUN_STATUSES[outcome]}: ${because}`,
    merged: (branch) => `${branch} 브랜치에 합쳤어요`,
    nothingToMerge: "합칠 것이 없어요",
    asks: (title, id) => `! ${title}  (dure escalations show ${id})`,
    starts: (attempt) => (attempt === 1 ? "시작해요" : `다시 시작해요(${attempt}번째)`),
    succeeded: "성공했어요",
    held: "통과했고 승인을 기다려요",
    failed: (because) => `실패했어요: ${because}`,
    blocked: (by) => `${by} 포트 때문에 막혔어요`,
    by: (port) => `${port} 포트 때문에`,
    recalled: (because) => `다시 해야 해요: ${because}`,
    tryOf: (number, member) => `${number}번째 시도, ${memberOf(member)}`,
    works: (who, worker) => `${who}(${worker})이 일해요`,
    progress: (who, percent, task) =>
      task === "" ? `${who}: ${percent} %` : `${who}: ${percent} %, ${task}`,
    stalled: (who, silence, { on, task }) => {
      const cause = {
        provider: " 모델 제공자가 응답하지 않아요.",
        model: " 모델의 답을 기다리고 있어요.",
        tool: ` 도구가 아직 끝나지 않았어요: ${task}.`,
        nothing: "",
      }[on];
      return `${who}: ${silence}째 소식이 없어요.${cause} 시간이 다 되면 멈춰요`;
    },
    complete: (who, { status, changed, tokens }) => {
      const end = status === undefined ? "끝났어요" : (WORKER_ENDS[status] ?? status);
      const files = changed === undefined ? "" : `, 바꾼 파일 ${changed}개`;
      const used = tokens === 0 ? "" : `, 토큰 ${tokens}개`;
      return `${who}: ${end}${files}${used}`;
    },
    feedback: (number, { success, passed, total }) => {
      if (number === 0) return atBase({ success, passed, total });
      const tests = total === 0 ? "" : `, 테스트 ${total}개 가운데 ${passed}개 통과`;
      return `${number}번째 시도: ${success ? "통과했어요" : "통과하지 못했어요"}${tests}`;
    },
    waiting: ({ for: what, status, moment }) => {
      const until = moment === undefined ? "" : ` ${moment} UTC까지`;
      switch (what) {
        case "rate_limit":
          return `모델 제공자의 사용 한도 때문에${until} 기다려요${codeOf(status)}`;
        case "key":
          return `모델 제공자가 키를 받아 주지 않아요${codeOf(status)}`;
        case "provider":
          return status === undefined || status === null
            ? `모델 제공자가 응답하지 않아${until} 기다려요`
            : `모델 제공자가 오류로 답해서${until} 기다려요${codeOf(status)}`;
      }
    },
  },

  status: {
    held: (run, port) => `${port} 포트가 승인을 기다려요: dure plan review ${run} ${port}`,
    port: (status, tries, spent) => `${status}, 시도 ${tries}, ${spent}`,
    violation: ({ member, path, wanted, because, found }) => {
      const what = wanted === "read" ? "읽으려고" : "바꾸려고";
      const end = found === "request" ? "거절했어요" : "받지 않았어요";
      return `  ! ${memberOf(member)}: ${path} 경로를 ${what} 했어요: ${because}(${end})`;
    },
    tokens: ({ tokensIn, tokensCached, tokensOut }) => {
      const cached = tokensCached === 0 ? "" : `(캐시 ${tokensCached})`;
      return `토큰 입력 ${tokensIn}${cached}, 출력 ${tokensOut}`;
    },
    used: (calls, tokens) => `호출 ${calls}번, ${tokens}`,
    tries: (count) => `시도 ${count}`,
    step: (number, step, who, standing) => `  ${number}번째 시도  ${step}${who}  ${standing}`,
    stalled: (at) => `${at}부터 소식이 없어요`,
    works: (task) => (task === "" ? "일하는 중" : `일하는 중: ${task}`),
    red: "작업 없이는 실패해요. 그래야 맞아요",
    green: "작업 없이도 통과해서, 테스트가 이 일을 확인하지 못해요",
    done: "끝남",
    passed: "통과했어요",
    notPassed: "통과하지 못했어요",
    changed: (files) => `바꾼 파일: ${files}`,
    failedFiles: (files) => `바꿨다고 했지만 그대로인 파일: ${files}`,
    unclaimed: (files) => `말없이 바꾼 파일: ${files}`,
    fails: (tests) => `실패한 테스트: ${tests}`,
    uncounted: "테스트의 수를 세지 못했어요. 아는 형식의 요약이 없어요",
    counted: (passed, failed, skipped) =>
      `테스트: ${passed}개 통과, ${failed}개 실패, ${skipped}개 건너뜀`,
    audit: "보호 없이 일해요(isolation: audit). 작업자가 다른 파일도 바꿀 수 있어요.",
    unproven: "작업 없이도 테스트를 통과해요",
    promises: ({ network, user, isOtherUser, files, memory, cpu }) => {
      const where = network === "enforced" ? "네트워크를 따로 쓰고" : "이 컴퓨터의 네트워크를 쓰고";
      const who = isOtherUser
        ? `dure와 다른 사용자(${user})로 일하며`
        : "dure와 같은 사용자로 일하며";
      const bounds = [
        memory === undefined ? "" : `. ${MEMORY_BOUND[memory]}`,
        cpu === undefined ? "" : `. ${CPU_BOUND[cpu]}`,
      ];
      return `작업자: ${where}, ${who}, ${FILES_KEPT[files]}${bounds.join("")}`;
    },
    conflict: (path, ports, solvedBy) => {
      const solved = solvedBy === undefined ? "" : `, ${memberOf(solvedBy)}이 한 번에 썼어요`;
      return `함께 바꾼 파일: ${path}(${ports.join(", ")})${solved}`;
    },
    integration: (passed, exitCode) => {
      const cause = exitCode === null ? "신호" : `종료 코드 ${exitCode}`;
      return passed ? "합친 결과가 통과했어요" : `합친 결과가 실패했어요(${cause})`;
    },
    missing: (port, because) => `빠진 포트 ${port}: ${because}`,
    branch: (branch) => `브랜치: ${branch}`,
    mergedInto: ({ target, commit, at }) => `${target} 브랜치에 합침: ${commit}, ${at}`,
    solved: ({ by, files }) => {
      const person = isIP(by) === 0 ? by : "이 컴퓨터의 사용자";
      const who = by === "orchestrator" ? "조율 담당" : person;
      return `양쪽이 함께 바꾼 파일: ${files.join(", ")} (정한 쪽: ${who})`;
    },
    undone: ({ target, commit, at }) => `${target} 브랜치에서 되돌림: ${commit}, ${at}`,
    published: (branch, remote) => `푸시함: ${remote}의 ${branch}`,
    superseded: (run) => `이 계획의 다음 실행이 성공했어요: ${run}`,
    undo: (run) => `되돌리려면: dure plan undo ${run}`,
    takeOver: (run) => `보려면 dure plan diff ${run}, 합치려면 dure plan merge ${run}`,
    tryAgain: (run, port) => `다시 시도하려면: dure plan retry ${run} ${port} --hint "…"`,
  },

  order: {
    stored: (run) => `${run}: 시킨 일을 적어 뒀어요. 실행을 맡은 서버가 되는대로 해요`,
    paused: (run) => `${run}: 멈춰 뒀어요. 하던 일은 이어지고, 새로 시작하지 않아요`,
    resumed: (run) => `${run}: 이어서 해요`,
    cancelled: (run) => `${run}: 취소했어요. 만든 것은 남아 있어요`,
    retried: (run, port) => `${run}: ${port} 포트를 다시 시도해요`,
    extended: (run, { tokens, calls }) => {
      const more = [tokens && `토큰 ${tokens}개`, calls && `모델 호출 ${calls}번`].filter(Boolean);
      return `${run}: 더 쓸 수 있어요: ${more.join(", ")}`;
    },
    mergedAgain: (run) => `${run}: 다시 합쳐요`,
    skipped: (run, port) => `${run}: ${port} 포트를 빼고 이어서 해요`,
    reviewed: (run, port) => `${run}: 의견을 전하고 ${port} 포트를 다시 시도해요`,
    approved: (run, port) => `${run}: ${port} 포트를 승인해서 이어서 해요`,
    approvedResult: (run, { commit, counted, needed }) =>
      `${run}: 결과 ${commit.slice(0, 12)}를 승인했어요(승인 ${needed}개 중 ${counted}개)`,
    kept: "남김",
    cleaned: "정리함",
    wouldClean: "정리할 것",
    noneSoOld: "그렇게 오래전에 끝난 실행이 없어요.",
    keptWhy: "남긴 것은 어느 브랜치나 커밋에도 없어요. 합치거나 --force로 정리해 주세요.",
    branchMoved: "브랜치가 그사이 바뀌어서, 합친 결과를 먼저 테스트해요.",
    merged: (run, { kind, target, commit, folder }) => {
      const files = folder === null ? "" : `, 바뀐 파일이 있는 폴더: ${folder}`;
      const how = kind === "already" ? "이미 들어 있어요" : "합쳤어요";
      return `${run}: ${target} 브랜치에 ${how}. 지금 커밋: ${commit}${files}`;
    },
    undone: (run, { isNew, target, commit, folder }) => {
      const files = folder === null ? "" : `, 바뀐 파일이 있는 폴더: ${folder}`;
      const how = isNew ? "되돌렸어요" : "이미 되돌렸어요";
      return `${run}: ${target} 브랜치에서 ${how}. 되돌린 커밋: ${commit}${files}`;
    },
    noMergedTask: (folder) => `${folder}에 합친 할 일이 없어요.`,
    noMergedTaskHint: "dure plan runs로 실행을 보고, dure plan undo 실행으로 되돌려 주세요.",
    published: (run, isNew, { branch, remote }) =>
      `${run}: ${remote}의 ${branch} 브랜치에 ${isNew ? "푸시했어요" : "이미 있어요"}`,
    pullRequest: (address) => `풀 리퀘스트: ${address}`,
  },

  review: {
    look: (run, port) => `한 포트가 바꾼 것을 보려면: dure plan review ${run} ${port}`,
    send: (run, port) => `보내려면: dure plan review ${run} ${port} --send`,
    comment: (run, port) =>
      `의견을 남기려면: dure plan review ${run} ${port} --at FILE:LINE --say "…"`,
    notSent: "아직 보내지 않음",
    sent: (attempt) => `${attempt}번째 시도 뒤에 보냄`,
  },

  say: {
    sent: (to) => `보냈어요. ${memberOf(to)}이 다음 턴에 읽어요`,
    delivered: (to) => `도착했어요. ${memberOf(to)}이 일하는 중이라 다음 턴에 읽어요`,
    read: (to) => `${memberOf(to)}이 읽었어요`,
    lost: (to) => `${memberOf(to)}이 읽기 전에 포트가 끝났어요`,
  },

  log: {
    head: (member, attempt) => {
      const tried = attempt === 0 ? "" : `, ${attempt}번째 시도`;
      return `--- ${memberOf(member)}${tried}`;
    },
    empty: (port) => `${port}: 아직 한 말이 없어요`,
  },
};
