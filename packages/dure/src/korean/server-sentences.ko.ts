import type { SentenceForm } from "../kernel/sentence-forms.ts";

/**
 * Sentences of the server with names and values in them, and the same in Korean. The English
 * sentence is the key: what happened is written down once, also in rows of older releases.
 */
export const SENTENCES_KO: readonly SentenceForm[] = [
  // --- why a port or a run stands as it does
  [
    "{0} of {1} tries did not pass the acceptance. These still fail: {2}",
    "{1}번 시도했지만 통과하지 못한 테스트가 있어요: {2}",
  ],

  [
    "{0} of {1} tries did not pass the check. These still fail: {2}",
    "{1}번 시도했지만 검사를 통과하지 못했어요: {2}",
  ],

  [
    "{0} of {1} tries did not pass the acceptance. {2} and {3} do not fit together: {4}",
    "{1}번 시도했지만 {2}, {3}의 결과를 합치면 검사를 통과하지 못해요.",
  ],

  [
    "{0} of {1} tries did not pass the check. {2} and {3} do not fit together: {4}",
    "{1}번 시도했지만 {2}, {3}의 결과를 합치면 검사를 통과하지 못해요.",
  ],

  [
    "{0} of {1} tries did not pass the acceptance. {2}",
    "{1}번 시도했지만 통과 조건을 맞추지 못했어요. {2}",
  ],

  [
    "{0} of {1} tries did not pass the acceptance.",
    "{1}번 시도했지만 통과 조건을 맞추지 못했어요.",
  ],

  [
    "{0} of {1} tries did not pass the check. {2}",
    "{1}번 시도했지만 검사를 통과하지 못했어요. {2}",
  ],

  ["{0} of {1} tries did not pass the check.", "{1}번 시도했지만 검사를 통과하지 못했어요."],

  [
    "Say what to do differently, and let it try again.",
    "무엇을 다르게 할지 적고 다시 시도해 주세요.",
  ],

  [
    "Say how {0} is to fit to {1}, and let it try again, or go on without it.",
    "{0} 포트를 {1}에 어떻게 맞출지 적고 다시 시도하거나, 빼고 계속해 주세요.",
  ],

  [
    "`{0}` needs a program that is not there, or cannot be run: {1} The set-up was `{2}`.",
    "`{0}` 명령에 필요한 프로그램이 없거나 실행할 수 없어요: {1}. 준비 명령은 `{2}`이었어요.",
  ],

  [
    "`{0}` needs a program that is not there, or cannot be run: {1}",
    "`{0}` 명령에 필요한 프로그램이 없거나 실행할 수 없어요: {1}",
  ],

  [
    "Install it in the plan's setup, or commit it; then retry. A hint goes to the next try.",
    "계획의 준비 명령에서 설치하거나 커밋한 뒤 다시 시도해 주세요. 힌트는 다음 시도에 전해져요.",
  ],

  [
    "Install it in the setup (setup of the plan, or of .dure/project.yaml in the repository), or commit it; then retry.",
    "계획이나 저장소의 `.dure/project.yaml`에 있는 준비 명령(`setup`)에서 설치하거나 커밋한 뒤 다시 시도해 주세요.",
  ],

  ["You have muted {0} rooms.", "알림을 끈 방이 {0}개예요."],

  [
    "Unmute one of them, or choose to be told nothing.",
    "그중 한 방의 알림을 켜거나, 알림을 모두 꺼 주세요.",
  ],

  [
    "The set-up asked for {0}, which it may not reach.",
    "준비 명령이 연결하면 안 되는 {0}에 연결하려고 했어요.",
  ],

  [
    "The acceptance asked for {0}, which it may not reach.",
    "통과 조건이 연결하면 안 되는 {0}에 연결하려고 했어요.",
  ],

  [
    "Allow it in the plan, network: {0}, or setup_hosts: {1} in .dure/project.yaml.",
    "계획에서 `network: {0}`로 허용하거나, `.dure/project.yaml`에 `setup_hosts: {1}`을 적어 주세요.",
  ],

  [
    "Allow it in the plan, network: {0}. What it fetches may belong into the setup.",
    "계획에서 `network: {0}`로 허용해 주세요. 받아 오는 것은 준비 명령(`setup`)에 두는 편이 좋아요.",
  ],

  ["It needs {0}, which failed.", "이 포트에 필요한 {0} 포트가 실패했어요."],

  [
    "It succeeded, but needs {0}, which did not.",
    "이 포트는 성공했지만 필요한 {0} 포트가 실패했어요.",
  ],

  ["It was left out on request.", "요청에 따라 뺐어요."],

  [
    "{0} both changed {1}, and there is no orchestrator to write it once.",
    "{0} 포트가 {1} 파일을 함께 바꿨고, 하나로 합칠 조율 담당이 없어요.",
  ],

  [
    "{0} both changed {1}, and no worker could write it once.",
    "{0} 포트가 {1} 파일을 함께 바꿨고, 하나로 합치지 못했어요.",
  ],

  [
    "{0} both changed {1}, and {2}",
    "{0} 포트가 {1} 파일을 함께 바꿨고, 하나로 합치지 못했어요: {2}",
  ],

  ["{0} both changed {1}.", "{0} 포트가 {1} 파일을 함께 바꿨어요."],
  [
    "The result and {0} changed the same lines: {1}.",
    "결과와 {0} 브랜치가 같은 줄을 바꿨어요: {1}",
  ],
  [
    "The plan has no agent to write it once: no orchestrator, no default worker. Answer, then merge it again: {0}",
    "하나로 합칠 에이전트가 계획에 없어요. 답한 뒤에 다시 합쳐 주세요: `{0}`",
  ],
  [
    "The agent at the merge did not write {0} once. It said: {1} Answer, then merge it again: {2}",
    "에이전트가 {0} 파일을 하나로 합치지 못했어요: {1} 답한 뒤에 다시 합쳐 주세요: `{2}`",
  ],
  [
    "What was solved fails this command: {0} Answer, then merge it again: {1}",
    "하나로 합친 파일이 `{0}` 명령을 통과하지 못해요. 답한 뒤에 다시 합쳐 주세요: `{1}`",
  ],
  [
    "People approve the very commit here, so no other files are merged for them. Answer, then merge it again: {0}",
    "이 저장소는 커밋마다 사람이 승인해서, 다른 파일을 대신 합치지 않아요. 직접 합쳐 주세요. 그 뒤에 확인하려면: `{0}`",
  ],
  [
    "Answer {0} (dure escalations show {1}). Then: {2}",
    "질문 {0}에 답하고(`dure escalations show {1}`) 다시 합쳐 주세요: `{2}`",
  ],
  [
    "As you said, merge the result branch by hand (git merge) on {0}.",
    "정하신 대로 {0} 브랜치에서 직접 합쳐 주세요(`git merge`).",
  ],
  ["Give the file to one of them.", "그 파일을 한 포트에만 맡겨 주세요."],

  [
    "Give the file to one of them, or name workers.orchestrator.",
    "그 파일을 한 포트에만 맡기거나 workers.orchestrator를 정해 주세요.",
  ],

  ["The set-up ended with the end of its time.", "준비 명령의 시간이 다 됐어요."],
  ["The set-up ended with too much output.", "준비 명령의 출력이 너무 많아요."],
  ["The set-up ended with exit code {0}: {1}", "준비 명령이 종료 코드 {0}(으)로 끝났어요: {1}"],
  ["The set-up ended with exit code {0}.", "준비 명령이 종료 코드 {0}(으)로 끝났어요."],
  ["The set-up ended with the signal {0}.", "준비 명령이 {0} 신호로 끝났어요."],
  ["The set-up ended with {0}.", "준비 명령이 실패했어요: {0}"],

  [
    "Run it by hand in a fresh clone. If it fetches something, name its hosts in the plan: {0}.",
    "새로 받은 저장소에서 직접 돌려 보세요. 받아 오는 것이 있으면 계획에 호스트를 적어 주세요: `{0}`",
  ],

  ["No worker for the role {0}.", "{0} 역할을 맡을 작업자가 없어요."],
  ["The budget of the team leaves nothing for it.", "팀의 예산이 남지 않았어요."],
  ["Raise the budget, or wait until tomorrow.", "예산을 늘리거나 내일까지 기다려 주세요."],
  ["Raise the budget of money, or wait until tomorrow.", "예산을 늘리거나 내일까지 기다려 주세요."],

  [
    "{0} of {1} tokens of the run are used; what is left is not enough.",
    "실행의 토큰 {1}개 가운데 {0}개를 써서 모자라요.",
  ],

  [
    "{0} of {1} tokens of the port are used; what is left is not enough.",
    "포트의 토큰 {1}개 가운데 {0}개를 써서 모자라요.",
  ],

  [
    "{0} of {1} calls of models of the run are used; what is left is not enough.",
    "실행의 모델 호출 {1}번 가운데 {0}번을 써서 모자라요.",
  ],

  ["{0} of {1} tokens", "토큰 {1}개 가운데 {0}개를 썼어요."],
  ["{0} of {1} calls of models", "모델 호출 {1}번 가운데 {0}번을 썼어요."],
  ["Give it more, or make it smaller.", "더 주거나 일을 작게 나눠 주세요."],
  ["It took longer than {0} s.", "{0}초가 넘게 걸렸어요."],
  [
    "The worker took more memory than {0}. It wrote last: {1}",
    "작업자가 메모리를 {0}보다 많이 썼어요. 마지막 출력: {1}",
  ],
  ["The worker took more memory than {0}.", "작업자가 메모리를 {0}보다 많이 썼어요."],
  ["The worker wrote more than {0} to the disk.", "작업자가 디스크에 {0}보다 많이 썼어요."],
  [
    "Let it do less at once, or raise plans.memoryBytes; the next try starts a new process.",
    "일을 작게 나누거나 plans.memoryBytes를 늘려 주세요. 다음 시도는 새 프로세스로 시작해요.",
  ],
  [
    "Look at what it wrote, or raise plans.diskBytes; the next try starts from a clean tree.",
    "무엇을 썼는지 살펴보거나 plans.diskBytes를 늘려 주세요. 다음 시도는 깨끗한 작업 폴더에서 시작해요.",
  ],
  ["Give it more time, or make it smaller.", "시간을 더 주거나 일을 작게 나눠 주세요."],

  [
    "With what was changed of {0} the integration command fails: {1}.",
    "{0} 파일을 바꾸면 통합 테스트를 통과하지 못해요: {1}",
  ],

  [
    "The integration command fails without any port too: {0}.",
    "포트를 모두 빼도 통합 테스트를 통과하지 못해요: {0}",
  ],

  [
    "With it the integration command fails: {0}.",
    "이 포트를 넣으면 통합 테스트를 통과하지 못해요: {0}",
  ],

  [
    "The orchestrator changed {0}, which it does not own. Nothing of that was taken.",
    "조율 담당이 맡지 않은 {0} 경로를 바꿨어요. 그 변경은 받지 않았어요.",
  ],

  [
    "the orchestrator changed {0}, which it does not own; nothing of that was taken",
    "조율 담당이 맡지 않은 {0} 경로를 바꿨어요. 그 변경은 받지 않았어요.",
  ],

  [
    "The implementer changed {0}, which it does not own. Nothing of that was taken.",
    "구현 담당이 맡지 않은 {0} 경로를 바꿨어요. 그 변경은 받지 않았어요.",
  ],

  [
    "The tester changed {0}, which it does not own. Nothing of that was taken.",
    "테스트 담당이 맡지 않은 {0} 경로를 바꿨어요. 그 변경은 받지 않았어요.",
  ],

  ["The implementer was stopped: {0}", "구현 담당을 멈췄어요: {0}"],
  ["The tester was stopped: {0}", "테스트 담당을 멈췄어요: {0}"],

  [
    "Give it the path, or tell it to leave it alone.",
    "그 경로를 맡기거나, 건드리지 말라고 알려 주세요.",
  ],

  ["Its tests say less than before: {0}.", "테스트가 전보다 덜 확인해요: {0}"],

  [
    "Nothing was changed of {0}, so nothing was done, whatever the acceptance says. {1}",
    "{0}에서 바뀐 것이 없어서, 테스트를 통과해도 한 일이 없어요. 바꿀 것이 없는 포트라면 `no_change: allowed`를 적어 주세요.",
  ],

  [
    "These contracts are not in the base, and {0}: {1}.",
    "계약 파일이 시작한 커밋에 없고 쓸 수도 없어요: {1}",
  ],

  [
    "The orchestrator has not written {0}. It said: {1}",
    "조율 담당이 {0} 계약을 쓰지 않았어요: {1}",
  ],

  ["The run was cancelled.", "실행이 취소됐어요."],
  ["It was not started.", "시작하지 않았어요."],
  ["The review of {0} came to no change.", "{0} 포트에 의견을 보냈지만 바뀐 것이 없어요."],
  [
    "Approve the work as it is, or say more exactly what to change: {0}",
    "이대로 좋으면 승인하고, 아니면 바꿀 것을 더 자세히 적어 돌려보내 주세요: {0}",
  ],
  ["accepted, and waits for approval", "통과했고 승인을 기다려요."],
  ["Look at what it changed: {0}", "바뀐 것을 보고 정해 주세요."],
  ["the machine that holds its files is gone", "실행의 파일이 있는 컴퓨터가 꺼졌어요."],

  [
    "The run {0} keeps its files on {1}, of which no process lives. {2}",
    "실행의 파일이 {1}에 있는데, 거기서 도는 서버가 없어요. 서버를 켜면 저절로 이어져요.",
  ],

  ["{0} and {1} do not fit together: {2}", "{0}, {1} 포트의 결과를 합치면 검사를 통과하지 못해요."],

  // --- why a run is kept
  ["Its repository {0} is not there, so {1}.", "저장소 {0}이(가) 없어요."],
  ["What succeeded in it is on no branch of {0}.", "성공한 결과가 {0}의 어느 브랜치에도 없어요."],

  [
    "The tree of {0} holds what no commit has: {1}.",
    "{0}의 작업 폴더에 커밋하지 않은 것이 있어요: {1}",
  ],

  ["It is running, or a request for it is open.", "진행 중이거나 처리할 요청이 남아 있어요."],

  // --- taking a result over
  [
    "{0} is checked out in {1}, with changes of its own: {2}.",
    "{1} 폴더가 {0} 브랜치를 쓰는 중이고, 커밋하지 않은 변경이 있어요: {2}",
  ],

  [
    "Commit or stash them (git stash -u), then try again. Nothing was changed.",
    "커밋하거나 `git stash -u`로 치운 뒤 다시 해 주세요. 바뀐 것은 없어요.",
  ],

  [
    "The branch {0} moved, or is locked, while it was merged.",
    "합치는 동안 {0} 브랜치가 바뀌었거나 잠겨 있어요.",
  ],

  ["Run it again. Nothing was changed.", "다시 해 주세요. 바뀐 것은 없어요."],

  [
    "Something is half done with {0} in {1}.",
    "{1} 폴더에 {0} 브랜치로 하던 git 작업이 끝나지 않았어요.",
  ],

  [
    "Finish or abort that merge, rebase or bisection first. Nothing was changed.",
    "하던 병합이나 리베이스를 먼저 끝내거나 그만둬 주세요. 바뀐 것은 없어요.",
  ],

  [
    "If no git runs there, remove index.lock in its git directory.",
    "거기서 도는 git이 없다면 git 폴더의 index.lock 파일을 지워 주세요.",
  ],

  [
    "The merge changes files with a filter such as Git LFS in {0}: {1}.",
    "{0} 폴더에서 Git LFS 같은 필터를 쓰는 파일이 바뀌어요: {1}",
  ],

  [
    "dure runs no filters. Run git merge by hand on {0}. Nothing was changed.",
    "dure는 필터를 돌리지 않아요. {0} 브랜치에서 직접 `git merge` 해 주세요. 바뀐 것은 없어요.",
  ],

  [
    "The result and {0} changed the same lines: {1}.",
    "결과와 {0} 브랜치가 같은 줄을 바꿨어요: {1}",
  ],

  [
    "{0} has moved, and merged with it this fails: {1} ({2}).",
    "{0} 브랜치가 그사이 바뀌었고, 합치면 이것이 실패해요: `{1}` ({2})",
  ],

  ["{0} stands at no branch.", "{0}에서 쓰는 브랜치가 없어요."],
  ["{0} has no branch {1}.", "{0}에 {1} 브랜치가 없어요."],
  ['"{0}" is no branch, tag or commit of {1}.', "{1}에 `{0}` 브랜치나 태그, 커밋이 없어요."],
  ["{0} is not in a git repository.", "{0} 폴더는 git 저장소가 아니에요."],
  ["{0} is git's own folder, not a working tree.", "{0} 폴더는 git 안쪽 폴더예요."],
  ["{0} is not one that the team has named.", "팀이 정하지 않은 저장소예요: {0}"],
  ["{0} is not known to this tenant.", "이 테넌트가 쓸 수 있는 저장소가 아니에요: {0}"],
  ["This tenant has several repositories: {0}.", "쓸 수 있는 저장소가 여럿이에요: {0}"],
  ["{0} is the team's own folder; no plan works on it.", "팀의 폴더는 계획이 다룰 수 없어요: {0}"],
  [
    "{0} holds files of the team itself; no plan works on it.",
    "팀의 파일이 있는 저장소는 계획이 다룰 수 없어요: {0}",
  ],
  [
    "The result changes files of the team itself: {0}. Nothing was changed.",
    "결과가 팀의 파일을 바꾸려고 해서 아무것도 바꾸지 않았어요: {0}",
  ],
  [
    "The result of the run {0} is {1} by now, not {2}.",
    "{0} 실행의 결과가 {2}에서 {1}(으)로 바뀌었어요. 다시 살펴보고 승인해 주세요.",
  ],
  [
    "The result {0} of the run {1} has {2} of {3} approvals.",
    "{1} 실행의 결과 {0}에 승인이 {3}개 필요한데 {2}개 있어요.",
  ],
  ["{0} has no commit yet.", "{0}에 아직 커밋이 없어요."],
  ["{0} could not be pushed: {1}", "{0} 브랜치를 푸시하지 못했어요: {1}"],
  ["{0} could not open a pull request: {1}", "{0} 도구로 풀 리퀘스트를 열지 못했어요: {1}"],
  ["The model {0}:{1} needs a key, and {2} is not set.", "{0}:{1} 모델에 쓸 키 {2}이(가) 없어요."],

  // --- who may, and what is there
  ["{0} may not ask {1}.", "{0} 에이전트는 {1} 에이전트에게 맡길 수 없어요."],
  ["{0} cannot ask itself.", "{0} 에이전트는 자신에게 맡길 수 없어요."],
  ['There is no agent "{0}".', "{0} 에이전트가 없어요."],
  ['There is no service "{0}".', "{0} 서비스가 없어요."],
  ['"{0}" is the name of an agent.', "`{0}`은(는) 에이전트의 이름이에요. 다른 이름을 써 주세요."],

  [
    "{0} has changed the draft {1} meanwhile; it is at version {2} now.",
    "그사이 {0} 님이 초안을 바꿔서, 이 변경은 저장하지 않았어요.",
  ],

  ["The message is longer than {0} characters.", "메시지가 {0}자보다 길어요. 나눠서 보내 주세요."],

  [
    "The message has {0} bytes; {1} are allowed.",
    "메시지가 {0}바이트예요. {1}바이트까지 보낼 수 있어요.",
  ],

  ["More than {0} requests in a minute.", "1분에 {0}번 넘게 요청했어요. 잠시 뒤에 다시 해 주세요."],

  [
    "This needs the scope {0}; the token has {1}.",
    "이 일에는 `{0}` 권한이 필요해요. 이 토큰의 권한: `{1}`",
  ],

  [
    "The job was given up after turn {0}: {1} Try it again?",
    "{0}번째 턴 뒤에 중단했어요. 다시 시도할까요?",
  ],

  [
    "The server could not answer this request.",
    "서버 안에서 문제가 생겼어요. 서버 로그를 봐 주세요.",
  ],

  ["The server answered {0}.", "서버가 {0}(으)로 답했어요. 잠시 뒤에 다시 시도해 주세요."],

  // --- rights of the database user
  ["PostgreSQL refuses this to {0}: {1}.", "데이터베이스 사용자 {0}에게 권한이 없어요: {1}"],

  ["As the owner of the database: {0}", "데이터베이스의 주인으로 실행해 주세요: `{0}`"],

  // --- files
  [
    "The message has {0} files; {1} are allowed.",
    "파일이 {0}개예요. 메시지 하나에 {1}개까지 보낼 수 있어요.",
  ],

  ["Send fewer at once.", "나눠서 보내 주세요."],
  ["These rooms keep no files.", "이 방에는 파일을 올릴 수 없어요."],
  ["{0} bodies with files are read now.", "지금은 파일 {0}묶음을 받고 있어요."],
  ["{0} did not give {1}: {2}.", "{0}에서 {1} 파일을 받지 못했어요."],
  ["There is no store outside the database to {0}.", "데이터베이스 밖에 파일을 둘 곳이 없어요."],
  ["The bytes of {0} are not those that were stored.", "{0} 파일이 저장했을 때와 달라요."],
  ["{0} has no bytes.", "{0} 파일이 비어 있어요."],
  ["{0} has {1}; at most {2} are taken.", "{0} 파일은 {1}예요. {2}까지 보낼 수 있어요."],
  ["{0} is of no type that is taken.", "{0} 파일은 받지 않는 종류예요."],
  [
    "{0} has {1}; without a store of files at most {2} are kept.",
    "{0} 파일은 {1}예요. 파일 저장소가 없어서 {2}까지만 보관할 수 있어요.",
  ],
  [
    "The session {0} has as many files as may be kept: {1}.",
    "대화 {0}에는 파일을 더 둘 수 없어요. {1}까지 둘 수 있어요.",
  ],
  [
    "All sessions have as many files as may be kept: {0}.",
    "파일을 더 둘 수 없어요. 모든 대화에 {0}까지 둘 수 있어요.",
  ],
  ['"{0}" cannot be a key of {1}.', "{1}에 둘 수 없는 이름이에요: {0}"],
  ["{0} has {1} bytes, more than were stored.", "{0} 파일이 저장했을 때보다 커요. {1}바이트예요."],
  ["The store of files ({0}) could not {1}: {2}.", "파일 저장소({0})에서 파일을 다루지 못했어요."],
  ["Send a link.", "링크를 보내 주세요."],

  [
    "The body is no multipart/form-data: {0}.",
    "파일을 담은 내용(`multipart/form-data`)을 읽을 수 없어요.",
  ],

  ["The body has more than {0} parts.", "한 번에 {0}개 넘게 담아 보낼 수 없어요."],
  ["The content type names no boundary.", "파일을 담은 내용의 형식에 `boundary`가 없어요."],
  ["The field {0} holds text that cannot be stored.", "{0} 항목에 저장할 수 없는 글자가 있어요."],
  ["The body has no file.", "보낸 내용에 파일이 없어요."],
];
