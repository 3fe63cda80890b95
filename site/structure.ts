/**
 * Where each page of the repository stands in the site. A page of `docs/guides` that is missing
 * here fails a test.
 */

/** A group of the sidebar: pages without `.md`, in the order of their reading. */
export interface Group {
  readonly title: string;
  readonly pages: readonly (readonly [title: string, page: string])[];
}

export const ENGLISH: readonly Group[] = [
  {
    title: "Begin",
    pages: [
      ["What dure is", "index"],
      ["First steps", "guides/first-steps"],
      ["Recipes", "guides/recipes"],
      ["Beside others", "comparison"],
    ],
  },
  {
    title: "Build",
    pages: [
      ["Agents as files", "guides/agents"],
      ["A service", "guides/write-a-service"],
      ["One that fills slots", "guides/slot-service"],
      ["What people write", "guides/understanding"],
      ["Models", "guides/models"],
      ["Something exactly once", "guides/effects"],
      ["Rooms", "guides/rooms"],
      ["Jobs", "guides/jobs"],
      ["Plans", "guides/plans"],
      ["Tools of MCP servers", "guides/mcp"],
    ],
  },
  {
    title: "Connect and decide",
    pages: [
      ["Discord", "guides/discord"],
      ["Slack", "guides/slack"],
      ["Telegram, Teams and others", "guides/chat-platforms"],
      ["Other clients", "guides/protocols"],
      ["Documents", "guides/knowledge"],
      ["Evaluations", "guides/evals"],
      ["Escalations", "guides/escalations"],
      ["Budgets", "guides/budgets"],
      ["In your own server", "guides/embedding"],
    ],
  },
  {
    title: "Run it",
    pages: [
      ["Operate", "guides/operate"],
      ["Limits", "guides/limits"],
      ["Observability", "guides/observability"],
      ["Behind a proxy", "guides/reverse-proxy"],
      ["Security", "security"],
      ["Reliability", "reliability"],
    ],
  },
  {
    title: "Reference",
    pages: [
      ["Command line", "reference/cli"],
      ["Configuration", "reference/configuration"],
      ["HTTP", "reference/http"],
      ["Events", "reference/events"],
      ["Errors", "reference/errors"],
      ["dure", "reference/dure"],
      ["dure/team", "reference/team"],
      ["dure/slots", "reference/slots"],
      ["dure/channels", "reference/channels"],
      ["dure/client", "reference/client"],
      ["dure/react", "reference/react"],
      ["dure/korean", "reference/korean"],
      ["dure/compat", "reference/compat"],
      ["@dure/testing", "reference/testing"],
    ],
  },
  {
    title: "How it is made",
    pages: [
      ["Architecture", "ARCHITECTURE"],
      ["What it must do", "spec/index"],
      ["Why it is so", "decisions/index"],
      ["Changes", "CHANGELOG"],
      ["Contributing", "CONTRIBUTING"],
    ],
  },
];

export const KOREAN: readonly Group[] = [
  {
    title: "시작하기",
    pages: [
      ["dure란", "ko/index"],
      ["첫걸음", "ko/first-steps"],
    ],
  },
  {
    title: "만들기 (영어)",
    pages: [
      ["레시피", "guides/recipes"],
      ["파일로 쓰는 에이전트", "guides/agents"],
      ["서비스 만들기", "guides/write-a-service"],
      ["빈칸을 채우는 서비스", "guides/slot-service"],
      ["사람이 쓴 말 이해하기", "guides/understanding"],
      ["모델", "guides/models"],
      ["꼭 한 번 하기", "guides/effects"],
      ["방", "guides/rooms"],
      ["작업", "guides/jobs"],
      ["계획", "guides/plans"],
      ["MCP 서버의 도구", "guides/mcp"],
    ],
  },
  {
    title: "연결하고 결정하기 (영어)",
    pages: [
      ["Discord", "guides/discord"],
      ["Slack", "guides/slack"],
      ["Telegram, Teams와 그 밖", "guides/chat-platforms"],
      ["다른 클라이언트", "guides/protocols"],
      ["문서 찾기", "guides/knowledge"],
      ["평가", "guides/evals"],
      ["결정 요청", "guides/escalations"],
      ["예산", "guides/budgets"],
      ["내 서버 안에서", "guides/embedding"],
    ],
  },
  {
    title: "운영하기 (영어)",
    pages: [
      ["운영", "guides/operate"],
      ["한도", "guides/limits"],
      ["관찰", "guides/observability"],
      ["프록시 뒤에서", "guides/reverse-proxy"],
      ["보안", "security"],
      ["신뢰성", "reliability"],
    ],
  },
  {
    title: "참고 (영어)",
    pages: [
      ["명령", "reference/cli"],
      ["설정", "reference/configuration"],
      ["HTTP", "reference/http"],
      ["이벤트", "reference/events"],
      ["오류", "reference/errors"],
    ],
  },
];
