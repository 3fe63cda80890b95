import type { SentenceForm } from "../kernel/sentence-forms.ts";

/** Refusals of plans, runs, their files, and the walls around workers. */
export const PLAN_SENTENCES_KO: readonly SentenceForm[] = [
  // --- what a plan says
  ["Ports wait for each other: {0}.", "포트가 서로를 기다려요: {0}"],
  ["Remove one dependsOn entry along this path.", "이 길에서 dependsOn 하나를 빼 주세요."],
  [
    "Two ports are called {0}.",
    "같은 이름의 포트 `{0}`이(가) 둘 있어요. 하나의 이름을 바꿔 주세요.",
  ],
  ["Port {0} depends on {1}, which is no port.", "{0} 포트가 기다리는 {1} 포트가 계획에 없어요."],
  ["The plan {0} has no port {1}.", "{0} 계획에는 {1} 포트가 없어요."],
  ["The run {0} has no port {1}.", "이 실행에는 {1} 포트가 없어요."],
  ["The plan has no port {0}.", "계획에 {0} 포트가 없어요."],
  [
    "The draft has no port {0}.",
    "초안에 {0} 포트가 없어요. 그사이 글이 바뀌었을 수 있으니 새로 고쳐 주세요.",
  ],
  ["The draft has a port {0} already.", "초안에 {0} 포트가 이미 있어요. 다른 이름을 써 주세요."],
  ["Its ports are {0}.", "있는 포트: {0}"],
  ["There is no plan {0} in the folder {1}.", "{1} 폴더에 {0} 계획이 없어요."],
  ["The plan {0} has {1}: {2}.", "{0} 계획에 고칠 곳이 있어요({1}): {2}"],
  [
    "The plan {0} gives workers what is dure's own: {1}.",
    "{0} 계획이 dure의 비밀 값을 작업자에게 주려고 해요: {1} `env`에서 빼 주세요.",
  ],
  [
    "The plan {0} takes protection away ({1}), and only a token with the scope plans:unconfined may start it.",
    "{0} 계획이 보호를 풀어요({1}). `plans:unconfined` 권한이 있는 토큰으로만 시작할 수 있어요.",
  ],
  [
    "The plan {0} asks for more of this machine than its own tree: {1}.",
    "{0} 계획이 자기 작업 폴더보다 많은 것을 바라요: {1} 계획에서 빼거나, 관리자가 팀 폴더의 `plans/`에 넣어야 해요.",
  ],
  [
    "workers.{0} may not write {1}: ~/{2} runs for you afterwards.",
    "`workers.{0}`에 {1}을(를) 쓰게 할 수 없어요. `~/{2}`은(는) 나중에 내 프로그램이 실행해요. `writable`에서 빼 주세요.",
  ],
  [
    "The plan {0} of the run {1} does not say where to publish.",
    "{0} 계획에 어디로 내보낼지 적혀 있지 않아요. 실행하기 전에 `publish`를 적어 주세요.",
  ],
  [
    "The plan {0} has no orchestrator who could take {1}.",
    "{0} 계획에 {1} 포트를 맡을 조율 담당이 없어요. `workers.orchestrator`를 적거나 다시 시도하게 해 주세요.",
  ],
  [
    '"{0}" is no remote.',
    "`{0}`은(는) 원격 저장소가 아니에요. `plans.remote`에 원격 저장소의 이름이나 주소를 적어 주세요.",
  ],
  [
    "{0} ports cannot work at the same time.",
    "포트 {0}개가 함께 일할 수는 없어요. 동시에 일하는 포트는 1개 이상이어야 해요.",
  ],
  [
    "What a worker's copy_home names is more than {0} files or {1} bytes.",
    "`copy_home`에 적은 것이 파일 {0}개나 {1}바이트를 넘어요. 파일을 하나씩 적어 주세요.",
  ],
  [
    '"{0}" lies in the submodule {1}, whose files belong to another repository.',
    "`{0}`은(는) 서브모듈 {1} 안에 있어서 맡길 수 없어요. 그 저장소에서 계획을 돌리거나 빼 주세요.",
  ],
  ["{0}, whose files belong to another repository.", "서브모듈 안의 파일은 맡길 수 없어요: {0}"],
  [
    "The patterns of this worker make {0}: {1}.",
    "맡은 경로가 너무 흩어져 있어요({0}): {1} 폴더를 통째로 맡겨 주세요.",
  ],
  [
    "What this worker must not see makes {0}: {1}.",
    "가릴 경로가 너무 흩어져 있어요({0}): {1} 폴더를 통째로 맡기거나 `reads`로 읽게 해 주세요.",
  ],
  [
    "{0} is a symbolic link where this worker's patterns need {1}.",
    "맡은 경로의 {0}이(가) 심볼릭 링크예요. 링크가 가리키는 곳을 계획에 적어 주세요.",
  ],
  [
    "{0} is {1} where this worker's patterns need {2}.",
    "맡은 경로의 {0}을(를) 쓸 수 없어요({1}). 계획의 경로를 고쳐 주세요.",
  ],

  // --- what a run refuses
  [
    "The run {0} has no result; it is {1}.",
    "이 실행에는 아직 결과가 없어요(상태: {1}). 끝나기를 기다리거나 실패한 것을 다시 시도해 주세요.",
  ],
  [
    "The run {0} is worked on; it is {1}.",
    "아직 진행 중인 실행이에요(상태: {1}). 끝난 뒤에 합쳐 주세요.",
  ],
  ["{0} has changed nothing yet.", "{0} 포트는 아직 바꾼 것이 없어요. 시도가 끝난 뒤에 봐 주세요."],
  ["The files of the run {0} are on another machine.", "이 실행의 파일은 다른 컴퓨터에 있어요."],
  ["Ask a server on {0}.", "{0} 컴퓨터의 서버에서 해 주세요."],
  ["The run {0} has ended: {1}.", "이미 끝난 실행이에요(상태: {1})."],
  [
    "The port {0} waits for a person; no worker listens now.",
    "{0} 포트는 사람의 검토를 기다려서 듣는 작업자가 없어요. 의견을 남겨 돌려보내 주세요.",
  ],
  [
    "The port {0} has succeeded; no worker listens now.",
    "{0} 포트는 이미 성공해서 듣는 작업자가 없어요.",
  ],
  [
    "The port {0} has failed; no worker listens now.",
    "{0} 포트는 실패해서 듣는 작업자가 없어요. 힌트를 적고 다시 시도해 주세요.",
  ],
  [
    "The port {0} was cancelled; no worker listens now.",
    "{0} 포트는 취소돼서 듣는 작업자가 없어요.",
  ],
  ["The port {0} {1}; no worker listens now.", "{0} 포트에는 지금 듣는 작업자가 없어요."],
  [
    "The port {0} has had {1} tries; more than {2} are not given.",
    "{0} 포트는 {1}번 시도했고, {2}번까지만 할 수 있어요. 계획을 바꿔 새로 시작해 주세요.",
  ],
  [
    "The port {0} owns no tests, so no tester works on it.",
    "{0} 포트에는 테스트 담당이 없어요. 구현 담당에게 말해 주세요.",
  ],
  [
    "The {0} of the port {1} is an offline worker: it follows its script and reads nothing.",
    "{1} 포트의 작업자({0})는 정해진 대로만 하는 오프라인 작업자라 말을 듣지 않아요.",
  ],
  [
    "The {0} of the port {1} reads nothing more: it gets no other prompt.",
    "{1} 포트의 작업자({0})는 이번에 할 일을 마쳐서 더 듣지 않아요.",
  ],
  [
    '"{0}" is no path of the repository.',
    "`{0}`은(는) 저장소의 경로가 아니에요. 저장소의 맨 위부터 적어 주세요. 예: `src/app/page.tsx`",
  ],
  [
    "A review has at most {0} comments and {1} characters; this has {2} and {3}.",
    "의견은 {0}개, {1}자까지 보낼 수 있는데 {2}개, {3}자예요. 중요한 것부터 보내 주세요.",
  ],
  [
    "The tests of {0} merges run already.",
    "다른 실행 {0}개를 합치는 중이에요. 하나가 끝난 뒤에 다시 시도해 주세요.",
  ],
  [
    "A message of {0} characters is longer than {1}.",
    "말이 {0}자예요. {1}자까지 할 수 있으니 줄여서 말해 주세요.",
  ],
  ["The {0} of {1} cannot write to itself.", "{1} 포트의 {0}은(는) 자신에게 말할 수 없어요."],
  [
    "The members of {0} have exchanged {1} messages.",
    "{0} 포트의 작업자들이 말을 {1}번 주고받아서 더 할 수 없어요. 무슨 말을 하는지 봐 주세요.",
  ],
  [
    "{0} messages of this kind were sent to the {1} of {2}.",
    "{2} 포트의 작업자({1})에게 이미 말을 {0}번 보냈어요. 다음 시도에서 읽으니 기다려 주세요.",
  ],
  ["The {0} worker of {1} ended without a result.", "{1} 포트의 작업자({0})가 결과 없이 끝났어요."],
  ["The port {0} has used up its {1} s.", "{0} 포트가 주어진 {1}초를 다 썼어요."],
  ["The plan cannot be looked at. {0}", "너무 커서 살펴볼 수 없는 계획이에요. 나눠 주세요."],
  [
    "No thread is free for this plan. {0}",
    "다른 계획을 살펴보는 중이에요. 잠시 뒤에 다시 시도해 주세요.",
  ],
  [
    "What {0} began is too long ago.",
    "{0}의 실행이 너무 오래돼서 다시 할 수 없어요. 됐는지 확인하고 직접 실행해 주세요.",
  ],

  // --- what to do
  ["Name a branch that exists.", "있는 브랜치를 적어 주세요."],
  ["Say into which branch: --into main", "어느 브랜치에 합칠지 골라 주세요."],
  ["Commit something: a run starts from a commit.", "실행은 커밋에서 시작하니 먼저 커밋해 주세요."],
  ["Name the folder that holds the files.", "파일이 있는 폴더를 적어 주세요."],
  [
    "Name a folder of the repository that the plan is for, or run git init there.",
    "계획을 실행할 저장소의 폴더를 적거나, 거기서 `git init`을 실행해 주세요.",
  ],
  [
    "A branch there that others have moved is not overwritten. Else try git push by hand.",
    "다른 사람이 옮긴 브랜치는 덮어쓰지 않아요. 그것이 아니라면 `git push`를 직접 해 보세요.",
  ],
  [
    "The branch is pushed. Try {0} by hand as the user that runs dure, then publish again.",
    "브랜치는 푸시했어요. dure를 실행하는 사용자로 `{0}`을(를) 직접 해 본 뒤 다시 내보내 주세요.",
  ],
  [
    "Look at what leaves with the run {0} first: {1}.",
    "{0} 실행의 결과가 나가기 전에 확인해 주세요: {1}",
  ],
  [
    "Nothing was changed. Say yes to exactly these findings: dure plan merge {0} --confirm {1} (or dure plan publish).",
    "바뀐 것은 없어요. 이것들이 나가도 괜찮다면: `dure plan merge {0} --confirm {1}` (내보낼 때는 `dure plan publish`)",
  ],
  [
    "{0}, where you can choose. Nothing was changed.",
    "`{0}`(으)로 직접 합쳐 주세요. 바뀐 것은 없어요.",
  ],
  [
    "Nothing was changed. Mend {0}, or run the plan from it: dure plan status {1}",
    "바뀐 것은 없어요. {0}을(를) 고치거나, 거기서 계획을 다시 실행해 주세요.",
  ],
  [
    "Write them by hand and commit them, or name workers.orchestrator.",
    "직접 써서 커밋하거나 `workers.orchestrator`를 정해 주세요.",
  ],
  [
    "Write them by hand and commit them, or try another worker.",
    "직접 써서 커밋하거나 다른 작업자로 해 보세요.",
  ],
  [
    "Your change was not saved. Load the draft again and change that.",
    "초안을 다시 불러와서 고쳐 주세요.",
  ],
  ["Say it with another try: {0}", "힌트를 적고 다시 시도해 주세요."],

  // --- git and the folders of a run
  [
    "{0} of {1} is {2} already, not {3}.",
    "{1}의 {0}이(가) 이미 {2}에 있어요. 다른 이름으로 실행해 주세요.",
  ],
  [
    "{0} is at {1}, not at {2}.",
    "{0}이(가) {2}이(가) 아니라 {1}에 있어요. 다른 서버가 이 실행을 하고 있어요.",
  ],
  [
    "{0} did not arrive in {1}: {2}.",
    "{0}이(가) {1}에 도착하지 않았어요: {2} 결과는 그대로 있으니 다시 시도해 주세요.",
  ],
  [
    "Another file system is mounted at {0}.",
    "{0}에 다른 파일 시스템이 있어서 지우지 않았어요. 마운트를 풀어 주세요.",
  ],
  [
    "There is no space left for {0}.",
    "{0}을(를) 쓸 디스크 공간이 없어요. 공간을 비운 뒤 이어 가 주세요. 하다 만 것은 없어요.",
  ],
  [
    'Plans need git {0}; this is "{1}".',
    "계획에는 git {0} 이상이 필요한데, 서버의 git은 {1}이에요. 새로 설치해 주세요.",
  ],
  [
    "The setup of port {0} left {1}.",
    "{0} 포트의 준비 명령이 파일을 너무 많이 남겼어요: {1} `.gitignore`에 적어 주세요.",
  ],
  ['"{0}" cannot be a ref of a run: {1}.', "`{0}`은(는) 실행의 이름으로 쓸 수 없어요: {1}"],
  ['"{0}" cannot be a ref: {1}.', "`{0}`은(는) 이름으로 쓸 수 없어요: {1}"],
  [
    "{0} is a partial clone: git would fetch files while workers run.",
    "{0}은(는) 일부만 받은 저장소예요. `git fetch --refetch --no-filter`로 모두 받아 주세요.",
  ],
  [
    "The branch {0} could not be made in {1}.",
    "{1}에 {0} 브랜치를 만들지 못했어요. 저장소의 `refs` 아래에 `.lock` 파일이 남아 있는지 봐 주세요.",
  ],
  [
    "The tree of port {0} is held by {1}.",
    "`{0}` 포트의 작업 폴더를 다른 서버가 쓰고 있어요: `{1}`",
  ],
  ["The tree of port {0} is not removed: {1}.", "{0} 포트의 작업 폴더를 지우지 않았어요: {1}"],
  ["This is no report of tests: {0}.", "테스트 결과로 읽을 수 없어요: {0}"],
  [
    "{0} with {1}: {2}",
    "{1}에 닿지 못했어요({0}): {2} `git ls-remote`로 `plans.remote`를 확인해 주세요.",
  ],

  // --- the walls around workers
  [
    "There is no program {0} on the PATH given.",
    "{0} 프로그램이 PATH에 없어요. 설치하거나 전체 경로를 적어 주세요.",
  ],
  [
    "{0} is not installed (package {1}).",
    "{0} 프로그램이 서버에 없어요. {1} 패키지를 설치해 주세요.",
  ],
  ["{0} is disposable and not a folder.", "작업자에게 줄 {0}이(가) 폴더가 아니에요."],
  ["{0} is no folder that the process could work in.", "작업자가 일할 {0} 폴더가 없어요."],
  ["{0} is not a plain absolute path.", "작업자에게 줄 {0}은(는) 절대 경로가 아니에요."],
  [
    "{0} lies in {1}, which each process gets anew.",
    "{0}은(는) 작업자마다 새로 만드는 {1} 안에 있어요.",
  ],
  [
    "{0} leads to {1} through a symbolic link.",
    "{0}은(는) {1}을(를) 가리키는 링크예요. 실제 경로를 적어 주세요.",
  ],
  [
    "{0} is the system's: no worker may write it while dure runs as root.",
    "{0}은(는) 시스템의 폴더라 작업자가 쓸 수 없어요. 더 안쪽 폴더를 적거나 dure를 일반 사용자로 실행해 주세요.",
  ],
  [
    "What the process may write could not be given to user {0}: {1}",
    "작업자가 쓸 폴더를 사용자 {0}에게 주지 못했어요: {1}",
  ],
  [
    "User {0} has processes already.",
    "격리에 쓸 사용자 {0}을(를) 다른 프로그램이 쓰고 있어요. 다시 시도해 주세요.",
  ],
  [
    "Other users cannot enter {0}, so there is no way out for them.",
    "다른 사용자가 {0}을(를) 지나갈 수 없어요. `DURE_HOME`을 모두가 지나갈 수 있는 곳에 두세요.",
  ],
  ["every user of the machine can read {0}", "{0} 파일을 누구나 읽을 수 있어요."],
  ["chmod go-rwx {0}", "`chmod go-rwx {0}`을 실행해 주세요."],
  [
    "No process can be kept where it belongs on this machine. Tried {0}.",
    "이 컴퓨터에서는 작업자를 격리할 방법이 없어요. 해 본 것: {0} bubblewrap을 설치해 주세요.",
  ],
  ["The confinement could not be made: {0}.", "작업자를 격리해서 켜지 못했어요: {0}"],
  ["{0} could not be started.", "{0} 프로그램을 켜지 못했어요."],
  ["{0} does not exist.", "작업자에게 줄 {0} 경로가 없어요."],
  ["{0} is no folder.", "{0} 자리에 폴더가 아닌 것이 있어요."],
  // --- a merge that is taken back
  [
    "{0} has changed since what the merge brought: {1}.",
    "합친 뒤에 {0} 브랜치에서 바뀐 파일이 있어요: {1}",
  ],
  [
    "Undo it by hand, where you can choose: {0} Nothing was changed.",
    "직접 골라서 되돌려 주세요: `{0}` 바뀐 것은 없어요.",
  ],
  ["{0} does not have the result of the run {1}.", "{0} 브랜치에 실행 {1}의 결과가 없어요."],
  ["Name the branch that has it: {0}", "결과가 있는 브랜치를 적어 주세요: `{0}`"],
  ["{0} had the result of the run {1}; it was undone.", "{0} 브랜치에서 되돌린 결과예요({1})."],
  [
    "To have it again, revert the commit that undid it (git revert), or run the plan again.",
    "되돌린 커밋을 `git revert`로 되돌리거나 계획을 다시 실행해 주세요.",
  ],

  // --- a comment beside the change
  ["{0} is no file of this change.", "이번 변경에 {0} 파일이 없어요."],
  ["The change has {0}.", "바뀐 파일은 {0}이에요."],
  ["Line {0} (new) of {1} is not in this change.", "{1} 파일의 {0}번 줄은 이번 변경에 없어요."],
  [
    "Line {0} (old) of {1} is not in this change.",
    "{1} 파일의 예전 {0}번 줄은 이번 변경에 없어요.",
  ],
  ["Line {0} ({1}) of {2} is not in this change.", "{2} 파일의 {0}번 줄은 이번 변경에 없어요."],
  ["The change shows these new lines: {0}.", "의견을 남길 수 있는 줄: {0}"],
  ["The change shows these old lines: {0}.", "의견을 남길 수 있는 예전 줄: {0}"],
];
