/** What a scripted turn does, step by step; payloads are written as they stand on the wire. */
export type Step =
  | { readonly do: "wait"; readonly ms: number }
  /** Waits until the test opens the gate of this name. */
  | { readonly do: "gate"; readonly name: string }
  | { readonly do: "event"; readonly type: string; readonly data: unknown }
  /** Streams text in small tokens; every `chunk` tokens one is stored. */
  | { readonly do: "say"; readonly text: string; readonly chunk?: number }
  /** The process dies here: text that is not stored yet is gone, the agent begins again. */
  | { readonly do: "crash"; readonly agent: string; readonly label: string }
  | { readonly do: "done"; readonly data: Record<string, unknown> };

export interface Request {
  readonly session_id: string;
  readonly message: string;
  readonly service?: string;
  readonly slots?: Record<string, unknown>;
  readonly confirm_id?: string;
}

export interface Slots {
  target?: string;
  amount?: number;
  memo?: string;
  transfer_date?: string;
}

/** State of the small transfer service that the double plays. */
export interface State {
  stage: string;
  slots: Slots;
  meta: { slot_errors: Record<string, string> };
  queue: Slots[];
}

export function freshState(): State {
  return { stage: "INIT", slots: {}, meta: { slot_errors: {} }, queue: [] };
}

/** The steps of the turn that answers `request`; changes `state` as the service would. */
export function scriptFor(request: Request, state: State): Step[] {
  const { message } = request;
  if (message.includes("마크다운")) return speak("answer", "답변 작성 중", MARKDOWN, state);
  if (message.includes("길게")) return speak("answer", "답변 작성 중", LONG, state, "long");
  if (message.includes("죽었다")) {
    return [
      start("answer", "답변 작성 중"),
      { do: "say", text: "처음에 쓰던 이 문장은 사라집니다.", chunk: 4 },
      { do: "gate", name: "crash" },
      { do: "crash", agent: "answer", label: "답변 작성 중" },
      { do: "say", text: "다시 시작해서 끝까지 답했습니다." },
      llmDone("다시 시작해서 끝까지 답했습니다."),
      agentDone("answer", "답변 작성 중", 340),
      finish("다시 시작해서 끝까지 답했습니다.", state, [trace("answer", 340)]),
    ];
  }
  if (message.includes("없는 모델")) {
    const error = { code: "MODEL_UNAVAILABLE", message: "The model is away.", retry: true };
    const text = "모델에 닿지 못했어요.";
    const _trace = { total_elapsed_ms: 60_000, agents: [] };
    return [{ do: "done", data: { message: text, next_action: "ASK", error, _trace } }];
  }
  if (message.includes("그려")) {
    const files = [{ id: "file_1", name: "그림.png", type: "image/png", bytes: 70 }];
    return [finish("그렸어요.", state, [trace("answer", 20)], { files })];
  }
  if (message.includes("거절")) {
    const message =
      "OpenAI에서 API 키를 거절했어요. OPENAI_API_KEY 값을 확인하고 다시 시도해 주세요.";
    const words = "openai:gpt-x failed (HTTP 401): Incorrect API key provided.";
    const error = { code: "MODEL_UNAUTHORIZED", message: words, details: {} };
    const refused = { success: false, error: error.code, tokens_in: 0, tokens_out: 0 };
    const _trace = { total_elapsed_ms: 90, agents: [{ ...trace("answer", 80), ...refused }] };
    return [{ do: "done", data: { message, next_action: "ASK", error, _trace } }];
  }
  if (message.includes("실패")) {
    return [
      start("intent", "의도 파악 중"),
      agentDone("intent", "의도 파악 중", 84),
      start("bank", "은행에 묻는 중"),
      { do: "wait", ms: 15 },
      {
        do: "event",
        type: "AGENT_START",
        data: { agent: "bank", label: "은행에 묻는 중", attempt: 2 },
      },
      { do: "wait", ms: 15 },
      {
        do: "event",
        type: "AGENT_START",
        data: { agent: "bank", label: "은행에 묻는 중", attempt: 3 },
      },
      {
        do: "event",
        type: "AGENT_DONE",
        data: {
          agent: "bank",
          label: "은행에 묻는 중",
          success: false,
          error: "LLM_TIMEOUT",
          retry_count: 2,
          elapsed_ms: 2140,
        },
      },
      {
        do: "done",
        data: {
          message: "답이 너무 늦어서 멈췄어요. 잠시 뒤에 다시 보내 주세요.",
          next_action: "ASK",
          error: { code: "LLM_TIMEOUT", message: "The model did not answer within 2 s." },
          _trace: {
            total_elapsed_ms: 2224,
            agents: [
              trace("intent", 84),
              { ...trace("bank", 2140), success: false, retries: 2, error: "LLM_TIMEOUT" },
            ],
          },
        },
      },
    ];
  }
  if (request.slots !== undefined) return edit(request, state);
  if (request.confirm_id !== undefined || state.stage === "READY") return decide(message, state);
  if (/보내|이체|송금/.test(message)) return fill(message, state);
  return speak("answer", "답변 작성 중", `${message}: 잘 받았어요. 무엇을 도와드릴까요?`, state);
}

function fill(message: string, state: State): Step[] {
  if (message.includes("세 명")) {
    state.slots = { target: "엄마", amount: 50_000 };
    state.queue = [
      { target: "민지", amount: 30_000, memo: "점심값" },
      { target: "준호", amount: 12_000 },
    ];
  } else state.slots = { target: "엄마", amount: 50_000 };
  state.stage = "READY";
  return [
    start("intent", "의도 파악 중"),
    { do: "wait", ms: 10 },
    agentDone("intent", "의도 파악 중", 92),
    start("slots", "내용 정리 중"),
    { do: "wait", ms: 10 },
    agentDone("slots", "내용 정리 중", 418, "READY"),
    ...progress(state, 1),
    ...askConfirm(state, [trace("intent", 92), trace("slots", 418)]),
  ];
}

function edit(request: Request, state: State): Step[] {
  const errors: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.slots ?? {})) {
    if (name === "amount" && !(Number(value) >= 1)) errors["amount"] = "1원 이상이어야 해요.";
    else Object.assign(state.slots, { [name]: name === "amount" ? Number(value) : value });
  }
  state.meta.slot_errors = errors;
  return askConfirm(state, []);
}

function decide(message: string, state: State): Step[] {
  if (message.includes("취소")) {
    state.stage = "CANCELLED";
    const step = finish("이체를 취소했어요. 보낸 돈은 없습니다.", state, []);
    Object.assign(state, freshState());
    return [step];
  }
  const receipt = {
    status: "booked",
    transaction_id: `TX-${1000 + state.queue.length}`,
    ...state.slots,
  };
  const total = state.queue.length + 1;
  state.stage = "EXECUTED";
  const steps: Step[] = [
    start("execute", "이체 실행 중"),
    { do: "wait", ms: 10 },
    agentDone("execute", "이체 실행 중", 231, "EXECUTED"),
  ];
  const next = state.queue.shift();
  if (next !== undefined && total > 1) {
    Object.assign(state, { stage: "READY", slots: next });
    return [
      ...steps,
      ...progress(state, 3 - state.queue.length),
      ...askConfirm(state, [trace("execute", 231)], { receipt }),
    ];
  }
  const text = `${receipt.target}님에게 ${receipt.amount?.toLocaleString("ko")}원을 보냈어요.`;
  const end = finish(text, state, [trace("execute", 231)], { receipt });
  Object.assign(state, freshState());
  return [...steps, end];
}

function askConfirm(state: State, agents: object[], extra: Record<string, unknown> = {}): Step[] {
  const { target, amount } = state.slots;
  const text = `**${target}**님에게 **${amount?.toLocaleString("ko")}원**을 보낼까요?`;
  return [
    start("interaction", "확인 문구 작성 중"),
    { do: "say", text },
    llmDone(text, "CONFIRM"),
    agentDone("interaction", "확인 문구 작성 중", 655),
    {
      do: "done",
      data: {
        message: text,
        next_action: "CONFIRM",
        ui_hint: {
          buttons: ["확인", "취소"],
          confirm_id: `c-${JSON.stringify(state.slots).length}`,
        },
        state_snapshot: structuredClone(state),
        slots_card: { ...state.slots },
        _trace: { total_elapsed_ms: 1165, agents: [...agents, trace("interaction", 655)] },
        ...extra,
      },
    },
  ];
}

function speak(agent: string, label: string, text: string, state: State, gate?: string): Step[] {
  const half = Math.ceil(text.length / 2);
  const words: Step[] =
    gate === undefined
      ? [{ do: "say", text }]
      : [
          { do: "say", text: text.slice(0, half) },
          { do: "gate", name: gate },
          { do: "say", text: text.slice(half) },
        ];
  return [
    start(agent, label),
    ...words,
    llmDone(text),
    agentDone(agent, label, 512),
    finish(text, state, [trace(agent, 512)]),
  ];
}

function progress(state: State, index: number): Step[] {
  const total = state.queue.length + index;
  return total < 2
    ? []
    : [{ do: "event", type: "TASK_PROGRESS", data: { index, total, slots: { ...state.slots } } }];
}

function start(agent: string, label: string): Step {
  return { do: "event", type: "AGENT_START", data: { agent, label } };
}

function llmDone(message: string, action?: string): Step {
  return {
    do: "event",
    type: "LLM_DONE",
    data: { message, ...(action === undefined ? {} : { action }) },
  };
}

function agentDone(agent: string, label: string, elapsed: number, stage?: string): Step {
  const data = {
    agent,
    label,
    success: true,
    retry_count: 0,
    elapsed_ms: elapsed,
    ...(stage === undefined ? {} : { stage }),
  };
  return { do: "event", type: "AGENT_DONE", data };
}

function finish(
  message: string,
  state: State,
  agents: object[],
  extra: Record<string, unknown> = {},
): Step {
  const total = agents.reduce(
    (sum: number, agent) => sum + (agent as { elapsed_ms: number }).elapsed_ms,
    0,
  );
  const rest = {
    next_action: "DONE",
    state_snapshot: structuredClone(state),
    _trace: { total_elapsed_ms: total, agents },
    ...extra,
  };
  return { do: "done", data: { message, ...rest } };
}

function trace(
  agent: string,
  elapsed: number,
): {
  agent: string;
  elapsed_ms: number;
  success: boolean;
  retries: number;
  error: string | null;
  tokens_in: number;
  tokens_out: number;
} {
  return {
    agent,
    elapsed_ms: elapsed,
    success: true,
    retries: 0,
    error: null,
    tokens_in: elapsed * 2,
    tokens_out: Math.round(elapsed / 6),
  };
}

const LONG = Array.from(
  { length: 12 },
  (_, index) => `${index + 1}번째 문장은 연결이 끊겨도 빠지거나 두 번 나오지 않아야 합니다.`,
).join(" ");

const MARKDOWN = `## 한도 안내

하루에 보낼 수 있는 금액은 **5,000만 원**입니다. 자세한 내용은 [이용 약관](https://example.com/terms)을 보세요.

- 한 번에 \`1,000만 원\`까지
- 자정이 지나면 한도가 다시 채워집니다

> 한도를 바꾸려면 신분증이 필요해요.

\`\`\`json
{ "limit": 50000000, "per": "day" }
\`\`\`

![추적 그림](https://tracker.example/pixel.png)<script>alert(1)</script>`;
