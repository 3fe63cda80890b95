import type { SentenceForm } from "../kernel/sentence-forms.ts";

/** Refusals of a start: the configuration, the environment, the database, the address. */
export const START_SENTENCES_KO: readonly SentenceForm[] = [
  // --- the configuration
  [
    "{0} has no dure.config.ts and no dure.yaml.",
    "{0} 폴더에 `dure.config.ts`도 `dure.yaml`도 없어요.",
  ],

  [
    "Go to the folder of your team, or make one: dure init my-team",
    "팀의 폴더로 가거나 새로 만들어 주세요: `dure init my-team`",
  ],

  [
    "{0} has {1} and {2}; a team has one configuration.",
    "{0} 폴더에 설정 파일이 둘 있어요: {1}, {2} 팀의 설정은 하나여야 해요.",
  ],

  ["Delete or rename {0}.", "`{0}` 파일을 지우거나 이름을 바꿔 주세요."],
  ["{0} cannot be loaded: {1}", "{0} 파일을 불러오지 못했어요: {1}"],

  [
    "Check the path of the import (own files end in .ts), and run npm install.",
    "import 경로를 확인하고(직접 만든 파일은 `.ts`로 끝나요) `npm install`을 실행해 주세요.",
  ],

  [
    "Run it alone to see where it fails: node dure.config.ts",
    "이 파일만 실행하면 어디가 문제인지 보여요: `node dure.config.ts`",
  ],

  ["The environment has a problem:", "환경 변수에 고칠 곳이 있어요:"],
  ["The environment has {0} problems:", "환경 변수에 고칠 곳이 {0}군데 있어요:"],
  ["{0} has a problem:", "{0} 파일에 고칠 곳이 있어요:"],
  ["{0} has {1} problems:", "{0} 파일에 고칠 곳이 {1}군데 있어요:"],
  ["Change the lines named above, then try again.", "위에 적힌 줄을 고친 뒤 다시 시도해 주세요."],
  ['{0}: the key "{1}" is not known.', "{0} 파일에 모르는 키 `{1}`이(가) 있어요."],
  ["Keys are: {0}.", "쓸 수 있는 키: {0}"],
  ["{0} is no mapping.", "{0} 파일에 키와 값이 없어요."],
  [
    "{0} has agent.md and agent.yaml; an agent is declared once.",
    "{0} 폴더에 agent.md와 agent.yaml이 다 있어요. 에이전트는 한 파일로 정해요.",
  ],
  [
    "Move the settings of agent.yaml to the top of agent.md, and delete agent.yaml.",
    "agent.yaml의 설정을 agent.md 맨 위로 옮기고, agent.yaml을 지워 주세요.",
  ],
  [
    'agents/{0}: "{1}" cannot be an agent\'s id.',
    "agents/{0}: {1}은(는) 에이전트의 ID로 쓸 수 없어요.",
  ],
  [
    "Name the folder with Latin letters, digits, _ or -; a name in any script is `name` in agent.md.",
    "폴더 이름은 영문자, 숫자, _, -로 지어 주세요. 보여 줄 이름은 agent.md의 `name`에 적어요.",
  ],
  [
    'The agent {0} names no tool of this team: "{1}".',
    "{0} 에이전트가 적은 도구 {1}이(가) 이 팀에 없어요.",
  ],
  [
    "Known are {0}. Write it with: npx dure new tool {1}",
    "쓸 수 있는 도구: {0}. 새로 만들려면: npx dure new tool {1}",
  ],
  [
    'The agent {0} names "{1}" in approvals, and has no such tool of its own.',
    "{0} 에이전트의 `approvals`에 적은 {1}은(는) 이 에이전트의 도구가 아니에요.",
  ],
  [
    "Its own are {0}. Tools of an MCP server are named in mcp.<server>.approval.",
    "이 에이전트의 도구: {0}. MCP 서버의 도구는 `mcp.<서버>.approval`에 적어요.",
  ],
  ["{0} are one tool.", "{0}은(는) 같은 도구예요."],
  ['{0} exports no tool "{1}".', "{0}에 {1}이라는 도구가 없어요."],
  [
    "Write there: export const {0} = tool({ description, inputSchema, execute });",
    "이렇게 적어 주세요: export const {0} = tool({ description, inputSchema, execute });",
  ],
  [
    "The agent {0} has skills, and a tool of its own named {1}.",
    "{0} 에이전트에 스킬도 있고, 이름이 {1}인 도구도 있어요.",
  ],
  ["Give that tool another name.", "그 도구의 이름을 바꿔 주세요."],
  ["Write displayName: … and card: …", "`displayName: …`과 `card: …`를 적어 주세요."],

  [
    "{0}: displayName must be a text of 1 to {1} characters.",
    "{0} 파일의 `displayName`은 1자에서 {1}자까지의 글이어야 해요.",
  ],

  ["Put it in quotes where it looks like a number.", "숫자처럼 보이면 따옴표로 감싸 주세요."],

  [
    "Keys of a card are llm, temperature, policy, tools, mcp, knowledge, skills, approvals, budget, line and threads.",
    "카드에 쓸 수 있는 키: llm, temperature, policy, tools, mcp, knowledge, skills, approvals, budget, line, threads",
  ],

  ["offlineModels: {0}", "`offlineModels`를 읽지 못했어요: {0}"],
  ["The function that gives them failed.", "모델을 돌려주는 함수에서 오류가 났어요."],
  ["The function that gives them failed ({0}).", "모델을 돌려주는 함수에서 오류가 났어요({0})."],
  ["offlineModels gave no list of models.", "`offlineModels`가 모델 목록을 돌려주지 않았어요."],

  [
    "Let the function give what offlineModel(name, respond) makes, in a list.",
    "`offlineModel(name, respond)`로 만든 모델을 목록으로 돌려주세요.",
  ],

  ["There are two offline models named {0}.", "이름이 {0}인 오프라인 모델이 둘 있어요."],
  ["Give each its own name.", "이름을 서로 다르게 지어 주세요."],
  ["The team has rooms and no agents.", "팀에 방은 있는데 에이전트가 없어요."],
  ["Add agents: { … }, or remove rooms.", "설정에 `agents: { … }`를 더하거나 `rooms`를 빼 주세요."],
  ["The team has no service.", "팀에 서비스가 없어요."],
  ["Give defineTeam at least one service.", "`defineTeam`에 서비스를 하나 이상 넣어 주세요."],
  ['Two services are called "{0}".', "이름이 `{0}`인 서비스가 둘 있어요."],
  ["Give each service a name of its own.", "서비스마다 다른 이름을 지어 주세요."],

  [
    "Keep fewer turns than the threshold; dure doctor --settings shows where each value comes from.",
    "값을 어디서 정했는지는 `dure doctor --settings`로 볼 수 있어요.",
  ],

  // --- the environment
  [
    "Change or unset these variables, then start again.",
    "이 변수를 고치거나 지운 뒤 다시 시작해 주세요.",
  ],

  ["Write one NAME=value per line.", "한 줄에 `이름=값` 하나씩 적어 주세요."],

  [
    "{0}:{1} has no =, so it sets nothing. Write NAME=value.",
    "{0}:{1}에 =이 없어서 아무 값도 정하지 않아요. `이름=값`으로 적어 주세요.",
  ],

  [
    "{0}:{1} opens a quote that is not closed, so its value is not what it seems.",
    "{0}:{1}에서 연 따옴표가 닫히지 않아서 값이 보이는 것과 달라요.",
  ],

  [
    "{0} is set, but dure reads no such variable; did you mean {1}?",
    "{0} 변수가 있지만 dure가 읽지 않는 이름이에요. 혹시 {1}인가요?",
  ],

  [
    "{0} is set, but dure reads no such variable.",
    "{0} 변수가 있지만 dure가 읽지 않는 이름이에요.",
  ],

  [
    "The environment lacks {0}, which an MCP server of the plan is given.",
    "계획의 MCP 서버에 줄 환경 변수 {0}이(가) 없어요.",
  ],

  [
    "Set it where dure runs, or take {0} out of the worker's mcp.",
    "dure를 실행하는 곳에서 정하거나, 작업자의 `mcp`에서 `{0}`을(를) 빼 주세요.",
  ],

  ["The environment lacks {0}.", "환경 변수 {0}이(가) 없어요."],

  [
    "Set it in .env beside the configuration, or take ${…} out of `mcp`.",
    "설정 파일 옆의 `.env`에 적거나, 설정의 `mcp`에서 `${…}`를 빼 주세요.",
  ],

  // --- the database
  [
    "The database at {0} refused the connection: {1}.",
    "{0}의 데이터베이스가 연결을 거절했어요: {1}",
  ],

  [
    "Check user, password and database name in DATABASE_URL.",
    "`DATABASE_URL`의 사용자와 비밀번호, 데이터베이스 이름을 확인해 주세요.",
  ],

  [
    "{0} is a transaction pooler; dure needs session connections.",
    "{0}은(는) 트랜잭션 단위의 풀러예요. dure에는 세션 단위의 연결이 필요해요.",
  ],

  [
    "Point DATABASE_URL at PostgreSQL itself, or at the pooler's session-mode port.",
    "`DATABASE_URL`에 PostgreSQL의 주소나 풀러의 세션 모드 포트를 적어 주세요.",
  ],

  [
    "The database is PostgreSQL {0}; dure needs {1} or newer.",
    "데이터베이스가 PostgreSQL {0}이에요. dure는 {1} 버전부터 쓸 수 있어요.",
  ],

  [
    "Upgrade the server, or leave DATABASE_URL unset: dure then brings its own PostgreSQL.",
    "PostgreSQL을 올리거나 `DATABASE_URL`을 비워 주세요. 비우면 dure가 직접 PostgreSQL을 켜요.",
  ],

  ["Migration {0} ({1}) failed: {2}.", "마이그레이션 {0}({1})에 실패했어요: {2}"],

  [
    "Nothing of it was kept; start again when the cause is gone.",
    "바뀐 것은 없어요. 원인을 고친 뒤 다시 시작해 주세요.",
  ],

  [
    "The functions of {0} (release {1}) were refused: {2}.",
    "데이터베이스가 {0}의 함수(릴리스 {1})를 받지 않았어요: {2}",
  ],

  [
    "Nothing was changed. Run dure db migrate once as the database user that owns schema dure; other users can start the team after that.",
    "바뀐 것은 없어요. `dure` 스키마를 가진 사용자로 `dure db migrate`를 한 번 실행하면, 그 뒤로는 다른 사용자도 팀을 시작할 수 있어요.",
  ],

  [
    "A process of release {0} (dure {1}) on {2} works on the database; release {3} works beside releases from {4} on.",
    "{2}에서 릴리스 {0}(dure {1})이 이 데이터베이스를 쓰고 있어요. 릴리스 {3}은 릴리스 {4}부터 함께 쓸 수 있어요.",
  ],

  [
    "Stop the older process first; it drains. Nothing was changed for it.",
    "오래된 서버를 먼저 꺼 주세요. 하던 일을 마치고 꺼져요. 바뀐 것은 없어요.",
  ],

  [
    "The database was made before dure 0.1.0, with tables that this version does not upgrade.",
    "dure 0.1.0이 나오기 전에 만든 데이터베이스예요. 지금의 dure는 그 테이블을 업그레이드하지 않아요.",
  ],

  [
    "Nothing was changed. Start on a new database (DATABASE_URL) or data folder (DURE_HOME). To keep what is stored, run dure db backup with the dure that made it, and dure db restore with this one.",
    "바뀐 것은 없어요. 새 데이터베이스(`DATABASE_URL`)나 새 데이터 폴더(`DURE_HOME`)로 시작해 주세요. 저장된 내용을 옮기려면, 만들 때 쓴 dure로 `dure db backup`을 하고 지금의 dure로 `dure db restore`를 해 주세요.",
  ],

  [
    "The database belongs to release {0} (dure {1}), which works beside releases from {2} on; this one is {3} (dure {4}).",
    "데이터베이스는 릴리스 {0}(dure {1})의 것이고 릴리스 {2}부터 함께 쓸 수 있어요. 지금은 릴리스 {3}(dure {4})이에요.",
  ],

  [
    "The database works with releases from {0} on; this one is {1}.",
    "릴리스 {0}부터 쓸 수 있는 데이터베이스예요. 지금은 릴리스 {1}이에요.",
  ],

  [
    "A newer dure has used this database. Start that version, or restore a backup from before.",
    "더 새로운 dure가 쓴 데이터베이스예요. 그 버전으로 시작하거나, 그 전의 백업으로 되돌려 주세요.",
  ],

  [
    "The database went away during migration: {0}.",
    "마이그레이션하는 동안 데이터베이스 연결이 끊겼어요: {0}",
  ],

  [
    "Steps that were applied stay applied; start again and the rest follows.",
    "끝난 단계는 남아 있어요. 다시 시작하면 이어서 해요.",
  ],

  [
    "The database at {0} does not answer: {1}. It was waited for {2} s.",
    "{0}의 데이터베이스가 {2}초 동안 답하지 않았어요: {1}",
  ],

  ["The database at {0} does not answer: {1}", "{0}의 데이터베이스가 답하지 않아요: {1}"],

  [
    "Is PostgreSQL running there, and is DATABASE_URL right? Without DATABASE_URL dure starts its own.",
    "그곳에 PostgreSQL이 켜져 있는지, `DATABASE_URL`이 맞는지 확인해 주세요. `DATABASE_URL`이 없으면 dure가 직접 켜요.",
  ],

  [
    "Work goes on by itself when the database is back; `dure doctor` shows where it is looked for.",
    "데이터베이스가 돌아오면 일이 저절로 이어져요. 어디에서 찾는지는 `dure doctor`로 볼 수 있어요.",
  ],

  ["There is no PostgreSQL on npm for {0}.", "npm에 {0}용 PostgreSQL이 없어요."],
  ["The package {0} is not installed.", "`{0}` 패키지가 설치되어 있지 않아요."],

  [
    "PostgreSQL in {0} cannot be executed by the user that it has to run as.",
    "{0} 폴더의 PostgreSQL을 실행할 사용자에게 실행 권한이 없어요.",
  ],

  [
    "Set DATABASE_URL to a PostgreSQL 15 or newer, or install again without --omit=optional.",
    "`DATABASE_URL`에 PostgreSQL 15 이상의 주소를 적거나, `--omit=optional` 없이 다시 설치해 주세요.",
  ],

  [
    "PostgreSQL in {0} did not start within {1} s: {2}",
    "{0} 폴더의 PostgreSQL이 {1}초 안에 켜지지 않았어요: {2}",
  ],

  ["Read {0}.", "`{0}` 파일을 봐 주세요."],

  [
    "The data in {0} is of PostgreSQL {1}; the installed package is {2}.",
    "{0} 폴더의 데이터는 PostgreSQL {1}의 것인데, 설치된 버전은 {2}예요.",
  ],

  [
    "Install the dure that made it, `dure db backup`, then restore with this one into a new folder.",
    "이 데이터를 만든 dure를 설치해 `dure db backup`으로 백업하고, 지금의 dure로 새 폴더에 복원해 주세요.",
  ],

  [
    "Process {0} has been starting the database in {1} for more than {2} s.",
    "프로세스 {0}이(가) {1} 폴더의 데이터베이스를 {2}초 넘게 켜고 있어요.",
  ],

  [
    "Look at pg.log beside that folder; if process {0} hangs, end it.",
    "그 폴더 옆의 `pg.log`를 보고, 프로세스 {0}이(가) 멈춰 있으면 끝내 주세요.",
  ],

  ["The folder {0} cannot be made: {1}.", "{0} 폴더를 만들지 못했어요: {1}"],

  [
    "Name a folder that this user may write to (DURE_HOME for the data of a team).",
    "이 사용자가 쓸 수 있는 폴더를 알려 주세요. 팀의 데이터 폴더는 `DURE_HOME`으로 정해요.",
  ],

  ["The file {0} holds no name of a host.", "{0} 파일에 이 컴퓨터의 이름이 없어요."],

  [
    "Remove it and start again: a new one is made. Runs of plans that were begun under the old name wait for an answer in the inbox.",
    "파일을 지우고 다시 시작하면 새로 만들어요. 예전 이름으로 시작한 실행은 확인 요청함에서 답을 기다려요.",
  ],

  // --- the address, tokens and the page
  [
    "Listening on {0} would let other machines in, and no token is set.",
    "{0}에서 열면 다른 컴퓨터도 들어올 수 있는데, 토큰이 없어요.",
  ],

  [
    "Set DURE_TOKEN (or create tokens with `dure token create`), or listen on 127.0.0.1.",
    "`DURE_TOKEN`을 정하거나 `dure token create`로 토큰을 만들거나, 127.0.0.1에서 열어 주세요.",
  ],

  [
    "Port {0} on {1} is in use by another process.",
    "{1}의 포트 {0}을(를) 다른 프로그램이 쓰고 있어요.",
  ],

  [
    "Port {0} on {1} may not be used by this user.",
    "이 사용자는 {1}의 포트 {0}을(를) 쓸 수 없어요.",
  ],

  [
    "Stop the other process, or set PORT to a free one.",
    "그 프로그램을 끄거나, `PORT`로 비어 있는 포트를 정해 주세요.",
  ],

  ["{0} holds no index.html.", "{0} 폴더에 `index.html`이 없어요."],

  [
    "Build the dashboard: npm run build -w packages/dashboard.",
    "화면을 먼저 빌드해 주세요: `npm run build -w packages/dashboard`",
  ],

  [
    "DURE_A2A_KEY_FILE holds no private key of P-256.",
    "`DURE_A2A_KEY_FILE`에 적은 파일에 P-256 개인 키가 없어요.",
  ],

  [
    "Make one: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256",
    "이렇게 만들 수 있어요: `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`",
  ],

  // --- the team's own code
  ['Tool "{0}": {1}', "도구 `{0}`에 고칠 곳이 있어요: {1}"],

  [
    "{0} is read, and its tool has an effect.",
    "{0}을(를) 읽으려고 했는데, 그 도구는 밖의 것을 바꿔요.",
  ],

  [
    'Call it with turn.call("{0}", tool, input, { key }), or declare effect: "none".',
    '`turn.call("{0}", tool, input, { key })`로 부르거나 `effect: "none"`이라고 적어 주세요.',
  ],
  ["A tool that recovers by probe has no probe.", "`probe`로 확인하는 도구에 `probe`가 없어요."],

  [
    'Give it probe({ key }), or recover: "replay" if the outside keeps keys, or "ask".',
    '`probe({ key })`를 더하거나, 밖에서 키를 기억하면 `recover: "replay"`를, 아니면 `"ask"`를 적어 주세요.',
  ],

  [
    "A tool that needs a person's yes must be a once effect.",
    "사람의 승인이 필요한 도구는 `once` 효과여야 해요.",
  ],
  [
    "The tool {0} asks for a role or for two people; a card cannot let the person answer.",
    "도구 {0}은(는) 정해진 역할이나 두 사람의 승인을 받아야 해서, 카드에서 대화하는 사람에게 맡길 수 없어요.",
  ],
  [
    "The tool {0} asks for the role {1}; a card cannot name {2} instead.",
    "`{0}` 도구는 `{1}` 역할의 승인이 필요해요. 카드에서 `{2}`(으)로 바꿀 수 없어요.",
  ],

  [
    "Write approvals: [{0}], or change the tool.",
    "`approvals: [{0}]`이라고 적거나 도구를 고쳐 주세요.",
  ],

  [
    "The tool {0}, which needs a person's yes, must be a once effect.",
    "사람의 승인이 필요한 도구 {0}은(는) `once` 효과여야 해요.",
  ],

  [
    'Declare effect: "once": the ledger sees to it that a yes is used for one call.',
    '`effect: "once"`라고 적어 주세요. 그래야 승인 하나로 한 번만 실행돼요.',
  ],

  ["A form needs at least one slot.", "서식에는 슬롯이 하나 이상 있어야 해요."],
  ["{0} has no embedding models here.", "{0}의 임베딩 모델은 쓸 수 없어요."],

  [
    'Name one of openai or openai-compatible, such as "openai:text-embedding-3-small".',
    "`openai:text-embedding-3-small`처럼 `openai`나 `openai-compatible`의 모델을 적어 주세요.",
  ],

  ['There is no retention rule "{0}".', "`{0}` 보관 규칙이 없어요."],
  ["Known rules: {0}.", "있는 규칙: {0}"],
  ["The data folder must be absolute: {0}.", "데이터 폴더는 절대 경로여야 해요: {0}"],

  [
    "Migration {0} ({1}) was applied with another text.",
    "마이그레이션 {0}({1})의 내용이 적용했을 때와 달라요.",
  ],

  [
    "An applied migration never changes: restore its text and write a new migration for the difference.",
    "적용한 마이그레이션은 바꾸지 않아요. 내용을 되돌리고, 바꿀 것은 새 마이그레이션에 적어 주세요.",
  ],

  [
    "The functions of release {0} stand in the database with another text.",
    "릴리스 {0}의 함수가 데이터베이스에 있는 것과 달라요.",
  ],

  [
    "Functions that change get a new number: raise it in team/schema.ts.",
    "함수를 바꾸면 번호도 올려야 해요. `team/schema.ts`의 번호를 올려 주세요.",
  ],

  [
    "Give the team an agent with it: agents: { <id>: { service: {0} } }.",
    "팀에 이 서비스로 답하는 에이전트를 더해 주세요: `agents: { <id>: { service: {0} } }`",
  ],

  [
    "Name it in the configuration, or in its service: {0}.",
    "팀이나 서비스의 설정에 적어 주세요: `{0}`",
  ],

  [
    "Let each be longer than the one before; all count from the request.",
    "모두 요청한 때부터 세요.",
  ],

  // --- rooms and agents
  [
    "The agent {0} has a retriever, and its card names knowledge bases.",
    "{0} 에이전트에 retriever가 있는데, 카드에 지식 모음도 적혀 있어요.",
  ],

  [
    "Keep one of them: the retriever in code, or `knowledge` of the card.",
    "코드의 retriever와 카드의 `knowledge` 가운데 하나만 남겨 주세요.",
  ],

  ["{0} have the same token of {1}.", "{1} 토큰이 같아요: {0}"],

  [
    "One bot is one agent: make a bot for each, and set its variable to the token of its own.",
    "봇 하나는 에이전트 하나예요. 에이전트마다 봇을 만들고, 변수에 그 봇의 토큰을 적어 주세요.",
  ],

  [
    "The Discord adapter needs the package discord.js, which is not installed.",
    "Discord를 쓰려면 `discord.js` 패키지가 필요한데 설치되어 있지 않아요.",
  ],

  ["Install it beside dure: {0}", "dure 옆에 설치해 주세요: `{0}`"],

  [
    "The Slack adapter needs the packages {0} and {1}.",
    "Slack을 쓰려면 `{0}`, `{1}` 패키지가 필요해요.",
  ],

  ["Install them beside dure: {0}", "dure 옆에 설치해 주세요: `{0}`"],

  [
    '"{0}" does not say who may ask whom.',
    "`{0}`은(는) 누가 누구에게 맡길 수 있는지 나타내지 않아요.",
  ],

  [
    'Write two agents with an arrow: "ruda -> eden", "* -> reviewer-*".',
    '에이전트 둘을 화살표로 이어 주세요: `"ruda -> eden"`, `"* -> reviewer-*"`',
  ],

  [
    "The script {0} of the offline worker cannot be read.",
    "오프라인 작업자의 각본 {0} 파일을 읽을 수 없어요.",
  ],

  ["Its path begins at the folder of the plan.", "경로는 계획이 있는 폴더에서 시작해요."],
];
