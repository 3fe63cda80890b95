/** Why an agent answers a message, or only records it, in words. Who decides: `rooms/decide/role.ts`. */
export const ROLE_REASONS = {
  "place-not-allowed": { ko: "허용된 채널이 아니에요.", en: "This place is not on the allowlist." },
  "seen-before": { ko: "이미 받은 메시지예요.", en: "This message was seen before." },
  "own-message": { ko: "자기가 쓴 메시지예요.", en: "It wrote this message itself." },
  "sink-message": {
    ko: "대화 기록용 메시지예요.",
    en: "This message only reports a conversation.",
  },
  notice: { ko: "두레가 남긴 안내예요.", en: "This is a notice of dure." },
  "foreign-bot": {
    ko: "이 팀에 속하지 않은 봇의 메시지예요.",
    en: "A bot from outside of the team wrote it.",
  },
  "direct-message": {
    ko: "이 에이전트에게 직접 보낸 메시지예요.",
    en: "It was sent to this agent directly.",
  },
  "direct-with-another": {
    ko: "다른 에이전트와 나누는 일대일 대화예요.",
    en: "This is a direct conversation with another agent.",
  },
  "place-rests": {
    ko: "에이전트끼리의 대화가 쉬는 중이에요. 사람이 말하거나 협업을 요청하면 다시 시작해요.",
    en: "The agents' talk rests here until a person writes or an agent asks for collaboration.",
  },
  "place-suspended": {
    ko: "에이전트 메시지가 너무 많아 잠시 멈췄어요.",
    en: "The agents' talk is suspended here: there were too many messages.",
  },
  mentioned: { ko: "이 에이전트가 멘션되었어요.", en: "This agent is mentioned." },
  "others-mentioned": { ko: "다른 에이전트가 멘션되었어요.", en: "Other agents are mentioned." },
  "to-a-person": { ko: "다른 사람에게 한 말이에요.", en: "It speaks to another person." },
  participant: { ko: "이 스레드의 참여자예요.", en: "It takes part in this thread." },
  "not-in-thread": { ko: "이 스레드의 참여자가 아니에요.", en: "It takes no part in this thread." },
  "thread-not-open": { ko: "이 스레드는 열려 있지 않아요.", en: "This thread is not open." },
  "default-agent": {
    ko: "이 채널의 기본 담당이에요.",
    en: "It is the default agent of this channel.",
  },
  missed: {
    ko: "자리를 비운 사이에 온 오래된 메시지라 기록만 했어요.",
    en: "It came while the agent was away and is too old to answer.",
  },
  "not-addressed": {
    ko: "이 에이전트에게 한 말이 아니에요.",
    en: "The message does not address this agent.",
  },
} as const satisfies Record<string, { readonly ko: string; readonly en: string }>;

/** A key of `ROLE_REASONS`. */
export type RoleReason = keyof typeof ROLE_REASONS;
