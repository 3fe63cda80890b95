import type { SentenceForm } from "../kernel/sentence-forms.ts";

/** Refusals of agents, their files, cards, models and tools. */
export const AGENT_SENTENCES_KO: readonly SentenceForm[] = [
  // --- skills
  ['There is no skill "{0}".', "{0}이라는 스킬이 없어요."],
  ["Skills are: {0}.", "쓸 수 있는 스킬: {0}"],
  ['The skill {0} has no file "{1}".', "{0} 스킬에 {1} 파일이 없어요."],
  [
    "Load the skill {0} without a file: it lists its files.",
    "파일 이름 없이 {0} 스킬을 불러오면 파일 목록을 볼 수 있어요.",
  ],
  ["{0} of the skill {1} is no text.", "{1} 스킬의 {0} 파일은 글이 아니에요."],
  ["Only UTF-8 text can be read.", "UTF-8 글만 읽을 수 있어요."],

  // --- agents and their files
  ["{0} is a link, or stands behind one.", "{0}은(는) 다른 곳을 가리키는 링크예요."],
  [
    "Change the file that the link leads to, and run dure reload.",
    "링크가 가리키는 파일을 고치고 `dure reload`를 실행해 주세요.",
  ],
  ["{0} cannot be read: {1}.", "{0} 파일을 읽을 수 없어요: {1}"],
  ["Look at the file at the machine.", "서버가 있는 컴퓨터에서 파일을 확인해 주세요."],
  ["{0} was not changed: {1}.", "{0} 파일을 바꾸지 못했어요: {1}"],
  [
    "May the user who runs dure write to the team's folder, and has the disk room?",
    "dure를 실행하는 사용자가 팀 폴더에 쓸 수 있는지, 디스크에 자리가 있는지 확인해 주세요.",
  ],
  [
    "{0} was given in code, not by a configuration file.",
    "{0} 에이전트는 설정 파일이 아니라 코드에 적혀 있어요.",
  ],
  ["Change the code, and start the team anew.", "코드를 고치고 팀을 다시 시작해 주세요."],
  [
    "{0} answers through a service, which has its prompts.",
    "{0} 에이전트는 서비스로 답하고, 프롬프트도 서비스에 있어요.",
  ],
  [
    "Change the files of the service, and run dure reload.",
    "서비스의 파일을 고치고 `dure reload`를 실행해 주세요.",
  ],
  [
    "Other machines have files of {0} of their own.",
    "다른 컴퓨터에도 {0} 에이전트의 파일이 있어요.",
  ],
  [
    "Change the file where all machines get it from, and run dure reload on each.",
    "모든 컴퓨터가 받아 가는 곳에서 고치고, 컴퓨터마다 `dure reload`를 실행해 주세요.",
  ],
  [
    "{0} was changed since it was read; nothing was saved.",
    "{0} 파일이 열어 본 뒤에 바뀌었어요. 아무것도 저장하지 않았어요.",
  ],
  [
    "Read it again, and make the change upon what it says now.",
    "다시 읽고 지금 내용 위에 고쳐 주세요.",
  ],
  [
    "{0} names {1}: the team's key would be sent there.",
    "{0}에 새 모델 주소 {1}이(가) 있어요. 저장하면 팀의 키가 그곳으로 가요.",
  ],
  [
    "Write the address into the file at the machine.",
    "새 주소는 서버가 있는 컴퓨터에서 파일에 직접 적어 주세요.",
  ],
  ["There was no {0} before change {1}.", "{1}번 변경 전에는 {0} 파일이 없었어요."],
  [
    "Save an empty text, or remove the file at the machine.",
    "빈 글로 저장하거나 서버가 있는 컴퓨터에서 파일을 지워 주세요.",
  ],
  ["{0} has {1} characters; {2} are allowed.", "{0} 글이 {1}자예요. {2}자까지 적을 수 있어요."],
  [
    "It is read with every model call; keep what matters.",
    "모델을 부를 때마다 읽으니 중요한 것만 남겨 주세요.",
  ],
  [
    "Node {0} cannot read modules anew.",
    "이 서버의 Node {0}(으)로는 파일을 다시 읽을 수 없어요. 서버를 다시 시작하거나 Node 24로 실행해 주세요.",
  ],
  [
    "{0}, but no agent of the team answers through this service.",
    "이 서비스로 답하는 에이전트가 팀에 없어요: {0}",
  ],
  [
    "{0}: {1} answer through this service, and the session does not say which of them speaks.",
    "이 서비스로 답하는 에이전트가 {1}이라 누가 말하는지 알 수 없어요: {0}",
  ],
  ["The work {0} is gone with its place.", "일 {0}은(는) 방과 함께 없어졌어요."],
  ["The agent {0} is no longer in the team.", "{0} 에이전트가 팀에서 빠졌어요."],
  ["The agent {0} is paused and does not answer.", "{0} 에이전트는 멈춰 있어서 답하지 않아요."],
  ["The agent {0} is paused.", "{0} 에이전트가 멈춰 있어요."],
  [
    "Let it go on first: no model call of it begins.",
    "에이전트 화면에서 다시 시작해 주세요. 그때까지 모델을 부르지 않아요.",
  ],
  ['The agent {0} has no tool "{1}".', "{0} 에이전트에는 {1} 도구가 없어요."],
  ["Its tools are: {0}.", "있는 도구: {0}"],
  ['The service {0} has no agent "{1}".', "{0} 서비스에는 {1} 에이전트가 없어요."],
  ["Agents are: {0}.", "있는 에이전트: {0}"],
  [
    'The router of {0} chose "{1}", which is none of its services.',
    "{0}의 라우터가 없는 서비스 {1}을(를) 골랐어요.",
  ],
  ["Services are: {0}.", "있는 서비스: {0}"],
  ["No process has the service {0}.", "{0} 서비스를 실행하는 서버가 없어요."],
  [
    "Start a process that has it, or give its sessions another one.",
    "그 서비스를 가진 서버를 켜 주세요.",
  ],
  ["The service {0} of the hook {1} is not here.", "훅 {1}에 적힌 {0} 서비스가 이 서버에 없어요."],
  ["The remote service {0} is not here.", "원격 서비스 {0}이(가) 이 서버에 없어요."],
  [
    "The tool {0} belongs to a team, and this service runs without one.",
    "{0} 도구는 팀의 것인데, 이 서비스는 팀 없이 실행 중이에요.",
  ],
  ["{0} answers through the service {1}.", "{0} 에이전트는 {1} 서비스로 답해요."],
  ["{0} has no account on {1}.", "{0} 에이전트는 {1}에 계정이 없어요."],
  [
    'The team has no knowledge base "{0}".',
    "팀에 {0} 지식 모음이 없어요. 설정의 `knowledge`에 적어 주세요.",
  ],
  [
    "The base {0} has {1} documents in {2} parts, and this one adds {3}.",
    "지식 모음 {0}에 문서 {1}개(조각 {2}개)가 있고, 이 문서가 {3}개를 더해요.",
  ],
  [
    "A base has at most {0} documents and {1} parts. Split it in two.",
    "지식 모음 하나에는 문서 {0}개, 조각 {1}개까지 들어가요. 둘로 나눠 주세요.",
  ],
  [
    'There is no MCP server "{0}".',
    "`{0}`(이)라는 MCP 서버가 없어요. 팀 설정의 `mcp`를 확인해 주세요.",
  ],
  [
    'The agent {0} names the MCP server "{1}", and the team has none.',
    "{0} 에이전트가 쓰는 MCP 서버 {1}이(가) 팀 설정에 없어요.",
  ],
  ["{0} gave no answer to {1}: {2}", "MCP 서버 {0}이(가) {1}에 답하지 않았어요: {2}"],
  [
    "{0} asks something in the middle of {1}, and gets no answer: {2}",
    "MCP 서버 {0}이(가) {1}을(를) 하다가 물었는데 답하지 못했어요: {2}",
  ],
  [
    'With questions: "defaults" in its settings, forms are answered with their defaults.',
    '그 서버의 설정에 `questions: "defaults"`를 적으면 서버가 정해 둔 기본값으로 답해요.',
  ],

  // --- what an agent's card says
  [
    '"{0}" names the provider {1} but no model.',
    "`{0}`에 모델이 없어요. `{1}:모델`처럼 적어 주세요.",
  ],
  [
    '"{0}" names no provider that is known.',
    "`{0}`에 적은 모델 제공자를 몰라요. `openai:모델`처럼 적어 주세요.",
  ],
  [
    '"{0}" is no budget.',
    "`{0}`은(는) 예산이 아니에요. `20 USD`나 `50000 tokens`처럼 적어 주세요.",
  ],
  ['There is no offline model "{0}".', "`{0}`(이)라는 오프라인 모델이 없어요."],
  [
    "The model {0}:{1} has no address.",
    "{0}:{1} 모델의 주소가 없어요. 카드의 `llm.baseUrl`에 적어 주세요.",
  ],
  [
    '"{0}" is no http address for {1}.',
    "`{0}`은(는) {1}의 주소가 아니에요. `https://`까지 적어 주세요.",
  ],
  [
    "A prompt has the place {{{0}}}, which is unknown.",
    "프롬프트에 모르는 자리 `{{{0}}}`이(가) 있어요.",
  ],
  ["Its places are {0}.", "쓸 수 있는 자리: {0}"],
  [
    "memory.keepRecentTurns is {0} and memory.summarizeThreshold is {1}: nothing would ever be folded.",
    "`memory.keepRecentTurns`({0})가 `memory.summarizeThreshold`({1})보다 작아야 해요.",
  ],
  [
    "limits.reminders must come one after another: first {0} ms, second {1} ms, escalate {2} ms.",
    "`limits.reminders`는 뒤로 갈수록 길어야 해요: first {0} ms, second {1} ms, escalate {2} ms",
  ],
  ['"{0}" is not a duration.', "`{0}`은(는) 시간이 아니에요. `30s`, `5m`, `1h`처럼 적어 주세요."],
  ['The time zone "{0}" is not known.', "시간대 `{0}`을(를) 몰라요. `Asia/Seoul`처럼 적어 주세요."],
  ['The locale "{0}" is not known.', "언어 `{0}`을(를) 몰라요."],
  ["Locales are: {0}.", "쓸 수 있는 언어: {0}"],
];
