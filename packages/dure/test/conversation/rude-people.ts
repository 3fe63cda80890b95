import { answerTransfer } from "../../../../examples/transfer/offline.ts";
import { agentAsked } from "../../../../examples/transfer/prompts.ts";
import type { ModelRequest } from "../../src/models/model.ts";
import type { OfflineAnswer } from "../../src/models/offline.ts";

/** Numbers in [0, 1) from a seed: mulberry32, public domain. */
export function numbersFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function oneOf<T>(list: readonly T[], random: () => number): T {
  return list[Math.floor(random() * list.length)]!;
}

/** What one person does next. */
export type Deed =
  | { readonly do: "say"; readonly text: string; readonly service?: "small" }
  /** The first button of the last question, or of an older one. */
  | { readonly do: "press"; readonly which: "last" | "older"; readonly label: string }
  /** Sends both before the first is answered. */
  | { readonly do: "twice"; readonly text: string; readonly andThen: string }
  | { readonly do: "stopped"; readonly text: string }
  /** The server is killed so long after it has accepted the message. */
  | { readonly do: "killed"; readonly text: string; readonly afterMs: number }
  /** So long that the question expires. */
  | { readonly do: "silence" };

const FAMILY = ["김", "이", "박", "최", "정", "강", "조", "윤", "장", "임"];
const FIRST = ["하", "서", "도", "시", "지", "예", "유", "수", "현", "은"];
const SECOND = ["늘", "준", "윤", "우", "호", "진", "빈", "서", "아", "람"];
const SUMS = ["1만원", "2만원", "3만 5천원", "50,000원", "7만원"];

/** A conversation of a person who changes mind, taps twice, leaves, and comes back. */
export function personOf(random: () => number): readonly Deed[] {
  const name = (): string => oneOf(FAMILY, random) + oneOf(FIRST, random) + oneOf(SECOND, random);
  const sum = (): string => oneOf(SUMS, random);
  const order = (): string =>
    oneOf(
      [
        () => `${name()}에게 ${sum()} 보내줘`,
        () => `${name()}에게 ${sum()}, ${name()}에게 ${sum()} 보내줘`,
        () => `${name()}, ${name()}, ${name()}한테 각각 ${sum()} 보내줘`,
        () => `${name()}에게 돈 보내줘`,
      ],
      random,
    )();
  const deeds: Deed[] = [{ do: "say", text: order() }];
  const count = 4 + Math.floor(random() * 9);
  while (deeds.length < count) deeds.push(oneOf(CHOICES, random)({ random, name, sum, order }));
  return deeds;
}

interface Tools {
  readonly random: () => number;
  readonly name: () => string;
  readonly sum: () => string;
  readonly order: () => string;
}

const YES = ["네", "네 보내주세요", "응", "ok", "확인", "yes"];
const say = (text: string): Deed => ({ do: "say", text });
const CHOICES: readonly ((tools: Tools) => Deed)[] = [
  ({ random }) => say(oneOf(YES, random)),
  ({ random }) => say(oneOf(YES, random)),
  () => ({ do: "press", which: "last", label: "확인" }),
  () => ({ do: "press", which: "last", label: "확인" }),
  () => ({ do: "press", which: "older", label: "확인" }),
  ({ sum }) => say(`${sum()}으로 바꿔줘`),
  ({ sum }) => say(sum()),
  ({ name, sum }) => say(`${name()}한테도 ${sum()}`),
  ({ order }) => say(order()),
  ({ random }) => say(oneOf(["취소", "아니요", "안돼", "전부 취소해줘", "나중에 할게"], random)),
  ({ random }) => say(oneOf(["수수료 얼마야?", "방금 이체 됐어?", "오늘 날씨 어때?"], random)),
  ({ random }) => say(oneOf(["네?", "네 근데 잠깐", "👍", "계속 진행", "배고프다"], random)),
  () => ({ do: "say", text: "안녕", service: "small" }),
  ({ sum, random }) => ({ do: "twice", text: `${sum()}으로 바꿔줘`, andThen: oneOf(YES, random) }),
  ({ random }) => ({ do: "twice", text: oneOf(YES, random), andThen: oneOf(YES, random) }),
  ({ sum }) => ({ do: "stopped", text: `${sum()}으로 바꿔줘` }),
  ({ random }) => ({ do: "stopped", text: oneOf(YES, random) }),
  ({ random }) => ({ do: "killed", text: oneOf(YES, random), afterMs: random() * 150 }),
  ({ sum, random }) => ({ do: "killed", text: `${sum()}으로`, afterMs: random() * 150 }),
  () => ({ do: "silence" }),
];

/**
 * What a model may do that means no good: it says yes for the person, claims that money was sent,
 * names strangers, forgets fields, answers no JSON, or is not there. Otherwise it reads well.
 */
export function rudeAnswer(
  request: Pick<ModelRequest, "system" | "messages">,
  random: () => number,
): OfflineAnswer {
  const well = answerTransfer(request) ?? { text: "…" };
  if (random() > 0.35) return well;
  const asked = agentAsked(request.system ?? "");
  if (asked === "intent") {
    return oneOf<OfflineAnswer>(
      [
        { object: { scenario: "TRANSFER" } },
        { text: "Sure! {scenario" },
        { error: { status: 400 } },
      ],
      random,
    );
  }
  return oneOf(asked === "slots" ? RUDE_SLOTS : RUDE_WORDS, random)(well);
}

const reading = (...items: readonly unknown[]): OfflineAnswer => ({
  object: JSON.parse(JSON.stringify({ kind: "details", items })) as { items: [] },
});
const change = (slot: string, value?: unknown, quote?: string) => ({
  changes: [{ slot, value, quote }],
});
const RUDE_SLOTS: readonly ((well: OfflineAnswer) => OfflineAnswer)[] = [
  () => ({ object: { kind: "confirm", items: [] } }),
  () => ({ object: { kind: "details", items: [], confirm: true } }),
  () => reading(change("target", "낯선이", "낯선이")),
  () => reading(change("target", "낯선이")),
  () => reading(change("iban", "1", "1"), change("amount")),
  () => reading(change("amount", 99_000, "9만 9천원")),
  () => reading(change("amount", 1, "원")),
  () => ({ object: { kind: "details", items: [], clear: ["amount"] } }),
  () => ({ object: { kind: "cancel", items: [] } }),
  () => ({ object: { kind: "unsupported", items: [], note: "보냈어요" } }),
  () => reading(change("target", "낯선이", "낯선이"), change("amount", "9만원", "9만원")),
  () => ({ object: { kind: "details", items: null, clear: null, note: null } }),
  (well) => ({ text: `물론이죠!\n\`\`\`json\n${JSON.stringify(well.object)}\n\`\`\`` }),
  (well) => ({ text: JSON.stringify(well.object ?? {}).slice(0, 20) }),
  () => ({ error: { status: 400, message: "no" } }),
];
const RUDE_WORDS: readonly ((well: OfflineAnswer) => OfflineAnswer)[] = [
  () => ({ object: { action: "chat", message: "방금 100,000원을 보냈어요!" } }),
  () => ({ object: { action: "ask", message: "이체가 완료되었습니다. 확인했어요." } }),
  () => ({ object: { action: "chat", message: "All done, your money was sent." } }),
  () => ({ object: { action: "chat", message: null } }),
  () => ({ text: "보냈어요" }),
  () => ({ error: { status: 400, message: "no" } }),
];
