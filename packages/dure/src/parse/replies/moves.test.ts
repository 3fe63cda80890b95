import { describe, expect, test } from "vitest";
import { boundMs } from "../../kernel/test-bounds.ts";
import { lexiconWith } from "../lexicon/index.ts";
import { moveWordsOf, type MoveWords } from "./moves.ts";

/** Sentences with a word of the member, and sentences that only look so: one a line. */
interface Table {
  readonly are: string;
  readonly areNot: string;
}

const SENTENCES: Readonly<Record<keyof MoveWords, Table>> = {
  changes: {
    are: `
      7만원으로 바꿔줘
      7만원으로 해줘
      금액을 7만원으로 변경해주세요
      금액 수정할래
      칠만원으로 고쳐주세요
      십만원으로 올려줘
      3만원으로 낮춰줘
      수신자를 영희로
      받는 사람 영희로 바꿔줘
      받는 사람은 영희야
      받는 사람 영희
      금액은 6만원이요
      영희로
      영희로요
      아빠로 해줘
      아니 영희로
      7만원으로
      내일로
      아 영희였다
      아 맞다 영희였어
      수신자가 영희였어요
      7만원이었어
      엄마 말고 아빠
      엄마 말고 아빠한테 보내줘
      지난번 말고
      지난번 말고 이번 계좌로
      엄마 아니고 아빠
      엄마가 아니라 아빠야
      3만원 대신 5만원
      보내지 말고 아빠한테 보내줘
      엄마한테 보내지 말고 아빠한테
      이름이 틀렸어
      금액을 잘못 적었어
      아니 3만원
      아니요 7만원이요
      좀 더 많이
      make it 70k
      make that 30k
      change the amount to 70,000 won
      change it please
      update the recipient
      switch it to Dad
      recipient is 영희
      the recipient is Lucy
      recipient: Lucy
      the amount should be 70k
      it should be Lucy
      oh wait, send it to Lucy
      wait, make it 50k
      no wait, to Lucy
      send it to Lucy
      send it to Dad instead
      70k instead
      actually 70k
      I meant Lucy
      I mean 30k
      not to Bob but to Amy
      not to Bob, to Amy
      not Bob but Amy
      Amy, not Bob
      to Amy, not to Bob
      no, 70k
      no, to Lucy
      that's the wrong account
      raise it to 100k
      don't send 20k, send 30k
      don't send it to Bob, send it to Amy
    `,
    areNot: `
      네
      네 보내줘
      그대로 보내줘
      바로 보내줘
      그걸로 해줘
      그대로요
      진짜로
      서로
      따로 보내줘
      별로
      엄마한테 5만원 보내줘
      받는 사람 맞아요
      받는 사람 누구야
      금액 확인해줘
      금액은 얼마야?
      영희한테도 보내줘
      보내지 마
      보내지 말고
      걱정 말고 보내줘
      재밌는 하루였다
      취소해줘
      안녕하세요
      yes
      that's correct
      the amount is correct
      the recipient is right
      what's the recipient?
      wait
      wait a minute
      hold on please
      I am not sure
      not now
      not yet
      send 50k to Bob
      also 10k to Bob
      don't send it
      I'd rather not send it
      no
      no, don't
      thank you
    `,
  },
  adds: {
    are: `
      영희 3만원도 추가
      영희한테도
      영희한테도 보내줘
      아빠에게도 2만원
      선생님께도 보내주세요
      영희도 3만원
      영희도
      동생도 추가해줘
      동생도 보내줘
      아빠도 같이 보내줘
      추가로 아빠한테 2만원
      추가요
      하나 더
      하나 더 있어요
      한 명 더
      한 명 더 추가해주세요
      한 건 더 보내줘
      또 영희한테 3만원
      그리고 아빠한테 2만원
      10만원 더 보내줘
      더 보내줘
      민수님도요
      철수 2만원도 보내줘
      아빠랑 같이 보내줘
      3만원도 추가
      메모 추가해줘
      also 10k to Bob
      also to Dad
      and 10k to Bob too
      and to Bob
      and send 10k to Bob
      and 10k to Dad
      send Mom 20k and 10k to Dad
      Bob too
      Bob as well
      another 10k to Bob
      another transfer to Dad
      another one
      one more
      one more to Bob
      plus 10k for Dad
      add Bob
      add 10k to Bob
      in addition, 10k to Bob
      the same for Bob
      likewise 10k to Bob
      on top of that 10k to Bob
      additionally send 5k
    `,
    areNot: `
      네
      그래도 보내줘
      보내도 돼
      해도 돼요
      아무도
      아직도 안 왔어
      한도가 얼마야
      오늘도 수고했어
      정도
      이 정도면 돼
      또
      영희로 바꿔줘
      영희 말고 철수
      엄마한테 5만원 보내줘
      그래서
      더 적게
      내일도 돼?
      하나만
      yes
      that is too much
      too many
      too late
      Mom and Dad
      and?
      and then what
      yes and no
      make it 70k
      send it to Bob
      another day
      another time
      no more
      thanks and bye
      address
      understand
      sand
    `,
  },
  removes: {
    are: `
      영희는 빼줘
      영희 빼주세요
      영희 빼고
      영희 빼고 보내줘
      아빠는 빼자
      동생 뺄게
      동생은 뺄래
      영희는 제외해줘
      영희 제외하고 보내줘
      아빠 제외
      메모 지워줘
      메모 지우고 보내줘
      메모는 지울게
      날짜 삭제해줘
      영희 삭제
      영희를 목록에서 삭제해 주세요
      메모 없애줘
      두 번째 거 빼줘
      3만원은 빼고
      그건 빼 주세요
      마지막 거 빼
      민수도 빼줘
      remove Bob
      please remove Bob
      remove the memo
      delete the memo
      delete the second one
      drop Bob
      drop the last one
      without Bob
      without the memo
      send it without the memo
      leave out Bob
      leave Bob out
      leave Mom out please
      take Bob out
      take Bob off the list
      take out the second one
      exclude Bob
      except Bob
      everyone except Dad
      all excluding Dad
      omit the memo
      skip Bob
      skip the second one
      get rid of the memo
      erase the memo
    `,
    areNot: `
      네
      보내줘
      빼먹지 마
      빼빼로 값 3만원
      영희한테 3만원
      취소해줘
      지난번 말고
      영희로 바꿔줘
      영희도 추가해줘
      제주도
      지금 보내줘
      안 보낼래
      없어
      뺏겼어
      빠르게 보내줘
      지우개 값
      삭막하다
      yes
      drop it
      drop by tomorrow
      drop me a line
      skip it
      skip
      without delay
      without further ado
      without a doubt
      cancel it
      leave it
      take it
      take care
      make it 70k
      send it to Bob
      the exception
      also Bob
      the removal fee
      dropbox
    `,
  },
  swaps: {
    are: `
      반대로
      반대로요
      반대로 해줘
      반대로 보내줘
      거꾸로
      거꾸로 해주세요
      거꾸로야
      반대예요
      반대야
      서로 바꿔줘
      서로 바꿔주세요
      서로 바꾸자
      둘이 바꿔줘
      둘을 바꿔줘
      둘이 서로 바꿔줘
      순서 바꿔줘
      순서를 바꿔주세요
      두 사람이 서로 바뀌었어
      서로 바뀐 것 같아
      뒤바꿔줘
      뒤바뀌었어요
      금액이 뒤바뀌었어
      맞바꿔줘
      맞바꿔 주세요
      순서를 뒤집어줘
      엄마랑 아빠 금액 서로 바꿔줘
      the other way round
      the other way around
      no, the other way around
      it's the other way round
      swap them
      swap the amounts
      swap Mom and Dad
      please swap
      I swapped them
      you swapped the names
      switch them
      switch the two
      switch places
      switch the names
      reverse them
      reverse the two
      you have them reversed
      it's reversed
      vice versa
      flip them
      exchange them
      I mixed them up
      you got them backwards
      interchange the two
      the names are mixed up
    `,
    areNot: `
      네
      7만원으로 바꿔줘
      영희로 바꿔줘
      반대해요
      반대합니다
      반대
      바꿔줘
      서로 보내줘
      서로
      순서가 뭐야
      순서대로 보내줘
      둘 다 보내줘
      엄마 말고 아빠
      거꾸러졌어
      뒤로
      맞아요
      맞습니다
      바꾸자
      yes
      switch it to Dad
      switch the amount to 70k
      change it
      the other one
      another way
      either way
      way too much
      by the way
      reverse charges
      in reverse order
      send it back
      flip flop
      exchange rate
      around 5pm
      round it up
      make it 70k
      not Bob but Amy
    `,
  },
  negated: {
    are: `
      보내지 마
      보내지마
      보내지 마세요
      보내지 마라
      보내지 말아줘
      보내지 말아 주세요
      보내지 말자
      보내지 말고
      보내지 말라고
      아직 보내지 마
      엄마한테 보내지 마
      엄마한테 5만원 보내지 마세요
      3만원 이체하지 마
      송금하지 마세요
      입금하지 말아주세요
      진행하지 마
      결제는 하지 마
      하지 마
      하지 마세요
      이체 하지마
      안 보낼래
      안 보낼게요
      엄마한테 안 보낼래
      5만원 안 보내도 돼
      송금 안 할래요
      이체 안 할게
      안 할래
      안 하겠습니다
      보내지 않을게
      보내지 않겠습니다
      보내면 안 돼
      보내기 싫어
      보내고 싶지 않아
      보낼 필요 없어
      오늘은 못 보내겠어
      안 보내는 게 좋겠어
      don't send it
      Don't send 20,000 won to Bob
      don't send Bob anything
      please don't send it
      do not send it
      do not pay Bob
      don't transfer the money
      don't do it
      don't go ahead
      don't make the transfer
      please do not proceed
      actually don't send 20k to Bob
      I won't send it
      I don't want to send it
      I'm not sending 50k
      I'd rather not send it
      let's not send it
      never send money to Bob
      no need to send it
      send nothing
      send Bob nothing
      no money to Bob
      you should not send it
      stop sending money
      I decided not to pay Bob
    `,
    areNot: `
      보내줘
      엄마한테 5만원 보내줘
      보내지 말고 아빠한테 보내줘
      엄마한테 보내지 말고 아빠한테 보내줘
      엄마한테 보내지 마 아빠한테 보내줘
      지난번 말고
      엄마 말고 아빠
      취소하지 마
      취소 하지 마
      취소 안 할래
      취소는 하지 말아줘
      걱정하지 마
      걱정 하지 마세요
      수정하지 마
      잊지 마
      까먹지 마
      왜 안 보내
      왜 아직 안 보내요
      안 보내?
      안 보낼 거야?
      보내지 않을래?
      안 보냈어
      안녕하세요
      안과에 3만원
      보내지
      마음대로 해
      하지만 보내줘
      메모는 쓰지 마
      don't forget to send it
      don't forget to send Mom 50k
      don't worry, send it
      don't cancel
      don't stop
      don't change the amount
      don't hesitate to send it
      why don't you send 50k
      why not send it
      don't send 20k, send 30k
      don't send it to Bob, send it to Amy
      don't send 20k but 30k
      not to Bob but to Amy
      not Bob
      send it, not later
      I don't know
      I can't see it
      nothing else
      yes
      no
    `,
  },
  reported: {
    are: `
      받았어
      엄마한테 3만원 받았어
      엄마한테 3만원 받았어요
      아빠한테서 5만원 받았는데
      용돈 받았다
      3만원 받음
      보냈어
      어제 보냈어
      보냈는데
      엄마한테 5만원 보냈는데 안 왔대
      이미 보냈어요
      방금 보냈습니다
      아까 3만원 보냈거든
      안 보냈어
      보냈어?
      어제 엄마한테 5만원 보냈나
      이체했어
      엄마한테 이체했는데
      송금했습니다
      송금 완료
      3만원 입금됐어
      입금 됐는데
      돈이 들어왔어
      5만원 빠져 나갔어
      친구가 3만원 갚았어
      회비 냈어
      동생한테 용돈 줬어
      3만원 썼어
      결제됐어
      엄마가 보내지 말래
      I sent 30k
      I sent Mom 30k yesterday
      I already sent it
      I have sent 50k to Bob
      Mom sent me 30k
      got 30k from Mom
      I got 30k from mom
      I received 50k
      received 50k from Dad
      Dad gave me 20k
      I paid Bob
      I already paid 20k to Bob
      we transferred 50k
      Bob paid me back 10k
      it went through
      did it go through?
      did you send it
      did my transfer go through?
      the money arrived
      50k was sent to Mom
      I've just wired 50k
      I think I sent 30k to Mom
    `,
    areNot: `
      보내줘
      엄마한테 5만원 보내줘
      받는 사람은 영희
      받는 사람 누구야
      보낸 사람 이름
      받고 싶어
      보냈으면 좋겠어
      5만원 보냈으면 해
      받았으면 해
      어제 3만원 받았는데 2만원 보내줘
      어제 보냈는데 또 보내줘
      지난번에 보낸 만큼 보내줘
      아까 보낸 사람한테 보내줘
      보낼게
      보내려고
      보낼까
      이체할래
      송금해줘
      입금해줘
      줘
      용돈 주세요
      안 보내
      네
      완료
      send 30k to Mom
      send it
      I want to send 30k
      I will send 30k
      I sent 30k, now send 20k to Dad
      I got paid so send Mom 50k
      I want it sent to Bob
      get it sent to Bob
      I need 50k sent to Bob
      please have it sent
      it needs to be sent today
      I've got to send 30k
      I got to pay Bob
      pay Bob
      present for Mom
      yes
      sentence
    `,
  },
  supposed: {
    are: `
      보내면 얼마 남아
      5만원 보내면 얼마 남아?
      엄마한테 보내면 언제 도착해
      이체하면 수수료 있어?
      송금하면 바로 가나
      잔액 있으면 보내줘
      수수료 없으면 보내줘
      월급 받으면 보낼게
      한도 넘으면 어떡해
      7만원이면 얼마 남지
      내일 보내려면 어떻게 해
      보내려면
      송금하려면 뭐가 필요해
      만약 5만원 보내면
      만약에 취소되면
      만일 잔액이 모자라면
      보낼까
      보낼까 말까
      5만원 보낼까요
      취소할까
      해외로 보낼 수 있어?
      더 보낼 수 있나요
      얼마까지 보낼 수 있어
      보내도 될까
      보내도 돼?
      보냈으면 어떻게 됐을까
      5만원 보낸다면
      된다면 보내줘
      혹시라도 실패하면
      5만원이라면
      if I send 30k
      if I send 70k what's left
      what if I send 50k
      how much is left if I send 50k
      send it if it's free
      send it unless there is a fee
      would 50k be too much
      what would it cost
      it would be 50k
      can I send 50k?
      can I send more
      can you send money abroad
      can we send it later
      could I send 100k
      could you cancel later
      should I send it
      may I send 50k
      suppose I send 50k
      assuming I have 50k
      in case it fails
      is it possible to send 50k
      am I able to send 50k
      I wonder whether it works
    `,
    areNot: `
      보내줘
      엄마한테 5만원 보내줘
      5만원이면 돼
      5만원이면 됩니다
      그렇게 하면 돼요
      보내주시면 됩니다
      보내면 돼
      보내면 안 돼
      보내주시면 감사하겠습니다
      라면 값 5천원
      화면
      반면에
      4만원 좀 보내줄 수 있어?
      형한테 4만원 보내줄 수 있어?
      엄마한테 3만원 보내주실 수 있나요?
      보냈으면 좋겠어
      5만원 보냈으면 해
      보낼게
      보낼래
      보낼 사람은 영희
      얼마까지
      까치
      면도기 값
      그러면 보내줘
      아니면 3만원
      send 50k to Mom
      send it
      can you send 25k to Sarah?
      could you send Mom 50k please
      would you send 10k to Bob
      I would like to send 50k
      would like to pay Bob
      please send it if possible
      if you don't mind, send 50k to Mom
      I canned it
      candy for Mom
      May 5
      gift for Mom
      yes
      should be 70k
      make it 70k
    `,
  },
};

const MEMBERS = Object.keys(SENTENCES) as (keyof MoveWords)[];

function linesOf(table: string): readonly string[] {
  const lines = table.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "");
}

describe.each(MEMBERS)("words that say %s", (member) => {
  const { are, areNot } = SENTENCES[member];

  test("are listed in at least forty different sentences", () => {
    const all = [...linesOf(are), ...linesOf(areNot)];

    expect(linesOf(are).length).toBeGreaterThanOrEqual(40);
    expect(linesOf(areNot).length).toBeGreaterThanOrEqual(20);
    expect(new Set(all).size).toBe(all.length);
  });

  test.each(linesOf(are))("are in %j", (sentence) => {
    expect(moveWordsOf(sentence)[member]).toBe(true);
    expect(moveWordsOf(sentence.normalize("NFD"))[member]).toBe(true);
  });

  test.each(linesOf(areNot))("are not in %j", (sentence) => {
    expect(moveWordsOf(sentence)[member]).toBe(false);
  });
});

test("a sentence can say several of them", () => {
  const said = (sentence: string): readonly string[] =>
    MEMBERS.filter((member) => moveWordsOf(sentence)[member]);

  expect(said("7만원으로 바꾸고 아빠한테도 보내줘")).toEqual(["changes", "adds"]);
  expect(said("영희는 빼고 철수도 추가해줘")).toEqual(["adds", "removes"]);
  expect(said("서로 바꿔줘")).toEqual(["swaps"]);
  expect(said("엄마한테 5만원 보내줘")).toEqual([]);
});

test("a service adds its own phrases, as whole words", () => {
  const lexicon = lexiconWith({ adds: ["한판 더", "seconds"], removes: ["열외"] });

  expect(moveWordsOf("한판 더!", lexicon).adds).toBe(true);
  expect(moveWordsOf("Seconds, please", lexicon).adds).toBe(true);
  expect(moveWordsOf("milliseconds", lexicon).adds).toBe(false);
  expect(moveWordsOf("영희 열외", lexicon).removes).toBe(true);
  expect(moveWordsOf("영희 열외").removes).toBe(false);
});

test("an essay says nothing, and the longest sentence is read at once", () => {
  const started = performance.now();

  expect(Object.values(moveWordsOf("보내지 마 ".repeat(10_000)))).not.toContain(true);
  for (const words of ["안 ", "and ", "not ", "가", "a ", "왜", "to a ", "1,", "보내지 않"]) {
    moveWordsOf(words.repeat(1_000).slice(0, 1_000));
  }

  expect(performance.now() - started).toBeLessThan(boundMs(1_000));
});
