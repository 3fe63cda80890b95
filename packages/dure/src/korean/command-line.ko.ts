import type { SentenceForm } from "../kernel/sentence-forms.ts";

/** Refusals of the command line, and of a server that only the command line meets. */
export const COMMAND_SENTENCES_KO: readonly SentenceForm[] = [
  // --- how it was called
  [
    "unknown command '{0}' (Did you mean one of {1}?)",
    "`{0}` 명령이 없어요. 혹시 이 가운데 하나인가요? {1}",
  ],

  ["unknown command '{0}' (Did you mean {1}?)", "`{0}` 명령이 없어요. 혹시 `{1}`인가요?"],
  ["unknown command '{0}'", "`{0}` 명령이 없어요."],

  [
    "unknown option '{0}' (Did you mean one of {1}?)",
    "`{0}` 옵션이 없어요. 혹시 이 가운데 하나인가요? {1}",
  ],

  ["unknown option '{0}' (Did you mean {1}?)", "`{0}` 옵션이 없어요. 혹시 `{1}`인가요?"],
  ["unknown option '{0}'", "`{0}` 옵션이 없어요."],
  ["missing required argument '{0}'", "`{0}` 자리에 들어갈 값이 없어요."],
  ["option '{0}' argument missing", "`{0}` 옵션 뒤에 값이 없어요."],
  ["A task needs {0}: its repository does not say it.", "{0} 옵션이 필요해요. 저장소에도 없어요."],
  ["The server for this task ended ({0}): {1}", "이 할 일의 서버가 꺼졌어요({0}): {1}"],
  [
    "Look what it lacks: dure doctor --dir ~/.local/share/dure/local",
    "무엇이 부족한지 `dure doctor --dir ~/.local/share/dure/local`로 확인해 주세요",
  ],

  [
    "Give it here, or commit it to .dure/project.yaml of the repository: {0}",
    "여기에 적거나, 저장소의 `.dure/project.yaml`에 커밋해 주세요: `{0}`",
  ],

  [
    "By its words it would be --own {0}. Give it here, or commit own: to .dure/project.yaml.",
    "할 일에 나온 말로는 `--own {0}`이에요. 여기에 적거나, `.dure/project.yaml`에 `own:`을 커밋해 주세요.",
  ],

  [
    "Add --local: then it has a server of its own. Or name your team: --dir ~/dure-team.",
    "`--local`을 붙이면 서버를 따로 시작해요. 팀이 있으면 `--dir ~/dure-team`처럼 알려 주세요.",
  ],

  ["required option '{0}' not specified", "`{0}` 옵션이 꼭 필요해요."],

  [
    "option '{0}' argument '{1}' is invalid. Allowed choices are {2}.",
    "`{0}` 옵션에 `{1}`은(는) 쓸 수 없어요. 고를 수 있는 값: {2}",
  ],

  ["option '{0}' argument '{1}' is invalid. {2}", "`{0}` 옵션에 `{1}`은(는) 쓸 수 없어요: {2}"],

  [
    "command-argument value '{0}' is invalid for argument '{1}'. Allowed choices are {2}.",
    "`{1}` 자리에 `{0}`은(는) 쓸 수 없어요. 고를 수 있는 값: {2}",
  ],

  [
    "too many arguments for '{0}'. Expected {1} arguments but got {2}: {3}.",
    "`{0}` 명령에 값이 너무 많아요. {1}개까지인데 {2}개를 적었어요: {3}",
  ],

  [
    "too many arguments for '{0}'. Expected {1} argument but got {2}: {3}.",
    "`{0}` 명령에 값이 너무 많아요. {1}개까지인데 {2}개를 적었어요: {3}",
  ],

  [
    "too many arguments. Expected {0} arguments but got {1}: {2}.",
    "값이 너무 많아요. {0}개까지인데 {1}개를 적었어요: {2}",
  ],

  [
    "too many arguments. Expected {0} argument but got {1}: {2}.",
    "값이 너무 많아요. {0}개까지인데 {1}개를 적었어요: {2}",
  ],

  ["{0} cannot be used with {1}", "{0}, {1} 가운데 하나만 쓸 수 있어요."],
  ["option '{0}'", "`{0}` 옵션"],

  [
    "Either the name of a plan or --file is needed, and not both.",
    "계획의 이름과 `--file` 가운데 하나만 적어 주세요.",
  ],

  [
    "dure plan run login, or dure plan run --file draft.yaml",
    "예: `dure plan run login`이나 `dure plan run --file draft.yaml`",
  ],

  [
    "--{0} is for a port, and none is named.",
    "`--{0}`은(는) 포트에 쓰는 옵션인데 포트를 적지 않았어요.",
  ],

  ["dure plan retry {0}", "예: `dure plan retry {0}`"],
  ["A comment has a place and a text.", "의견에는 자리와 글이 모두 있어야 해요."],

  [
    'dure plan review RUN PORT --at src/a.ts:12 --say "…"',
    '예: `dure plan review RUN PORT --at src/a.ts:12 --say "…"`',
  ],

  ["Tasks need both --own and --accept.", "할 일을 맡기려면 `--own`과 `--accept`가 모두 필요해요."],

  [
    "dure acp --own 'src/**' --accept 'npm test'",
    "예: `dure acp --own 'src/**' --accept 'npm test'`",
  ],

  // --- evaluations
  ["{0} has no evaluation.", "{0} 폴더에 평가가 없어요."],
  [
    "Write evals/first.eval.yaml: docs/guides/evals.md.",
    "`evals/first.eval.yaml` 파일을 써 주세요. 쓰는 법은 docs/guides/evals.md에 있어요.",
  ],
  ['Two evaluations have the name "{0}".', "이름이 {0}인 평가가 둘이에요."],
  ["Give {0} another name.", "{0} 파일의 평가에 다른 이름을 붙여 주세요."],
  [
    "No run of the last 23 hours is without its end.",
    "지난 23시간 안에 시작해 끝나지 않은 실행이 없어요.",
  ],
  ["Make another one with: dure eval", "`dure eval`로 새로 실행해 주세요."],
  ['No case has "{0}" in its name.', "이름에 “{0}”이(가) 든 사례가 없어요."],
  [
    "Look at the names of the cases, or leave --only out.",
    "사례의 이름을 확인하거나 `--only`를 빼 주세요.",
  ],
  ['There is no run "{0}".', "{0} 실행이 없어요."],
  ["The newest runs are: {0}.", "최근 실행: {0}"],
  ["Make one with: dure eval", "`dure eval`로 먼저 실행해 주세요."],
  ["The run {0} cannot be read: {1}", "{0} 실행을 읽을 수 없어요: {1}"],
  ["Look at {0}.", "{0} 파일을 확인해 주세요."],
  [
    "Name a file of evals/, such as evals/faq.eval.yaml.",
    "`evals/faq.eval.yaml`처럼 evals/의 파일 이름을 적어 주세요.",
  ],
  [
    "Run it alone to see where it fails: node {0}",
    "어디서 멈추는지 `node {0}`로 따로 실행해 보세요.",
  ],
  [
    "{0} has no evaluation as its default export.",
    "{0} 파일이 기본으로 내보내는 것이 평가가 아니에요.",
  ],
  [
    "Write: export default defineEval({ cases: [ … ] })",
    "`export default defineEval({ cases: [ … ] })`라고 써 주세요.",
  ],
  ["{0} is not from 1 to {1}.", "{0}은(는) 1에서 {1} 사이가 아니에요."],
  ["Write a number in between.", "그 사이의 수를 적어 주세요."],
  ['"{0}" is no share from 0 to 1.', "`{0}`은(는) 0에서 1 사이의 비율이 아니에요."],
  ["Write a number such as 0.95.", "0.95 같은 수를 적어 주세요."],
  ['The last answer has no button "{0}".', "마지막 답에 ‘{0}’ 버튼이 없어요."],
  ["Its buttons are: {0}.", "있는 버튼: {0}"],
  ["There was no answer within {0} s.", "{0}초 안에 답이 오지 않았어요."],
  [
    "Set timeout in the evaluation, or look at the turn's trace.",
    "평가의 timeout을 늘리거나 턴의 기록을 확인해 주세요.",
  ],
  ['"{0}" is no whole number.', "`{0}`은(는) 정수가 아니에요."],
  ["Write digits alone.", "숫자만 적어 주세요."],
  ['"{0}" is no JSON object.', "`{0}`은(는) JSON 객체가 아니에요."],
  [
    `Write names and values, in quotes for the shell: '{"amount":30000}'.`,
    `이름과 값을 셸 따옴표로 감싸 적어 주세요. 예: '{"amount":30000}'`,
  ],
  ['There is no completion for "{0}".', "`{0}` 셸의 자동 완성은 없어요."],
  ["Use {0}.", "쓸 수 있는 것: {0}"],
  ['There are no tools "{0}".', "`{0}` 도구가 없어요."],

  [
    "--tools takes {0}, with commas between them.",
    "`--tools`에 쉼표로 이어서 적을 수 있는 값: {0}",
  ],

  // --- folders, files and names
  ["{0} does not exist.", "{0} 폴더가 없어요."],
  ["Name the folder of a service or of a team.", "서비스나 팀의 폴더를 적어 주세요."],

  [
    "{0} has no service.yaml and no service.ts.",
    "{0} 폴더에 `service.yaml`도 `service.ts`도 없어요.",
  ],

  [
    "Name the folder of a service, or make one: dure new service my-service",
    "서비스의 폴더를 적거나 새로 만들어 주세요: `dure new service my-service`",
  ],

  [
    "There is no team in {0}; nothing was written.",
    "{0} 폴더에 팀이 없어서 아무것도 만들지 않았어요.",
  ],

  [
    "Make one: dure init my-team. Or name its folder with --dir.",
    "`dure init my-team`으로 팀을 만들거나, `--dir`로 팀의 폴더를 알려 주세요.",
  ],

  ['"{0}" cannot be the name of a team.', "`{0}`은(는) 팀의 이름으로 쓸 수 없어요."],
  ['"{0}" cannot be the name of a service.', "`{0}`은(는) 서비스의 이름으로 쓸 수 없어요."],
  ['"{0}" cannot be the name of a agent.', "`{0}`은(는) 에이전트의 이름으로 쓸 수 없어요."],
  ['"{0}" cannot be the name of a plan.', "`{0}`은(는) 계획의 이름으로 쓸 수 없어요."],
  ['"{0}" cannot be the id of an agent.', "`{0}`은(는) 에이전트의 이름으로 쓸 수 없어요."],

  [
    "Use 1 to 64 letters (한글 too), digits, spaces, _ or -, and begin with a letter or digit.",
    "한글과 영문자, 숫자, 빈칸, `_`, `-`를 64자까지 쓸 수 있고, 글자나 숫자로 시작해요.",
  ],

  [
    "Use Latin letters, digits, _ or -; its name in any script is `name` in its agent.md.",
    "영문자와 숫자, `_`, `-`를 쓸 수 있어요. 한글 이름은 agent.md의 `name`에 적어 주세요.",
  ],
  ['"{0}" cannot be the name of a tool.', "`{0}`은(는) 도구의 이름으로 쓸 수 없어요."],
  [
    "Use 1 to 64 Latin letters, digits or _, and begin with a letter: code exports it by this name. Names of dure's own tools are taken.",
    "영문자와 숫자, `_`로 64자까지, 영문자로 시작해 주세요. 코드에서 쓰는 이름이에요. dure에 있는 도구의 이름은 쓸 수 없어요.",
  ],
  ['"{0}" cannot be the name of a skill.', "`{0}`은(는) 스킬의 이름으로 쓸 수 없어요."],
  [
    "Use 1 to 64 lower-case letters of a-z, digits, and single hyphens between them.",
    "영문 소문자와 숫자로 64자까지 쓰고, 사이에 `-`를 하나씩 넣을 수 있어요.",
  ],

  [
    "Use 1 to 64 Latin letters, digits, _ or -, and begin with a letter or digit: branches are called by it.",
    "브랜치의 이름이 되니 영문자와 숫자, `_`, `-`로 64자까지 짓고, 영문자나 숫자로 시작해 주세요.",
  ],

  ["{0} exists; nothing was written.", "{0}이(가) 이미 있어서 아무것도 만들지 않았어요."],

  [
    "{0} exists and is not empty; nothing was written.",
    "{0} 폴더가 이미 있고 비어 있지 않아서 아무것도 만들지 않았어요.",
  ],

  ["Choose another name.", "다른 이름을 써 주세요."],

  [
    "Choose another name, or empty the folder yourself.",
    "다른 이름을 쓰거나 폴더를 직접 비워 주세요.",
  ],

  ["The plan {0} cannot be read: {1}", "계획 {0} 파일을 읽을 수 없어요: {1}"],

  [
    "Give the path of a .yaml, .json or .md file, or - for standard input.",
    "`.yaml`이나 `.json`, `.md` 파일의 경로를 적어 주세요. 표준 입력은 `-`예요.",
  ],

  ["{0} cannot be written: {1}", "{0} 파일을 쓸 수 없어요: {1}"],
  ["Name another file: --out FILE", "`--out`으로 다른 파일을 적어 주세요."],

  [
    "There is no file {0}, and no plan of this name in {1}.",
    "{0} 파일이 없고, {1} 폴더에 이런 이름의 계획도 없어요.",
  ],

  ["There are {0}.", "있는 계획: {0}"],
  ["Make one with: dure new plan NAME", "이렇게 만들 수 있어요: `dure new plan 이름`"],

  // --- servers
  ['"{0}" is no address of a server.', "`{0}`은(는) 서버의 주소가 아니에요."],

  [
    "Write it with its scheme, such as http://127.0.0.1:4600.",
    "`http://127.0.0.1:4600`처럼 `http://`까지 적어 주세요.",
  ],

  ["another server answers at {0}", "{0}에서 다른 서버가 답해요"],

  [
    "Check that the address is dure's and that no proxy changes its answers.",
    "주소가 dure의 것인지, 중간의 프록시가 답을 바꾸지 않는지 확인해 주세요.",
  ],

  ["The token is not known here, or it was revoked.", "모르는 토큰이거나 취소된 토큰이에요."],

  [
    "`dure token list` shows the living ones.",
    "쓸 수 있는 토큰은 `dure token list`로 볼 수 있어요.",
  ],

  [
    "Send `Authorization: Bearer <token>`, or log in. At the server's machine `dure login` prints a link, and `dure token create` makes a token.",
    "`DURE_TOKEN`에 토큰을 적어 주세요. 서버가 있는 컴퓨터에서는 `dure login`으로 로그인 링크를, `dure token create`로 토큰을 만들 수 있어요.",
  ],

  [
    "Wait for its end, or retry what failed.",
    "끝날 때까지 기다리거나, 실패한 것을 다시 시도해 주세요.",
  ],
  [
    "Another person looks at it and approves it: {0}",
    "다른 사람이 살펴보고 승인하면 합칠 수 있어요: `{0}`",
  ],
  ["Look at it again, then approve that: {0}", "다시 살펴보고 승인해 주세요: `{0}`"],
  [
    "Name another repository: in the plan, with --repo, or in the configuration (repositories). An operator allows the team's own folder with plans: { ownFolder: true } in the configuration.",
    "다른 저장소를 적어 주세요: 계획이나 --repo, 설정의 `repositories`. 팀의 폴더를 쓰려면 운영자가 설정에 `plans: { ownFolder: true }`를 적어요.",
  ],
  [
    "Look at the result branch and merge it by hand with git, or allow it in the configuration: plans: { ownFolder: true }.",
    "결과 브랜치를 살펴보고 git으로 직접 합치거나, 설정에서 허용해 주세요: `plans: { ownFolder: true }`",
  ],
  [
    "Make one: dure token create NAME --scope plans:unconfined --scope plans:run. The scope admin does not hold it, and a caller without a token has no scope.",
    "이렇게 만들 수 있어요: `dure token create 이름 --scope plans:unconfined --scope plans:run` `admin` 권한에는 들어 있지 않고, 토큰이 없으면 권한도 없어요.",
  ],

  ["This link has been used, or its time is over.", "이미 썼거나 시간이 지난 링크예요."],

  [
    "`dure login` at the server's machine prints another one.",
    "서버가 있는 컴퓨터에서 `dure login`으로 새 링크를 만들 수 있어요.",
  ],

  ["This process may write no more.", "서버가 꺼지는 중이라 저장할 수 없어요."],
  ["This server closed during the call.", "부르는 동안 서버가 꺼졌어요."],

  [
    "This server closed while turn {0} was running; the turn goes on.",
    "턴 {0}을(를) 처리하는 동안 서버가 꺼졌어요. 턴은 이어져요.",
  ],

  ["A token or a login is needed here.", "토큰이나 로그인이 필요해요."],

  [
    "Ask again when it goes on. An operator resumes it: dure resume {0}",
    "다시 움직인 뒤에 물어봐 주세요. `dure resume {0}`으로 움직일 수 있어요.",
  ],

  ["See all of them with: dure plan check {0}", "모두 보려면: `dure plan check {0}`"],
  ["Add to the plan, before it runs: {0}", "실행하기 전에 계획에 이렇게 적어 주세요: `{0}`"],
  ["Its steps are listed with the port.", "단계는 `dure plan status RUN PORT`로 볼 수 있어요."],
  ["This server is closing.", "서버가 꺼지는 중이에요."],

  [
    "Try again: another process or the next start answers.",
    "다시 시도해 주세요. 다른 서버나 다시 켜진 서버가 답해요.",
  ],

  ["This process is stopping and accepts nothing more.", "서버가 꺼지는 중이라 더 받지 않아요."],
  ["Try again; another process answers.", "다시 시도해 주세요. 다른 서버가 답해요."],
  ["{0} turns run here already.", "서버가 이미 턴 {0}개를 처리하고 있어요."],
  ["Try again in a moment.", "잠시 뒤에 다시 시도해 주세요."],
  ["The token {0} has {1} characters.", "토큰 {0}이(가) {1}자예요."],

  [
    "Use at least 16 random characters, for example from `openssl rand -base64 32`.",
    "무작위 글자를 16자 이상 써 주세요. 예: `openssl rand -base64 32`",
  ],

  ['"{0}" is no scope.', "`{0}`은(는) 없는 권한이에요."],
  ['"{0}" is no name of a role.', "`{0}`은(는) 역할의 이름으로 쓸 수 없어요."],

  [
    "Use small letters, digits and hyphens, such as treasury; at most 40.",
    "영문 소문자와 숫자, 붙임표로 40자까지 적어 주세요. 예: `treasury`",
  ],

  ['Did you mean "{0}"?', "혹시 `{0}`인가요?"],
  ["Did you mean {0}?", "혹시 `{0}`인가요?"],
  ['slot.{0}: unknown option "{1}".', "`slot.{0}`에 `{1}` 옵션이 없어요."],
  ["slot.{0}: {1} is missing.", "`slot.{0}`에 `{1}` 옵션이 꼭 필요해요."],
  ["slot.{0}: {1} cannot be {2}.", "`slot.{0}`의 `{1}`에 `{2}`은(는) 쓸 수 없어요."],
  ["slot.{0}: its options are {1}.", "`slot.{0}`의 옵션은 객체로 적어요. 지금은 `{1}`이에요."],
  [
    "slot.{0}: no value is at least {1} and at most {2}.",
    "`slot.{0}`에는 {1} 이상이면서 {2} 이하인 값이 없어요.",
  ],
  [
    "slot.{0}: it is required, and askOnce lets people leave it empty.",
    "`slot.{0}`은(는) 꼭 필요한데, `askOnce`로 비울 수 있게 되어 있어요.",
  ],
  [
    "slot.{0}: a choice has 1 to {1} options, and this one has {2}.",
    "`slot.{0}`의 선택지는 1개에서 {1}개까지예요. 지금은 {2}개예요.",
  ],
  ["slot.{0}: {1}", "`slot.{0}`을(를) 만들 수 없어요: {1}"],
  ['lexiconWith: unknown option "{0}".', "`lexiconWith`에 `{0}` 목록이 없어요."],
  ["lexiconWith: {0} cannot be {1}.", "`lexiconWith`의 `{0}`에 `{1}`은(는) 쓸 수 없어요."],
  ["lexiconWith: {0}", "`lexiconWith`에 준 말을 쓸 수 없어요: {0}"],
  ["There is no valid token {0}.", "쓸 수 있는 토큰 {0}이(가) 없어요."],
  ["dure token list shows them.", "토큰은 `dure token list`로 볼 수 있어요."],
  ["There is no login {0}.", "{0} 로그인이 없어요."],
  ["dure token sessions shows them.", "로그인은 `dure token sessions`로 볼 수 있어요."],
  ["There is no run {0}.", "{0} 실행이 없거나 볼 권한이 없어요."],
  ["List them with: dure plan runs", "실행은 `dure plan runs`로 볼 수 있어요."],
  ["There is no job {0}.", "{0} 일이 없거나 볼 권한이 없어요."],

  [
    "Finished jobs are kept 7 days; check the id.",
    "끝난 일은 7일 동안 남아요. ID를 확인해 주세요.",
  ],

  ["There is no escalation {0}.", "{0} 확인 요청이 없거나 볼 권한이 없어요."],
  ["Check the id.", "ID를 확인해 주세요."],
  ["There is no session {0}.", "{0} 대화가 없거나 볼 권한이 없어요."],
  ["Check the session id.", "대화의 ID를 확인해 주세요."],
  ['There is no schedule "{0}".', "`{0}` 예약이 없어요."],
  ["GET /v1/schedules lists them.", "예약은 `dure schedules list`로 볼 수 있어요."],
  ['There is no room or thread "{0}".', "`{0}` 방이나 스레드가 없거나 볼 권한이 없어요."],
  ['More than one platform has the room "{0}".', "`{0}` 방이 여러 메신저에 있어요."],
  ["Name it in full: {0}.", "전체 이름으로 적어 주세요: {0}"],
  ["List them: GET /v1/rooms", "방은 `dure rooms list`로 볼 수 있어요."],
  ["Look at the run with: dure plan status", "실행이 어떤지 `dure plan status`로 봐 주세요."],
  ['"{0}" cannot be a session\'s id.', "`{0}`은(는) 대화의 ID로 쓸 수 없어요."],

  [
    "Use 1 to 200 letters, digits or . _ : @ -",
    "영문자와 숫자, `. _ : @ -`를 200자까지 쓸 수 있어요.",
  ],

  ["Services are {0}.", "있는 서비스: {0}"],

  [
    "Restart the server, or run it with Node 24.",
    "서버를 다시 시작하거나 Node 24로 실행해 주세요.",
  ],

  // --- backups
  ["{0} is no backup of dure.", "{0} 파일은 dure의 백업이 아니에요."],
  ["{0} is no backup of dure: {1}", "{0} 파일은 dure의 백업이 아니에요: {1}"],
  ["Give a file that dure db backup has written.", "`dure db backup`으로 만든 파일을 적어 주세요."],

  [
    "{0} comes from a newer dure (migration {1}; this one knows {2}).",
    "{0} 파일은 더 새로운 dure의 백업이에요(마이그레이션 {1}, 이 dure는 {2}까지).",
  ],

  ["Restore it with the version that wrote it.", "백업을 만든 버전으로 복원해 주세요."],

  [
    "A dure process works on this database; nothing was restored.",
    "이 데이터베이스를 쓰는 서버가 있어서 아무것도 복원하지 않았어요.",
  ],

  ["Stop every process of the team first.", "팀의 서버를 먼저 모두 꺼 주세요."],

  [
    "The database holds {0} sessions; the backup of {1} would replace them. Nothing was restored.",
    "데이터베이스에 대화가 {0}개 있고, {1}의 백업이 그것을 덮어쓰게 돼요. 아무것도 복원하지 않았어요.",
  ],

  [
    "Make a backup of what is there, then run it again with --replace.",
    "지금 있는 것을 백업한 뒤 `--replace`를 붙여 다시 실행해 주세요.",
  ],

  [
    "{0} ends in its middle; nothing was restored.",
    "{0} 파일이 중간에 끊겨 있어서 아무것도 복원하지 않았어요.",
  ],

  [
    "Use another backup; this one was not written to its end.",
    "끝까지 쓰이지 않은 백업이에요. 다른 백업을 써 주세요.",
  ],

  [
    "{0} has the table {1}, which this version does not have.",
    "{0} 파일에 이 버전에 없는 테이블 {1}이(가) 있어요.",
  ],

  ["Tables refer to each other in a circle: {0}.", "테이블이 서로를 가리켜요: {0}"],

  // --- knowledge
  ["{0} has no document {1}.", "{0}에 {1} 문서가 없어요."],

  [
    "dure knowledge list --base {0} shows them.",
    "문서는 `dure knowledge list --base {0}`으로 볼 수 있어요.",
  ],

  ["{0} has more than {1} documents.", "{0} 폴더의 문서가 {1}개를 넘어요."],
  ["Add its folders one by one.", "폴더를 하나씩 더해 주세요."],
  ["{0} is not UTF-8 text.", "{0} 파일은 UTF-8 글이 아니에요."],
  ["Save it as UTF-8, or leave it out.", "UTF-8로 저장하거나 빼 주세요."],
  ["{0} has more than {1} bytes.", "{0} 파일이 {1}바이트를 넘어요."],
  ["Split it, or leave it out.", "나누거나 빼 주세요."],

  ["The team has several knowledge bases: {0}.", "팀에 지식 모음이 여럿 있어요: {0}"],
  ["Name one with --base.", "`--base`로 하나를 골라 주세요."],
  ["The team has no knowledge base.", "팀에 지식 모음이 없어요."],

  [
    "Name one in the configuration: knowledge: { handbook: {} }.",
    "설정에 이렇게 적어 주세요: `knowledge: { handbook: {} }`",
  ],

  // --- logins at MCP servers
  ["The authorization server says: {0}", "로그인하는 곳에서 거절했어요: {0}"],

  [
    "The server names the authorization server {0}, and the settings {1}.",
    "서버가 알려 준 로그인 주소는 {0}인데, 설정에는 {1}(이)라고 적혀 있어요.",
  ],

  ["The server names no authorization server.", "서버가 로그인할 곳을 알려 주지 않아요."],

  [
    "Ask who runs it how to log in; `headers` takes a token of your own.",
    "서버를 운영하는 곳에 로그인하는 방법을 물어봐 주세요. 가진 토큰은 `headers`에 적을 수 있어요.",
  ],

  ["{0} registers no clients.", "{0}에서는 클라이언트를 등록할 수 없어요."],

  [
    "Register dure there, and set login: { clientId: … } of the server.",
    "그곳에 dure를 직접 등록하고, 서버의 설정에 `login: { clientId: … }`를 적어 주세요.",
  ],

  ["The login at {0} failed: {1}", "{0}에 로그인하지 못했어요: {1}"],

  [
    "Correct login.issuer, if you trust the one that the server names.",
    "서버가 알려 준 곳을 믿는다면 `login.issuer`를 고쳐 주세요.",
  ],

  ["Another process works on the login at {0}.", "다른 프로그램이 {0} 로그인을 처리하고 있어요."],
  ["Try it again in a minute.", "1분 뒤에 다시 시도해 주세요."],
  ["No login came back within {0} minutes.", "{0}분 안에 로그인이 끝나지 않았어요."],

  [
    "Begin again, and open the address in a browser on this machine.",
    "다시 시작하고, 이 컴퓨터의 브라우저에서 주소를 열어 주세요.",
  ],

  ["The login at {0} could not be renewed: {1}", "{0} 로그인을 이어 가지 못했어요: {1}"],

  [
    "The MCP server {0} takes no person's login.",
    "MCP 서버 {0}은(는) 사람이 로그인하는 서버가 아니에요.",
  ],

  [
    "Give it one in the configuration: {0}: { url: …, login: {} }.",
    "설정에 이렇게 적어 주세요: `{0}: { url: …, login: {} }`",
  ],

  [
    "Name an https address with a path, such as https://example.com/dure-client.json.",
    "`https://example.com/dure-client.json`처럼 경로가 있는 https 주소를 적어 주세요.",
  ],

  [
    "Servers of this team are: {0}. They stand under `mcp` of its configuration.",
    "설정의 `mcp`에 있는 서버: {0}",
  ],

  ["Servers of this team are: {0}.", "팀의 MCP 서버: {0}"],

  // --- hooks of workers
  [
    "This is not called by a worker of a plan: DURE_HOOK_URL and DURE_HOOK_TOKEN are not set.",
    "계획의 작업자가 부른 것이 아니에요. `DURE_HOOK_URL`과 `DURE_HOOK_TOKEN`이 없어요.",
  ],

  [
    "Call it from the commands of a worker; there both are set.",
    "작업자의 명령 안에서 불러 주세요. 거기에는 둘 다 있어요.",
  ],

  ["No running step has this token.", "이 토큰을 쓰는 단계가 없어요."],
  ["The token of a step is missing.", "단계의 토큰이 없어요."],

  [
    "It counts while the worker that it was given to works.",
    "토큰은 받은 작업자가 일하는 동안만 쓸 수 있어요.",
  ],

  [
    "A report counts while the worker that makes it works.",
    "보고는 작업자가 일하는 동안만 할 수 있어요.",
  ],

  [
    "Call `dure hook` from a worker; it has the token.",
    "작업자 안에서 `dure hook`을 불러 주세요. 거기에 토큰이 있어요.",
  ],

  [
    "No more than {0} questions are answered in one step.",
    "한 단계에서 질문은 {0}번까지 할 수 있어요.",
  ],

  ["The {0} did not answer within {1} s.", "{1}초 안에 답이 없었어요: {0}"],

  [
    "Decide by yourself, and say at the end what you were unsure of.",
    "스스로 정하고, 무엇이 확실하지 않았는지 끝에 말해 주세요.",
  ],

  ["The run's answer has no words.", "실행의 답에 글이 없어요."],
  ["The run's answer has no decision.", "실행의 답에 결정이 없어요."],

  [
    "The run's answer does not say whether the path was granted.",
    "실행의 답에 경로를 맡겼는지가 없어요.",
  ],

  [
    "Pipe the report into it: my-test-tool --json | dure hook test-feedback.",
    "이렇게 보고를 이어 주세요: `my-test-tool --json | dure hook test-feedback`",
  ],

  ["The report is longer than {0} bytes.", "보고가 {0}바이트를 넘어요."],

  [
    "Send the failing tests and the numbers, not the whole output.",
    "출력 전체가 아니라 실패한 테스트와 숫자만 보내 주세요.",
  ],

  ["The run cannot be reached at {0}: {1}.", "{0}에 있는 실행에 닿지 않아요: {1}"],
  ["The run answered {0}: {1}", "실행이 {0}(으)로 답했어요: {1}"],
];
