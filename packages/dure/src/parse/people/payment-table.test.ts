import { describe, expect, test } from "vitest";
import { findPayments } from "./payments.ts";

/** Sentences as people write them, and who gets what in each; `-` for an amount that was not said. */

function rowsOf(table: string): string[][] {
  return table
    .trim()
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()));
}

function shown(sentence: string): string {
  const all = findPayments(sentence).payments.map(({ to, amount }) => {
    const won = amount?.ok ? amount.value : (amount?.because ?? "-");
    return `${to} ${won}`;
  });
  return all.join(", ");
}

describe("a Korean sentence names these people", () => {
  const TABLE = `
    철수는 5만원, 영희는 3만원 보내줘 | 철수 50000, 영희 30000
    철수는 5만원 영희는 3만원 | 철수 50000, 영희 30000
    지은은 5만원, 하은은 3만원 | 지은 50000, 하은 30000
    지은 5만원, 하은 3만원 | 지은 50000, 하은 30000
    정은 5만원, 성은 3만원 보내줘 | 정은 50000, 성은 30000
    김정은 5만원, 이슬은 3만원 | 김정은 50000, 이슬 30000
    예은 2만원, 이수 3만원 | 예은 20000, 이수 30000
    동생은 5만원, 형은 3만원 | 동생 50000, 형 30000
    누나가 5만원, 형이 3만원 | 누나 50000, 형 30000
    엄마가 5만원, 아빠가 3만원이야 | 엄마 50000, 아빠 30000
    철수도 3만원, 영희도 2만원 | 철수 30000, 영희 20000
    철수만 3만원 보내줘 | 철수 30000
    김병만 3만원, 박수만 2만원 | 김병만 30000, 박수만 20000
    지훈이는 2만원, 서연이는 만원 | 지훈이 20000, 서연이 10000
    마이클은 3만원, 제니퍼는 2만원 | 마이클 30000, 제니퍼 20000
    레오나르도 3만원, 파블로 2만원 | 레오나르도 30000, 파블로 20000
    엄마: 3만, 아빠: 2만 | 엄마 30000, 아빠 20000
    엄마:3만원 아빠:2만원 | 엄마 30000, 아빠 20000
    엄마=3만원 | 엄마 30000
    엄마 = 3만원, 아빠 = 2만원 | 엄마 30000, 아빠 20000
    엄마 → 3만원, 아빠 → 2만원 | 엄마 30000, 아빠 20000
    3만원 → 엄마, 2만원 → 아빠 | 엄마 30000, 아빠 20000
    엄마 - 3만원, 아빠 - 2만원 | 엄마 30000, 아빠 20000
    엄마/아빠 각각 3만원 | 엄마 30000, 아빠 30000
    엄마 용돈 20만원 아빠 용돈 10만원 | 엄마 200000, 아빠 100000
    엄마용돈 20만원, 아빠용돈 10만원 | 엄마 200000, 아빠 100000
    엄마아빠 두분 다 20만원씩 | 엄마 200000, 아빠 200000
    동생놈은 3만원이면 돼 | 동생 30000
    10만원을 엄마하고 아빠한테 반반 나눠서 보내줘 | 엄마 50000, 아빠 50000
    이번달 회비요, 정민수 3만, 오지영 2만 | 정민수 30000, 오지영 20000
    엄마한테 용돈 20만원, 집주인한테 월세 50만원 | 엄마 200000, 집주인 500000
    집주인 월세 50만원, 총무 회비 2만원 | 집주인 500000, 총무 20000
    민수 축의금 10만원, 영희 축의금 5만원 | 민수 100000, 영희 50000
    민수 점심값 8천원 영희 커피값 5천원 | 민수 8000, 영희 5000
    동생 생일 선물 5만원 보내줘 | 동생 50000
    친구 축의금 10만원 민호한테 | 민호 100000
    동기들 회비 2만원 총무한테 보내줘 | 총무 20000
    월세 50만원 집주인한테 보내줘 | 집주인 500000
    엄마한테 치킨 2만원 보내줘 | 엄마 20000
    엄마한테 도서 구입 3만원 | 엄마 30000
    철수는 커피 5천원, 영희는 도넛 3천원 | 철수 5000, 영희 3000
    할아버지께 세뱃돈 답례로 5만원 | 할아버지 50000
    김 대리 5만원 박 과장 3만원 | 김 대리 50000, 박 과장 30000
    김 대리는 5만원, 박 과장은 3만원 | 김 대리 50000, 박 과장 30000
    김대리 5만원, 박과장 3만원 | 김대리 50000, 박과장 30000
    최 팀장님께 5만원, 정 이사님께 3만원 | 최 팀장님 50000, 정 이사님 30000
    이 부장 10만원 한 차장 5만원 | 이 부장 100000, 한 차장 50000
    홍길동 대표한테 30만원 | 홍길동 대표 300000
    김철수 사원 5만원, 이영희 주임 3만원 | 김철수 사원 50000, 이영희 주임 30000
    박 선생님 5만원, 오 교수님 7만원 | 박 선생님 50000, 오 교수님 70000
    이 원장님께 15만원 | 이 원장님 150000
    팀장님 5만원 | 팀장님 50000
    김철수 씨 5만원, 박영희 씨한테 3만원 | 김철수 50000, 박영희 30000
    홍길동님 5만원 김철수님 3만원 | 홍길동 50000, 김철수 30000
    김 대리랑 박 과장한테 만원씩 | 김 대리 10000, 박 과장 10000
    음 엄마한테 3만원 | 엄마 30000
    아차, 엄마한테 3만원 | 엄마 30000
    저기 혹시 엄마한테 3만원 보내줄 수 있어? | 엄마 30000
    참 아빠도 2만원 | 아빠 20000
    엄마 그냥 3만원 보내줘 | 엄마 30000
    엄마 빨리 5만원 | 엄마 50000
    엄마 내일 5만원 보내줘 | 엄마 50000
    드디어 엄마한테 5만원 | 엄마 50000
    엄마 말고 아빠한테 5만원 | 아빠 50000
    엄마한테 말고 아빠한테 5만원 | 아빠 50000
    엄마가 아니라 아빠한테 5만원 | 아빠 50000
    엄마 대신 아빠한테 5만원 | 아빠 50000
    엄마한테 대신 5만원 보내줘 | 엄마 50000
    엄마 빼고 아빠랑 동생한테 만원씩 | 아빠 10000, 동생 10000
    엄마한테 아니 아빠한테 5만원 | 아빠 50000
    엄마한테 5만원 말고 7만원 | 엄마 70000
    엄마한테 보내지 말고 아빠한테 3만원 | 아빠 30000
    엄마한테 잊지 말고 3만원 보내줘 | 엄마 30000
    엄마한테 3만원 보내고 아빠한테는 보내지 마 | 엄마 30000
    아빠한테 2만원 보내줘 엄마한테는 어제 보냈어 | 아빠 20000
    엄마한테서 받은 돈 아빠한테 보내줘 | 아빠 -
    엄마한테 받은 5만원 아빠한테 보내줘 | 아빠 50000
    엄마가 준 5만원 아빠한테 보내줘 | 아빠 50000
    엄마한테 3만원 받았는데 아빠한테 2만원 보내줘 | 아빠 20000
    준호한테 어제 빌린 3만원 갚아줘 | 준호 30000
    엄마한테 3만원 보내줬으면 좋겠어 | 엄마 30000
    5만원 있는데 엄마한테 3만원 보내줘 | 엄마 30000
    엄마한테 3만원, 아빠한테는 그 두 배 | 엄마 30000, 아빠 -
    엄마한테 3만원, 아빠한테도 똑같이 | 엄마 30000, 아빠 -
    엄마 3만원, 나머지는 아빠한테 | 엄마 30000, 아빠 -
    엄마한테 3만원 그리고 아빠한테도 | 엄마 30000, 아빠 -
    엄마한테 3만원 보내고 아빠한테도 보내줘 | 엄마 30000, 아빠 -
    엄마 3만원, 2만원 아빠 | 엄마 30000, 아빠 20000
    5만원 엄마, 3만원 아빠 | 엄마 50000, 아빠 30000
    5만원 민수, 3만원 영희 | 민수 50000, 영희 30000
    5만원은 엄마한테 보내고 아빠한테는 3만원 | 엄마 50000, 아빠 30000
    3만원 엄마, 아빠, 2만원 동생 | 엄마 30000, 아빠 30000, 동생 20000
    엄마, 아빠 3만원씩, 동생 2만원 | 엄마 30000, 아빠 30000, 동생 20000
    엄마나 아빠한테 5만원 | 엄마 50000, 아빠 50000
    엄마랑 아빠랑 동생 만원씩 | 엄마 10000, 아빠 10000, 동생 10000
    안나한테 만원 | 안나 10000
    아름이한테 만원, 하나한테 2만원 | 아름이 10000, 하나 20000
    김하랑 3만원 | 김하랑 30000
    남궁민수한테 5만원, 황보혜정 3만원 | 남궁민수 50000, 황보혜정 30000
    마이클한테 3만원, 스미스 2만원 | 마이클 30000, 스미스 20000
    우리 강아지🐶한테 5만원 | 강아지 50000
    짝꿍❤️한테 3만원 | 짝꿍 30000
    큰 이모 5만원 작은 이모 3만원 | 큰 이모 50000, 작은 이모 30000
    옆집 아줌마한테 3만원 | 옆집 아줌마 30000
    민수 엄마한테 5만원 영희 엄마한테 3만원 | 민수 엄마 50000, 영희 엄마 30000
    동생 남편한테 5만원 | 동생 남편 50000
    엄마 한테 5만원 | 엄마 50000
    국민 110-234-567890으로 5만원, 엄마한테 3만원 | 국민 110-234-567890 50000, 엄마 30000
    John은 3만원, Amy는 2만원 | John 30000, Amy 20000
    민수 5만원 영희 3만원 합쳐서 8만원 | 민수 50000, 영희 30000
    아빠 생신 용돈 30만원 | 아빠 300000
    시어머니 용돈 20만원 장모님 용돈 20만원 | 시어머니 200000, 장모님 200000
    김철수(팀장) 5만원, 이영희(대리) 3만원 | 김철수 50000, 이영희 30000
    엄마한테 5만원 메모 홍길동 | 엄마 50000
    수신자: 홍길동, 금액: 5만원 | 홍길동 50000
    국민 110-234-567890 홍길동 5만원 | 국민 110-234-567890 홍길동 50000
    5만원씩 민수 지연 철수 | 민수 50000, 지연 50000, 철수 50000
    엄마 말고 아빠 | 아빠 -
    엄마한테 5만원 말고 아빠한테 3만원 | 아빠 30000
    아까 말한 민수한테 5만원 | 민수 50000
    엄마한테 3만원, 엄마한테 2만원 | 엄마 -
    철수 5만원 영희 3만원 아니 영희 4만원 | 철수 50000, 영희 -
    받는 사람 아빠로 바꿔줘 | 아빠 -
  `;

  test.each(rowsOf(TABLE))("reads in %j: %s", (sentence = "", payments) => {
    expect(shown(sentence)).toBe(payments);
  });
});

describe("an English sentence names these people", () => {
  const TABLE = `
    50,000 won for Jane and 30,000 for Bob please | Jane 50000, Bob 30000
    50k for Jane, 30k for Bob | Jane 50000, Bob 30000
    for Jane 50k and for Bob 30k | Jane 50000, Bob 30000
    send 50k for Mom | Mom 50000
    send 50k to Jane for lunch | Jane 50000
    50k to Jane for lunch and 20k to Bob for dinner | Jane 50000, Bob 20000
    send 50k for lunch to Tom | Tom 50000
    50k to Jane for Bob | Jane 50000
    50k for Jane's birthday | Jane 50000
    20k for Jane's birthday to Bob | Bob 20000
    Mom allowance 200k, Dad allowance 100k | Mom 200000, Dad 100000
    Jane rent 500k and Bob lunch 10k | Jane 500000, Bob 10000
    Jane: 50k, Bob: 30k | Jane 50000, Bob 30000
    Jane = 50k, Bob = 30k | Jane 50000, Bob 30000
    Jane -> 50k, Bob -> 30k | Jane 50000, Bob 30000
    50k -> Jane | Jane 50000
    Jane - 50k, Bob - 30k | Jane 50000, Bob 30000
    jane: 50k, bob: 30k | jane 50000, bob 30000
    jane 50k, bob 30k | jane 50000, bob 30000
    Jane 50k Bob 30k | Jane 50000, Bob 30000
    50k Jane, 30k Bob | Jane 50000, Bob 30000
    Mr. Smith 50k, Dr. Lee 30k | Mr. Smith 50000, Dr. Lee 30000
    send 20k to Mr. Smith and 30k to Ms. Jones | Mr. Smith 20000, Ms. Jones 30000
    send Dr. Kim 50k | Dr. Kim 50000
    pay Mrs. O'Brien 40k | Mrs. O'Brien 40000
    send Mr Smith 20k | Mr Smith 20000
    20k to J. Kim and 10k to John F. Kennedy | J. Kim 20000, John F. Kennedy 10000
    send O'Brien 30k, Mary-Jane 20k | O'Brien 30000, Mary-Jane 20000
    30k to Jean-Luc Picard | Jean-Luc Picard 30000
    send 20k to Ludwig van Beethoven and 10k to Will | Ludwig van Beethoven 20000, Will 10000
    Send 50,000 won to Bank of America | Bank of America 50000
    um, send 15k won to Peter | Peter 15000
    oh wait, send 20k to Amy | Amy 20000
    ok so 30k to Bob please | Bob 30000
    hey, can you pay Kim 30k | Kim 30000
    well, make it 30k to Bob | Bob 30000
    also 20k to Bob | Bob 20000
    20k more to Bob | Bob 20000
    add 10,000 won for Jane | Jane 10000
    zap 20k to Bob | Bob 20000
    Send 30k over to Bob right now | Bob 30000
    split 60,000 between Tom and Ann | Tom 60000, Ann 60000
    split 60,000 with Tom and Ann | Tom 60000, Ann 60000
    split 60k among Tom, Ann and Joe | Tom 60000, Ann 60000, Joe 60000
    not to Bob but to Amy | Amy -
    not to Bob but 20k to Amy | Amy 20000
    send 20k not to Bob but to Amy | Amy 20000
    send 20k to Amy, not Bob | Amy 20000
    send 20k to Amy and not to Bob | Amy 20000
    send 20k to Amy instead of Bob | Amy 20000
    not to Bob or Tom but 20k to Amy | Amy 20000
    20k from Bob to Amy | Amy 20000
    send 20k from my savings to Amy | Amy 20000
    I got 30k from mom, send 20k to dad | dad 20000
    I sent 20k to Bob, now send 10k to Amy | Amy 10000
    Mom sent me 30k. Send 10k to Tom. | Tom 10000
    Bob paid me 30k so send 20k to Amy | Amy 20000
    don't send 20k to Bob, send 10k to Amy | Amy 10000
    don't send it to Bob but send 10k to Amy | Amy 10000
    Don't forget to send 20k to Bob | Bob 20000
    to Bob, I mean Amy, 20k | Amy 20000
    20k to Bob, sorry, to Amy | Amy 20000
    30k to Mom and twice that to Dad | Mom 30000, Dad -
    30k to Mom and the same to Dad | Mom 30000, Dad -
    30k to Mom, the rest to Dad | Mom 30000, Dad -
    30k to Mom and to Dad | Mom 30000, Dad 30000
    Mom and Dad 10k each, Kim 20k | Mom 10000, Dad 10000, Kim 20000
    10k to Mom and Dad and 20k to Kim | Mom 10000, Dad 10000, Kim 20000
    send Kim 10k and 20k to Lee | Kim 10000, Lee 20000
    Send Alex 40k, Ben 20k | Alex 40000, Ben 20000
    Hi Bob, send 20k to Amy | Amy 20000
    Thanks! Send 20k to Mom. Jane | Mom 20000
    to mom 30k, to dad 20k | mom 30000, dad 20000
    send mom lunch money 20k | mom 20000
    mom candles 20k | mom 20000
    send my friend Jane 20k | Jane 20000
    send 20k to my mom's friend | mom's friend 20000
    send 20k to Tom's mom | Tom's mom 20000
    send 20k to Tom's account | Tom 20000
    send 25k to my landlord and 10k to my roommate | landlord 25000, roommate 10000
    transfer 20k to john smith tomorrow | john smith 20000
    Mina 15,000 won please | Mina 15000
    Bill 50k, Will 30k | Bill 50000, Will 30000
    send 20k to Mr. Price and 10k to Kim Do Yun | Mr. Price 20000, Kim Do Yun 10000
    Give Tom and Jerry 5k won each | Tom 5000, Jerry 5000
    10k each for Mom, Dad and Kim | Mom 10000, Dad 10000, Kim 10000
    wire fifty thousand won to Jane | Jane 50000
    send 5만원 to 엄마 and 3만원 to 아빠 | 엄마 50000, 아빠 30000
    SEND 50K TO MOM | MOM 50000
    30k to Kim, memo: for Amy | Kim 30000
    send Tom tomorrow 20k | Tom 20000
    I'd like you to send 20k to Bob | Bob 20000
    I've got to send 20k to Bob | Bob 20000
    15k to each: Peter, Paul | Peter 15000, Paul 15000
    15k for Peter, ditto for Paul | Peter 15000, Paul -
    20k to Jean d'Arc | Jean d'Arc 20000
    refund Tom 20k | Tom 20000
    José 20k, Zoë 30k | José 20000, Zoë 30000
    I'm not sending 20k to Tom, pay Ann 10k | Ann 10000
    I'd like 50k sent to Jane | Jane 50000
    give 50k to each of Jane and Bob | Jane 50000, Bob 50000
    50k each: Jane, Bob, Kim | Jane 50000, Bob 50000, Kim 50000
    a total of 50k: 30k to Mom and 20k to Dad | Mom 30000, Dad 20000
    To: Jane, Amount: 50k | Jane 50000
    Jane (rent) 500k | Jane 500000
    send 20k to "Big Mike" | Big Mike 20000
    send 20k to Bob without a memo | Bob 20000
  `;

  test.each(rowsOf(TABLE))("reads in %j: %s", (sentence = "", payments) => {
    expect(shown(sentence)).toBe(payments);
  });
});

describe("a sentence names no person who is to get something", () => {
  const KOREAN = `
    아 2만원으로 바꿔줘
    음 3만원
    앗 5만원
    아차 5만원으로
    미안 2만원으로 바꿔줘
    저기 3만원
    그게 3만원
    참 3만원
    잠깐만 5만원
    아니 7만원
    아니요 7만원이요
    네 근데 7만원으로
    응 7만원으로 보내줘
    그냥 5만원 보내줘
    5만원 보내줘
    5만원 고마워
    5만원 부탁해
    금액은 6만원이요
    총 30만원
    나머지 3만원
    이번엔 5만원만
    일단 5만원부터
    5만원 더 보내줘
    그거 5만원으로 해줘
    혹시 5만원 가능해?
    5만원 말고 7만원
    용돈 5만원
    월세 50만원 보내줘
    점심값 8천원
    5만원 이체
    5만원 송금해줘
    현금 5만원
    내일 5만원
    보내지 마
    보내지 말고 5만원 취소
    엄마한테 보내지 마
    엄마한테 5만원 안 보낼래
    엄마한테 5만원 보내면 안 돼
    엄마한테 5만원 보내는 거 취소해줘
    엄마한테 3만원 받았어
    엄마한테서 3만원 받았어
    엄마가 3만원 보내줬어
    아빠가 용돈 5만원 줬어
    친구한테 3만원 빌렸어
    어제 엄마한테 5만원 보냈어
    엄마한테 보냈는데 왜 안 갔지
    엄마한테 5만원 보냈어?
    엄마한테 물어볼게
    엄마한테 전화했어
    친구한테 들었어
    선생님께 인사드렸어
    엄마랑 밥 먹었어
    엄마랑 통화했어
    엄마 보고 싶다
    엄마가 좋아
    아빠는 회사에 갔어
    도서관에 갔어
    안녕하세요
    고마워
    배고프다
    오늘 날씨 어때
    누구한테 보냈지
    누구한테 5만원 보냈더라
    나한테 5만원 보내줘
    걔한테 5만원
    둘한테 만원씩
    모두에게 만원씩
    수수료 500원
    잔액 30만원
    한도 100만원
    5만원이면 돼
    5만원이 필요해
    계좌에 5만원 있어
    통장에 30만원 남았어
    5만 명이 모였대
    카드로 5만원 결제했어
    커피 5천원 썼어
    엄마한테 갈게
    친구한테 잘해줘
    엄마랑 통화 중이야
    엄마랑 아빠 왔어
    오늘 엄마 생신이야
    민수는 내일 와
    철수가 5만원 썼어
    영희가 커피 샀어
    민수한테 5만원 받기로 했어
    민수한테 5만원 받아야 돼
    엄마한테 받은 용돈 5만원 있어
    회사에서 보너스 30만원 들어왔어
    월급 300만원 들어왔다
    카드값 50만원 나갔어
    엄마가 보내준 5만원 확인해줘
    5만원 들어왔어?
    왜 5만원 나갔어
    수수료는 500원이야
    이자가 3만원이래
    5만원 이하로
    5만원 이상 안 돼
    5만원 정도
    한 5만원쯤
    대략 5만원
    최대 10만원
    전부 30만원
    합쳐서 10만원
    각각 3만원씩
    한 사람당 만원
    만원만
    반만 보내줘
    절반만
    두 배로
    그만큼
    얼마나 보냈어
    어디로 보내
    아까 보낸 거 취소해줘
    방금 엄마한테 보낸 5만원 취소해줘
    엄마한테 보내려다가 말았어
    아무한테도 보내지 마
    이체하지 마세요
    송금하지 말아줘
    5만원 보내지 말아 주세요
    안 보낼래요
    보내면 안 돼
    멈춰
    그만
    취소해줘
    다시 할게
    잘못 말했어 7만원
    틀렸어 3만원이야
    바꿔줘 3만원으로
    금액 3만원으로 수정해줘
    수정 3만원
    변경할게 5만원으로
    추가로 2만원 더
    2만원 추가해줘
    만원 빼줘
    만원 깎아줘
    3만원으로 줄여줘
    7만원으로 올려줘
    현금으로 5만원
    카카오페이로 5만원
    국민은행으로 5만원
    토스로 3만원
    점심 먹고 8천원
    택시 타고 만원
    급한데 5만원
    죄송하지만 5만원
    가능하면 5만원
    빠르게 5만원
    정확히 5만원
    오만원이요
  `;
  const ENGLISH = `
    um
    um, 20k
    add 10,000 won
    add 10k more
    make it 70k
    change it to 30k
    change the amount to 70,000 won
    also 30k
    oh wait, 30k
    ok 30k
    well, 20k
    hey, make it 30k
    not 20k but 30k
    30k instead
    no, 70k
    actually 70k
    yes but make it 70k
    half a million won
    split 60,000 won
    double it
    send 20k
    send money
    please send 20k
    transfer 100,000 won tomorrow
    Send 50k now
    I got 30k from mom
    I received 20,000 won from Bob
    mom sent me 30k
    Bob paid me 20k yesterday
    I sent 20k to Bob yesterday
    I already paid Bob 20k
    did you send 20k to Bob?
    Have you sent Bob 20k?
    don't send 20,000 won to Bob
    do not send Bob 20k
    please don't pay Bob
    never send money to Bob
    cancel the 20k to Bob
    I owe 20k
    Bob owes me 20k
    send me 20k
    20k from Bob
    send it
    send her 20k
    talk to Bob
    say hi to Mom
    welcome to Seoul
    happy birthday to Mom
    I want to eat
    I'd like to go to Paris
    how much is the fee
    what's my balance
    thanks
    good morning
    lunch was 20k
    rent is 500k
    I have 50k left
    the fee is 500 won
    lunch 20k
    split the bill
    up to 50k
    about 50k
    nice weather today
    oops, 30k
    sorry, 30k
    uh 20k
    hmm, 40k
    hello 20k
    thanks, 20k
    great, 20k
    perfect 20k
    so 20k
    then 20k
    maybe 20k
    just 20k
    only 20k
    about 20k
    exactly 20k
    total 60k
    20k each
    20k please
    20k thanks
    20k tomorrow
    20k now
    20k asap
    20k instead
    20k total
    another 20k
    the amount is 20k
    it's 20k
    it was 20k
    I said 20k
    I meant 20k
    I have 20k
    I need 20k
    I want 20k
    I paid 20k for lunch
    I spent 20k on coffee
    lunch cost 20k
    give me 20k
    lend me 20k
    send it to me
    to me
    from mom
    with Bob
    for lunch
    for me
    not Bob
    not to Bob
    don't pay him
    stop sending money to Bob
    I won't send 20k to Bob
    I can't send Bob 20k
    without sending it to Bob
    Jane sent 30k
    Jane gave me 30k for lunch
    Tom received 20k
    did Bob get 20k?
    have I paid Bob?
    why did you send 20k to Bob
    who got 20k
    thank you Bob
    see you Tom
    call Mom
    Mom called
    meet Jane tomorrow
  `;

  test.each(rowsOf(KOREAN))("reads no person in %j", (sentence = "") => {
    expect(shown(sentence)).toBe("");
  });

  test.each(rowsOf(ENGLISH))("reads no person in %j", (sentence = "") => {
    expect(shown(sentence)).toBe("");
  });
});
