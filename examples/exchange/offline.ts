import { appendFileSync } from "node:fs";
import { minimalModel } from "../minimal/offline.ts";
import { offlineModel, type ModelRequest, type OfflineAnswer, type OfflineModel } from "dure";

/** Windows in which the servers are free, in the order in which 세움 offers them. */
const FREE = [
  { window: "목요일 14시", because: "서버 점검이 그때 끝나서 두 대를 모두 쓸 수 있어요" },
  { window: "화요일 03시", because: "밤사이에는 요청이 거의 없고 백업도 그 뒤에 시작해요" },
  { window: "수요일 06시", because: "백업이 끝난 직후라 되돌리기까지 10분이면 충분해요" },
] as const;

/** What 루다 cannot take, and why. */
const REFUSED: Readonly<Record<string, string>> = {
  "목요일 14시": "점심 뒤라 결제가 가장 몰리는 때예요",
  "화요일 03시": "배포를 지켜볼 사람이 아무도 없어요",
};

/** Time of one answer, in milliseconds: enough to be killed in. */
const ANSWER_MS = 700;

/**
 * The two agents when there is no key: each is a function of what a real model would be asked. With
 * EXCHANGE_CALLS, the path of a file, each call leaves a line `<agent> <turn>` there, which
 * outlives the process.
 */
export const exchangeModels: readonly OfflineModel[] = [
  minimalModel,
  agent("seum", ({ all }) => {
    const offer = FREE.find(({ window }) => !all.includes(window));
    return offer
      ? `${offer.window}는 어떨까요? ${offer.because}.`
      : "제가 가진 시간은 모두 말씀드렸어요. 다음 주에 다시 봐요.\nREPLY_SKIP";
  }),
  agent("ruda", ({ said }) => {
    const offer = FREE.find(({ window }) => said.includes(window));
    const refusal = offer && REFUSED[offer.window];
    if (!offer) return "그럼 다음 주에 다시 정해요.\nREPLY_SKIP";
    return refusal === undefined
      ? `${offer.window}로 정해요. 이든과 함께 지켜보고 팀에 알릴게요.\nREPLY_SKIP`
      : `${offer.window}는 어려워요. ${refusal}. 다른 시간이 있을까요?`;
  }),
];

interface Heard {
  /** What the other agent said last. */
  readonly said: string;
  /** All that stands in the request: what was said before stands in its background. */
  readonly all: string;
}

function agent(name: string, answer: (heard: Heard) => string): OfflineModel {
  return offlineModel(name, (request): OfflineAnswer => {
    const all = request.messages
      .map((message) => ("text" in message ? message.text : ""))
      .join("\n");
    note(name, all);
    return { text: answer({ said: saidIn(request), all }), delayMs: ANSWER_MS };
  });
}

function saidIn(request: ModelRequest): string {
  return request.messages.findLast((message) => message.role === "user")?.text ?? "";
}

function note(name: string, all: string): void {
  const file = process.env["EXCHANGE_CALLS"];
  const turn = [...all.matchAll(/This is turn (\d+) of/g)].at(-1)?.[1] ?? "?";
  if (file !== undefined) appendFileSync(file, `${name} ${turn}\n`);
}
