import type { SentenceForm } from "../kernel/sentence-forms.ts";

/** What is wrong in a file, and what to do about it: the parts of a problem's line. */
export const PROBLEMS_KO: readonly SentenceForm[] = [
  // --- any file
  ["is missing", "값이 없어요"],
  ["cannot be used", "쓸 수 없는 값이에요"],
  ["Map keys must be unique", "같은 키가 두 번 있어요"],

  [
    "Check the indentation, and quote texts that hold : or #",
    "들여쓰기를 확인하고, `:`나 `#`이 든 글은 따옴표로 감싸 주세요",
  ],

  ["Check commas, quotes and braces", "쉼표와 따옴표, 괄호를 확인해 주세요"],
  ['unknown key "{0}"; did you mean "{1}"?', "모르는 키 `{0}`이(가) 있어요. 혹시 `{1}`인가요?"],
  ['unknown key "{0}"; known are {1}', "`{0}` 키는 없어요. 쓸 수 있는 키: `{1}`"],
  ['unknown key "{0}"', "모르는 키 `{0}`이(가) 있어요"],

  [
    '"{0}" and "{1}" are one setting; keep one of them',
    "`{0}`과(와) `{1}`은(는) 같은 설정이에요. 하나만 남겨 주세요",
  ],

  ['did you mean "{0}"?', "혹시 `{0}`인가요?"],
  ["did you mean {0}?", "혹시 `{0}`인가요?"],
  ["cannot be loaded: {0}", "불러오지 못했어요: {0}"],
  ["cannot be read: {0}", "읽지 못했어요: {0}"],
  ["Keep one of them", "하나만 남겨 주세요"],
  ["Remove one of them.", "하나를 빼 주세요."],
  ["Remove this entry.", "이 항목을 빼 주세요."],

  // --- services
  ["has no team as its default export", "기본으로 내보내는 팀이 없어요"],
  ["exports no service", "내보내는 서비스가 없어요"],
  ["Write: {0}", "이렇게 적어 주세요: `{0}`"],

  [
    "{0} gives another answer when the turn is replayed after a crash, called by the handler {1}",
    "`{0}`은(는) 서버가 꺼진 뒤 턴을 다시 실행하면 다른 답을 줘요(핸들러 `{1}`에서 불러요)",
  ],

  [
    "{0} gives another answer when the turn is replayed after a crash",
    "`{0}`은(는) 서버가 꺼진 뒤 턴을 다시 실행하면 다른 답을 줘요",
  ],

  ["Call turn.random() or turn.id(kind)", "`turn.random()`이나 `turn.id(kind)`를 불러 주세요"],
  ["Call {0}", "`{0}`을(를) 불러 주세요"],
  ["Write new Date(turn.now())", "`new Date(turn.now())`라고 적어 주세요"],

  [
    "Put it into a tool, or into turn.step(name, fn), whose result is recorded",
    "도구나 `turn.step(name, fn)` 안에 넣어 주세요. 결과가 기록돼요",
  ],

  [
    "Wait inside turn.step(name, fn); a handler that is replayed would wait again",
    "`turn.step(name, fn)` 안에서 기다려 주세요. 밖에서는 다시 실행할 때 또 기다려요",
  ],

  [
    "Read it once when the service is made and hand it in",
    "서비스를 만들 때 한 번 읽어서 넘겨 주세요",
  ],

  ["names an agent that the service does not have", "서비스에 없는 에이전트예요"],
  ["names no flow", "없는 흐름이에요"],
  ["cannot be made: {0}", "만들지 못했어요: {0}"],

  [
    "{0} adds the person's message, which the engine adds: it is read twice",
    "사용자의 말은 엔진이 넣어요. `{0}`(으)로 또 넣으면 모델이 두 번 읽어요",
  ],

  [
    "Remove it: the engine adds the message to memory and to what buildMessages() gives",
    "빼 주세요. 기억에도, `buildMessages()`가 주는 글에도 엔진이 넣어요",
  ],

  [
    "says a text in one language, whatever the session's is",
    "대화의 언어와 상관없이 한 언어로만 말해요",
  ],

  [
    "Keep texts by language in a file of their own, such as messages.ts, and choose by turn.locale",
    "글은 `messages.ts` 같은 파일에 언어별로 두고 `turn.locale`로 골라 주세요",
  ],

  ['names the {0} "{1}", which no file exports', "`{1}`({0})을(를) 내보내는 파일이 없어요"],
  ['names the export "{0}" of {1}, which is no {2}', "{1}의 `{0}`은(는) {2}이(가) 아니에요"],
  ["Export a {0} named {1}", "`{1}`({0})을(를) 내보내 주세요"],
  ["names a file that does not exist", "없는 파일이에요"],
  ["has the cards {0}", "카드 파일이 여럿 있어요: {0}"],
  ["has the prompts {0}", "프롬프트 파일이 여럿 있어요: {0}"],
  ["is exported by {0} too", "{0}에서도 내보내요"],

  [
    "Rename one of them, or add an index.ts that exports what is meant",
    "하나의 이름을 바꾸거나, 쓸 것만 내보내는 `index.ts`를 더해 주세요",
  ],

  [
    "stands beside {0}; a service has one definition",
    "{0} 파일과 함께 있어요. 서비스의 정의는 하나여야 해요",
  ],

  ["Delete or rename {0}", "`{0}` 파일을 지우거나 이름을 바꿔 주세요"],
  ["its class gives no text as it comes", "클래스가 답을 한 조각씩 주지 않아요"],

  [
    "Give the class stream(context), or write stream: false",
    "클래스에 `stream(context)`를 더하거나 `stream: false`라고 적어 주세요",
  ],

  ["its class only streams", "클래스가 답을 한 조각씩만 줘요"],

  [
    "Give the class run(context), or write stream: true",
    "클래스에 `run(context)`를 더하거나 `stream: true`라고 적어 주세요",
  ],

  ["a conversational agent needs a schema.", "대화 에이전트에는 답의 꼴(schema)이 필요해요."],
  ["Name one in its card: policy.schema.", "카드의 `policy.schema`에 적어 주세요."],

  // --- the team
  ["names a folder that does not exist", "없는 폴더예요"],
  ['holds the service "{0}"', "여기에 있는 서비스의 이름은 `{0}`이에요"],
  ["names no service of this team", "팀에 없는 서비스예요"],
  ["names no agent of this team", "팀에 없는 에이전트예요"],
  ["names no channel of this team", "팀에 없는 방이에요"],
  ["names more than one channel on {0}", "{0}의 방을 둘 이상 적었어요"],
  ["names a channel that takes no collaborations", "협업을 시작할 수 없는 방이에요"],
  ["names {0}, no adapter of this team", "팀이 쓰지 않는 메신저예요: {0}"],
  ["is on {0} but has no channel id", "{0}에 있는 방인데 채널의 ID가 없어요"],
  ["has a name of dure's own", "dure가 쓰는 이름이에요"],
  ["has no text", "할 말이 없어요"],
  ["does not do one thing", "한 가지 일만 하게 적어 주세요"],
  ["lacks one of agent and target", "`agent`와 `target` 가운데 하나가 없어요"],
  ["has a text, which a plan is not told", "계획에는 글을 전하지 않아요"],
  ['names the unknown room "{0}"', "모르는 방이에요: `{0}`"],

  [
    "names an agent that answers through a service of its own, which has no tool to decide with",
    "자기 서비스로 답하는 에이전트라 결정하는 도구가 없어요",
  ],

  ["leaves nothing to fold", "요약할 턴이 남지 않아요"],
  ["has no command and no url", "`command`도 `url`도 없어요"],
  ["has a command and a url", "`command`와 `url`이 함께 있어요"],
  ["does not fit this kind of server", "이런 서버에는 쓸 수 없어요"],
  ["has login and oauth", "`login`과 `oauth`가 함께 있어요"],
  ["is not https", "`https`가 아니에요"],
  ['"{0}" names no provider that is known.', "`{0}`은(는) 모르는 회사의 모델이에요."],
  ["Write provider:model; providers are {0}.", "`회사:모델`처럼 적어 주세요. 쓸 수 있는 회사: {0}"],
  ["Write {0}:<model>.", "`{0}:<모델>`처럼 적어 주세요."],
  ['"{0}" is no budget.', "`{0}`은(는) 예산이 아니에요."],

  [
    'Write an amount with its unit, such as "20 USD" or "50000 tokens".',
    "`20 USD`나 `50000 tokens`처럼 단위까지 적어 주세요.",
  ],

  // --- plans
  ["is the name of the one who owns the contracts", "계약을 맡는 조율 담당의 이름이에요"],
  ["Give the port another id.", "포트의 이름을 바꿔 주세요."],
  ["stands on two ports", "이름이 같은 포트가 둘 있어요"],

  [
    'differs from "{0}" by case alone, and is the name of a folder and a branch',
    "`{0}`과(와) 대소문자만 달라요. 폴더와 브랜치의 이름이 되니 다르게 지어 주세요",
  ],

  ["Give one of them another id.", "하나의 이름을 바꿔 주세요."],
  ["port {0} depends on itself", "`{0}` 포트가 자기 자신에 의존해요"],
  [
    'port {0} depends on "{1}", which is no port',
    "`{0}` 포트가 의존하는 `{1}` 포트가 계획에 없어요",
  ],
  ["Name a port of this plan.", "이 계획의 포트를 적어 주세요."],
  ["Ports are {0}.", "있는 포트: {0}"],
  ["stands here twice", "두 번 적혀 있어요"],
  ["ports wait for each other: {0}", "포트들이 서로를 기다려요: `{0}`"],
  ["Remove one dependsOn entry along this path.", "이 길에서 `dependsOn` 하나를 빼 주세요."],

  [
    "is a word of workers, and no role's name",
    "`workers`에서 쓰는 말이라 역할의 이름이 될 수 없어요",
  ],

  ["is no role of this plan", "이 계획에 없는 역할이에요"],
  ['"{0}" is no role of this plan', "`{0}`은(는) 이 계획에 없는 역할이에요"],
  ["no worker for the role {0}", "`{0}` 역할을 맡을 작업자가 없어요"],
  ["Add workers.default or workers.{0}.", "`workers.default`나 `workers.{0}`을(를) 적어 주세요."],
  ["no worker writes the contracts", "계약을 쓸 작업자가 없어요"],
  ["Add workers.orchestrator.", "`workers.orchestrator`를 적어 주세요."],
  ["Known are {0}.", "쓸 수 있는 것: {0}"],

  ["{0} is dure's own, and no worker gets it", "`{0}` 변수는 dure의 것이라 작업자에게 주지 않아요"],

  ["is a contract already", "이미 계약이에요"],
  ["is a contract, which the orchestrator owns", "조율 담당이 맡은 계약이에요"],
  ["Remove it here, or from contracts.", "여기서 빼거나 `contracts`에서 빼 주세요."],
  ["port {0} owns nothing", "`{0}` 포트가 맡은 파일이 없어요"],

  [
    "Say in owns what it may write, or in tests.",
    "바꿔도 되는 경로를 `owns`나 `tests`에 적어 주세요.",
  ],

  ["stands in owns too", "`owns`에도 있어요"],

  [
    "owns is the implementer's, tests the tester's.",
    "`owns`는 구현 담당의, `tests`는 테스트 담당의 것이에요.",
  ],

  [
    'meets {0} "{1}" of port {2}, which may run at the same time',
    "함께 실행될 수 있는 `{2}` 포트의 `{0}` `{1}` 경로와 겹쳐요",
  ],

  [
    'meets {0} "{1}" of port {2}, and a port of the role {3} owns only tests that no pair owns',
    "`{2}` 포트의 `{0}` `{1}` 경로와 겹쳐요. `{3}` 역할의 포트는 다른 쌍이 맡지 않은 테스트만 맡아요",
  ],

  [
    "Give each path one owner, make it a contract, or let one port depend on the other.",
    "경로를 한 포트에만 맡기거나, 계약으로 만들거나, 한 포트가 다른 포트를 기다리게 해 주세요.",
  ],

  [
    "Give it a folder of tests of its own, such as test/e2e/**.",
    "`test/e2e/**`처럼 자기 테스트 폴더를 맡겨 주세요.",
  ],

  [
    "is no path of tests, and the role {0} changes no production code",
    "테스트 경로가 아니에요. `{0}` 역할은 제품 코드를 바꾸지 않아요",
  ],

  [
    "Name a folder of tests (test/e2e/**) or files of tests (src/**/*.test.ts).",
    "테스트 폴더(`test/e2e/**`)나 테스트 파일(`src/**/*.test.ts`)을 적어 주세요.",
  ],

  [
    "port {0} has the role {1}, so it comes after all others, but not after {2}",
    "`{0}` 포트는 `{1}` 역할이라 다른 모든 포트 다음이어야 하는데, 다음 포트가 빠졌어요: `{2}`",
  ],

  ["Add them to dependsOn.", "`dependsOn`에 더해 주세요."],

  [
    "{0} is a contract that is not in the base, and there is no workers.orchestrator to write it: the run will refuse to begin.",
    "계약 파일이 시작할 커밋에 없고, 쓸 조율 담당도 없어서 실행할 수 없어요: {0}",
  ],

  [
    "{0} are contracts that are not in the base, and there is no workers.orchestrator to write them: the run will refuse to begin.",
    "계약 파일이 시작할 커밋에 없고, 쓸 조율 담당도 없어서 실행할 수 없어요: {0}",
  ],

  [
    "Add workers.orchestrator, or write them and commit them.",
    "`workers.orchestrator`를 적거나, 직접 써서 커밋해 주세요.",
  ],

  [
    "Port {0} owns {1}: build files of the root, lock files and migrations are needed by all. Two ports cannot both change them; give them to one port that the others depend on, or leave them out: with workers.orchestrator ports ask for changes, which are made once at the merge; without one change them before the run.",
    "{0} 포트가 모두에게 필요한 파일을 맡고 있어요: {1}",
  ],

  [
    "Port {0} owns {1}, which {2} ({3}) leaves out: no commit takes what is written there. Own another path, or change that line first.",
    "{0} 포트가 맡은 {1}은(는) {2}의 `{3}` 때문에 커밋에 들어가지 않아요. 다른 경로를 맡기거나 그 줄을 먼저 고쳐 주세요.",
  ],

  [
    "No port can change {0}: the path holds half a character.",
    "경로에 깨진 글자가 있어서 어느 포트도 바꿀 수 없어요: {0}",
  ],

  [
    "No port can change {0}: the path has a sign that turns the direction of what follows, or NUL.",
    "경로에 뒤 글자의 방향을 바꾸는 문자가 있어서 어느 포트도 바꿀 수 없어요: {0}",
  ],

  [
    "No port can change {0}: the path does not begin at the root of the repository.",
    "저장소의 맨 위에서 시작하지 않는 것으로 읽히는 경로라 어느 포트도 바꿀 수 없어요: {0}",
  ],

  [
    "No port can change {0}: the path is longer than {1} characters.",
    "{1}자보다 긴 경로라 어느 포트도 바꿀 수 없어요: {0}",
  ],

  [
    "Name the repository in the plan (repository: ../../shop), or in the configuration (repositories).",
    "계획에 저장소를 적거나(`repository: ../../shop`), 설정의 `repositories`에 적어 주세요.",
  ],

  [
    "does not begin with settings between two lines ---",
    "`---` 두 줄 사이의 설정으로 시작하지 않아요",
  ],

  ["settings are not closed by a line ---", "설정이 `---` 줄로 끝나지 않아요"],
  ["is empty", "비어 있어요"],
  ["is absolute", "절대 경로예요"],
  ["Write it from the root of the repository", "저장소의 맨 위부터 적어 주세요"],
  ["has an empty segment", "경로에 빈 마디가 있어요"],

  [
    'A folder with all that is in it is "folder/**"',
    "폴더를 통째로 적으려면 `folder/**`라고 적어 주세요",
  ],

  ["has a segment . or ..", "경로에 `.`나 `..` 마디가 있어요"],
  ["has ** beside other characters", "`**` 옆에 다른 글자가 있어요"],
  ["Write ** alone between slashes", "`**`는 `/` 사이에 따로 적어 주세요"],
  ["reaches into .git", "`.git` 안은 맡길 수 없어요"],
  ["Git's own files have no owner", "git의 파일은 아무도 맡지 않아요"],

  // --- plans: any file
  [
    "a plan has at least plan, roles, workers and ports",
    "계획에는 plan, roles, workers, ports가 꼭 있어야 해요",
  ],
  ["is a folder", "파일이 아니라 폴더예요"],
  ["is larger than {0} bytes", "{0}바이트보다 커요"],
  ["is longer than {0} characters", "{0}자보다 길어요"],
  ["lies outside of the folder of plans", "계획 폴더 밖에 있어요"],
  ['Did you mean "{0}"?', "`{0}` 이름을 쓰려고 했나요?"],
  ["Remove one of them", "둘 가운데 하나를 지워 주세요"],
  ["a value that is not shown", "보여 주지 않는 값"],
  ["a function", "함수"],
  ["an object", "객체"],
  // --- plans: ids and references
  ["Give the port another id", "포트에 다른 id를 주세요"],
  ["Give one of them another id", "둘 가운데 하나에 다른 id를 주세요"],
  ["Remove this entry", "이 항목을 지워 주세요"],
  ["Name a port of this plan", "이 계획에 있는 포트의 이름을 적어 주세요"],
  ["Ports are {0}", "계획에 있는 포트: `{0}`"],
  ["Remove one dependsOn entry along this path", "이 경로에서 dependsOn 항목 하나를 지워 주세요"],
  // --- plans: roles and workers
  ["Known are * ? ** [a-z] {a,b}", "쓸 수 있는 기호: * ? ** [a-z] {a,b}"],
  ["Known are {0}", "쓸 수 있는 이름: `{0}`"],
  ["Add workers.default or workers.{0}", "workers.default 또는 `workers.{0}` 설정을 더해 주세요"],
  ["Add workers.orchestrator", "workers.orchestrator 설정을 더해 주세요"],
  [
    "Take it out of env; a worker that needs such a value gets it by a variable of another name",
    "env에서 빼 주세요. 작업자에게 이런 값이 필요하면 다른 이름의 변수로 주세요",
  ],
  [
    "is a variable that dure sets or keeps away from workers",
    "dure가 직접 정하거나 작업자에게 주지 않는 변수예요",
  ],
  [
    "{0} holds logins and settings of an agent (~/{1}), which run for you afterwards",
    "`{0}` 안에 에이전트의 로그인과 설정(`~/{1}`)이 있고, 나중에 내 권한으로 실행돼요",
  ],
  [
    "{0} holds settings of programs (~/{1}), which run for you afterwards",
    "`{0}` 안에 프로그램 설정(`~/{1}`)이 있고, 나중에 내 권한으로 실행돼요",
  ],
  ["~/{0} may hold secrets", "`~/{0}`에는 비밀이 있을 수 있어요"],
  [
    "Leave it out; allow_home lends what may hold secrets, with the scope for it",
    "빼 주세요. 비밀이 있을 수 있는 것은 권한이 있을 때 allow_home으로만 보여 줘요",
  ],
  [
    "Use agent: {0}, or copy_home: a copy of logins and settings",
    "`agent: {0}` 설정을 쓰거나, copy_home으로 로그인과 설정의 사본을 주세요",
  ],
  [
    "Name a deeper folder that holds no settings, or copy what the worker needs with copy_home",
    "설정이 없는 더 깊은 폴더를 적거나, 필요한 것만 copy_home으로 복사해 주세요",
  ],
  [
    "cannot stand beside agent: {0}, which says it already",
    "`agent: {0}` 설정과 함께 쓸 수 없어요",
  ],
  ["belongs to agent, which is missing", "agent와 함께 쓰는 키인데 agent가 없어요"],
  [
    "is missing; must be one of {0}, or agent one of {1}",
    "값이 없어요. `{0}` 가운데 하나를 적거나, agent에 `{1}` 가운데 하나를 적어 주세요",
  ],
  ["is missing; a worker of kind {0} needs it", "값이 없어요. `{0}` 종류의 작업자에 필요해요"],
  ["is no key of agent: {0}", "`agent: {0}` 작업자에는 없는 키예요"],
  ["is no key of a worker of kind {0}", "`{0}` 종류의 작업자에는 없는 키예요"],
  ["names a server twice", "같은 서버가 두 번 적혀 있어요"],
  ["is for agents: agent, or kind acp", "에이전트(agent 또는 kind: acp)에만 쓸 수 있어요"],
  [
    "is not known for {0} as a program; leave out via: exec",
    "프로그램으로 실행하는 `{0}`에는 쓸 수 없어요. via: exec 설정을 빼 주세요",
  ],
  [
    "has a server of type sse, which codex does not reach as a program",
    "프로그램으로 실행하는 codex가 쓸 수 없는 sse 서버가 있어요",
  ],
  ['"{0}" names no provider that is known', "`{0}`에 적힌 제공자를 알 수 없어요"],
  ['"{0}" names the provider {1} but no model', "`{0}`에 `{1}` 제공자만 있고 모델이 없어요"],
  ['"{0}" is no budget', "`{0}`은 예산으로 읽을 수 없어요"],
  // --- plans: paths and owners
  ["Remove it here, or from contracts", "여기나 contracts에서 지워 주세요"],
  ["Say in owns what it may write, or in tests", "쓸 수 있는 파일을 owns 또는 tests에 적어 주세요"],
  [
    "owns is the implementer's, tests the tester's",
    "owns는 구현 작업자가, tests는 테스트 작업자가 맡아요",
  ],
  [
    "Name a folder of tests (test/e2e/**) or files of tests (src/**/*.test.ts)",
    "테스트 폴더(test/e2e/**)나 테스트 파일(src/**/*.test.ts)을 적어 주세요",
  ],
  [
    "is of the layer {0}, which the role {1} does not own",
    "`{0}` 계층의 경로라 `{1}` 역할이 맡지 않아요",
  ],
  [
    "Give it to a port of the role {0}. Roles that the plan names itself (roles: { domain: {} }) bind no paths",
    "`{0}` 역할의 포트에 맡겨 주세요. 계획에서 직접 정한 역할(roles: { domain: {} })은 경로를 가리지 않아요",
  ],
  ["is forbidden to the role {0} ({1})", "`{0}` 역할에 금지된 경로예요 (`{1}`)"],
  [
    "Give it to a port of another role, or take it from forbidden of this one",
    "다른 역할의 포트에 맡기거나, 이 역할의 forbidden에서 빼 주세요",
  ],
  ["Add them to dependsOn", "dependsOn에 더해 주세요"],
  [
    "Give it a folder of tests of its own, such as test/e2e/**",
    "test/e2e/** 같은 별도의 테스트 폴더를 주세요",
  ],
  [
    "Give each path one owner, make it a contract, or let one port depend on the other",
    "경로마다 맡을 포트를 하나만 정하거나, 계약으로 만들거나, 한 포트가 다른 포트에 의존하게 해 주세요",
  ],
  ["has a control character", "제어 문자가 있어요"],
  ["begins with !", "!로 시작해요"],
  ["Patterns only add; name what is meant", "패턴은 더하기만 해요. 원하는 경로를 적어 주세요"],
  ["has an extended pattern such as +(…)", "+(…) 같은 확장 패턴이 있어요"],
  ["ends with a \\", "\\로 끝나요"],
  ["Segments are parted by /", "경로는 /로 나눠 적어 주세요"],
  ["has a brace that is not closed", "닫히지 않은 중괄호가 있어요"],
  ["Write \\{ for the character itself", "글자 그대로 쓰려면 \\{ 로 적어 주세요"],
  ["has more than {0} combinations of braces", "중괄호 조합이 {0}개보다 많아요"],
  ["Write several patterns", "패턴을 여러 개로 나눠 적어 주세요"],
  [
    "has a [ that is not closed, or a range that runs backwards",
    "닫히지 않은 [ 또는 거꾸로 된 범위가 있어요",
  ],
  ["Write \\[ for the character itself", "글자 그대로 쓰려면 \\[ 로 적어 주세요"],
  ["the path is empty", "경로가 비어 있어요"],
  ["the path is longer than {0} characters", "경로가 {0}자보다 길어요"],
  [
    "the path does not begin at the root of the repository",
    "저장소 맨 위에서 시작하는 경로가 아니에요",
  ],
  ["the path has an empty segment", "경로에 빈 부분이 있어요"],
  ["the path has a segment . or ..", "경로에 . 또는 .. 부분이 있어요"],
  [
    "the path has a sign that turns the direction of what follows, or NUL",
    "경로에 뒤 글자의 방향을 바꾸는 문자나 NUL이 있어요",
  ],
  ["the path holds half a character", "경로에 깨진 글자가 있어요"],
  ["git's own files are neither written nor read", "git이 쓰는 파일은 읽거나 쓸 수 없어요"],
  [
    "write the path of a file, from the root of the repository",
    "저장소 맨 위에서 시작하는 파일 경로를 적어 주세요",
  ],
  [
    "write the path of a script, from the folder of the plan",
    "계획 폴더에서 시작하는 스크립트 경로를 적어 주세요",
  ],
];

/** What may stand there, in words. Lists of names and values need none. */
export const ALLOWED_KO: readonly SentenceForm[] = [
  ["a text that is not empty", "비어 있지 않은 글"],
  ["a text of at least {0} characters", "{0}자 이상의 글"],
  ["a text of at most {0} characters", "{0}자까지의 글"],

  ["a text with {dialog}", "`{dialog}`가 든 글"],

  [
    "a text with {dialog}, and {memory_block} for the summary so far, or two: first and fold",
    "`{dialog}`와 `{memory_block}`이 든 글, 또는 그런 글 둘(`first`, `fold`)",
  ],

  ["a text", "글"],
  ["a number", "수"],
  ["a whole number", "정수"],
  ["a whole number from 0 (any free one) to 65535", "0(비어 있는 아무 포트)부터 65535까지의 정수"],
  ["a whole number from {0} to {1}", "{0}부터 {1}까지의 정수"],
  ["true or false", "true, false"],
  ["a list", "목록"],
  ["a group of keys", "키와 값의 묶음"],
  ["at least {0}", "{0} 이상"],
  ["at most {0}", "{0} 이하"],
  ["an address that begins with http:// or https://", "`http://`나 `https://`로 시작하는 주소"],
  ["an address that begins with https://", "`https://`로 시작하는 주소"],
  ["an address", "주소"],

  [
    'a duration from {0} to {1}, such as "{2}", or milliseconds',
    "{0}부터 {1}까지의 시간. `{2}`처럼 적거나 밀리초로 적어 주세요",
  ],

  [
    'an amount such as "20 USD" or "50000 tokens", or {tokens, usd}',
    "`20 USD`나 `50000 tokens` 같은 양",
  ],

  ["an IANA name such as Asia/Seoul", "`Asia/Seoul` 같은 IANA 시간대 이름"],
  ["an origin such as https://app.example", "`https://app.example` 같은 출처"],
  ["a host name such as dure.example.com", "`dure.example.com` 같은 호스트 이름"],
  ["an address or a range such as 10.0.0.0/8", "`10.0.0.0/8` 같은 주소나 범위"],
  ["a host name or an IP address", "호스트 이름이나 IP 주소"],
  ["1 to 64 letters, digits, _ or -", "글자와 숫자, `_`, `-`로 1자에서 64자까지"],
  ["1 to {0} Latin letters, digits, _ or -", "영문자와 숫자, `_`, `-`로 1자에서 {0}자까지"],

  [
    "1 to 64 Latin letters, digits, _ or -; a name in any script is its displayName",
    "영문자와 숫자, `_`, `-`로 1자에서 64자까지. 한글 이름은 `displayName`에 적어 주세요",
  ],

  [
    "1 to 64 Latin letters, digits, _ or -, beginning with a letter or digit",
    "영문자와 숫자, `_`, `-`로 1자에서 64자까지. 영문자나 숫자로 시작해요",
  ],

  ["a channel's id in quotes, 17 to 20 digits", "따옴표로 감싼 채널 ID, 숫자 17자에서 20자"],
  ["an id in quotes", "따옴표로 감싼 ID"],
  ["one for each platform", "메신저마다 하나"],
  ["a place such as general or discord:general", "`general`이나 `discord:general` 같은 방의 이름"],
  [
    "a place such as general or discord:general, or a list with one for each platform",
    "`general`이나 `discord:general` 같은 방의 이름, 또는 메신저마다 하나씩 적은 목록",
  ],
  ["an id of 2 to 40 letters and digits", "영문자와 숫자 2자에서 40자까지의 ID"],

  [
    "a service (defineService, combineServices, remoteService), or the folder of one",
    "서비스(`defineService`, `combineServices`, `remoteService`)나 서비스의 폴더",
  ],

  ["a model made by offlineModel(name, respond)", "`offlineModel(name, respond)`로 만든 모델"],
  ["a function that makes a worker", "작업자를 만드는 함수"],
  ["the name of a service", "서비스의 이름"],
  ["an account id of at most 100 characters", "100자까지의 계정 ID"],
  ["a list of adapters: {0}", "메신저의 목록: {0}"],
  ["a list of ids of users or roles", "사용자나 역할의 ID 목록"],
  ['a list such as ["ruda -> eden"]', '`["ruda -> eden"]` 같은 목록'],
  ["services by name", "이름이 붙은 서비스"],
  [
    "offline, or provider:model; several with commas",
    "`offline`이나 `회사:모델`, 여럿이면 쉼표로 이어서",
  ],
  ["a language such as en", "`en` 같은 언어"],
  ["a list of texts", "글의 목록"],
  ["a card, or the file of one", "카드나 카드 파일"],
  ["agents by their key", "이름이 붙은 에이전트"],
  ["the name of an export", "내보낸 것의 이름"],

  [
    "the name of an export, or flows by their scenario",
    "내보낸 것의 이름, 또는 시나리오마다 흐름의 이름",
  ],

  ["names of exports by their flow", "흐름마다 내보낸 것의 이름"],
  ["at least one flow; the first one is the default", "흐름 하나 이상. 첫 흐름이 기본이에요"],

  [
    "a card.json or card.yaml, relative to the service's folder",
    "서비스 폴더 안의 `card.json`이나 `card.yaml`",
  ],

  ["a service, or agents", "서비스나 에이전트"],

  [
    "a folder with service.yaml or service.ts, relative to the configuration",
    "설정 파일에서 찾아갈 수 있는, `service.yaml`이나 `service.ts`가 든 폴더",
  ],

  ["the service's own name as key: {0}", "서비스의 이름을 키로: {0}"],
  ["any but {0}", "이것이 아닌 이름: {0}"],
  ["text: what is said, or asked", "`text`에 할 말"],
  ["one of: room; agent and target; plan", "`room`, `agent`와 `target`, `plan` 가운데 하나"],
  ["agent (in whose name) and target (who is asked)", "`agent`(맡기는 쪽)와 `target`(맡는 쪽)"],
  ["text with a room or a job", "방에 쓰거나 일을 맡길 때만 `text`"],
  ["an agent without service", "서비스가 없는 에이전트"],
  ["less than summarizeThreshold ({0})", "`summarizeThreshold`({0})보다 작은 수"],

  [
    "command (a program) or url (an address), one of them",
    "`command`(프로그램)와 `url`(주소) 가운데 하나",
  ],

  ["only with {0}", "`{0}`과(와) 함께"],
  ["login (a person) or oauth (dure), one of them", "`login`(사람)과 `oauth`(dure) 가운데 하나"],
  ["https:// where a person logs in", "사람이 로그인하는 곳은 `https://`"],
  ["none yet", "아직 없음"],
  ["none", "없음"],
  ["a folder", "폴더"],
  ["a key", "키"],
  ["a path", "경로"],
  ["a token", "토큰"],
  ["at least {0} characters", "{0}자 이상"],

  [
    "an address such as postgres://user:password@host:5432/name",
    "`postgres://user:password@host:5432/name` 같은 주소",
  ],

  [
    "offline, or provider:model such as anthropic:claude-sonnet-4-5; several with commas",
    "`offline`이나 `anthropic:claude-sonnet-4-5` 같은 `회사:모델`, 여럿이면 쉼표로 이어서",
  ],

  [
    "offline, or provider:model; an object stands in the memory of a service",
    "`offline`이나 `회사:모델`. 객체는 서비스의 `memory`에 적어 주세요",
  ],

  ["a private key of P-256: 32 bytes in base64url", "P-256 개인 키. 32바이트를 base64url로 적어요"],
  ["a file with a private key of P-256 in PEM", "PEM 형식의 P-256 개인 키 파일"],

  [
    'discord: "<channel id>" (developer mode, right click, Copy Channel ID)',
    '`discord: "<채널 ID>"`(개발자 모드에서 오른쪽 클릭, 채널 ID 복사하기)',
  ],

  [
    'ids: { slack: "<channel id>" } (in Slack: the name of the channel, About, at the bottom)',
    '`ids: { slack: "<채널 ID>" }`(Slack에서 채널 이름을 누르고 정보의 맨 아래)',
  ],

  ["a list of ports", "포트의 목록"],
  ["at least one port", "포트 하나 이상"],
  ["at most {0} ports", "포트 {0}개까지"],
  ["at most {0} ids", "이름 {0}개까지"],
  ["a list of ports' ids", "포트 이름의 목록"],
  ["a pattern of paths such as src/api/**", "`src/api/**` 같은 경로의 패턴"],
  ["a list of patterns such as [src/api/**]", "`[src/api/**]` 같은 패턴의 목록"],
  ["at most {0} patterns", "패턴 {0}개까지"],
  ["the path of a file, from the root of the repository", "저장소의 맨 위부터 적은 파일의 경로"],
  ["a remote such as origin, or an address", "`origin` 같은 원격 저장소나 주소"],
  ["none, open, or a list of hosts", "`none`, `open`, 또는 호스트의 목록"],
  ["none, provider, open, or a list of hosts", "`none`, `provider`, `open`, 또는 호스트의 목록"],

  [
    "hexagonal, modules, or your own roles by name",
    "`hexagonal`, `modules`, 또는 직접 이름 붙인 역할",
  ],

  [
    "workers by role, and default and orchestrator",
    "역할마다의 작업자, 그리고 `default`와 `orchestrator`",
  ],

  ["a branch, a tag or a commit", "브랜치나 태그, 커밋"],
  ["a text of 1 to {0} characters", "1자에서 {0}자까지의 글"],

  // --- plans: what may stand there
  ["at most {0} contracts", "계약 {0}개까지"],
  ["at most {0} paths", "경로 {0}개까지"],
  ["at most {0} names", "이름 {0}개까지"],
  ["at most {0} hosts", "호스트 {0}개까지"],
  ["at most {0} servers", "서버 {0}개까지"],
  ["must name at least one host", "호스트를 하나 이상 적어 주세요"],
  ["a title", "제목"],
  ["what is to be done, in words", "할 일을 설명하는 글"],
  ["a shell command", "셸 명령"],
  ["the path of a folder", "폴더 경로"],
  ["a title that is not empty", "비어 있지 않은 제목"],
  ["what is to be done, in words that is not empty", "할 일을 설명하는 글. 비울 수 없어요"],
  ["a shell command that is not empty", "비어 있지 않은 셸 명령"],
  ["the path of a folder that is not empty", "폴더 경로. 비울 수 없어요"],
  ["a title of at most {0} characters", "{0}자까지의 제목"],
  ["what is to be done, in words of at most {0} characters", "할 일을 설명하는 {0}자까지의 글"],
  ["a shell command of at most {0} characters", "{0}자까지의 셸 명령"],
  ["the path of a folder of at most {0} characters", "{0}자까지의 폴더 경로"],
  [
    "a list such as [{ path: src/ports/sessions.ts, by: orchestrator }]",
    "[{ path: src/ports/sessions.ts, by: orchestrator }] 같은 목록",
  ],
  [
    "a program and its arguments as a list, such as [claude-agent-acp]",
    "[claude-agent-acp]처럼 프로그램과 인자를 적은 목록",
  ],
  ["a program and at most 199 arguments", "프로그램과 인자 199개까지"],
  [
    "offline, or provider:model; a worker is a program, which gets no object",
    "offline 또는 provider:model. 작업자는 따로 도는 프로그램이라 객체는 받지 못해요",
  ],
  [
    "a list of names of variables, or NAME=value, such as [ANTHROPIC_API_KEY, CI=1]",
    "[ANTHROPIC_API_KEY, CI=1]처럼 변수 이름이나 NAME=value를 적은 목록",
  ],
  [
    "the name of a variable (Latin letters, digits and _), or NAME=value",
    "변수 이름(영문자, 숫자, _) 또는 NAME=value",
  ],
  [
    "a path that begins with / or ~/, without . and .. in it",
    "/ 또는 ~/로 시작하고 . 과 .. 이 없는 경로",
  ],
  ["a list of paths such as [~/.claude]", "[~/.claude] 같은 경로 목록"],
  ["a path below the home folder, such as .claude", ".claude처럼 홈 폴더 아래의 경로"],
  ["a list of paths below the home folder such as {0}", "{0}처럼 홈 폴더 아래의 경로를 적은 목록"],
  [
    "the path of a YAML or JSON file, from the folder of the plan",
    "계획 폴더에서 시작하는 YAML 또는 JSON 파일 경로",
  ],
  [
    "a host such as api.example.org, *.example.org or 10.0.0.7:8080",
    "api.example.org, *.example.org, 10.0.0.7:8080 같은 호스트",
  ],
  ["the name of a mode of its sessions", "세션 모드의 이름"],
  [
    "{ command: [program, …], env? } or { url, type?, headers? }",
    "{ command: [program, …], env? } 또는 { url, type?, headers? }",
  ],
  ["an address that begins with https:// or http://", "https:// 또는 http://로 시작하는 주소"],
];
