import type { EscalationSeverity, EscalationStatus, JobStatus } from "../../client/index.ts";
import type { WorkWords } from "./work.en.ts";

const JOB_STATUSES = {
  PENDING: "기다림",
  RUNNING: "진행 중",
  COMPLETED: "마침",
  FAILED: "실패",
  CANCELLED: "취소됨",
  ABANDONED: "그만둠",
} satisfies Record<JobStatus, string>;

const OUTCOMES: WorkWords["job"]["outcomes"] = {
  max_turns: "정해진 턴을 다 썼어요",
  explicit_skip: "에이전트가 끝냈어요",
  conclusion: "서로 할 말을 다 했어요",
  repetition: "에이전트가 같은 말을 되풀이했어요",
  empty_reply: "에이전트가 더 할 말이 없었어요",
  minimal_content: "답이 너무 짧아서 이어 가지 않았어요",
  no_reply: "맡은 에이전트가 제때 답하지 않았어요",
  blocked: "맡은 에이전트가 너무 오래 바빴어요",
  turn_timeout: "한 턴이 너무 오래 걸렸어요",
  agent_error: "에이전트에서 오류가 났어요",
  agent_removed: "에이전트가 팀에서 빠졌어요",
  budget: "예산을 다 썼어요",
  cancelled: "취소했어요",
  stale: "너무 오래 나아가지 않았어요",
  resume_limit: "나아가지 못한 채 너무 자주 다시 시작했어요",
};

const ESCALATION_STATUSES: Readonly<Record<string, string>> = {
  open: "기다림",
  resolved: "결정됨",
  dismissed: "닫힘",
} satisfies Record<EscalationStatus, string>;

const SEVERITIES: Readonly<Record<string, string>> = {
  critical: "매우 급함",
  high: "급함",
  medium: "보통",
  low: "낮음",
} satisfies Record<EscalationSeverity, string>;

export const WORK_KO: WorkWords = {
  job: {
    status: (status) => JOB_STATUSES[status],
    outcomes: OUTCOMES,
    none: "이런 일이 없어요. 에이전트는 ask_agent로, 사람은 이렇게 맡길 수 있어요: dure jobs ask AGENT TARGET MESSAGE",
    head: ["id", "맡긴 때", "상태", "끝난 까닭", "누가 누구에게", "턴", "메시지"],
    outcome: (outcome) => OUTCOMES[outcome],
    waitsFor: (what) => (what === "person" ? "사람의 답을 기다림" : `${what}을(를) 기다림`),
    goesOn: (id) => `계속 진행돼요. 지켜보려면: dure jobs watch ${id}`,
    noAnswer: (id) => `아직 답이 없고, 일은 이어져요. 지켜보려면: dure jobs watch ${id}`,
    cancelled: (id) => `${id}: 여기서 나온 일까지 모두 취소했어요`,
    retried: (turn, id) =>
      `끝난 턴에 이어 ${turn}번째 턴부터 다시 이어 가요. 지켜보려면: dure jobs watch ${id}`,
    heard: (id) => `${id}: 다음 턴이 들어요`,
    purged: (count, age) => `${age}보다 오래전에 끝난 일 ${count}개를 지웠어요`,
    audited: (turn, resumes) => `${turn}번째 턴, ${resumes}번 다시 시작함`,
    why: {
      stuck: "한동안 나아가지 않았어요. 어디인지는 dure jobs show로 보고, 끝내려면 취소해 주세요.",
      orphaned: "지금은 이끄는 서버가 없어요. 10초 안에 다른 서버가 이어받아요.",
      "resumed-often": "자주 다시 시작했어요. 무언가 서버를 끄거나, 일이 나아가지 못해요.",
    },
    inOrder: "모든 일이 잘 진행되고 있어요",
    resumed: (turn, most) => `서버를 다시 켠 뒤 ${most}턴 가운데 ${turn}번째 턴부터 이어서 해요`,
    waits: "사람의 답을 기다려요: dure escalations",
    turns: (count) => `턴 ${count}개`,
    tokens: (count) => `토큰 ${count}개`,
    seconds: (value) => `${value}초`,
    noWords: "(말이 없음)",
    speaks: (author, text) => `${author} 님이 한 말: ${text}`,
    busy: (agent) => `${agent} 에이전트가 다른 일을 먼저 하고 있어요`,
    waited: "사람의 답을 기다려요: dure escalations",
    isAt: (agent, turn, most) =>
      `${agent} 에이전트가 ${most}턴 가운데 ${turn}번째 턴을 하고 있어요`,
  },

  room: {
    posted: (place, id) => `${place}에 썼어요: ${id}`,
    open: (place) => `${place}: 다시 열었어요`,
    states: { closed: "닫힘", suspended: "멈춤", archived: "보관됨" },
    paused: (agent) => `${agent} 에이전트를 멈췄어요. 새로 모델을 부르지 않고, 맡은 일은 기다려요`,
    goesOn: (agent) => `${agent} 에이전트가 기다리던 일을 이어서 해요`,
    nothingRan: (place) => `${place}에서 하던 것이 없어요`,
    stopped: (place, { answers, requests, jobs }) =>
      `${place}에서 하던 것을 끝냈어요: 답 ${answers}개, 부탁 ${requests}개, 일 ${jobs}개`,
  },

  escalation: {
    status: (status) => ESCALATION_STATUSES[status] ?? status,
    severity: (severity) => SEVERITIES[severity] ?? severity,
    noneOpen: "결정을 기다리는 것이 없어요",
    none: (status) => `이런 상태의 확인 요청이 없어요: ${status}`,
    more: (count, cursor) => `가장 새로운 ${count}개예요. 더 있어요: --cursor ${cursor}`,
    gravest: ", 가장 급한 것: --severity critical",
    raised: (severity, type, { status, at }) => `${severity} ${type}, ${status}, 생긴 때 ${at}`,
    facts: { with: "지금 맡은 쪽", until: "기한", approves: "승인할 사람" },
    approves: (role, two) =>
      `${role === null ? "" : `${role} 역할인 사람 `}${two ? "두 명" : "한 명"}`,
    oneOfTwo: (by, at) => `2명 가운데 1명이 승인했어요(${by} 님, ${at})`,
    keptYes: (id) => `${id}: 승인을 받아 뒀어요(2명 가운데 1명). 다른 한 사람이 더 승인해야 해요`,
    refused: {
      role: "이 역할이 아니어서 승인할 수 없어요",
      given: "이미 승인했어요. 다른 한 사람이 더 승인해야 해요",
    },
    firstYes: (by) => `2명 가운데 1명이 승인했어요(${by} 님)`,
    with: {
      worker: "아직 사람에게 알리지 않았어요",
      operator: "담당 에이전트",
      person: "사람",
    },
    goesOn: (turn) => `, 턴 ${turn}이(가) 이어져요`,
    dismissed: (id) => `${id}: 닫았어요`,
    watching: "지켜보고 있어요.",
    watchingNone: "결정을 기다리는 것이 없어요. 지켜보고 있어요.",
    answers: (answers) => `고를 수 있는 답: ${answers}`,
    ended: ({ status, value, by, note }) => {
      const who = by === null ? "" : `(${by} 님)`;
      return `${status}: ${value}${who}${note === undefined ? "" : `: "${note}"`}`;
    },
    isWith: (step) =>
      ({ worker: "작업자", operator: "담당 에이전트", person: "사람" })[step] + "에게 넘어갔어요",
    decided: (value, by) => (by === undefined ? `답: ${value}` : `${by} 님의 답: ${value}`),
    closed: (value, by) => `${by === undefined ? "" : `${by} 님이 `}닫았어요(${value})`,
  },

  schedule: {
    none: "예약이 없어요. 설정의 `schedules`에 적으면 돼요",
    head: ["이름", "규칙", "하는 일", "다음", "지난번"],
    runs: (name) => `${name}: 실행하고 있어요. 결과는 dure schedules list`,
    paused: (name) => `${name}: 멈춰 뒀어요. 다시 켜려면 dure schedules resume ${name}`,
    goesOn: (name, next) => `${name}: 다시 켰어요. 다음: ${next}`,
    pausedBy: (by) => `${by} 님이 멈춰 둠`,
    never: "없음",
  },

  document: {
    marks: { added: "더함  ", refused: "거절  ", removed: "뺌    " },
    counts: (base, { added, same, removed, failed }) =>
      `${base}: 더함 ${added}, 그대로 ${same}, 뺌 ${removed}, 거절 ${failed}`,
    noBase: "팀에 지식 모음이 없어요. 설정에 이렇게 적어 주세요: `knowledge: { handbook: {} }`",
    base: (name, documents, parts) => `${name}  문서 ${documents}개, 조각 ${parts}개`,
    head: ["출처", "제목", "조각"],
    vectors: (model, way, missing) =>
      `뜻으로 찾아요(${model}): ${way}${missing === 0 ? "" : `, 벡터가 아직 없는 조각 ${missing}개`}`,
    exactly: (because) => `하나씩 비교, ${because}`,
    nothing: (base) => `${base}에 이것에 대한 글이 없어요.`,
  },
};
