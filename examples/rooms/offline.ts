import { offlineModel, type ModelRequest, type OfflineModel, type OfflineReply } from "dure";

/**
 * The team of the rooms when there is no key: each agent is a function of what a real model would
 * be asked, and hands work over by really calling `collaborate`.
 */
export const roomModels: readonly OfflineModel[] = [
  agent("ruda", (heard) => {
    if (heard.isAgent) {
      return heard.called === undefined
        ? { toolCalls: [{ name: "end_conversation", args: {} }] }
        : `확인했어요. 고마워요, ${heard.author}!`;
    }
    const target = heard.isThread
      ? undefined
      : (SKILLS.find(({ name }) => isAskedFor(name, heard.text)) ??
        SKILLS.find(({ words }) => words.some((word) => heard.text.includes(word))));
    if (!target) {
      return heard.isThread
        ? "네, 이 자리에서 함께 보고 있어요."
        : `네, ${heard.author} 님. 리뷰는 이든, 배포는 세움, 시험은 다짐이 맡고 있어요. 무엇을 도와드릴까요?`;
    }
    if (heard.called === undefined) {
      return {
        toolCalls: [
          {
            name: "collaborate",
            args: {
              targetAgent: target.agent,
              message: `${heard.author} 님의 부탁이에요: ${heard.text.replace(/^@\S+\s*/, "")}`,
            },
          },
        ],
      };
    }
    return heard.called["ok"] === true
      ? `${target.name}에게 맡겼어요. 새 스레드에서 함께 볼 수 있어요.`
      : `지금은 맡기지 못했어요. ${hintOf(heard.called)}`;
  }),
  agent("eden", (heard) =>
    heard.isAgent
      ? REVIEW
      : heard.rank === "SECONDARY"
        ? "덧붙이면, 오류가 났을 때의 길도 시험에 넣어 두는 것이 좋겠어요."
        : "네, 코드는 제가 볼게요. 어느 부분이 마음에 걸리세요?",
  ),
  agent("seum", (heard) =>
    heard.isAgent
      ? "서버 두 대 모두 정상이고, 배포는 10분 안에 되돌릴 수 있어요. 지금 진행해도 괜찮아요."
      : "지금 서버 두 대, 오류율 0.02 %예요. 배포는 언제든 할 수 있어요.",
  ),
  agent("dajim", (heard) => {
    if (heard.text.includes("뭐라고") || heard.text.includes("무슨 이야기")) {
      return heard.records.length === 0
        ? "기록에 남은 이야기가 없어요."
        : `제가 들은 기록이에요:\n${heard.records
            .slice(-5)
            .map((record) => `- ${record}`)
            .join("\n")}`;
    }
    return heard.isAgent
      ? "시험 128개 가운데 127개 통과, 1개는 시간 초과로 다시 봐야 해요."
      : "시험은 제가 챙기고 있어요. 어떤 것을 확인해 드릴까요?";
  }),
];

const SKILLS = [
  { agent: "eden", name: "이든", words: ["리뷰", "코드", "버그"] },
  { agent: "seum", name: "세움", words: ["배포", "서버", "장애"] },
  { agent: "dajim", name: "다짐", words: ["테스트", "시험", "품질"] },
] as const;

/** `이든과 같이`, `세움에게`: by name, but not called by the person itself. */
function isAskedFor(name: string, text: string): boolean {
  return new RegExp(`(?<!@)${name}`, "u").test(text);
}

const REVIEW = `코드를 읽어 보았어요. 두 가지만 고치면 좋겠어요.

1. 로그인 실패 때 남은 시도 횟수를 저장하기 **전에** 응답하고 있어요. 순서를 바꿔 주세요.
2. \`session.ts\`의 만료 시각이 초와 밀리초를 섞어 쓰고 있어요.`;

const NAMES = ["루다", "이든", "세움", "다짐"];

interface Heard {
  readonly author: string;
  readonly text: string;
  /** Whether another agent of the team said it. */
  readonly isAgent: boolean;
  readonly isThread: boolean;
  readonly rank: "PRIMARY" | "SECONDARY" | undefined;
  /** Short records of what was overheard, oldest first. */
  readonly records: readonly string[];
  /** What the tool that this turn has called gave. */
  readonly called: Readonly<Record<string, unknown>> | undefined;
}

function agent(name: string, answer: (heard: Heard) => OfflineReply): OfflineModel {
  return offlineModel(name, (request) => withPause(answer(heardIn(request))));
}

function hintOf({ hint }: Readonly<Record<string, unknown>>): string {
  return typeof hint === "string" ? hint : "";
}

/** Time to see the typing sign. */
function withPause(reply: OfflineReply): OfflineReply {
  return typeof reply === "string" ? { text: reply, delayMs: 400, chunkDelayMs: 15 } : reply;
}

function heardIn(request: ModelRequest): Heard {
  const lastUser = request.messages.findLastIndex((message) => message.role === "user");
  const said = textOf(request, lastUser);
  const background = textOf(request, lastUser - 1);
  const [, author = "", text = said] = /^([^:\n]{1,60}): ([\s\S]*)$/.exec(said) ?? [];
  const results = request.messages
    .slice(lastUser + 1)
    .flatMap((message) => (message.role === "tool" ? [message.result] : []));
  return {
    author,
    text,
    isAgent: NAMES.includes(author),
    isThread: background.includes("in the thread"),
    rank: background.includes("leads the answer")
      ? "SECONDARY"
      : background.includes("you lead the answer")
        ? "PRIMARY"
        : undefined,
    records: background
      .split("\n")
      .flatMap((line) => (line.startsWith("- ") ? [line.slice(2)] : [])),
    called: results.at(-1) as Heard["called"],
  };
}

function textOf(request: ModelRequest, index: number): string {
  const message = request.messages[index];
  return message?.role === "user" ? message.text : "";
}
