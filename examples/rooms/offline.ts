import { crewModels } from "./crew.ts";

const REVIEW = `코드를 읽어 보았어요. 두 가지만 고치면 좋겠어요.

1. 로그인 실패 때 남은 시도 횟수를 저장하기 **전에** 응답하고 있어요. 순서를 바꿔 주세요.
2. \`session.ts\`의 만료 시각이 초와 밀리초를 섞어 쓰고 있어요.`;

/** The team of the rooms when there is no key. */
export const roomModels = crewModels({
  lead: {
    id: "ruda",
    name: "루다",
    thanks: (author) => `확인했어요. 고마워요, ${author}!`,
    inThread: "네, 이 자리에서 함께 보고 있어요.",
    offers: (author) =>
      `${author === "" ? "안녕하세요." : `네, ${author} 님.`} 리뷰는 이든, 배포는 세움, 테스트는 다짐이 맡고 있어요. 무엇을 도와드릴까요?`,
    asks: (author, text) => `${author} 님의 부탁이에요: ${text}`,
    handedTo: (name) => `${name}에게 맡겼어요. 새 스레드에서 함께 볼 수 있어요.`,
    notHanded: (hint) => `지금은 맡기지 못했어요. ${hint}`,
  },
  members: [
    {
      id: "eden",
      name: "이든",
      words: ["리뷰", "코드", "버그"],
      answer: ({ isAgent, rank }) =>
        isAgent
          ? REVIEW
          : rank === "SECONDARY"
            ? "덧붙이면, 오류가 났을 때의 길도 테스트에 넣어 두는 것이 좋겠어요."
            : "네, 코드는 제가 볼게요. 어느 부분이 마음에 걸리세요?",
    },
    {
      id: "seum",
      name: "세움",
      words: ["배포", "서버", "장애"],
      answer: ({ isAgent }) =>
        isAgent
          ? "서버 두 대 모두 정상이고, 배포는 10분 안에 되돌릴 수 있어요. 지금 진행해도 괜찮아요."
          : "지금 서버 두 대, 오류율 0.02 %예요. 배포는 언제든 할 수 있어요.",
    },
    {
      id: "dajim",
      name: "다짐",
      words: ["테스트", "시험", "품질"],
      answer: ({ text, isAgent, records }) => {
        if (/뭐라고|무슨 이야기/.test(text)) {
          const last = records.slice(-5).map((record) => `- ${record}`);
          return last.length === 0
            ? "기록에 남은 이야기가 없어요."
            : `제가 들은 기록이에요:\n${last.join("\n")}`;
        }

        return isAgent
          ? "테스트 128개 가운데 127개 통과, 1개는 시간 초과로 다시 봐야 해요."
          : "테스트는 제가 챙기고 있어요. 어떤 것을 확인해 드릴까요?";
      },
    },
  ],
});
