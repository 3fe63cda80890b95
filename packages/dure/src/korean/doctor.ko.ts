import type { SentenceForm } from "../kernel/sentence-forms.ts";

/** What `dure doctor` finds, and says to do. A form that begins with `{0}: ` names what was asked. */
export const DOCTOR_SENTENCES_KO: readonly SentenceForm[] = [
  // --- the team
  ["{0}, no services", "{0}, 서비스 없음"],
  ["{0}, services {1}", "{0}, 서비스: {1}"],
  ["and {0} more problems of this file", "이 파일에 고칠 곳이 {0}군데 더 있어요"],

  [
    "the folder agents/{0} is missing, so {1} would answer without a persona",
    "`agents/{0}` 폴더가 없어서 {1} 에이전트가 인격 없이 답하게 돼요",
  ],

  [
    "Put it back, run dure new agent {0}, or take {1} out of the configuration.",
    "폴더를 되돌리거나 `dure new agent {0}`을(를) 실행하거나, 설정에서 {1} 에이전트를 빼 주세요.",
  ],

  [
    "no token has the role {0}, which approves {1}",
    "{0} 역할을 가진 토큰이 없어서, {1} 도구를 승인할 사람이 없어요",
  ],
  [
    "Make one for who approves: dure token create <name> --roles {0}",
    "승인할 사람의 토큰을 만들어 주세요: `dure token create <이름> --roles {0}`",
  ],

  // --- models
  [
    "{0}, used by {1}: no model is set, so they say how to connect one",
    "{0}, 쓰는 에이전트: {1}. 아직 모델을 정하지 않아서, 대화하면 모델을 연결하는 방법을 알려 줘요",
  ],

  [
    "Put ANTHROPIC_API_KEY or OPENAI_API_KEY into .env; the key alone is enough.",
    "`.env`에 `ANTHROPIC_API_KEY`나 `OPENAI_API_KEY`를 적어 주세요. 키만 있으면 돼요.",
  ],

  [
    "{0}, used by {1}: no answer within {2} s",
    "{0}, 쓰는 에이전트: {1}. {2}초 안에 답하지 않았어요",
  ],

  ["{0}: no answer within {1} s", "{0}: {1}초 안에 답하지 않았어요"],
  ["no answer within {0} s", "{0}초 안에 답하지 않았어요"],

  [
    "Finding the address and the connection; a slow model may still do.",
    "주소와 연결을 확인해 주세요. 느린 모델이라면 그대로 써도 될 수 있어요.",
  ],

  [
    "{0}, used by {1}: answers, but takes no more calls at the moment",
    "{0}, 쓰는 에이전트: {1}. 답하지만 지금은 더 부를 수 없어요",
  ],

  [
    "Wait, or raise the limit at the provider.",
    "잠시 기다리거나, 모델 회사에서 한도를 늘려 주세요.",
  ],

  [
    "{0}, used by {1}: answers ({2}), but has no price, so it is counted in tokens",
    "{0}, 쓰는 에이전트: {1}. 답해요({2}). 값을 몰라서 토큰으로만 세요",
  ],

  [
    "{0}: answers ({1}), but has no price, so it is counted in tokens",
    "{0}: 답해요({1}). 값을 몰라서 토큰으로만 세요",
  ],

  [
    "Add prices: {0} in USD per million tokens.",
    "설정에 백만 토큰의 값을 달러로 적어 주세요: `prices: {0}`",
  ],

  ["{0}, used by {1}: answers ({2})", "{0}, 쓰는 에이전트: {1}. 답해요({2})"],
  ["{0}: answers ({1})", "{0}: 답해요({1})"],
  ["{0}, used by {1}: {2}", "{0}, 쓰는 에이전트: {1}: {2}"],
  ["{0}, used by {1}", "{0}, 쓰는 에이전트: {1}"],

  ["{0} failed: {1}", "{0} 모델이 답하지 못했어요: {1}"],
  ["Say in the prompt what the answer has to look like.", "프롬프트에 답의 꼴을 적어 주세요."],

  [
    "Raise llm.maxOutputTokens if the answer was cut off before it began.",
    "답이 시작되기 전에 끊겼다면 `llm.maxOutputTokens`를 늘려 주세요.",
  ],

  [
    "The provider's filter stopped the answer; word it differently.",
    "모델 회사의 필터가 답을 막았어요. 다르게 적어 주세요.",
  ],

  [
    "Send less history, or take a model with a longer context.",
    "대화를 줄여서 보내거나, 더 긴 글을 받는 모델을 써 주세요.",
  ],

  ["The call was stopped.", "부르던 것을 멈췄어요."],
  ["Check plan and billing at the provider.", "모델 회사의 요금제와 결제를 확인해 주세요."],

  [
    "The provider is in trouble; try again later.",
    "모델 회사에 문제가 있어요. 나중에 다시 시도해 주세요.",
  ],

  ["Check the address, the connection and the proxy.", "주소와 연결, 프록시를 확인해 주세요."],

  [
    "Raise policy.timeoutSec if answers need longer.",
    "답이 오래 걸린다면 `policy.timeoutSec`을 늘려 주세요.",
  ],

  [
    "Check the provider's key and what it may do.",
    "모델 회사의 키와 그 키로 할 수 있는 일을 확인해 주세요.",
  ],

  ["Check the model's name and the base address.", "모델의 이름과 주소를 확인해 주세요."],

  [
    "The provider did not accept the request; its answer says why.",
    "모델 회사가 요청을 받지 않았어요. 이유는 위의 답에 있어요.",
  ],

  [
    "See the cause in the log; LOG_LEVEL=debug shows its words.",
    "까닭은 로그에 있어요. `LOG_LEVEL=debug`로 실행하면 더 자세히 볼 수 있어요.",
  ],

  // --- agents of plans
  ['{0}: answers "{1}" in {2} s', "{0}: {2}초 만에 `{1}`(이)라고 답했어요"],
  ["were not asked: {0}", "물어보지 못했어요: {0}"],

  // --- rooms
  ["{0} has no account on {1}", "{0} 에이전트의 {1} 계정이 없어요"],
  ["Set {0}.", "`{0}`을(를) 정해 주세요."],
  ["{0} message waits to leave", "보내지 못한 메시지가 {0}개 있어요"],
  ["{0} messages wait to leave", "보내지 못한 메시지가 {0}개 있어요"],
  ["{0}: the token belongs to the bot {1} ({2}).", "{0}: 봇 {1}({2})의 토큰이에요."],
  ["{0}: the token belongs to {1} ({2}).", "{0}: {1}({2})의 토큰이에요."],
  ["Set {0} to the token of its bot.", "`{0}`에 봇의 토큰을 적어 주세요."],

  [
    "Set {0} and {1} to the tokens of its app, or SLACK_BOT_TOKEN and SLACK_APP_TOKEN to those of one app for all agents.",
    "`{0}`, `{1}`에 앱의 토큰을 적거나, 모든 에이전트가 함께 쓰는 앱의 토큰을 `SLACK_BOT_TOKEN`과 `SLACK_APP_TOKEN`에 적어 주세요.",
  ],

  [
    "Give each of them an app of its own. Or set SLACK_BOT_TOKEN and SLACK_APP_TOKEN alone: then one app speaks for all agents that have none of their own.",
    "에이전트마다 앱을 따로 만들어 주세요. `SLACK_BOT_TOKEN`과 `SLACK_APP_TOKEN`만 적으면, 앱이 없는 에이전트는 모두 그 앱으로 말해요.",
  ],

  [
    "Reset the token in the developer portal, under Bot, and put the new one where the configuration names it.",
    "개발자 포털의 Bot에서 토큰을 새로 만들고, 설정이 가리키는 곳에 적어 주세요.",
  ],

  ["{0}: Slack does not accept the app-level token.", "{0}: Slack이 앱 토큰을 받지 않아요."],
  ["{0}: Discord does not accept the token.", "{0}: Discord가 토큰을 받지 않아요."],
  ["{0}: the Message Content Intent is on.", "{0}: Message Content Intent가 켜져 있어요."],

  [
    "{0}: the Message Content Intent is off; the bot cannot connect with it.",
    "{0}: Message Content Intent가 꺼져 있어서 봇이 연결할 수 없어요.",
  ],

  [
    "Switch it on in the developer portal, under Bot, Privileged Gateway Intents.",
    "개발자 포털의 Bot → Privileged Gateway Intents에서 켜 주세요.",
  ],

  ["{0}: the bot is in no server.", "{0}: 봇이 들어간 서버가 없어요."],
  ["Invite it: {0}", "이 링크로 초대해 주세요: {0}"],
  ["{0}: lacks {1} in the channel {2}.", "{0}: 채널 {2}에서 권한이 모자라요: {1}"],

  [
    "Give it to its role there; if the server is missing, invite the bot: {0}",
    "그곳의 역할에 권한을 주세요. 서버가 안 보이면 봇을 초대해 주세요: {0}",
  ],

  ["{0}: there is no channel {1} in its servers.", "{0}: 봇이 있는 서버에 채널 {1}이(가) 없어요."],

  [
    "Check the id; if the server is missing, invite the bot: {0}",
    "채널의 ID를 확인해 주세요. 서버가 안 보이면 봇을 초대해 주세요: {0}",
  ],

  [
    "Name a text channel, an announcement channel or a forum in rooms.channels.",
    "`rooms.channels`에 텍스트 채널이나 공지 채널, 포럼을 적어 주세요.",
  ],

  ["{0}: has what it needs in {1}: {2}.", "{0}: {1}에서 필요한 권한이 모두 있어요: {2}"],
  ["{0}: lacks {1} in {2}.", "{0}: {2}에서 권한이 모자라요: {1}"],

  [
    "Give them to its role there, or invite it again: {0}",
    "그곳의 역할에 권한을 주거나, 다시 초대해 주세요: {0}",
  ],

  [
    "{0}: {1} is a forum: no notice of an escalation can be posted there.",
    "{0}: {1}은(는) 포럼이라 확인 요청을 알릴 수 없어요.",
  ],

  [
    "Name a room in escalations.room that is a text channel or an announcement channel.",
    "`escalations.room`에 텍스트 채널이나 공지 채널인 방을 적어 주세요.",
  ],

  ["{0}: there is no bot token.", "{0}: 봇의 토큰이 없어요."],
  ["{0}: there are no tokens.", "{0}: 토큰이 없어요."],
  ["Name it in the configuration of the Discord adapter.", "Discord 어댑터 설정에 적어 주세요."],
  ["Name them in the configuration of the Slack adapter.", "Slack 어댑터 설정에 적어 주세요."],
  ["{0}: the app-level token opens Socket Mode.", "{0}: 앱 토큰으로 Socket Mode를 열 수 있어요."],

  [
    "At api.slack.com/apps turn on Socket Mode, and make an app-level token (xapp-…) with the scope connections:write.",
    "api.slack.com/apps에서 Socket Mode를 켜고, `connections:write` 권한이 있는 앱 토큰(`xapp-…`)을 만들어 주세요.",
  ],

  ["{0}: the app has its scopes.", "{0}: 앱에 필요한 권한이 모두 있어요."],
  ["{0}: the app lacks {1}.", "{0}: 앱에 없는 권한이 있어요: {1}"],

  [
    "{0}: without {1} files are passed on by name alone.",
    "{0}: 앱에 {1} 권한이 없어서 파일은 이름만 전해요.",
  ],

  [
    "Add them at api.slack.com/apps under OAuth & Permissions, then install the app again.",
    "api.slack.com/apps의 OAuth & Permissions에서 더한 뒤 앱을 다시 설치해 주세요.",
  ],

  [
    "{0}: cannot ask whether {1} is private, and keeps it as a private channel.",
    "{0}: {1}이(가) 비공개 채널인지 확인할 수 없어서 비공개로 다뤄요.",
  ],

  [
    "Add channels:read and groups:read under OAuth & Permissions, then install the app again.",
    "OAuth & Permissions에서 `channels:read`와 `groups:read`를 더한 뒤 앱을 다시 설치해 주세요.",
  ],

  ["{0}: {1} is archived.", "{0}: {1}은(는) 보관된 채널이에요."],
  ["Restore it.", "되살려 주세요."],
  [
    "{0}: {1} is a direct message, and nothing in it is heard as a channel.",
    "{0}: {1}은(는) 다이렉트 메시지라 채널로는 듣지 않아요.",
  ],
  [
    "Take its id out of rooms.channels. An app in it is heard there without that.",
    "rooms.channels에서 그 id를 빼 주세요. 그 안의 앱은 그러지 않아도 들어요.",
  ],
  ["{0}: is in {1}.", "{0}: {1}에 들어가 있어요."],

  [
    "{0}: is not in {1} and hears nothing there.",
    "{0}: {1}에 들어가 있지 않아서 그곳의 말을 듣지 못해요.",
  ],

  ["Write /invite {0} in {1}.", "{1}에서 `/invite {0}`을(를) 입력해 주세요."],

  [
    "Invite {0} to the channel, or correct its id.",
    "채널에 {0} 앱을 초대하거나 채널의 ID를 고쳐 주세요.",
  ],

  ["{0}: Slack does not accept the bot token.", "{0}: Slack이 봇 토큰을 받지 않아요."],

  [
    "Install the app again at api.slack.com/apps, and put the new token where the old one stands.",
    "api.slack.com/apps에서 앱을 다시 설치하고, 예전 토큰 자리에 새 토큰을 적어 주세요.",
  ],

  // --- the address
  [
    "{0} can be reached from outside and DURE_TOKEN is not set",
    "{0}은(는) 밖에서 닿을 수 있는 주소인데 `DURE_TOKEN`이 없어요",
  ],

  [
    "Without a token in DURE_TOKEN or the database the start is refused.",
    "`DURE_TOKEN`이나 데이터베이스에 토큰이 없으면 시작할 수 없어요.",
  ],

  ["{0} is free", "{0} 주소가 비어 있어요"],
  ["this team answers at {0} already", "이 팀이 이미 {0}에서 답하고 있어요"],
  ["{0} belongs to the server of another team", "{0} 주소를 다른 팀의 서버가 쓰고 있어요"],
  ["{0} cannot be used ({1})", "{0} 주소를 쓸 수 없어요({1})"],

  [
    "Set PORT to another one, or stop what has it.",
    "`PORT`로 다른 포트를 정하거나, 그 포트를 쓰는 프로그램을 꺼 주세요.",
  ],

  [
    "Set HOST or PORT to an address of this machine.",
    "`HOST`나 `PORT`에 이 컴퓨터의 주소를 적어 주세요.",
  ],

  [
    "Without a token: only you, the user who runs the server, at this machine ({0}).",
    "토큰 없이는 서버를 켠 사용자만, 이 컴퓨터에서 들어올 수 있어요({0}).",
  ],

  ["Every caller needs a token or a login ({0}).", "누구나 토큰이나 로그인이 필요해요({0})."],

  [
    "no token exists, and the system says whose connection it is",
    "토큰이 없고, 누구의 연결인지 시스템이 알려 줘요",
  ],

  // --- skills
  [
    "skills/{0}/SKILL.md has keys that dure does not read: {1}",
    "skills/{0}/SKILL.md에 dure가 읽지 않는 키가 있어요: {1}",
  ],
  [
    "They are settings of another program; what they ask for is not done here.",
    "다른 프로그램의 설정이에요. 여기서는 효과가 없어요.",
  ],
  [
    "the prompt of {0} has no room for the descriptions of {1}",
    "{0}의 프롬프트에 설명을 넣을 자리가 모자라요: {1}",
  ],
  [
    "Shorten descriptions, or name the skills that it needs in `skills` of its card.",
    "설명을 줄이거나, 필요한 스킬만 카드의 `skills`에 적어 주세요.",
  ],

  // --- MCP servers
  ["not logged in", "로그인하지 않았어요"],
  ["logged in for too little", "로그인의 권한이 모자라요"],

  [
    "See mcp.{0} of the configuration; agents go without its tools until it is there.",
    "설정의 `mcp.{0}`을(를) 봐 주세요. 서버가 켜질 때까지 에이전트는 그 도구 없이 일해요.",
  ],

  [
    "See mcp.{0} of the service {1}; agents go without its tools until it is there.",
    "{1} 서비스의 `mcp.{0}`을(를) 봐 주세요. 서버가 켜질 때까지 에이전트는 그 도구 없이 일해요.",
  ],

  ["it gave no list of its tools within {0} s", "{0}초 안에 도구의 목록을 주지 않았어요"],
  ["Start its command by hand and see.", "명령을 직접 실행해 보세요."],
  ["MCP {0}; {1} tools: {2}", "MCP {0}, 도구 {1}개: {2}"],
  ["Let a card name it: mcp: {0}.", "카드에 적으면 쓸 수 있어요: `mcp: {0}`"],

  [
    "no agent has its tools. MCP {0}; {1} tools: {2}",
    "이 도구를 쓰는 에이전트가 없어요. MCP {0}, 도구 {1}개: {2}",
  ],

  // --- tools of MCP servers that agents do not get
  ["{0} is not offered: it has no name", "{0}: 이름이 없어서 쓸 수 없어요"],

  [
    "{0} is not offered: its name has more than {1} characters",
    "{0}: 이름이 {1}자를 넘어서 쓸 수 없어요",
  ],

  ["{0} is not offered: it has no inputSchema", "{0}: `inputSchema`가 없어서 쓸 수 없어요"],

  [
    "{0} is not offered: its inputSchema is no object",
    "{0}: `inputSchema`가 객체가 아니어서 쓸 수 없어요",
  ],

  [
    "{0} is not offered: its inputSchema takes no object",
    "{0}: `inputSchema`가 객체를 받지 않아서 쓸 수 없어요",
  ],

  [
    "{0} is not offered: its inputSchema has more than {1} bytes",
    "{0}: `inputSchema`가 {1}바이트를 넘어서 쓸 수 없어요",
  ],

  [
    "{0} is not offered: its inputSchema has more than {1} levels",
    "{0}: `inputSchema`가 {1}단계보다 깊어서 쓸 수 없어요",
  ],

  [
    "{0} is not offered: its inputSchema is no JSON Schema: {1}",
    "{0}: `inputSchema`가 올바른 JSON Schema가 아니어서 쓸 수 없어요: {1}",
  ],

  [
    "{0} is not offered: its inputSchema has a reference that leads to itself",
    "{0}: `inputSchema`의 참조가 자기 자신을 가리켜서 쓸 수 없어요",
  ],

  [
    "{0} is not offered: its inputSchema has a reference to nothing in it: {1}",
    "{0}: `inputSchema`가 그 안에 없는 것을 가리켜서 쓸 수 없어요: {1}",
  ],

  [
    "{0} is not offered: the list has a tool of this name before it",
    "{0}: 목록에 같은 이름의 도구가 먼저 있어서 쓸 수 없어요",
  ],

  [
    "{0} is not offered: models would call it as they call {1}",
    "{0}: 모델이 부르는 이름이 {1}와(과) 같아져서 쓸 수 없어요",
  ],

  ["not offered: {0} tools; more cannot be used", "쓸 수 없는 도구가 {0}개 더 있어요"],

  [
    "not offered: {0} tools; of {1} tools the first {2} are offered",
    "도구 {1}개 가운데 앞의 {2}개만 쓸 수 있어요. 빠진 도구는 {0}개예요",
  ],

  [
    "Tell the author of the server, or take it out by `tools` of mcp.{0}.",
    "서버를 만든 곳에 알리거나, 설정 `mcp.{0}`의 `tools`에서 빼 주세요.",
  ],

  [
    "Tell the author of the server, or take it out by `tools` of mcp.{0} of the service {1}.",
    "서버를 만든 곳에 알리거나, {1} 서비스의 `mcp.{0}`에 있는 `tools`에서 빼 주세요.",
  ],

  [
    "Name the tools that agents need in `tools` of mcp.{0}.",
    "에이전트에게 필요한 도구의 이름을 설정 `mcp.{0}`의 `tools`에 적어 주세요.",
  ],

  [
    "Name the tools that agents need in `tools` of mcp.{0} of the service {1}.",
    "에이전트에게 필요한 도구의 이름을 {1} 서비스의 `mcp.{0}`에 있는 `tools`에 적어 주세요.",
  ],

  // --- schedules, hooks and documents
  ["{0} in {1}, next {2}; missed moments: {3}", "{0}({1}), 다음 {2}, 놓친 때: {3}"],
  ["POST /v1/hooks/{0}: {1}. It takes nothing: {2}", "POST /v1/hooks/{0}: 지금은 받지 않아요: {2}"],
  ["POST /v1/hooks/{0}: a run of the plan {1}", "POST /v1/hooks/{0}: {1} 계획을 실행해요"],

  [
    "POST /v1/hooks/{0}: a job, {1} asks {2}",
    "POST /v1/hooks/{0}: {1} 에이전트가 {2} 에이전트에게 일을 맡겨요",
  ],

  ["POST /v1/hooks/{0}: a message in the room {1}", "POST /v1/hooks/{0}: {1} 방에 메시지를 써요"],
  ["its secret is too short", "비밀 값이 너무 짧아요"],
  ["${{0}} is not set, or too short", "`${{0}}` 변수가 없거나 너무 짧아요"],

  [
    "Set it to 16 characters or more, in the environment or in .env, and start again.",
    "환경 변수나 `.env`에 16자 이상으로 적고 다시 시작해 주세요.",
  ],

  ["compared exactly: {0}", "하나씩 비교해요: {0}"],
  ["found by an index: {0}", "색인으로 찾아요: {0}"],
  ["pgvector {0} is created at the start", "시작할 때 pgvector {0}을(를) 만들어요"],
  ["the server has no pgvector", "데이터베이스 서버에 pgvector가 없어요"],

  [
    "pgvector {0} is older than 0.7: alter extension vector update",
    "pgvector {0}이(가) 0.7보다 오래됐어요. `alter extension vector update`를 실행해 주세요",
  ],

  ["pgvector {0} is older than 0.7", "pgvector {0}이(가) 0.7보다 오래됐어요"],

  [
    "pgvector stands in schema {0}, which this role may not use",
    "pgvector가 이 사용자가 쓸 수 없는 {0} 스키마에 있어요",
  ],

  // --- the database
  ["none yet; the first start makes one in {0}", "아직 없어요. 처음 시작할 때 {0} 폴더에 만들어요"],

  [
    "private PostgreSQL in {0}, not running; a start brings it up",
    "{0} 폴더의 전용 PostgreSQL, 지금은 꺼져 있고 시작하면 켜요",
  ],

  [
    "private PostgreSQL in {0}, PostgreSQL {1}, session connections",
    "{0} 폴더의 전용 PostgreSQL, 버전 {1}, 세션 단위의 연결",
  ],

  ["{0}, PostgreSQL {1}, session connections", "{0}, PostgreSQL {1}, 세션 단위의 연결"],
  ["private PostgreSQL in {0}", "{0} 폴더의 전용 PostgreSQL"],

  // --- this machine
  ["{0} cannot be a folder: {1} is a file", "{0} 폴더를 만들 수 없어요. {1}은(는) 파일이에요"],
  ["{0} is in the kernel's own tree {1}", "{0}은(는) 커널이 쓰는 {1} 안에 있어요"],
  ["{0} cannot be written to ({1})", "{0} 폴더에 쓸 수 없어요({1})"],

  [
    "Let this user write there, or set DURE_HOME to a folder that it may write to.",
    "이 사용자에게 쓰기 권한을 주거나, `DURE_HOME`에 쓸 수 있는 폴더를 적어 주세요.",
  ],

  ["{0} free at {1}", "{1}에 {0} 남았어요"],

  [
    "Make room, or set DURE_HOME to another disk.",
    "자리를 비우거나 `DURE_HOME`에 다른 디스크의 폴더를 적어 주세요.",
  ],

  ["not found", "찾지 못했어요"],
  ["Only plans need it.", "계획을 실행할 때만 필요해요."],
  ["workers of plans run in bubblewrap: {0}", "계획의 작업자는 bubblewrap 안에서 일해요: {0}"],

  [
    "workers of plans run in namespaces of their own: {0}",
    "계획의 작업자는 따로 만든 네임스페이스 안에서 일해요: {0}",
  ],

  [
    "workers of plans run in the name of another user, on a copy: {0}",
    "계획의 작업자는 다른 사용자의 이름으로, 복사한 폴더에서 일해요: {0}",
  ],

  [
    "workers of plans run in audit, without protection: {0}",
    "계획의 작업자는 보호 없이 기록만 남기며 일해요: {0}",
  ],

  [
    "a network of their own, user {0}, nothing seen but their tree and programs",
    "네트워크를 따로 쓰고, 사용자는 {0}이고, 맡은 폴더와 프로그램 말고는 아무것도 보이지 않아요",
  ],

  [
    "a network of their own, dure's own user, nothing seen but their tree and programs",
    "네트워크를 따로 쓰고, 사용자는 dure와 같고, 맡은 폴더와 프로그램 말고는 아무것도 보이지 않아요",
  ],

  [
    "a network of their own, user {0}, beside their copies what the modes of files allow",
    "네트워크를 따로 쓰고, 사용자는 {0}이고, 복사본 밖은 파일의 권한이 허락하는 것만 볼 수 있어요",
  ],

  [
    "a network of their own, dure's own user, beside their copies what the modes of files allow",
    "네트워크를 따로 쓰고, 사용자는 dure와 같고, 복사본 밖은 파일의 권한이 허락하는 것만 볼 수 있어요",
  ],

  [
    "Let dure make namespaces (util-linux, iproute2 or bubblewrap), so that secrets are kept from workers.",
    "dure가 네임스페이스를 만들 수 있게 해 주세요(util-linux와 iproute2, 또는 bubblewrap). 그래야 작업자가 비밀 파일을 볼 수 없어요.",
  ],

  [
    "{0} for each worker, bounded by a control group",
    "작업자마다 {0}까지 쓰고, 커널의 제어 그룹이 막아요",
  ],

  [
    "CPU time of {0} for each worker, bounded by a control group",
    "작업자마다 CPU {0}개만큼 쓰고, 커널의 제어 그룹이 막아요",
  ],

  [
    "not bounded, workers yield to all others: dure may make no control groups here",
    "제한이 없고, 제어 그룹을 만들 수 없어서 작업자가 다른 프로세스에 양보해요",
  ],

  [
    "{0} more for each worker, watched by dure",
    "작업자마다 {0}까지 더 쓸 수 있고, dure가 지켜봐요",
  ],

  [
    "{0} for each worker, watched by dure: it may make no control groups here",
    "작업자마다 {0}까지 쓰고, 제어 그룹을 만들 수 없어서 dure가 지켜봐요",
  ],

  // --- where a limit comes from
  ["no bound", "한도 없음"],
  ["not set", "없음"],
  ["set", "있음"],
  ["default ({0})", "기본값({0})"],
  ["the same on every machine", "어느 컴퓨터에서나 같아요"],
  ["as for the token's address", "토큰을 쓰는 주소의 한도와 같아요"],
  ["the team's budget bounds it", "팀의 예산이 한도예요"],
  ["the team's model", "팀의 모델"],
  ["all of the machine's but half of one", "이 컴퓨터의 CPU에서 반 개를 뺀 만큼이에요"],
  ["half of what is free, and 10 GiB at most", "남은 공간의 절반이고, 많아도 10 GiB예요"],
  ["half of the machine's, and 4 GiB at most", "이 컴퓨터 메모리의 절반이고, 많아도 4 GiB예요"],
  ["the first of rooms.channels", "`rooms.channels`의 첫 번째"],
  ["kept until they are forgotten", "지울 때까지 남겨요"],
  ["kept as long as their session", "대화가 남아 있는 동안 남겨요"],
  ["secrets stand in the environment only", "비밀 값은 환경 변수에만 있어요"],
];
