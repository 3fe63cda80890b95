import type { SentenceForm } from "../kernel/sentence-forms.ts";

/** Reasons that stand inside a sentence of the server, or behind it; and what an editor is told. */
export const REASONS_KO: readonly SentenceForm[] = [
  // --- what an acceptance says that names no test
  [
    "The acceptance command ended with exit code {0} and named no test.",
    "통과 조건 명령이 종료 코드 {0}(으)로 끝났고, 실패한 테스트의 이름은 알 수 없어요.",
  ],
  [
    "The acceptance command failed without naming a test.",
    "통과 조건 명령이 실패했고, 실패한 테스트의 이름은 알 수 없어요.",
  ],
  ["Tests failed.", "실패한 테스트가 있어요."],
  [
    "The acceptance command ended well, but ran no test.",
    "통과 조건 명령은 잘 끝났지만 돌린 테스트가 없어요.",
  ],
  [
    "The output of the acceptance command stops before its end.",
    "통과 조건 명령의 출력이 중간에 끊겼어요.",
  ],
  [
    "The acceptance command ended well, but its output says nothing about tests that is certain.",
    "통과 조건 명령은 잘 끝났지만, 출력에서 테스트 결과를 알 수 없어요.",
  ],
  [
    "All {0} tests passed, but the acceptance command failed: something around the tests did.",
    "테스트 {0}개는 모두 통과했지만, 테스트 밖의 이유로 통과 조건 명령이 실패했어요.",
  ],
  [
    "The test passed, but the acceptance command failed: something around the tests did.",
    "테스트는 통과했지만, 테스트 밖의 이유로 통과 조건 명령이 실패했어요.",
  ],
  [
    "git ignores these files, so they are in no commit and were not there when it was tried: {0}. " +
      "Write what is needed to a path that no .gitignore names, or let the command itself make it.",
    "git이 무시하는 파일이라 커밋에 들어가지 않았고, 확인할 때도 없었어요: {0}. " +
      ".gitignore에 없는 경로에 쓰거나, 명령이 직접 만들게 해 주세요.",
  ],
  ["The last try failed: {0}", "지난 시도가 실패했어요: {0}"],
  ["The check `{0}` ended with {1}:\n{2}", "검사 `{0}` 명령이 실패했어요({1}):\n{2}"],

  // --- why a folder stays
  ["process {0} holds it", "프로세스 {0}이(가) 쓰고 있어요"],
  [
    "not all of its {0} commits are reachable from {1}",
    "커밋 {0}개 가운데 {1}에서 닿지 않는 것이 있어요",
  ],
  ["it holds what no commit has: {0}", "커밋하지 않은 것이 있어요: {0}"],
  ["it ended without a word", "아무 말 없이 끝났어요"],
  ["it is unknown whether its result was merged", "결과를 합쳤는지 알 수 없어요"],

  // --- why a token is needed
  [
    "the application that embeds the team does not say whose request it is",
    "팀을 담은 프로그램이 누구의 요청인지 알려 주지 않아요",
  ],
  ["the connection comes from another machine", "다른 컴퓨터에서 온 연결이에요"],
  ["a proxy forwarded the request", "프록시를 거쳐 온 요청이에요"],
  [
    "it is HTTP/1.0, which a proxy speaks and no browser",
    "HTTP/1.0으로 온 요청이라 프록시가 보낸 것 같아요",
  ],
  ["it does not ask for this machine by a local name", "이 컴퓨터의 이름으로 온 요청이 아니에요"],
  [
    "the connection belongs to another user of this machine",
    "이 컴퓨터의 다른 사용자가 연결했어요",
  ],
  ["the system does not say whose connection it is", "누구의 연결인지 시스템에서 알 수 없어요"],
  ["`server.loginAlways` is set", "`server.loginAlways`가 켜져 있어요"],
  ["DURE_TOKEN is set", "`DURE_TOKEN`이 정해져 있어요"],
  ["the server listens beyond this machine", "서버가 다른 컴퓨터에도 열려 있어요"],
  ["`server.allowedHosts` names a public host", "`server.allowedHosts`에 공개된 호스트가 있어요"],
  ["`server.trustProxy` names a proxy", "`server.trustProxy`에 프록시가 있어요"],
  ["a token exists in the database", "데이터베이스에 토큰이 있어요"],
  [
    "this system does not say whose connection it is",
    "이 시스템에서는 누구의 연결인지 알 수 없어요",
  ],

  // --- conversations that dure leads
  ["an exchange between agents", "에이전트끼리 주고받는 일"],
  ["an agent in a room", "방에 있는 에이전트"],
  ["the operator's look at an escalation", "확인 요청을 살펴보는 담당 에이전트"],

  // --- what an editor is told
  ['A part of the type "{0}" is not taken.', "`{0}` 형식은 받을 수 없어요."],
  ["Send text, links and text files.", "글과 링크, 텍스트 파일만 보내 주세요."],
  ["This session has begun {0} tasks.", "이 세션에서 맡긴 일이 벌써 {0}개예요."],
  ["Begin a new session.", "새 세션을 시작해 주세요."],
  ["There is no team in {0}.", "{0} 폴더에 팀이 없어요."],
  [
    "Go to its folder or name it with --dir, or say where a server runs: --url or DURE_URL.",
    "팀의 폴더로 가거나 `--dir`로 폴더를, `--url`이나 `DURE_URL`로 서버의 주소를 알려 주세요.",
  ],
  ["The team in {0} is not running: {1}.", "{0} 폴더의 팀이 꺼져 있어요: {1}"],
  ["no server of it has been started", "켜 둔 서버가 없어요"],
  ["nothing answers at {0} any more", "{0}에서 더는 답이 없어요"],
  [
    "Start it with dure dev, or say where a server runs: --url or DURE_URL.",
    "`dure dev`로 켜거나, `--url`이나 `DURE_URL`로 서버의 주소를 알려 주세요.",
  ],
  ["Nothing answers at {0}: {1}.", "{0}에서 답이 없어요({1})."],
  [
    "Start the team (dure dev), or say where it runs: --url or DURE_URL.",
    "`dure dev`로 팀을 켜거나, `--url`이나 `DURE_URL`로 주소를 알려 주세요.",
  ],
];
