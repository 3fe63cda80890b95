/** Sentences of `--help` by what they say in English; a test holds that none is missing. */
export const HELP_KO: Readonly<Record<string, string>> = {
  // --- commander's own
  "Usage:": "사용법:",
  "Arguments:": "값:",
  "Options:": "옵션:",
  "Commands:": "명령:",
  "display help for command": "도움말을 봐요",
  "print the version": "버전을 봐요",
  "show the help of a command": "명령의 도움말을 봐요",

  // --- many commands
  "print JSON in the spelling of the API": "API와 같은 꼴의 JSON으로 보여 줘요",
  "the team's folder": "팀의 폴더",

  "the server (default: DURE_URL, else this machine's PORT)":
    "서버의 주소(기본: DURE_URL, 없으면 이 컴퓨터의 PORT)",

  "your name, on a server without tokens": "내 이름. 토큰이 없는 서버에서 써요",
  "only in this status": "이 상태인 것만",
  "only of this plan": "이 계획의 것만",
  "only of this session": "이 대화의 것만",
  "only of this job": "이 일의 것만",
  "only of this role": "이 역할의 것만",
  "only of this room": "이 방의 것만",
  "at most so many, 1 to 200 (default 50)": "몇 개까지 볼지, 1에서 200까지(기본 50)",
  "at most so many, 1 to 1000 (default 100)": "몇 개까지 볼지, 1에서 1000까지(기본 100)",
  "go on behind an earlier list": "앞서 본 목록에 이어서 봐요",
  "go on where the list before ended": "앞서 본 목록에 이어서 봐요",
  "the same key and request are the same run": "키와 내용이 같으면 같은 실행이에요",
  "the same key and request are the same job": "키와 내용이 같으면 같은 일이에요",
  "the same key is the same run": "키가 같으면 같은 실행이에요",
  "watch it to its end": "끝날 때까지 지켜봐요",
  "begin nothing; say what would be done": "시작하지 않고 무엇을 할지만 봐요",
  "letters (한글 too), digits, spaces, _ and -": "한글과 영문자, 숫자, 빈칸, _와 -",
  "Latin letters, digits, _ and -": "영문자와 숫자, _와 -",

  // --- the team
  "Runs durable teams of AI agents.": "꺼져도 이어지는 AI 에이전트 팀을 실행해요.",

  "start the team in dev mode, and again after every change":
    "개발 모드로 팀을 켜고, 파일을 고치면 다시 켜요",

  "start the team: database, server, dashboard": "팀을 켜요: 데이터베이스, 서버, 화면",

  "make a new team in a folder of its name; asks on a terminal what it begins with":
    "이름과 같은 폴더에 새 팀을 만들어요. 터미널에서는 무엇으로 시작할지 물어봐요",

  "its language": "팀의 언어",

  "chat: a service; rooms: agents in a room too; plans: a plan too":
    "chat: 서비스 하나, rooms: 방에서 일하는 에이전트까지, plans: 계획까지",

  "whose model; its key goes into .env": "어느 회사의 모델을 쓸지. 키는 .env에 적어요",
  "ask nothing": "물어보지 않아요",
  "is moved into the team, for create-dure": "팀으로 옮길 패키지. create-dure가 써요",
  "make a part of a team": "팀의 부분을 만들어요",
  "make a new service in services/": "services/에 새 서비스를 만들어요",
  "make a new agent in agents/": "agents/에 새 에이전트를 만들어요",
  "make a new tool in tools/": "tools/에 새 도구를 만들어요",
  "make a new skill in skills/": "skills/에 새 스킬을 만들어요",
  "Latin letters, digits and _": "영문자와 숫자, _",
  "lower-case letters, digits and -": "영문 소문자와 숫자, -",
  "make a new plan in plans/": "plans/에 새 계획을 만들어요",

  "find problems of a service, or of a team with all its services, without calling a model":
    "모델을 부르지 않고, 서비스나 팀 전체에서 고칠 곳을 찾아요",

  "folder of a service or of a team": "서비스나 팀의 폴더",

  "check everything that a start needs": "시작하는 데 필요한 것을 모두 확인해요",
  "also each setting, its value and where it comes from":
    "설정마다 값과 그 값을 어디서 정했는지도 보여 줘요",

  // --- conversations
  "talk to a service": "서비스와 대화해요",

  "send this, print the answer, leave; without it messages are read line by line":
    "이 메시지를 보내고 답을 받아요. 없으면 한 줄씩 대화해요",

  "the service (default: the session's, else the team's first)":
    "서비스(기본: 대화의 서비스, 없으면 팀의 첫 서비스)",

  "continue a session (default: a new one)": "이어서 할 대화(기본: 새 대화)",

  "print a link that opens the page logged in, once, within 10 minutes":
    "로그인된 화면을 여는 링크를 만들어요. 10분 안에 한 번 열 수 있어요",

  "let the running server read configuration, agents, personas and services anew":
    "켜져 있는 서버가 설정과 에이전트, 인격, 서비스를 다시 읽게 해요",

  "print the event log": "이벤트 로그를 봐요",
  "go on with what happens": "새로 일어나는 것도 이어서 봐요",

  "types, or prefixes ending in .*, with commas between":
    "이벤트의 종류. `.*`로 끝나는 앞부분도 돼요. 쉼표로 이어요",

  "continue behind this event's id": "이 ID의 이벤트 다음부터 봐요",

  // --- rooms, jobs and schedules
  "see rooms and threads, speak in them, lift what a guard has stopped":
    "방과 스레드를 보고, 말하고, 멈춘 방을 다시 열어요",

  "channels, direct rooms and threads, with their state": "채널과 1:1 방, 스레드와 그 상태",
  "say something in a room or thread": "방이나 스레드에 말해요",

  "let agents speak again where a guard has stopped them":
    "멈춘 곳에서 에이전트가 다시 말하게 해요",

  "see exchanges between agents, watch and steer them":
    "에이전트끼리 맡긴 일을 보고, 지켜보고, 이끌어요",

  "jobs, newest first": "맡긴 일, 새것부터",
  "only of this agent, as asking or as asked one": "이 에이전트가 맡기거나 맡은 일만",
  "only those that this job asked for": "이 일에서 나온 일만",
  "only those of the whole work that began with this job": "이 일에서 시작된 모든 일만",
  "only those made within this time, such as 1h": "이 시간 안에 맡긴 일만. 예: 1h",
  "one job: what was said, and how it ended": "일 하나: 주고받은 말과 끝난 까닭",

  "follow a job to its end; exit code 1 unless it completes":
    "일을 끝날 때까지 지켜봐요. 마치지 못하면 종료 코드 1",

  "let one agent ask another, and print its answer":
    "에이전트가 다른 에이전트에게 일을 맡기고 답을 받아요",

  "in whose name": "맡기는 에이전트",
  "who is asked": "맡는 에이전트",

  "wait so long for the answer, 0 to 300 (default 30)":
    "답을 몇 초 기다릴지, 0에서 300까지(기본 30)",

  "longest exchange": "가장 많이 주고받을 턴 수",
  "what it is about": "무엇에 대한 일인지",
  "go on with an earlier conversation": "앞서 한 대화를 이어 가요",
  "cancel a job and all that it asked for": "일과 거기서 나온 일을 모두 취소해요",

  "go on with a job that failed or was given up, behind its finished turns":
    "실패하거나 멈춘 일을 끝난 차례 다음부터 이어서 해요",

  "say something that the next turn hears, before what the agents say":
    "다음 턴이 에이전트의 말보다 먼저 들을 말을 해요",

  "remove finished jobs that are older": "오래전에 끝난 일을 지워요",
  "such as 7d": "예: 7d",

  "jobs that someone should look at; exit code 1 when there are some":
    "살펴봐야 할 일. 있으면 종료 코드 1",

  "without progress for this long is stuck (default 10m)":
    "이만큼 나아가지 않으면 멈춘 것으로 봐요(기본 10m)",

  "see what begins at a time, run it by hand, pause it": "예약을 보고, 직접 실행하고, 멈춰요",

  "what begins at a time: its rule, its next moment, the last outcome":
    "예약의 규칙과 다음 때, 지난 결과",

  "do it now, also while it is paused": "지금 실행해요. 멈춰 둔 예약도 돼요",
  "let its moments pass": "예약을 멈춰 둬요",
  "let its next moment count": "예약을 다시 켜요",

  "let an agent begin no new model call; what is asked of it waits":
    "에이전트를 멈춰요. 새로 모델을 부르지 않고, 맡은 일은 기다려요",

  "let a paused agent go on with what waits for it": "멈춘 에이전트가 기다리던 일을 이어서 해요",
  "end what runs in a room, a thread or a job": "방이나 스레드, 일에서 하던 것을 끝내요",

  "end what runs in a room and its threads: answers, requests, jobs":
    "방과 그 스레드에서 하던 것을 끝내요: 답, 부탁, 일",

  "end what runs in a thread: answers, requests, jobs": "스레드에서 하던 것을 끝내요: 답, 부탁, 일",

  "cancel a job and all that it asked for, as dure jobs cancel does":
    "일과 거기서 나온 일을 모두 취소해요. dure jobs cancel과 같아요",

  // --- plans
  "check plans, run them, watch and steer their runs, take their results over":
    "계획을 확인하고 실행해요. 실행을 지켜보고 이끌고, 결과를 합쳐요",

  "plans in the team's folder plans": "팀의 plans 폴더에 있는 계획",

  "find problems of plans, without a server; exit code 1 when there are some":
    "서버 없이 계획에서 고칠 곳을 찾아요. 있으면 종료 코드 1",

  "a name or a file (default: all of plans/)": "이름이나 파일(기본: plans/ 전체)",
  "ask no agent whether it works here": "여기서 일할 수 있는지 에이전트에게 물어보지 않아요",

  "a plan against its repository: levels, critical path, mode and why, files without an owner":
    "저장소에 비춘 계획: 단계, 가장 긴 길, 방식과 이유, 맡은 포트가 없는 파일",

  "let a model propose a plan; prints it, stores nothing":
    "모델에게 계획을 써 달라고 해요. 보여 주기만 하고 저장하지 않아요",

  "the repository, by name or path (default: the team's)":
    "저장소의 이름이나 경로(기본: 팀의 저장소)",

  "from words to a plan: a model drafts it, its file is written, you edit and start it":
    "말을 계획으로 만들어요. 모델이 쓴 파일을 고쳐서 시작할 수 있어요",

  "what is to be there in the end": "다 되면 있어야 할 것",
  "where the plan goes (default: plans/, by its name)": "계획을 둘 곳(기본: plans/ 아래 그 이름)",
  "ask nothing; take what the draft assumes": "물어보지 않고 초안이 정한 대로 해요",

  "begin a run and print its id; with --follow exit code 1 unless it ends in success":
    "계획을 실행하고 실행의 ID를 알려 줘요. --follow면 성공하지 못할 때 종료 코드 1",

  "a plan that is no file of the team: its text is sent (-: what comes on standard input)":
    "팀의 파일이 아닌 계획. 글을 보내요(-는 표준 입력)",

  "a branch, tag or commit to begin from (default: as the plan says)":
    "시작할 브랜치나 태그, 커밋(기본: 계획에 적은 대로)",

  "only these ports and what they need": "이 포트와, 여기에 필요한 포트만",
  "these ports and what needs them": "이 포트와, 이것을 기다리는 포트",

  "the repository, by name or path (default: as the plan says, else the team's)":
    "저장소의 이름이나 경로(기본: 계획에 적은 대로, 없으면 팀의 저장소)",

  "runs, newest first": "실행, 새것부터",

  "how a run stands; exit code 1 when it has ended otherwise than in success":
    "실행이 어떤지 봐요. 성공하지 못하고 끝났으면 종료 코드 1",

  "one port, try by try": "포트 하나를 시도마다",

  "follow a run to its end; exit code 1 unless that is success":
    "실행을 끝날 때까지 지켜봐요. 성공하지 못하면 종료 코드 1",

  "start no more ports; what works goes on": "포트를 새로 시작하지 않아요. 하던 일은 이어져요",
  "go on with a paused run": "멈춰 둔 실행을 이어서 해요",

  "end a run; its workers are stopped, what they made is kept":
    "실행을 끝내요. 작업자는 멈추고, 만든 것은 남아요",

  "give a failed port another try; what needs it goes on then. Without a port: merge an ended run again, or give a run more tokens or calls":
    "실패한 포트를 다시 시도해요. 포트를 적지 않으면 끝난 실행을 다시 합치거나, 토큰과 호출을 더 줘요",

  "told to the next try": "다음 시도에 전할 말",
  "so many tries more (default 1)": "몇 번 더 시도할지(기본 1)",
  "who tries (default: its pair)": "시도할 쪽(기본: 원래 짝)",
  "so many tokens more": "더 줄 토큰",
  "so many calls of models more, for the whole run": "실행 전체에 더 줄 모델 호출",
  "so much time more, such as 20m": "더 줄 시간. 예: 20m",

  "go on without a port; one that works is stopped":
    "포트를 빼고 이어서 해요. 일하던 포트는 멈춰요",

  "what the workers of a port thought, said and did": "포트의 작업자가 생각하고 말하고 한 일",
  "one member alone": "한 사람만",
  "lines that hold these words": "이 말이 든 줄만",

  "remove files and refs of ended runs; branches and history stay, and so does what is on no branch":
    "끝난 실행의 파일과 ref를 지워요. 브랜치와 기록, 어느 브랜치에도 없는 결과는 남아요",

  "this one alone, however old": "이 실행만, 언제 끝났든",
  "those that ended longer ago (default: 7d)": "이보다 오래전에 끝난 실행(기본: 7d)",
  "what is on no branch, or in no commit, goes too": "어느 브랜치나 커밋에도 없는 것까지 지워요",
  "remove nothing; say what would be done": "지우지 않고 무엇을 할지만 봐요",

  "tell a member of a port something; `plan status RUN PORT` shows whether it was read":
    "포트의 작업자에게 말해요. 읽었는지는 `plan status RUN PORT`로 볼 수 있어요",

  "who reads it": "읽을 작업자",
  "until it was read, or can be no more": "읽거나 더는 읽을 수 없을 때까지 기다려요",

  "what the result of a run changes, or one port so far, as a patch":
    "실행의 결과나 포트 하나가 바꾼 것을 패치로 봐요",

  "look at what a port changed, comment on it, and send it back for another try":
    "포트가 바꾼 것을 보고, 의견을 남기고, 다시 시도하게 해요",

  "comment on FILE or FILE:LINE; it waits until it is sent":
    "FILE이나 FILE:LINE에 의견을 남겨요. 보낼 때까지 기다려요",

  "the comment": "의견",

  "send what waits: the port has another try, which is told it":
    "남긴 의견을 보내고 다시 시도하게 해요",

  "approve the work of a port that waits for you (gate: person). Without a port: the result of a run, before it is merged":
    "승인을 기다리는 포트의 작업을 승인해요(gate: person). 포트가 없으면 합치기 전에 실행의 결과를 승인해요",
  "the result that you looked at (default: as it is now)": "살펴본 결과(적지 않으면 지금 결과)",

  "take the result of a run over into a branch of your repository":
    "실행의 결과를 저장소의 브랜치에 합쳐요",

  "take the merged result of a run out of the branch again, by one commit upon it":
    "합친 실행의 결과를 브랜치에서 커밋 하나로 되돌려요",
  "the branch (default: the one that it was merged into last)": "브랜치(기본: 마지막에 합친 곳)",
  "take the newest merged task of this checkout out of its branch again":
    "이 저장소에 마지막으로 합친 할 일을 되돌려요",
  "the repository, by name or path": "저장소의 이름이나 경로",

  "the branch (default: the plan's base, else the one you stand at)":
    "브랜치(기본: 계획의 base, 없으면 지금 브랜치)",

  "you have looked at what the first call named; the code stands there":
    "먼저 실행했을 때 나온 것을 확인했어요. 코드는 거기 적혀 있어요",
  "push the result of a run where its plan says, and open a pull request":
    "계획에 적은 곳에 결과를 푸시하고 풀 리퀘스트를 열어요",

  // --- tasks
  "let an agent do one thing, kept apart as in a plan; prints the id of its run":
    "에이전트에게 할 일 하나를 맡겨요. 계획처럼 격리해서 일하고, 실행의 ID를 알려 줘요",

  "what is to be done": "할 일",
  "a shell command that decides whether it is done (default: as its repository says)":
    "다 됐는지 판단하는 셸 명령(기본: 저장소가 정한 것)",
  "the repository, by name or path (default: the checkout here, else the team's)":
    "저장소의 이름이나 경로(기본: 지금 있는 저장소, 없으면 팀의 것)",
  "what may be changed (default: as its repository says, else a guess that you accept)":
    "바꿔도 되는 경로(기본: 저장소가 정한 것, 없으면 짐작해서 물어봐요)",
  "watch it to its end; before a person that is the default":
    "끝까지 지켜봐요. 사람이 보고 있으면 기본이에요",
  "begin it, and go": "시작만 하고 나가요",
  "without a team: a server of its own, which ends with it":
    "팀 없이 해요. 서버를 따로 시작하고, 끝나면 같이 끝내요",
  "tests that a tester of its own writes": "테스트 담당이 따로 쓸 테스트",
  "who does it (default: claude)": "맡을 에이전트(기본: claude)",
  "a model (provider:model) does it, instead of an agent": "에이전트 대신 모델이 해요(회사:모델)",

  "a program does it, instead of an agent; run by a shell":
    "에이전트 대신 프로그램이 해요. 셸로 실행해요",

  "waits for a person's yes before the result goes to its branch":
    "결과를 브랜치에 올리기 전에 사람의 승인을 기다려요",

  "names its branch (default: the first words)": "브랜치의 이름(기본: 할 일의 첫머리)",
  "at most so many tries (default 3)": "몇 번까지 시도할지(기본 3)",
  "a branch, tag or commit to begin from": "시작할 브랜치나 태그, 커밋",

  // --- knowledge
  "give agents documents to search, and see what they find":
    "에이전트가 찾아볼 문서를 주고, 무엇을 찾는지 봐요",

  "add a folder, a file or an address; of a folder also remove what is gone":
    "폴더나 파일, 주소를 더해요. 폴더에서 없어진 문서는 빼요",

  "the knowledge base (default: the only one of the team)": "지식 모음(기본: 팀에 하나뿐인 것)",
  "knowledge bases, or the documents of one": "지식 모음, 또는 그 안의 문서",
  "the documents of this base": "이 지식 모음의 문서",
  "show what an agent would get for a question": "물었을 때 에이전트가 받을 글을 봐요",
  "remove a document": "문서를 빼요",

  // --- hooks of workers
  "what tools call from inside of a worker of a plan": "계획의 작업자 안에서 도구가 부르는 명령",

  "hand a report of tests (JSON on standard input) to the loop of the worker; prints {decision, notifications}":
    "테스트 결과(표준 입력의 JSON)를 작업자에게 전해요. {decision, notifications}를 돌려줘요",

  "ask the other member of the worker's pair, and print the answer":
    "함께 일하는 작업자에게 물어보고 답을 받아요",

  "ask the operator for a path that the worker may not use; prints {granted, note}":
    "작업자가 쓸 수 없는 경로를 달라고 관리자에게 부탁해요. {granted, note}를 돌려줘요",

  "a file or folder, from the root of the repository": "저장소의 맨 위부터 적은 파일이나 폴더",
  "to write it, not only to read it": "읽기만이 아니라 쓰려고",
  "told to the operator": "관리자에게 전할 이유",

  // --- other programs
  "serve the team over standard input and output to an MCP client":
    "표준 입출력으로 팀을 MCP 클라이언트에 열어요",

  "what it may do: agents, rooms, posts, jobs, plans, services, decisions (default agents,rooms,jobs,plans)":
    "할 수 있는 일: agents, rooms, posts, jobs, plans, services, decisions(기본 agents,rooms,jobs,plans)",

  "log in at an MCP server whose tools the agents have": "에이전트가 쓰는 MCP 서버에 로그인해요",
  "its name under mcp, as dure doctor has it": "설정의 mcp에 적은 이름. dure doctor에 나와요",
  "end the login at an MCP server, here and there": "MCP 서버에서 로그아웃해요",

  "print the document that names dure as a client, to be put at an https address":
    "https 주소에 올릴, dure를 소개하는 클라이언트 문서를 만들어요",

  "where it will stand": "문서를 올릴 주소",

  "serve the team over standard input and output to an editor":
    "표준 입출력으로 팀을 편집기에 열어요",

  "offers tasks (dure task): what they may change": "할 일도 받아요(dure task): 바꿔도 되는 경로",
  "a shell command that decides whether a task is done": "할 일이 다 됐는지 판단하는 셸 명령",
  "at most so many tries of a task (default 3)": "할 일을 몇 번까지 시도할지(기본 3)",
  "asks before the result of a task goes to its branch": "결과를 브랜치에 올리기 전에 물어봐요",
  "the repository of tasks (default: the editor's folder)": "할 일의 저장소(기본: 편집기의 폴더)",

  // --- decisions and the log of deeds
  "see what waits for a decision, and decide it": "확인 요청을 보고 결정해요",
  "what waits for a decision, the most severe first": "결정을 기다리는 확인 요청, 급한 것부터",
  "only of this severity": "이만큼 급한 것만",
  "only of this type": "이 종류만",
  "only of this plan run": "이 실행의 것만",
  "only of this port of a plan": "계획의 이 포트의 것만",
  "only of this conversation": "이 대화의 것만",
  "one escalation with all that is known of it": "확인 요청 하나와 알려진 모든 것",
  "decide with one of the suggested values": "보이는 답 가운데 하나로 결정해요",
  "a hint or a reason that goes with it": "함께 전할 힌트나 이유",
  "other arguments for the call that it allows": "승인할 호출에 바꿔 넣을 인자",
  "close one that needs no decision": "결정할 것이 없는 확인 요청을 닫아요",
  "the reason": "이유",

  "what waits, then what comes and how it is decided":
    "기다리는 것을 보고, 새로 오는 것과 그 결정을 지켜봐요",

  "who approved, cancelled, merged or changed what, newest first":
    "누가 무엇을 승인하고 취소하고 합치고 바꿨는지, 새것부터",

  "only this deed, or all of a kind: 'job.*'": "이 일만, 또는 한 종류 모두: 'job.*'",
  "only of this token, or of the person it was made for": "이 토큰이나 그 주인이 한 일만",
  "only what was done to this job, run, session …": "이 일, 실행, 대화…에 한 것만",
  "only where this stands in one of them": "이 말이 든 것만",

  // --- tokens and the database
  "create, list and revoke tokens": "토큰을 만들고, 보고, 취소해요",
  "make a token; it is shown once": "토큰을 만들어요. 한 번만 보여 줘요",
  "for people: whose token it is": "누구의 토큰인지 알 수 있는 이름",

  "chat, rooms, jobs, plans (or plans:read, plans:run, plans:merge), plans:confirm, admin, with commas between":
    "chat, rooms, jobs, plans(또는 plans:read, plans:run, plans:merge), plans:confirm, admin. 쉼표로 이어요",

  "calls of tools that ask for this role it may approve":
    "이 역할을 찾는 도구의 실행을 승인할 수 있어요",
  "owner of what is created with it": "이 토큰으로 만든 것의 주인",
  "list tokens; never their text": "토큰을 봐요. 값은 보여 주지 않아요",
  "end a token": "토큰을 취소해요",
  "from dure token list": "dure token list에 나오는 ID",
  "list the browsers that are logged in, or end one": "로그인한 브라우저를 보거나 로그아웃시켜요",
  "end this login": "이 로그인을 끝내요",

  "migrate, measure, back up and restore the database":
    "데이터베이스를 올리고, 재고, 백업하고, 복원해요",

  "bring the schema up to this version; a start does it too":
    "스키마를 이 버전으로 올려요. 시작할 때도 해요",

  "rows and size of each table": "테이블마다의 행 수와 크기",

  "write everything into a file, also while the team runs":
    "모두 파일에 담아요. 팀이 켜져 있어도 돼요",

  "put a backup into the database of a stopped team": "꺼 둔 팀의 데이터베이스에 백업을 복원해요",
  "replace what stands there": "있던 것을 덮어써요",

  "print a script that completes commands in your shell":
    "셸에서 명령을 자동 완성하는 스크립트를 만들어요",

  "bash, zsh or fish": "bash, zsh, fish 가운데 하나",

  // --- evaluations
  "play the conversations of evals/ with the team, and check what comes of them":
    "써 둔 대화를 팀과 나눠 보고 결과를 확인해요",
  "files of evaluations (default: all of evals/)": "평가 파일(기본: 평가 폴더의 모든 파일)",
  "cases alone that have this in their name": "이름에 이 말이 든 사례만",
  "how often each case is played (default: as its file says)":
    "사례마다 되풀이할 횟수(기본: 파일에 적힌 대로)",
  "cases at the same time (default: 4)": "한꺼번에 돌릴 사례 수(기본: 4)",
  "model of agents that name none, instead of the team's":
    "팀의 모델 대신, 모델을 정하지 않은 에이전트가 쓸 모델",
  "model that judges and writes as a person (default: the team's)":
    "채점하고 사람처럼 글을 쓸 모델(기본: 팀의 모델)",
  "name of this run, for dure eval compare": "dure eval compare에서 쓸 이 실행의 이름",
  "share of cases that must pass, 0 to 1 (default: as files say)":
    "통과해야 하는 사례의 비율. 0에서 1까지(기본: 파일에 적힌 대로)",
  "writes the results as JUnit XML": "결과를 JUnit XML로 저장해요",
  "goes on with the newest run that came to no end": "끝나지 않은 가장 최근 실행을 이어서 해요",
  "show two runs beside each other: score, time, tokens, and the cases that differ":
    "두 실행의 점수, 시간, 토큰과 달라진 사례를 나란히 봐요",
  "a run, by its id or label (default: the second newest)":
    "실행의 ID나 이름(기본: 두 번째로 최근 것)",
  "the other one (default: the newest)": "다른 실행(기본: 가장 최근 것)",
};
