import type { StartWords } from "./start.en.ts";

export const START_KO: StartWords = {
  answers: (team, url) => `${team === undefined ? "팀이" : `${team} 팀이`} 준비됐어요: ${url}`,
  openOnce: (link) =>
    `10분 안에 한 번 열 수 있는 로그인 링크예요: ${link} (다시 만들려면 dure login)`,
  toOpen: "이 컴퓨터에서 화면을 열려면: dure login",
  unseen: (trouble) => `파일이 바뀌어도 알아채지 못할 수 있어요: ${trouble}`,
  waiting: (exitCode, folder) =>
    `팀이 종료 코드 ${exitCode}(으)로 멈췄어요. ${folder} 폴더에서 파일을 고치면 다시 시작해요…`,
  takenIn: (files) => `파일이 바뀌었어요. 다음 답부터 반영돼요: ${files}`,
  refused: (files) => `파일이 바뀌었지만 고칠 곳이 있어서 전과 같이 답해요: ${files}`,
  restarting: (files) => `파일이 바뀌어서 다시 시작해요: ${files}`,
};
