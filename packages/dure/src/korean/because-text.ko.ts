/** What is said of a code, and what helps. */
export type BecauseTexts = Readonly<
  Record<string, { readonly says: string; readonly hint?: string }>
>;

/** Why a port or a run stands as it does, and what to do, by code; fetched with their pages. */
export const BECAUSES_KO: BecauseTexts = {
  TRIES_EXHAUSTED: {
    says: "시도를 다 썼어요.",
    hint: "무엇을 다르게 할지 알려 주고 다시 시도하게 해 주세요.",
  },
  PORT_TIMEOUT: { says: "시간이 다 됐어요.", hint: "시간을 더 주거나 일을 작게 나눠 주세요." },
  DEPENDENCY_FAILED: {
    says: "필요한 포트가 실패했어요.",
    hint: "실패한 포트를 다시 시도하면 이 포트는 저절로 이어져요.",
  },
  CONFLICT: {
    says: "여러 포트가 같은 파일을 바꿨어요.",
    hint: "그 파일을 한 포트에만 맡기거나 workers.orchestrator를 정해 주세요.",
  },
  OWNERSHIP_VIOLATED: {
    says: "맡은 곳이 아닌 곳을 바꿨어요. 그 변경은 받지 않았어요.",
    hint: "그 경로를 맡기거나 건드리지 말라고 알려 주세요.",
  },
  TOKENS_EXHAUSTED: {
    says: "토큰을 다 썼어요.",
    hint: "토큰을 더 주거나 일을 작게 나눠 주세요.",
  },
  RUN_TOKENS_EXHAUSTED: {
    says: "실행 전체의 토큰을 다 썼어요.",
    hint: "실행에 토큰을 더 주세요.",
  },
  SETUP_FAILED: {
    says: "준비 명령이 실패했어요.",
    hint: "새로 받은 저장소에서 그 명령을 직접 돌려 보세요.",
  },
  HOST_REFUSED: {
    says: "연결하면 안 되는 호스트에 연결하려고 했어요.",
    hint: "계획이나 저장소의 `.dure/project.yaml`에서 그 호스트를 허용해 주세요.",
  },
  WORKER_NOT_STARTED: {
    says: "작업자를 켜지 못했어요.",
    hint: "계획에 적은 명령과 설치를 확인해 주세요.",
  },
  TESTS_WEAKENED: {
    says: "테스트가 전보다 덜 확인해요.",
    hint: "테스트는 그대로 두라고 알려 주세요. 꼭 줄여야 하면 포트에 weaker_tests: allowed를 적어 주세요.",
  },
  REVIEW_UNCHANGED: {
    says: "의견을 보냈지만 바뀐 것이 없어요.",
    hint: "이대로 좋으면 승인하고, 아니면 바꿀 것을 더 자세히 적어 돌려보내 주세요.",
  },
  WORKER_LOGIN: {
    says: "작업자가 로그인되어 있지 않아요.",
    hint: "에이전트 프로그램에서 로그인하거나, 계획의 env로 키를 넘겨 주세요.",
  },
  WRITABLE_OF_PERSON: {
    says: "작업자가 내 프로그램의 설정을 바꿀 수 있는 계획이에요.",
    hint: "writable에서 빼고 agent나 copy_home을 써 주세요.",
  },
  WORKER_UNKNOWN: {
    says: "맡을 작업자가 없어요.",
    hint: "계획의 workers에 default나 그 역할을 적어 주세요.",
  },
  ISOLATION_UNAVAILABLE: {
    says: "작업자를 격리할 방법이 없어요.",
    hint: "bubblewrap을 설치하거나 사용자 네임스페이스와 네트워크 네임스페이스를 허용해 주세요.",
  },
  PLAN_TAKES_SECRET: {
    says: "계획이 dure의 비밀 값을 작업자에게 주려고 해요.",
    hint: "workers의 env에서 빼고, 필요한 값은 다른 이름의 변수로 주세요.",
  },
  INTEGRATION_FAILED: {
    says: "합친 뒤 테스트가 실패했어요.",
    hint: "보고서의 출력을 보고, 고친 뒤 다시 합치거나 다시 시도해 주세요.",
  },
  SHARED_CHANGES_FAILED: {
    says: "함께 쓰는 파일을 바꾸면 합친 뒤 테스트가 실패해요. 그 변경은 빼고 남겼어요.",
    hint: "그 파일을 직접 고치고 다시 합쳐 주세요.",
  },
  CONTRACTS_MISSING: {
    says: "계약 파일이 없어요.",
    hint: "직접 써서 커밋하거나 workers.orchestrator를 정해 주세요.",
  },
  SCOPE_TOO_SCATTERED: {
    says: "맡은 경로가 너무 흩어져 있어요.",
    hint: "파일 종류 대신 폴더를 통째로 맡겨 주세요.",
  },
  SCOPE_THROUGH_LINK: {
    says: "맡은 경로에 심볼릭 링크가 있어요.",
    hint: "링크가 가리키는 곳을 계획에 적어 주세요.",
  },
  SUBMODULE_OWNED: {
    says: "맡은 경로가 서브모듈 안에 있어요.",
    hint: "그 저장소에서 계획을 실행하거나 경로를 빼 주세요.",
  },
  DISK_FULL: { says: "디스크가 가득 찼어요.", hint: "자리를 비우고 다시 시도해 주세요." },
  NOT_A_REPOSITORY: { says: "git 저장소가 아니에요.", hint: "저장소 폴더를 적어 주세요." },
  PORT_SKIPPED: { says: "요청에 따라 뺐어요.", hint: "다시 넣으려면 다시 시도해 주세요." },
  NOT_STARTED: { says: "시작하지 않았어요." },
  RUN_CANCELLED: { says: "실행이 취소됐어요." },
  INTERNAL: { says: "dure 안에서 문제가 생겼어요.", hint: "서버 로그를 봐 주세요." },
};
