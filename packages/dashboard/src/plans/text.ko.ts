import type { PlanRun, PlanRunStatus, PortStatus } from "dure/client";
import { factOf, listOr, type CodedWords } from "../coded-words.ts";
import type { WordsOf } from "../words.ts";
import type { Waits } from "./signs.ts";

/** Commands of a plan as a Korean page calls them. */
const NETWORK_USERS: Readonly<Record<string, string>> = {
  setup: "준비 명령",
  check: "검사 명령",
  acceptance: "확인 명령",
  integration: "통합 테스트",
};

/** A command, or a worker as a plan names it: `workers.tester`. */
function networkUser(of: string): string {
  const [group, worker] = of.split(".", 2);
  if (group === "workers" && worker !== undefined) return `작업자 ${worker}`;

  return NETWORK_USERS[of] ?? of;
}

export const ko = {
  pageTitle: "계획",
  lead: "저장소에서 나눠 할 일을 적은 계획과, 그 실행이에요. 나눈 일 하나를 포트라고 해요.",
  files: "계획 파일",
  filesEmpty: "아직 계획이 없어요.",
  filesEmptyHint:
    "`dure new plan 이름`으로 하나 만들거나, 팀 폴더의 `plans/`에 `plan.yaml`을 넣어 주세요.",
  filesMatch: (query: string) => `“${query}”에 맞는 계획이 없어요.`,
  findFiles: "계획 찾기",
  ports: (count: number) => `포트 ${count}개`,
  problems: (count: number) => `고칠 곳 ${count}군데`,
  noProblems: "고칠 곳 없음",
  problemList: (plan: string) => `${plan}에서 고칠 곳`,
  found: "적힌 값",
  allowed: "쓸 수 있는 값",
  start: "시작하기…",
  startOf: (plan: string) => `${plan} 시작하기`,
  mend: "고친 뒤에 시작할 수 있어요",
  checkAgain: "다시 검사",
  checkAgainHint: "파일을 고친 뒤에 누르면 다시 읽어요.",
  bench: {
    title: "계획 써 보기",
    lead: "아직 파일이 아닌 계획을 받거나 써서 검사해요. 서버에는 초안만 남아요.",
    draftTitle: "모델에게 초안 받기",
    goal: "하고 싶은 일",
    goalHint:
      "저장소의 파일 이름, 빌드 설정, 시그니처, 테스트 하나, 최근 커밋과 함께 팀의 모델에게 보내요. " +
      "팀 예산에서 나가요.",
    repository: "저장소 폴더",
    repositoryHint: "설정에 적은 이름이나 팀 폴더에서 본 경로예요. 비우면 팀의 저장소예요.",
    draft: "초안 받기",
    drafting: "초안을 쓰는 중이에요. 몇 분 걸릴 수 있어요.",
    file: "파일 이름",
    fileHint: ".yaml, .json, .md로 끝나야 해요.",
    open: "파일 열기",
    text: "계획의 글",
    check: "검사하기",
    save: "내려받기",
    close: "닫기",
    stale: "글이 바뀌었어요. 다시 검사해 주세요.",
    whole: "고칠 곳이 없어요",
    begin: "이 글로 시작하기…",
    next: "여러 번 쓸 계획이면 내려받아 팀 폴더의 `plans/`에 넣어 주세요. 그러면 아래 목록에 나와요.",
    goTo: (line: number) => `${line}번째 줄로 가기`,
  },
  clean: {
    old: "오래된 실행 정리하기",
    one: "파일 정리하기",
    days: "끝난 지 며칠이 지난 것",
    look: "무엇이 지워질지 보기",
    looking: "무엇이 지워질지 보는 중",
    goes: "지워지는 것: 실행의 작업 폴더와 git 참조 (원격 저장소의 것도)",
    stays: "남는 것: 결과 브랜치와 실행의 기록",
    staysWith: (branch: string) => `남는 것: 실행의 기록과 브랜치 ${branch}`,
    noneOld: (days: number) => `끝난 지 ${days}일이 지난 실행이 없어요.`,
    wouldGo: (count: number) => `정리할 실행 (${count})`,
    wouldStay: (count: number) => `남겨 둘 실행 (${count})`,
    giveUp: "이것을 잃어도 괜찮아요",
    giveUpOf: (plan: string, run: string) => `${plan} ${run}: 잃어도 괜찮아요`,
    do: "정리하기",
    doForced: "그래도 정리하기",
    doMany: (count: number) => `${count}개 정리하기`,
    doManyForced: (count: number, forced: number) =>
      `${count}개 정리하기 (${forced}개는 잃는 것이 있어요)`,
    done: (cleaned: number, kept: number) =>
      `실행 ${cleaned}개를 정리했어요.${kept > 0 ? ` ${kept}개는 남겨 뒀어요.` : ""}`,
    back: "그만두기",
    cleaned: "정리됨",
    cleanedAt: (when: string) => `${when}에 파일을 정리했어요.`,
    historyOnly: "기록만 남아 있어서 다시 시도하거나 합칠 수 없어요.",
    historyAnd: (branch: string) =>
      `기록과 브랜치 ${branch}만 남아 있어요. 그 브랜치는 git으로 합칠 수 있어요.`,
    noDiff: "이 실행의 파일을 정리해서 변경을 볼 수 없어요.",
    why: {
      RUN_UNMERGED: "성공한 결과가 어느 브랜치에도 없어요. 정리하면 그 결과를 다시 얻을 수 없어요.",
      TREE_NOT_SAFE: "작업 폴더에 커밋하지 않은 변경이 있어요. 정리하면 그 변경이 사라져요.",
      REPOSITORY_GONE:
        "저장소가 없어서 결과를 합쳤는지 알 수 없어요. 정리하면 합치지 않은 결과가 사라져요.",
      RUN_GOING: "아직 진행 중이거나 누가 쓰고 있어요. 끝난 뒤에 다시 봐 주세요.",
    } as Readonly<Record<string, string>>,
  },
  runs: "실행",
  runsEmpty: "아직 실행한 계획이 없어요.",
  runsEmptyHint: "위에서 계획을 골라 시작하기를 누르거나, `dure plan run 이름`으로 시작해 주세요.",
  noMatch: "찾는 실행이 없어요.",
  noMatchHint: "상태나 찾는 말을 바꿔 보세요. 오래된 실행은 더 보기로 불러올 수 있어요.",
  search: "실행 찾기",
  status: "상태",
  allStatuses: "모든 상태",
  more: "더 보기",
  loading: "불러오는 중",
  doneOf: (done: number, all: number) => `${all}개 중 ${done}개 끝남`,
  progress: "진행",
  failedCount: (count: number) => `실패 ${count}`,
  startedBy: (who: string) => `${who} 시작`,
  runStatuses: {
    running: "진행 중",
    paused: "멈춰 둠",
    cancelling: "취소하는 중",
    waiting_host: "컴퓨터를 기다림",
    success: "성공",
    partial: "일부 성공",
    failed: "실패",
    cancelled: "취소됨",
  } satisfies Record<PlanRunStatus, string>,
  portStatuses: {
    waiting: "앞의 일 기다림",
    ready: "자리 기다림",
    running: "일하는 중",
    held: "승인 기다림",
    succeeded: "성공",
    failed: "실패",
    blocked: "막힘",
    cancelled: "취소됨",
  } satisfies Record<PortStatus, string>,
  phases: {
    preparing: "준비하는 중",
    building: "만드는 중",
    merging: "합치는 중",
    over: "끝남",
  } satisfies Record<PlanRun["phase"], string>,
  /** Codes of reasons, in words; the reason itself is as the server wrote it. */
  before: {
    title: (plan: string) => `${plan} 시작하기 전에`,
    lead: "아직 아무것도 하지 않았어요. 이렇게 진행될 거예요.",
    toPlans: "계획 목록으로",
    base: "시작하는 커밋",
    ports: "포트",
    maxParallel: "동시에 일하는 포트",
    maxParallelOf: (count: number) => `최대 ${count}개`,
    isolation: "격리",
    networkOf: (of: string) => `네트워크: ${networkUser(of)}`,
    policies: {
      none: "없음",
      provider: "정해진 곳만",
      open: "모든 공개 호스트에 열려 있음",
    } as Readonly<Record<"none" | "provider" | "open", string>>,
    integration: "통합 테스트",
    none: "없음",
    mode: "일하는 방식",
    modes: { "in-order": "따로따로, 차례대로", parallel: "나란히 동시에" } as Readonly<
      Record<string, string>
    >,
    modeHints: {
      "in-order": "동시에 할 조건이 모자라서, 포트마다 다른 에이전트가 차례대로 해요.",
      parallel:
        "동시에 하는 데 필요한 조건이 맞아서, 준비된 포트부터 동시에 해요. 아래 조건이 모두 맞아야 하는 건 아니에요.",
      "one-context":
        "파일이 몇 개뿐이라 한 맥락에서 차례대로 해요. 앞 포트가 만든 것에서 이어 가고, 서로의 파일을 읽되 쓰기는 자기 것만 해요.",
    } as Readonly<Record<string, string>>,
    modeWanted: (wanted: string) =>
      `계획에 \`mode: ${wanted}\`로 적혀 있어서 그렇게 해요. 아래 조건은 참고만 해 주세요.`,
    condition: "조건",
    value: "지금 값",
    holds: "맞음",
    fails: "아님",
    conditions: {
      "few-files": ({ below }) => `파일이 ${factOf(below)}개보다 적음`,
      "many-files": ({ least }) => `파일이 ${factOf(least)}개 이상`,
      "many-layers": ({ least }) => `층이 ${factOf(least)}개 이상`,
      "independent-ports": ({ least }) =>
        `다른 포트를 기다리지 않는 포트가 ${factOf(least)}개 이상`,
      "many-modules": ({ least }) => `프로젝트의 모듈이 ${factOf(least)}개 이상`,
      "many-targets": ({ least }) => `손대는 모듈이 ${factOf(least)}개 이상`,
      "many-changes": ({ least }) => `바뀌는 파일이 ${factOf(least)}개 이상`,
      "no-module-cycle": () => "모듈끼리 돌고 도는 의존이 없음",
      "contracts-fixed": () => "계약이 모두 먼저 정해짐",
      "parallel-enabled": () => "동시에 하기를 켬",
    } as CodedWords,
    /** Values of the conditions that are no number. */
    values: {
      "no-module-cycle": ({ cycle }) => listOr(cycle, " → ", "없음"),
      "contracts-fixed": ({ open }) => listOr(open, ", ", "모두"),
      "parallel-enabled": ({ enabled }) => (enabled === true ? "켬" : "끔"),
    } as CodedWords,
    levels: "순서",
    levelsLead: "앞 단계가 끝나기를 기다리지 않고, 필요한 것이 끝난 포트부터 시작해요.",
    criticalPath: "크리티컬 패스",
    unowned: "아무도 맡지 않은 파일",
    unownedNone: "모든 파일에 맡은 포트가 있어요.",
    unownedCount: (count: number) =>
      `${count.toLocaleString("ko")}개 파일은 맡은 포트가 없어서 바뀌지 않아요.`,
    unownedShown: (shown: number) => `앞의 ${shown}개만 보여요.`,
    warnings: "알아 둘 것",
    warningWords: {
      SHARED_FILES_OWNED: ({ port, paths }) =>
        `포트 ${factOf(port)}가 ${factOf(paths)}을(를) 맡았어요. 루트의 빌드 파일, 잠금 파일, 마이그레이션은 모두가 쓰는 파일이라 두 ` +
        "포트가 함께 바꿀 수 없어요. 다른 포트가 기다리는 한 포트에만 맡기거나 빼 주세요. workers.orchestrator가 있으면 합칠 때 한 번에 " +
        "바꾸고, 없으면 시작하기 전에 바꿔 주세요.",
      CONTRACTS_MISSING: ({ paths }) =>
        `계약 ${factOf(paths)}이(가) 시작하는 커밋에 없고, 그것을 쓸 workers.orchestrator도 없어요. 이대로는 시작할 수 없어요.`,
      OWNED_IGNORED: ({ port, pattern, by, rule }) =>
        `포트 ${factOf(port)}가 맡은 ${factOf(pattern)}은(는) ${factOf(by)}의 ${factOf(rule)} 때문에 커밋에 ` +
        "들어가지 않아요. 다른 경로를 맡기거나 그 줄을 먼저 고쳐 주세요.",
      NAMES_CLOSED: ({ paths }) =>
        `이름이 글자가 아니거나 다른 곳을 가리켜서, 어느 포트도 ${factOf(paths)}을(를) 바꿀 수 없어요.`,
      NETWORK_OPEN: (facts) =>
        `${factOf(facts["for"])}의 네트워크가 열려 있어요. 거기서 도는 것은 모든 공개 호스트에 닿고, 읽을 수 있는 것을 보낼 수 있어요.`,
      UNCOMMITTED: ({ root, commit }) =>
        `${factOf(root)}에 커밋하지 않은 변경이 있어요. 실행은 그 변경 없이 ${factOf(commit)}에서 시작해요.`,
      SUBMODULES_EMPTY: ({ paths }) => `서브모듈은 작업자에게 빈 폴더로 보여요: ${factOf(paths)}`,
      FILTERS_OFF: ({ filters }) =>
        `작업자에게는 git 필터(${factOf(filters)})가 돌지 않아요. git이 저장한 그대로 보이고, Git LFS라면 포인터만 보여요.`,
    } as CodedWords,
    only: "일부 포트만 하기",
    hows: { only: "고른 것까지", from: "고른 것부터" },
    chooseHint: "포트를 고르면 일부만 할 수 있어요. 고르지 않으면 모두 해요.",
    onlyHint: "고른 포트와, 그 포트에 필요한 포트만 해요.",
    fromHint:
      "고른 포트와, 그 포트를 기다리는 포트만 해요. 그 앞의 것은 시작하는 커밋에 이미 있다고 봐요.",
    where: "다른 저장소나 브랜치에서 하기",
    repository: "저장소 폴더",
    repositoryHint: "설정에 적은 이름이나 팀 폴더에서 본 경로예요. 비우면 계획에 적힌 대로 해요.",
    otherBase: "시작할 브랜치",
    otherBaseHint: "태그나 커밋도 돼요. 비우면 계획에 적힌 대로 해요.",
    showThere: "여기서 다시 보기",
    textOnly: "팀의 파일이 아닌 글이에요. 시작하면 실행에만 남고, 파일로는 저장하지 않아요.",
    textGone: "이 창에 그 글이 더는 없어요. 계획으로 돌아가서 다시 검사해 주세요.",
    showAgain: "고른 대로 다시 보기",
    start: "이대로 시작하기",
    failed: "시작하기 전에 볼 수 없어요",
    audit:
      "이 계획은 감시만 하는 격리로 실행돼요. 작업자가 맡지 않은 곳에 써도 막지 못하고, 나중에 알아차려요.",
  },
  run: {
    toList: "계획과 실행 목록으로",
    gone: "이 실행은 없어졌거나 볼 수 없어요",
    goneHint: "끝난 실행은 90일 뒤에 지워져요.",
    failed: "실행을 불러오지 못했어요",
    loading: "실행을 불러오는 중",
    branch: "결과 브랜치",
    noBranch: "아직 없음",
    base: "시작한 커밋",
    isolation: "격리",
    isolations: {
      enforced: "막아서 지킴",
      bubblewrap: "bubblewrap",
      namespaces: "네임스페이스",
      "other-user": "다른 사용자",
      audit: "감시만 함",
    } as Readonly<Record<string, string>>,
    promises: "지켜지는 것",
    promisesOf: (held: {
      readonly network: string;
      readonly user: number;
      readonly isOtherUser: boolean;
      readonly files: string;
      readonly memory?: string | undefined;
      readonly cpu?: string | undefined;
    }) =>
      [
        held.network === "enforced" ? "네트워크를 따로 써요" : "이 컴퓨터의 네트워크를 그대로 써요",
        held.isOtherUser ? `다른 사용자(${held.user})로 일해요` : "dure와 같은 사용자로 일해요",
        held.files === "enforced"
          ? "파일을 막아서 지켜요"
          : held.files === "by-modes"
            ? "파일은 권한만큼만 지켜요"
            : "파일을 막지 않아요",
        ...(held.memory === undefined
          ? []
          : [
              held.memory === "group"
                ? "메모리를 커널이 제한해요"
                : "메모리를 dure가 지켜보며 제한해요",
            ]),
        ...(held.cpu === undefined
          ? []
          : [held.cpu === "group" ? "CPU를 커널이 제한해요" : "CPU는 다른 프로세스가 먼저 써요"]),
      ].join(" · "),
    mode: "방식",
    took: "걸린 시간",
    tokens: "토큰",
    calls: "모델 호출",
    tokensOf: (used: number, most: number) =>
      `${used.toLocaleString("ko")} / ${most.toLocaleString("ko")}`,
    startedBy: "시작한 사람",
    at: "시작한 때",
    auditTitle: "막지 않고 감시만 하는 실행이에요",
    auditText:
      "작업자가 맡지 않은 파일에 써도 막지 못해요. 나중에 찾아내서 결과에 넣지 않을 뿐이에요.",
    reconnecting: "연결이 끊겨서 다시 잇는 중이에요. 아래는 마지막으로 받은 모습이에요.",
    pause: "멈추기",
    pauseHint: "새 포트를 시작하지 않아요. 하던 일은 끝까지 해요.",
    resume: "이어서 하기",
    cancel: "취소하기",
    cancelAsk: "이 실행을 취소할까요? 일하던 작업자를 바로 멈춰요. 끝난 포트의 결과는 남아요.",
    notYet: "주문을 받았어요. 곧 그렇게 돼요.",
    again: "다시 합치기",
    againHint: "끝난 포트를 다시 만들지 않고, 합치고 테스트하는 일만 다시 해요.",
    notYours: "이 실행을 움직이려면 `plans:run` 권한이, 합치려면 `plans:merge` 권한이 필요해요.",
    merge: "브랜치에 합치기",
    mergeFailing: "테스트가 실패했지만 합치기",
    mergeFailingHint:
      "이 결과는 통합 테스트를 통과하지 못했어요. 합치면 실패하는 채로 브랜치에 들어가요.",
    mergeInto: "합칠 브랜치",
    mergeHint: "비우면 시작한 브랜치에 합쳐요.",
    approveResult: (commit: string) => `결과 ${commit} 승인`,
    approved: (counted: number, needed: number) =>
      `승인했어요. 승인 ${needed}개 중 ${counted}개가 있어요. 다 모이면 합칠 수 있어요.`,
    mergeTrying: "브랜치가 그사이 바뀌어서, 합친 파일로 테스트를 먼저 돌리고 있어요.",
    mergeDo: "합치기",
    mergeBack: "그만두기",
    extend: "한도 늘리기",
    extendTokens: "늘릴 토큰",
    extendHint: "실행 전체의 한도에 더해요. 모자라서 멈춘 포트가 이어서 해요.",
    extendCalls: "늘릴 모델 호출",
    extendDo: "늘리기",
    merged: {
      merged: "합쳤어요",
      "fast-forward": "앞으로 옮겼어요",
      already: "이미 들어 있어요",
    } as Readonly<Record<string, string>>,
    mergedInto: (what: string, target: string, commit: string) => `${target}: ${what} (${commit}).`,
    solved: ({ by, files }: { readonly by: string; readonly files: readonly string[] }) =>
      by === "orchestrator"
        ? `양쪽이 함께 바꾼 ${files.join(", ")} 파일은 조율 담당이 하나로 썼어요.`
        : `양쪽이 함께 바꾼 ${files.join(", ")} 파일은 ${by} 님이 정했어요.`,
    mergedFiles: (folder: string) => `${folder}의 파일도 함께 바뀌었어요.`,
    deliveries: {
      kept: "브랜치에 있음",
      merged: "합침",
      published: "푸시함",
      undone: "되돌림",
      superseded: "다음 실행이 대신함",
    },
    mergedAt: (target: string, commit: string, at: string) =>
      `${at}에 ${target} 브랜치에 합쳤어요(${commit}).`,
    undoneAt: (target: string, commit: string, at: string) =>
      `${at}에 ${target} 브랜치에서 되돌렸어요(${commit}).`,
    supersededBy: "이 계획의 다음 실행이 성공했어요:",
    undo: "합친 것 되돌리기",
    undoAsk: (target: string) =>
      `${target} 브랜치에서 이 결과를 되돌릴까요? 커밋 하나가 더해지고, 그 뒤에 들어온 것은 남아요.`,
    escalations: "사람을 기다리는 것",
    views: { label: "보는 방식", graph: "그림", list: "목록" },
    graph: "포트와 그 순서",
    graphHint: "왼쪽에서 오른쪽으로 진행돼요. 포트를 고르면 자세한 것이 보여요.",
    edgeHint: "화살표는 먼저 끝나야 하는 포트에서 나와요.",
    edgeOf: (from: string, to: string) => `${from} 다음에 ${to}`,
    zoomIn: "크게",
    zoomOut: "작게",
    fit: "모두 보기",
    tooMany: (count: number) => `포트가 ${count}개라서 그림 대신 목록으로 보여요.`,
    level: (number: number) => `${number}단계`,
    levelDone: (done: number, all: number) => `${done}/${all} 끝남`,
    findPorts: "포트 찾기",
    noPort: "찾는 포트가 없어요.",
    tryOf: (number: number, most: number) => `${most}번 중 ${number}번째 시도`,
    triesMost: (most: number) => `최대 ${most}번`,
    tokensShort: (count: number) => `토큰 ${count.toLocaleString("ko")}`,
    critical: "크리티컬 패스",
    needs: (titles: string) => `필요한 것: ${titles}`,
    done: (percent: number) => `${percent}% 진행`,
    stalled: (span: string) => `${span}째 소식 없음`,
    waitsShort: ({ for: what, status }: Waits, when: string) => {
      const code = status ?? (what === "rate_limit" ? "한도" : "응답 없음");
      if (what === "key") return `키 거절 (${code})`;
      return when === "" ? `대기: ${code}` : `${code}, ${when}까지`;
    },
    waits: ({ for: what, status }: Waits, when: string) => {
      const until = when === "" ? "" : ` ${when}까지`;
      const code = status === undefined || status === null ? "" : ` (${status})`;
      switch (what) {
        case "rate_limit":
          return `모델 제공자의 사용량 제한 때문에${until} 기다려요${code}`;
        case "key":
          return `모델 제공자가 키를 받아 주지 않아요${code}`;
        case "provider":
          return code === ""
            ? `모델 제공자가 응답하지 않아${until} 기다려요`
            : `모델 제공자가 오류로 답해서${until} 기다려요${code}`;
      }
    },
    report: "합친 결과",
    kept: "들어간 포트",
    keptNone: "들어간 포트가 없어요.",
    missing: "빠진 포트",
    conflicts: "같은 파일을 바꾼 포트",
    solvedBy: (who: string) => `푼 쪽: ${who}`,
    unsolved: "풀지 못했어요",
    shared: "함께 쓰는 파일에 바란 변경",
    sharedApplied: "조율 담당이 한 번에 바꿨어요",
    sharedLeft: "바꾸지 않았어요",
    integration: "통합 테스트",
    integrationPassed: "통과했어요",
    integrationFailed: (code: string) => `통과하지 못했어요 (종료 코드 ${code})`,
    noCode: "없음",
    blamed: (titles: string) => `원인으로 짚은 포트: ${titles}`,
    output: "출력 보기",
    publish: "내보내기",
    published: (branch: string, remote: string, commit: string) =>
      `${remote}의 ${branch} 브랜치에 ${commit} 커밋이 있어요.`,
    publishDo: "푸시하기",
    publishAgain: "다시 푸시하기",
    publishRequest: "푸시하고 풀 리퀘스트 열기",
    publishing: "푸시하고 있어요…",
    publishedNew: "방금 푸시했어요.",
    publishedBefore: "이미 올라가 있어서 새로 푸시하지 않았어요.",
    publishHow:
      "여기서 결과를 푸시하려면 실행하기 전에 계획에 이렇게 적어 주세요: " +
      "`publish: { remote: origin, pull_request: gh }`",
    publishRemote: "원격 저장소",
    pullRequest: "풀 리퀘스트",
    noPullRequest: "열지 않아요",
    pullRequestOf: (title: string, base: string, tool: string) => `“${title}” → ${base} (${tool})`,
    changes: "모든 변경 보기",
    orchestration: "조율 담당이 한 일",
  },
  leaving: {
    title: "내보내기 전에 볼 것",
    looking: "결과를 살펴보고 있어요…",
    nothingFound: (branch: string) =>
      `${branch} 브랜치로 나갈 비밀 값이나 저절로 실행되는 파일이 없어요.`,
    found: (count: number, branch: string) =>
      `${branch} 브랜치로 나가기 전에 확인할 곳이 ${count.toLocaleString("ko")}곳 있어요. ` +
      "비밀 값이나, 도착한 곳에서 저절로 실행되는 파일이에요.",
    notYours:
      "나가도 된다는 확인은 사람만 할 수 있어요. `plans:confirm` 권한이 있는 본인 토큰으로 로그인해 주세요.",
    allowed: "묻지 않고 내보내는 것:",
    allowedBy: { team: "팀 설정", plan: "계획" } as Readonly<Record<string, string>>,
    approvals: (counted: number, needed: number) =>
      counted < needed
        ? `내보내려면 승인이 ${needed}개 필요해요. 지금은 ${counted}개예요.`
        : `승인이 다 모였어요 (${counted}/${needed}).`,
    approvedBy: (people: string) => `승인한 사람: ${people}`,
    notAuthor: (author: string) => `실행을 시작한 ${author} 님의 승인은 세지 않아요.`,
    noAuthor:
      "누가 실행을 시작했는지 이름이 없어요. 승인한 사람 가운데 한 명은 시작한 사람일 수 있어서, 한 명이 더 승인해야 해요.",
    ask: (count: number) =>
      `아직 바뀐 것은 없어요. 나가기 전에 ${count.toLocaleString("ko")}곳을 확인해 주세요. ` +
      "비밀 값이나, 도착한 곳에서 저절로 실행되는 파일이에요.",
    more: (count: number) => `그리고 ${count.toLocaleString("ko")}곳이 더 있어요.`,
    inHistory: (commit: string) => `${commit}부터`,
    confirm: "확인했어요, 이대로 내보내기",
  },
  port: {
    close: "실행으로 돌아가기",
    gone: "이 실행에 없는 포트예요",
    failed: "포트를 불러오지 못했어요",
    loading: "포트를 불러오는 중",
    tabs: {
      tries: "시도",
      channel: "주고받은 말",
      transcript: "작업 기록",
      scope: "범위",
      context: "맥락",
      diff: "변경",
    },
    goal: "할 일",
    role: "역할",
    acceptance: "통과 조건",
    owns: "구현 담당이 쓰는 곳",
    tests: "테스트 담당이 쓰는 곳",
    reads: "더 읽을 수 있는 곳",
    readsByRole: "역할이 정한 대로",
    none: "없음",
    needs: "필요한 포트",
    neededBy: "이 포트를 기다리는 포트",
    grants: "따로 허락한 곳",
    grantOf: (path: string, wants: string, who: string) => `${path} · ${wants} · ${who} 허락`,
    wants: { own: "쓰기", read: "읽기", write: "쓰기" } as Readonly<Record<string, string>>,
    time: "쓴 시간",
    timeOf: (spent: string, most: string) => `${spent} / ${most}`,
    tokens: "토큰",
    tokensInOut: (input: number, output: number, cached = 0) => {
      const ofCache = cached === 0 ? "" : ` (캐시 ${cached.toLocaleString("ko")})`;
      return `입력 ${input.toLocaleString("ko")}${ofCache} · 출력 ${output.toLocaleString("ko")}`;
    },
    hint: "남긴 힌트",
    proof: "테스트",
    unproven: "작업하기 전에도 통과해서, 한 일을 보여 주지 못해요.",
    because: "이유",
    skip: "빼고 계속",
    skipAsk: "이 포트를 빼고 계속할까요? 일하고 있으면 바로 멈춰요. 나중에 다시 시도할 수 있어요.",
    retry: "다시 시도",
    retryHint: "어떻게 다르게 할지 적어 주세요 (비워도 돼요)",
    retryDo: "이 힌트로 다시 시도",
    retryPlain: "힌트 없이 다시 시도",
    more: "늘릴 한도 (비우면 그대로)",
    moreTokens: "토큰",
    moreMinutes: "시간 (분)",
    moreTries: "시도 (번)",
    moreWrong: (most: number) => `1부터 ${most.toLocaleString("ko")}까지의 정수로 적어 주세요.`,
    back: "그만두기",
    say: "작업자에게 말하기",
    sayTo: "누구에게",
    sayText: "할 말",
    sayDo: "말하기",
    said: "보냈어요.",
    members: {
      implementer: "구현 담당",
      tester: "테스트 담당",
      orchestrator: "조율 담당",
      operator: "운영자",
    } as Readonly<Record<string, string>>,
    now: "지금 하는 일",
    lastSign: (when: string) => `마지막 소식 ${when} 전`,
    stalled: (when: string) => `${when}째 소식이 없어요.`,
    stalledOn: {
      provider: "모델 제공자가 응답하지 않아요.",
      model: "모델의 답을 기다리고 있어요.",
      tool: "도구가 아직 끝나지 않았어요.",
      nothing: "멈췄을 수 있어요.",
    },
    noTask: "시작하는 중",
    noTries: "아직 시도하지 않았어요.",
    tryTitle: (number: number) => `${number}번째 시도`,
    tryBy: (who: string) => `${who}이 함`,
    outcomes: {
      running: "하는 중",
      passed: "통과",
      failed: "통과하지 못함",
      violated: "범위를 벗어남",
      stopped: "끝맺지 못함",
    } as Readonly<Record<string, string>>,
    steps: {
      contracts: "계약 쓰기",
      setup: "준비 명령",
      implement: "구현",
      test: "테스트 쓰기",
      accept: "통과 테스트",
      check: "컴파일 확인",
      module: "모듈 함께 컴파일",
      merge: "합치기",
      shared: "함께 쓰는 파일",
      count: "시작할 때의 테스트",
      base: "작업 없이 테스트",
      judge: "실패해야 하는 테스트",
      integrate: "합친 뒤 테스트",
      review: "사람의 검토",
    } as Readonly<Record<string, string>>,
    results: {
      ready: "다 했어요",
      partial: "일부만 했어요",
      failed: "하지 못했어요",
    } as Readonly<Record<string, string>>,
    changed: (count: number) => `파일 ${count}개 바꿈`,
    failedFiles: "바꿨다고 했지만 그대로인 파일",
    unclaimedFiles: "말없이 바꾼 파일",
    changes: { new: "새로", modified: "고침", deleted: "지움" } as Readonly<Record<string, string>>,
    metrics: (passed: number, total: number, failed: number) =>
      `${total}개 중 ${passed}개 통과, ${failed}개 실패`,
    coverage: (percent: number) => `줄 ${percent}% 테스트함`,
    failing: "실패한 테스트",
    expected: "기대한 값",
    actual: "실제 값",
    stack: "오류 위치",
    fix: "고칠 방법",
    suggestions: "제안",
    recalled: "합친 뒤 테스트에서 이 포트가 원인으로 짚여, 다시 해요.",
    log: "출력의 끝",
    exit: (code: string) => `종료 코드 ${code}`,
    starts: (count: number) => `${count}번 만에 끝남`,
    violations: "범위를 벗어나려 한 일",
    violationFound: { request: "하기 전에 막음", commit: "커밋할 때 찾아 넣지 않음" } as Readonly<
      Record<string, string>
    >,
    reasons: {
      forbidden: "금지된 경로",
      "others-tests": "짝의 파일",
      "persons-tools": "내 도구가 그대로 실행하는 파일",
      orchestrators: "함께 쓰는 파일은 조율 담당이 합칠 때 바꿈",
      contract: "계약은 조율 담당만 씀",
      "not-owned": "맡은 곳이 아님",
      "not-readable": "읽을 수 있는 곳이 아님",
      "case-variant": "대소문자만 다른 남의 경로",
      "git-internals": "git 안쪽 파일",
      "nested-repository": "따로 있는 git 저장소라 뺌",
      "dot-segment": "`.`이나 `..`이 든 경로",
      absolute: "저장소 밖 경로",
    } as Readonly<Record<string, string>>,
    noMessages: "아직 주고받은 말이 없어요.",
    messageTypes: { result: "결과", feedback: "테스트 결과", query: "질문", ack: "답" } as Readonly<
      Record<string, string>
    >,
    fromTo: (from: string, to: string) => `${from} → ${to}`,
    notDelivered: "보냈고, 아직 전해지지 않음",
    neverRead: "포트가 끝날 때까지 읽지 않음",
    delivered: (when: string) => `${when}에 전해짐`,
    processed: (when: string) => `${when}에 읽음`,
    noManifest: "아직 작업자에게 준 것이 없어요.",
    manifestOf: "어느 단계",
    context: (total: number, full: number) =>
      `준 것 ${total.toLocaleString("ko")} 토큰, 파일을 통째로 읽으면 ${full.toLocaleString("ko")} 토큰`,
    saved: (percent: number) => `${percent}% 아낌`,
    block: "부분",
    blocks: {
      "who-you-are": "누구인지",
      "what-you-own": "맡은 곳",
      contracts: "계약",
      conventions: "작업 방식",
      task: "할 일",
      references: "참고",
      scope: "범위",
      "what-not-to-read": "읽지 않을 것",
      "how-to-report": "알리는 법",
    } as Readonly<Record<string, string>>,
    forms: {
      whole: "전부",
      signatures: "서명만",
      sections: "일부",
      cut: "앞부분",
      missing: "아직 없음",
    } as Readonly<Record<string, string>>,
    noDiff: "아직 바뀐 것이 없어요.",
    noDiffHint: "첫 시도가 끝나면 여기에 보여요.",
    diffFiles: (count: number) => `바뀐 파일 ${count}개`,
    diffCut: "너무 길어서 앞부분만 보여요.",
    review: "검토",
    reviewHint: "위에서 줄마다 의견을 남기고 보내세요. 포트가 그 의견으로 다시 시도해요.",
    reviewHeld: "통과했고 승인을 기다려요. 승인하거나 돌려보내세요.",
    reviewText: "전체에 대한 의견 (비워도 돼요)",
    reviewDo: (count: number) => (count === 0 ? "돌려보내기" : `의견 ${count}개와 돌려보내기`),
    approve: "승인",
    commentLine: (line: number) => `${line}번 줄에 의견 남기기`,
    commentHere: "번째 줄에 의견 남기기",
    commentFile: "파일에 의견 남기기",
    commentDo: "의견 남기기",
    commentDrop: "지우기",
    commentWaits: "아직 안 보냈어요",
    commentSent: (number: number) => `${number}번째 시도 뒤에 보냄`,
    commentCount: (count: number) => `의견 ${count}개`,
    diffMore: (count: number) => `나머지 ${count}줄 보기`,
    patchOf: (path: string) => `${path}의 변경`,
    added: "더함",
    removed: "뺌",
  },
  transcript: {
    search: "작업 기록에서 찾기",
    whose: "누구의 기록",
    everyone: "모두",
    loading: "작업 기록을 불러오는 중",
    empty: "아직 기록이 없어요.",
    emptyHint: "작업자가 일을 시작하면 생각, 도구 호출, 출력, 변경이 여기에 차례로 나와요.",
    noMatch: (words: string) => `“${words}”에 맞는 기록이 없어요.`,
    older: "이전 기록 보기",
    newest: "최신 기록으로",
    live: "새 기록이 나오는 대로 이어서 보여요.",
    behind: "오래된 기록을 보는 중이라 새 기록은 여기에 더하지 않아요.",
    kinds: {
      prompt: "받은 지시",
      session: "대화",
      thought: "생각",
      message: "말",
      tool: "도구",
      result: "결과",
      diff: "변경",
      stdout: "표준 출력",
      stderr: "표준 오류",
      refused: "막힌 일",
      asked: "허락 요청",
      heard: "들은 말",
      cost: "비용",
      end: "끝",
    } as Readonly<Record<string, string>>,
    input: "입력",
    sessions: {
      new: "새 대화를 시작했어요.",
      resumed: "지난 대화를 이어서 해요.",
    } as Readonly<Record<string, string>>,
    answers: { granted: "허락받음", "not now": "지금은 안 됨" } as Readonly<Record<string, string>>,
    statuses: { completed: "끝남", failed: "실패", running: "하는 중" },
    cut: "이 단계의 기록이 너무 길어서 여기까지만 남겼어요.",
    lines: (count: number) => `${count.toLocaleString("ko")}줄`,
    outputOf: (what: string) => `${what} 전체`,
  },
};

export type PlansText = WordsOf<typeof ko>;
