import type { AdminWords } from "./admin.en.ts";

const OUTCOMES: Readonly<Record<string, string>> = { done: "됨", failed: "실패", refused: "거절" };

export const ADMIN_KO: AdminWords = {
  token: {
    made: (id, name, scopes) =>
      `${name}의 토큰 ${id}을(를) 만들었어요. 권한: ${scopes}. 다시 보여 주지 않으니 적어 두세요.`,
    isAgent: (name) =>
      `이름이 ${name}인 에이전트가 있어서, 사람이 이 토큰으로 방에서 말할 수 없어요. 다른 이름으로 만들어 주세요.`,
    none: "아직 토큰이 없어요. 이렇게 만들 수 있어요: dure token create 이름",
    hasRoles: (roles) => `이 역할을 찾는 일을 승인할 수 있어요: ${roles}`,
    head: ["id", "이름", "권한", "역할", "테넌트", "상태"],
    valid: "쓸 수 있음",
    revoked: "취소됨",
    isRevoked: (id) => `${id}: 취소했어요.`,
    fromNowOn:
      "이제부터 누구나 토큰이나 로그인이 필요해요. 팀의 폴더에서 dure login으로 화면을 열 수 있어요.",
    fromNowOnWith: (file) =>
      `이제부터 누구나 토큰이나 로그인이 필요해요. 이 컴퓨터의 이 폴더에서는 ${file} 파일로 이어서 쓰고, dure login으로 화면을 열 수 있어요.`,
    fromNowOnWithout: (file, why) =>
      `이제부터 나도 토큰이나 로그인이 필요해요. ${file} 파일을 쓸 수 없었어요(${why}). DURE_TOKEN을 정하거나 이 토큰을 써 주세요.`,
    noLogin: "로그인한 브라우저가 없어요.",
    loginsHead: ["id", "토큰", "로그인(UTC)", "마지막", "끝", "브라우저"],
    ended: (id) => `${id}: 로그아웃시켰어요.`,
  },

  mcp: {
    open: (by) => `이 컴퓨터의 브라우저에서 열어 로그인해 주세요(${by}):`,
    in: (issuer) => `${issuer}에 로그인했어요. 이제 팀의 에이전트가 그곳에서 내 이름으로 일해요.`,
    out: (name) => `${name}에서 로그아웃했어요.`,
    notIn: (name) => `${name}에 로그인한 적이 없어요.`,
    putDocument: (address) =>
      `${address}에 올린 뒤 설정에 적어 주세요: \`login: { clientDocument: "${address}" }\``,
    revoked: (issuer) => `${issuer}에서 토큰을 끝냈어요.`,
    notOffered: (issuer) => `${issuer}에서는 토큰을 끝낼 방법이 없어요. 기한까지 쓸 수 있어요.`,
    notRevoked: (issuer, because) =>
      `${issuer}에서 토큰을 끝내지 못했어요(${because}). 기한까지 쓸 수 있으니 그곳에서 직접 끝내 주세요.`,
  },

  database: {
    at: (where) => `데이터베이스: ${where}`,
    head: ["테이블", "행(대략)", "크기"],
    migrate: "마이그레이션",
    migrated: (migration, release) =>
      `dure 스키마가 마이그레이션 ${migration}, 릴리스 ${release}이에요`,
    backUp: (file) => `${file} 파일로 백업`,
    restore: (file) => `${file} 파일에서 복원`,
    rows: (rows, tables) => `테이블 ${tables}개의 행 ${rows}개`,
  },

  made: {
    stands: (title, place) => `${title}: ${place}에 만들었어요`,
    service: (entry) => `다음: 팀에 더해 주세요: \`services: { ${entry} }\``,
    agent: (id) =>
      "다음: 그 파일에 어떤 에이전트인지 적어 주세요. dure dev에서는 바로, 아니면 dure reload " +
      `뒤에 답해요: dure chat --service ${id}`,
    tool: (name) =>
      `다음: 그 파일에 할 일을 쓰고, 에이전트의 agent.md에 적어 주세요: \`tools: [${name}]\``,
    skill: (name) =>
      "다음: 그 파일에 할 일을 적어 주세요. dure dev에서는 바로, 아니면 dure reload 뒤에 " +
      `에이전트가 ${name} 스킬을 알아요`,
    plan: (name) => `다음: 할 일과 맡을 작업자를 적은 뒤: dure plan check ${name}`,
  },

  reload: {
    services: (names) => `서비스: ${names}`,
    agents: (names) => `에이전트: ${names}`,
    restart: (settings) => `바뀌었지만 서버를 다시 켜야 반영되는 것: ${settings}`,
  },

  chat: {
    session: (id) => `대화 ${id}. 빈 줄이나 ctrl-D로 나가요.`,
    again: (agent) => `${agent}: 다시 시작해요. 앞에서 한 말은 지워 주세요`,
  },

  log: {
    none: "이런 기록이 없어요",
    unknown: "시작했지만 결과를 알 수 없어요",
    outcome: (outcome) => OUTCOMES[outcome] ?? outcome,
    older: (cursor) => `더 오래된 것이 있어요: --cursor ${cursor}`,
    reset: (since, oldest) =>
      `${since} 자리의 기록은 이미 지웠어요. ${oldest ?? "지금"}부터 이어서 봐요.`,
  },
};
