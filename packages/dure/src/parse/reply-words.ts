/** The words that `classifyReply` knows, and how a message is made of them. */

/** A longer message is never only a yes or a no. */
const MAX_WORDS = 12;
/** Words of the longest phrase below (`취소 해 주실 수 있나요`), with room for one. */
const LONGEST_PHRASE = 6;

/** Whether the tokens, in order and without a rest, are phrases of the list. */
export function isMadeOf(tokens: readonly string[], phrases: ReadonlySet<string>): boolean {
  if (tokens.length === 0 || tokens.length > MAX_WORDS) return false;

  const reachable = [true];
  for (let end = 1; end <= tokens.length; end++) {
    reachable[end] = false;
    for (let start = Math.max(0, end - LONGEST_PHRASE); start < end; start++) {
      if (reachable[start] && phrases.has(tokens.slice(start, end).join(" "))) {
        reachable[end] = true;
      }
    }
  }
  return reachable[tokens.length]!;
}

/** `_` marks a place where people may or may not put a space: `보내_줘` is 보내줘 and 보내 줘. */
function phrases(...spellings: readonly string[]): Set<string> {
  const all = new Set<string>();
  for (const spelling of spellings.flatMap((line) => line.split(", "))) {
    const parts = spelling.split("_");
    for (let spaces = 0; spaces < 2 ** (parts.length - 1); spaces++) {
      all.add(
        parts.reduce(
          (text, part, index) => `${text}${(spaces >> (index - 1)) & 1 ? " " : ""}${part}`,
        ),
      );
    }
  }
  return all;
}

/** Every stem with every ending: 진행 and 해_줘 are 진행_해_줘. */
function each(stems: string, endings: string): string[] {
  return stems
    .split(", ")
    .flatMap((stem) => endings.split(", ").map((ending) => `${stem}_${ending}`));
}

const PLEAS = "부탁, 부탁해, 부탁해요, 부탁드려요, 부탁_드려요, 부탁드립니다, 부탁_드립니다";
const DO =
  "해, 해요, 해_줘, 해_줘요, 해_주라, 해_주세요, 해_주세용, 해_주십시오, " +
  "해_주십쇼, 해라, 하자, 할게, 할게요, 합니다, 하겠습니다";

/** Whole messages of these say yes. Nothing here means anything but yes. */
export const YES_WORDS: ReadonlySet<string> = phrases(
  "확인, 확인요, 확인이요, 확인했어, 확인했어요, 확인했습니다, 확인_완료",
  "네, 네네, 네네네, 네넵, 네넹, 네에, 넵, 넵넵, 넵넵넵, 넹, 넹넹, 넴, 넴넴, 예, 예예, 옙, 옛썰, 응, 응응, 응응응, 웅, 웅웅, 엉, 얍",
  "맞아, 맞아요, 맞습니다, 맞음, 맞어, 그래, 그래요, 그럼, 그럼요, 그렇게_해, 그렇게_해_줘, 그렇게_해_주세요",
  "좋아, 좋아요, 좋습니다, 당연, 당연하지, 당연하죠, 물론, 물론이지, 물론이죠, 물론이에요",
  "ok, okay, ㅇㅇ, ㅇㅇㅇ, ㅇㅇㅇㅇ, ㅇㅋ, ㅇㅋㅇㅋ, 오케이, 오키, 오케, 콜",
  "진행, 진행요, 이체, 송금, 그렇게_하자, 그렇게_하시죠, 그거_맞아, 그거_맞아요",
  ...each("진행, 이체, 송금", DO),
  ...each("진행, 이체, 송금", PLEAS),
  "진행_시켜, 진행_시켜_줘, 진행_시켜_주세요",
  "보내, 보내_줘, 보내_줘요, 보내_줘여, 보내_줭, 보내_주라, 보내_주세요, 보내_주세용, 보내_주세여, 보내_주십시오, 보내_주십쇼, 보내요, 보내자, 보내라",
  "보내_주시면_돼요, 보내_주시면_됩니다, 보내도_돼, 보내도_돼요, 보내도_됩니다",
  "해_줘, 해_줭, 해_줘요, 해_주세요, 해_주세용, 해_주세여, 해_주십시오, 할게, 할게요, 하겠습니다",
  PLEAS,
  "그대로_보내_줘, 그대로_보내_주세요, 그대로_진행, 그대로_진행_해_줘, 그대로_진행_해_주세요, 그대로_해_줘, 그대로_해_주세요",
  "yes, yes please, yes sir, yeah, yea, yep, yup, yas, " +
    "y, sure, sure thing, of course, absolutely, " +
    "definitely",
  "confirm, confirmed, i confirm, correct, thats right, thats correct, right",
  "looks good, looks right, all good, sounds good, " +
    "go ahead, please go ahead, go for it, do it, " +
    "please do, proceed, please proceed",
  "send, send it, send it please, please send, please send it, please, lets do it, lets go",
);

/** Refuses, and says nothing more. */
export const NO_WORDS: ReadonlySet<string> = phrases(
  "아니, 아니다, 아니요, 아니오, 아뇨, 아냐, 아니야, 아닙니다, 아니에요, 아니예요, 아님, 아닝, 아니용, 아니욤, 아뇽, 아니아니",
  "ㄴㄴ, ㄴㄴㄴ, ㄴㄴㄴㄴ, 노, 노노, 노노노, 놉, 놉놉",
  "싫어, 싫어요, 싫습니다, 싫음, 시러, 안_돼, 안_됨, 안_돼요, 안_됩니다, 안_되요, 안_된다고, 절대_안_돼",
  "no, nope, nah, no way, no no, n",
);

/** Gives up what was asked about, in other words than cancelling it. */
export const PUT_OFF_WORDS: ReadonlySet<string> = phrases(
  "안_할래, 안_할래요, 안_할게, 안_할게요, 안_해, 안_해요, 안_합니다, 안_하겠습니다, 안_할란다, 안_할거야",
  "안_보낼래, 안_보낼래요, 안_보낼게, 안_보낼게요, 안_보내, 안_보내요, 안_보내도_돼, 안_보내도_돼요, 안_보내도_됩니다",
  "됐어, 됐어요, 됐어여, 됐습니다, 됐다, 필요_없어, 필요_없어요, 필요_없습니다",
  "하지_마, 하지_마요, 하지_마세요, 하지_말아_줘, 하지_말아_주세요, 하지_말자, 하지_말까봐, 관둘래, 관둬, 관둘게요",
  "보내지_말라고, 보내지_마, 보내지_마요, 보내지_마세요, 보내지_말아_줘, 보내지_말아_주세요, 보내지_말자, 보내지_말고",
  "이체_하지_마, 이체_하지_마세요, 송금_하지_마, 송금_하지_마세요, 진행_하지_마, 진행_하지_마세요",
  "나중에, 나중에요, 나중에_할게, 나중에_할게요, 나중에_할래, 나중에_할래요, " +
    "나중에_하자, 나중에_하겠습니다, 나중에_보낼게, 나중에_보낼게요, 나중에_다시_할게, " +
    "나중에_다시_할게요, 나중에_다시_올게요",
  "다음번에_할게, 다음번에_할게요, 다음에, 다음에요, 다음에_할게, 다음에_할게요, 다음에_할래요, 다음에_하자, " +
    "다음에_하겠습니다, 담에_할게, 담에_할게요, 담에_하자, 이따_할게, 이따가_할게, " +
    "이따_할게요, 이따가_할게요",
  "생각해_볼게, 생각해_볼게요, 좀_더_생각해_볼게, 좀_더_생각해_볼게요, 더_생각해_볼게요, 보류, 보류_해_줘, 보류_해_주세요",
  "lets not, no thanks, no thank you, never mind, nevermind, " +
    "nvm, forget it, forget about it, not now, later, " +
    "maybe later, ill do it later, not anymore",
  "dont do it, do not do it, dont send, dont send it, " +
    "do not send, do not send it, please dont, " +
    "please dont send it, i changed my mind, " +
    "changed my mind",
);

const STOP =
  "해, 해요, 해_줘, 해_줘요, 해_주라, 해_주세요, 해_주세용, 해_주십시오, " +
  "해_주십쇼, 해라, 할래, 할래요, 할게, 할게요, 하자, 합니다, 하겠습니다, 시켜_줘, " +
  "시켜_주세요, 바랍니다, 요망, 하고_싶어, 하고_싶어요, 처리_해_줘, 처리_해_주세요";

/** Cancels by name: these may follow a lead-in such as 네 or 그냥 (`네, 취소해주세요`). */
export const CANCEL_WORDS: ReadonlySet<string> = phrases(
  "취소, 취소요, 취소여, 취소용, 취소욤, 취소염, 취소취소, 그만, 그만요, 스톱, 스탑, 중단, 중지, 철회",
  ...each("취소, 중단, 중지, 철회, 그만", STOP),
  ...each("취소, 중단, 중지, 철회", PLEAS),
  "취소_좀, 취소_좀요, 취소_좀_해_줘, 취소_좀_해_주세요, 취소_좀_부탁드려요, 취소_좀_부탁드립니다, 취소_좀_부탁해요",
  "그만_둘래, 그만_둘래요, 그만_둘게, 그만_둘게요, 그만_두자",
  "멈춰, 멈춰_줘, 멈춰요, 멈춰_주세요, 멈춰라, 잠깐_멈춰, 없던_일로_해_줘, " +
    "없던_일로_해_주세요, 없던_걸로_해_줘, 없던_걸로_해_주세요",
  "cancel, cancel it, cancel that, cancel this, " +
    "cancel please, cancel it please, please cancel, " +
    "please cancel it, please cancel that, " +
    "cancel the transfer, cancel this transfer, " +
    "please cancel the transfer, cancel my transfer, " +
    "cancel transfer",
  "stop, stop it, stop that, please stop, stop please, " +
    "stop the transfer, abort, abort it, " +
    "i want to cancel, id like to cancel, " +
    "i want to cancel it, call it off, scrap it, " +
    "scrap that",
);

/** The same as questions of politeness: to stop is always safe. */
export const CANCEL_REQUESTS: ReadonlySet<string> = phrases(
  "취소_해_줄래, 취소_해_줄래요, 취소_해_주실래요, 취소_해_주시겠어요, " +
    "취소_해_주시겠습니까, 취소_해_줄_수_있어, 취소_해_주실_수_있나요, " +
    "취소_해_줄_수_있나요",
  "can you cancel, can you cancel it, " +
    "can you cancel that, could you cancel, " +
    "could you cancel it, could you cancel that, " +
    "can you stop it, can you cancel the transfer, " +
    "could you please cancel it, can we cancel it, " +
    "can i cancel it",
);

/** Words that may stand before a cancel by name without changing what the message means. */
export const LEAD_INS: ReadonlySet<string> = new Set(
  (
    "네 예 응 그래 그럼 그냥 아 앗 어 음 흠 이제 이거 그거 이건 그건 방금거 이체 송금 " +
    "죄송한데 죄송해요 미안한데 미안 잠깐만 잠깐 잠시만요 잠깐만요 역시 아무래도 일단 우선 빨리 " +
    "얼른 제발 ok yes please just oh wait sorry hey actually " +
    "um"
  ).split(" "),
);

/** Goes on with the rest of a batch. */
export const CONTINUE_WORDS: ReadonlySet<string> = phrases(
  "계속, 계속요, 계속_진행",
  ...each("계속_진행", DO),
  ...each("계속", `${DO}, 할래, 할래요`),
  "계속_보내_줘, 계속_보내_주세요, 이어서_해_줘, 이어서_진행_해_줘, 이어서_보내_줘",
  "continue, please continue, continue please, keep going, carry on, go on",
);
