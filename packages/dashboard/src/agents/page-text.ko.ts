import type { Words } from "../words.ts";

/** Words of the page of one agent; fetched with it. */
export const ko = {
  toList: "에이전트 목록",
  tools: "도구",
  noTools: "쓸 수 있는 도구가 없어요.",
  ownTools: "팀과 서비스의 도구",
  mcpTools: (server: string) => `MCP 서버 ${server}의 도구`,
  once: "한 번만 실행",
  /** What the tools that every team has do. */
  known: {
    ask_agent: "다른 에이전트에게 일을 맡겨요.",
    cancel_job: "자기가 맡긴 일을 취소해요.",
    collaborate: "스레드를 열어 다른 에이전트와 함께 해요.",
    resolve_escalation: "자기에게 온 확인 요청에 답해요.",
    finish: "맡은 일을 끝냈다고 알려요.",
    end_conversation: "주고받기를 마쳐요.",
    stay_silent: "이번에는 말하지 않아요.",
    leave: "방이나 스레드에서 나가요.",
    remember: "기억해 둘 한 줄을 제안해요. 사람이 허락하면 MEMORY.md에 남아요.",
  } as Readonly<Record<string, string>>,
  recent: "최근에 한 일",
  rooms: "방에서 답한 것",
  noRooms: "최근 7일 동안 방에서 답한 것이 없어요.",
  jobs: "맡기거나 맡은 일",
  noJobs: "맡기거나 맡은 일이 없어요.",
  asked: (from: string, to: string) => `${from} → ${to}`,
  chats: "대화",
  noChats: "최근 대화가 없어요.",
  ports:
    "계획의 포트(작업 단위)는 코딩 에이전트가 맡아요. 포트마다 누가 일했는지는 실행 화면에 있어요.",
  toPlans: "계획 보기",
  ofBackground: "맡겨 둔 일의 결과",
  outcomes: {
    answered: "답했어요",
    asked: "사람에게 물었어요",
    silent: "말하지 않기로 했어요",
    ended: "대화를 마쳤어요",
    left: "방에서 나갔어요",
    empty: "할 말이 없었어요",
    stopped: "멈췄어요",
    failed: "답하지 못했어요",
    refused: "받아들이지 않았어요",
    place_closed: "방이 닫혔어요",
  } as Readonly<Record<string, string>>,
  files: "이 에이전트를 만드는 파일",
  filesHint:
    "팀 폴더에 있는 파일이에요. 여기서는 읽기만 해요. 편집기로 고치고 `dure reload`를 실행하면 다음 답부터 쓰여요. 바뀐 이력은 팀 폴더의 Git에 남겨 두면 안전해요.",
  noFiles: "이 에이전트는 파일이 없어요. 설정에 적힌 대로 움직여요.",
  cut: "앞부분만 보여요. 나머지는 파일에 있어요.",
  gone: "이 에이전트를 찾을 수 없어요",
  goneHint: "이름이 바뀌었거나 설정에서 빠졌을 수 있어요.",
  loadFailed: "에이전트를 불러오지 못했어요",
  loading: "불러오는 중",
};

export type AgentPageText = Words<typeof ko>;
