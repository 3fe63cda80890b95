import type { CheckWords } from "./check.en.ts";

/** The first word of a finding's name, or all of it. */
const ABOUT: Readonly<Record<string, string>> = {
  environment: "환경 변수",
  config: "설정",
  service: "서비스",
  agents: "에이전트",
  agent: "에이전트",
  plan: "계획",
  model: "모델",
  token: "토큰",
  role: "역할",
  port: "포트",
  rooms: "방",
  mcp: "MCP",
  skills: "스킬",
  schedule: "예약",
  hook: "훅",
  database: "데이터베이스",
  access: "접속",
  "vectors of documents": "문서의 벡터",
  isolation: "격리",
  "worker memory": "작업자의 메모리",
  "worker CPU": "작업자의 CPU",
  "worker disk": "작업자의 디스크",
  "data folder": "데이터 폴더",
  disk: "디스크",
  node: "Node",
  git: "git",
  discord: "Discord",
  slack: "Slack",
};

const UNITS: Readonly<Record<string, string>> = {
  ms: "ms",
  CPUs: "개(CPU)",
  "per minute": "(1분마다)",
  agents: "에이전트",
  bytes: "바이트",
  calls: "번",
  connections: "연결",
  exchanges: "번",
  levels: "단계",
  messages: "메시지",
  records: "기록",
  slots: "슬롯",
  streams: "스트림",
  threads: "스레드",
  tokens: "토큰",
  turns: "턴",
  values: "값",
};

export const CHECK_KO: CheckWords = {
  marks: { ok: "정상", warn: "주의", fail: "문제" },
  configuration: "설정",
  problems: (count) => `고칠 곳 ${count}군데`,
  services: (count) =>
    count > 0
      ? `서비스 ${count}개를 확인했어요`
      : "확인한 서비스가 없어요: `services/`에 폴더가 없고, 설정에서 불러오는 서비스도 없어요",
  looking: "팀과 모델, 이 컴퓨터를 살펴보고 있어요…",
  nothing: "시작하는 데 걸리는 것이 없어요.",
  verdict: { fail: (count) => `문제 ${count}개`, warn: (count) => `주의 ${count}개` },
  first: (told, first) => `${told}. 먼저 볼 것: ${first}`,
  about: (name) => {
    const [first = "", ...rest] = name.split(" ");
    return ABOUT[name] ?? [ABOUT[first] ?? first, ...rest].join(" ");
  },
  unit: (unit) => UNITS[unit] ?? unit,
  none: "없음",
};
