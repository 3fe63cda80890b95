import { expect, test } from "vitest";
import { findMoney } from "./find-money.ts";
import { parseMoney, type MoneyReading } from "./money.ts";

/** Lines of `words = what they are read as`. */
function rowsOf(table: string): (readonly [words: string, read: string])[] {
  const lines = table.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const [words = "", read = ""] = line.split(" = ");
    return [words.trim(), read.trim()];
  });
}

/** `50000`; `50000 | 5` of what may be either; `partial 5000`; a reason. */
function shown(reading: MoneyReading): string {
  if (!reading.ok) return reading.because;
  if (reading.sure === "exact") return String(reading.value);
  const values = [reading.value, ...reading.others].join(" | ");
  return reading.sure === "ambiguous" ? values : `${reading.sure} ${values}`;
}

function sentenceOf(words: string): string {
  return /[가-힣]/u.test(words) ? `엄마한테 ${words} 보내줘` : `send ${words} to mom`;
}

function exactIn(sentence: string): readonly string[] {
  const found = findMoney(sentence);
  return found.filter((one) => one.ok && one.sure === "exact").map(({ words }) => words);
}

const EXACT_IN_KOREAN = `
  5만원 = 50000
  5만 원 = 50000
  5 만원 = 50000
  5 만 원 = 50000
  오만원 = 50000
  오만 원 = 50000
  오 만 원 = 50000
  ５만원 = 50000
  ５만 ５천원 = 55000
  ５０，０００원 = 50000
  50,000원 = 50000
  50000원 = 50000
  50000 원 = 50000
  50, 000원 = 50000
  3만5천원 = 35000
  3만 5천원 = 35000
  3만5천 = 35000
  3만 5천 원 = 35000
  삼만오천원 = 35000
  삼만 오천 원 = 35000
  삼 만 오 천 원 = 35000
  3만 오천원 = 35000
  삼만 5천원 = 35000
  5만 3,500원 = 53500
  5만3500원 = 53500
  5만 3천 5백원 = 53500
  5만 3천 500원 = 53500
  5만3천5백 = 53500
  오만삼천오백원 = 53500
  50천원 = 50000
  500천원 = 500000
  1,500천원 = 1500000
  12백만원 = 12000000
  3천만 = 30000000
  3천만원 = 30000000
  삼천만원 = 30000000
  천만원 = 10000000
  일천만원 = 10000000
  1천만원 = 10000000
  백만원 = 1000000
  백만 원 = 1000000
  일백만원 = 1000000
  백오십만원 = 1500000
  백 오십만 원 = 1500000
  백오십만 = 1500000
  천이백만원 = 12000000
  천 이백만원 = 12000000
  천이백오십만원 = 12500000
  십오만오천원 = 155000
  십오만 오천원 = 155000
  십오만원 = 150000
  십만원 = 100000
  이십만원 = 200000
  이십오만원 = 250000
  1억 = 100000000
  1억원 = 100000000
  일억원 = 100000000
  1억 2천만 = 120000000
  1억2천만원 = 120000000
  1억 2천만 원 = 120000000
  2억5천만원 = 250000000
  2억 5천만원 = 250000000
  1억 3,500만 원 = 135000000
  1억3500만원 = 135000000
  일억 삼천오백만원 = 135000000
  1.2억 = 120000000
  1.2억원 = 120000000
  1.25억원 = 125000000
  0.5억 = 50000000
  12억 3456만 7890원 = 1234567890
  1조 = 1000000000000
  1조 2천억원 = 1200000000000
  1.5만원 = 15000
  1.5만 = 15000
  2.5천만원 = 25000000
  1.5백만원 = 1500000
  3천원 = 3000
  3천5백원 = 3500
  삼천오백원 = 3500
  5천 = 5000
  5천원 = 5000
  5백원 = 500
  오백원 = 500
  천원 = 1000
  만원 = 10000
  만오천원 = 15000
  만 오천원 = 15000
  만이천원 = 12000
  1만 2천원 = 12000
  ₩50,000 = 50000
  ￦50,000 = 50000
  ₩ 50,000 = 50000
  \\50,000원 = 50000
  50,000₩ = 50000
  원 50,000 = 50000
  5만원이요 = 50000
  5만원만 = 50000
  5만원으로 = 50000
  5마넌 = 50000
  오마넌 = 50000
  5만언 = 50000
  5만윈 = 50000
  딱 5만원 = 50000
  1억 2,000원 = 100002000
  100만원 = 1000000
  1,000만원 = 10000000
  1000만원 = 10000000
  150만원 = 1500000
  육십육만육천원 = 666000
  구십구만구천구백원 = 999900
  구십구만 구천구백원 = 999900
`;

const EXACT_IN_ENGLISH = `
  50k = 50000
  50K = 50000
  50 k = 50000
  50k won = 50000
  50K KRW = 50000
  ₩50k = 50000
  KRW 50,000 = 50000
  KRW50,000 = 50000
  krw 50000 = 50000
  50,000 KRW = 50000
  50,000 won = 50000
  50000 won = 50000
  50,000 = 50000
  won 50,000 = 50000
  ５０，０００ won = 50000
  ５０ｋ = 50000
  1.5k = 1500
  2.5k won = 2500
  1,500k = 1500000
  100k = 100000
  1m = 1000000
  1m won = 1000000
  1.2m = 1200000
  1.5mil = 1500000
  2 mil won = 2000000
  1m 500k = 1500000
  1b won = 1000000000
  2bn won = 2000000000
  2 billion won = 2000000000
  1.5 billion = 1500000000
  2.5 million = 2500000
  2.5 million won = 2500000
  1.25 million won = 1250000
  3 million = 3000000
  50 thousand = 50000
  50 thousand won = 50000
  12.5 thousand won = 12500
  50 grand = 50000
  five grand = 5000
  fifty grand = 50000
  half a grand = 500
  ten grand = 10000
  a grand = 1000
  thirty-five thousand = 35000
  thirty five thousand = 35000
  thirty-five thousand won = 35000
  Thirty-Five Thousand Won = 35000
  fifty thousand = 50000
  fifty thousand won = 50000
  fourty thousand won = 40000
  eleven thousand won = 11000
  twelve thousand = 12000
  nineteen thousand won = 19000
  a thousand won = 1000
  one thousand = 1000
  five thousand = 5000
  ten thousand = 10000
  hundred thousand = 100000
  hundred thousand won = 100000
  a hundred thousand = 100000
  one hundred thousand won = 100000
  two hundred thousand = 200000
  a hundred and fifty thousand = 150000
  a hundred fifty thousand = 150000
  one hundred and fifty thousand won = 150000
  two hundred and fifty thousand won = 250000
  hundred and twenty thousand won = 120000
  three hundred thirty-three thousand won = 333000
  5 hundred thousand won = 500000
  half a million = 500000
  half a million won = 500000
  half million won = 500000
  a half million won = 500000
  quarter million won = 250000
  a quarter of a million won = 250000
  a quarter million = 250000
  one million = 1000000
  a million = 1000000
  a million won = 1000000
  million won = 1000000
  two million won = 2000000
  a million and a half won = 1500000
  a million and a half = 1500000
  one and a half million = 1500000
  two and a half million won = 2500000
  one point five million = 1500000
  one point five million won = 1500000
  two point two five million won = 2250000
  zero point five million won = 500000
  one million two hundred thousand won = 1200000
  one million and two hundred thousand won = 1200000
  1 million 200 thousand won = 1200000
  two million five hundred thousand = 2500000
  fifteen hundred won = 1500
  twenty-five hundred won = 2500
  five thousand five hundred won = 5500
  five thousand and fifty won = 5050
  five hundred won = 500
  twelve hundred thousand won = 1200000
  one hundred million won = 100000000
  a hundred million = 100000000
  one billion won = 1000000000
  exactly 50,000 won = 50000
  just 50k = 50000
  50,000 won please = 50000
  50k each = 50000
  50k won in total = 50000
  up to 50k won = 50000
  nine hundred ninety-nine thousand nine hundred ninety-nine won = 999999
  fifty five thousand won = 55000
  1 million 500k = 1500000
  forty-two thousand won = 42000
  4.2m won = 4200000
`;

test.each([...rowsOf(EXACT_IN_KOREAN), ...rowsOf(EXACT_IN_ENGLISH)])(
  "the amount %j is exactly %s, also in a sentence",
  (words, read) => {
    expect(shown(parseMoney(words))).toBe(read);
    expect(findMoney(sentenceOf(words)).map(shown)).toEqual([read]);
  },
);

/** The likeliest is the first; each is asked for. */
const IN_DOUBT = `
  5 = 50000 | 5
  150 = 1500000 | 150
  백오십 = 1500000 | 150
  백이십 = 1200000 | 120
  이백 = 2000000 | 200
  백 = 1000000 | 100
  오십 = 500000 | 50
  5백 = 5000000 | 500
  3만5 = 35000 | 30005
  삼만오 = 35000 | 30005
  만오 = 15000 | 10005
  12만5 = 125000 | 120005
  2천5 = 2500 | 2005
  1억2 = 120000000 | 100000002
  1억이 = 120000000 | 100000002 | 100000000
  1억2천 = 120000000 | 100002000
  1억 2천 = 120000000 | 100002000
  일억이천 = 120000000 | 100002000
  일억 이천 = 120000000 | 100002000
  2억5천 = 250000000 | 200005000
  1억 2천원 = 120000000 | 100002000
  1억 5백 = 105000000 | 100000500
  1억 2,000 = 120000000 | 100002000
  1억 3500 = 135000000 | 100003500
  3억 3천5백 = 335000000 | 300003500
  1조2 = 1200000000000 | 1000000000002
  1조 2천 = 1200000000000 | 1000000002000
  이삼만원 = 20000 | 30000
  삼사십만원 = 300000 | 400000
  5~6만원 = 50000 | 60000
  5-6만원 = 50000 | 60000
  오만~육만원 = 50000 | 60000
  5만~6만원 = 50000 | 60000
  1, 500원 = 1500 | 500
  1, 500 won = 1500 | 500
  1억천 = 110000000 | 100001000
  3천5 = 3500 | 3005
  50 to 60k = 50000 | 60000
  two to three thousand won = 2000 | 3000
  fifty = 50000 | 50
  two hundred = 200000 | 200
  삼만이 = 32000 | 30002 | 30000
  5만원 정도 = approximate 50000
  5만원쯤 = approximate 50000
  약 5만원 = approximate 50000
  한 5만원 = approximate 50000
  거의 5만원 = approximate 50000
  5만원대 = approximate 50000
  5만원 초반 = approximate 50000
  5만여원 = approximate 50000
  5만여 원 = approximate 50000
  5만 몇천원 = approximate 50000
  5만원 조금 넘게 = approximate 50000
  5만원 안 되게 = approximate 50000
  5만원 이상 = approximate 50000
  5만원 미만 = approximate 50000
  about 50k = approximate 50000
  around 50,000 won = approximate 50000
  roughly 50k = approximate 50000
  almost 50k won = approximate 50000
  nearly 50,000 won = approximate 50000
  just under 50k = approximate 50000
  a bit over 50k = approximate 50000
  close to 50k = approximate 50000
  50k or so = approximate 50000
  50k-ish = approximate 50000
  50k ish = approximate 50000
  at least 50k = approximate 50000
  more than 50k = approximate 50000
  less than 50k = approximate 50000
  under 50k won = approximate 50000
  50k or more = approximate 50000
  -5만원 = negative
  -5,000원 = negative
  마이너스 5만원 = negative
  0원 = zero
  0.5원 = fraction
  50.000원 = fraction
  1.23456만원 = fraction
  30달러 = foreign-currency
  천 달러 = foreign-currency
  5만 엔 = foreign-currency
  50만동 = foreign-currency
  99999조원 = too-large
  30 dollars = foreign-currency
  $30 = foreign-currency
  US$50,000 = foreign-currency
  USD 50,000 = foreign-currency
  50,000$ = foreign-currency
  2 million dollars = foreign-currency
  half a million dollars = foreign-currency
  thirty-five thousand dollars = foreign-currency
  50k usd = foreign-currency
  €50,000 = foreign-currency
  5,000 yen = foreign-currency
  20 bucks = foreign-currency
  0 won = zero
  0.5 won = fraction
  1.00005k = fraction
`;

test.each(rowsOf(IN_DOUBT))("the amount %j is a doubt: %s", (words, read) => {
  expect(shown(parseMoney(words))).toBe(read);
  expect(exactIn(sentenceOf(words))).toEqual([]);
});

const CHANGED = `
  5천원 더
  5천원 더 보내줘
  5천원만 더
  엄마한테 5천원 더 보내줘
  5천원씩 더
  5천원더
  만원더보내줘
  5천원 정도 더
  만원 깎아서
  만원만 깎아줘
  만원 깍아줘
  만원만 덜
  만원 덜 보내줘
  만원 빼고
  만원 빼고 보내줘
  만원은 빼줘
  백만 원 빼고 다
  만원만 남기고 다 보내줘
  5만원 추가로
  5만원 추가해줘
  5천원 보태서
  5천원 얹어줘
  만원 올려줘
  만원 늘려줘
  만원 줄여줘
  만원 낮춰줘
  만원 내려줘
  3만원의 반
  3만원의 절반
  3만원 반만
  3만원 절반만
  3만원의 3분의 1
  3만원의 삼분의 일
  3만원의 1/3
  3만원의 10%
  3만원에서 10% 깎아서
  3만원의 10프로
  3만원의 두 배
  3만원 두배로
  3만원의 2배
  3만원 곱하기 2
  3만원 x 2
  3만원×2
  6만원을 둘이 나눠서
  6만원을 나눠서 보내줘
  6만원을 엄마랑 아빠한테 반반
  6만원을 3명이 나눠 내자
  총 6만원을 반반
  6만원 n빵
  6만원 더치페이
  3만원에서 5천원 빼고
  3만원에 5천원 더해서
  3만원 더하기 5천원
  3만원+5천원
  +5천원
  3만원 빼기 5천원
  5만원권 3장
  만원짜리 두 장
  5만원에서 수수료 빼고
  수수료 포함 5만원
  5만원보다 많이
  5만원 중에서 일부
  몇 만원
  수 만원
  두세 만원
  12맘5천원
  5만원3천원
  5만.3천원
  5,000 won more
  5,000 more
  5k more
  send 5,000 won more
  another 5,000 won
  an extra 5k
  additional 5,000 won
  add 5,000 won
  plus 5,000
  30,000 plus 5,000
  5,000 won less
  5,000 off
  take 5,000 off
  knock 5k off
  minus 5,000
  30,000 minus 5,000
  subtract 5,000
  lower it by 5,000
  raise it by 5k
  increase by 5,000 won
  half of 30,000
  half of the 30,000 won
  a third of 30,000
  two thirds of 30k
  a quarter of 100k
  10% of 30,000
  10 percent of 30k
  twice 30,000
  double the 30,000
  30,000 times 2
  30k x 3
  3 x 30k
  60,000 split between the two of us
  split 60,000 between us
  60k divided by 3
  divide 60k by three
  60k / 3
  everything except a million
  all but 10,000
  except 10,000
  everything minus 50k
  keep 10,000 and send the rest
  5,000 won more than 30,000
  5k off 30k
  50k plus fees
  50k minus the fee
  50k before tax
  50k and change
  few thousand won
  a few hundred thousand won
  couple of thousand won
  couple hundred thousand
  several million won
  a dozen thousand won
  fortey thousand won
  send tow hundred thousand
  two fifty thousand won
  five to ten thousand won
  50 to 60k
  two or three hundred thousand won
  1 500원
  2 500 won
  50k in dollars
  50k (usd)
  50k something
  >50k
`;

test.each(
  CHANGED.split("\n")
    .filter(Boolean)
    .map((line) => line.trim()),
)("no amount in %j is exact: the words go on", (sentence) => {
  expect(exactIn(sentence)).toEqual([]);
});

/** Words beside an amount that leave it as it is. */
const PLAIN = `
  70,000으로 바꿔줘 = 70000
  make it 70k = 70000
  5만원으로 올려줘 = 50000
  5만원까지 올려줘 = 50000
  5만원으로 깎아줘 = 50000
  5만원씩 = 50000
  총 6만원 = 60000
  총 6만원을 보내줘 = 60000
  엄마한테 5만원 보내고 더 할 거 없어 = 50000
  5만원 반드시 보내 = 50000
  5만원 반납 = 50000
  5만원 배송비 = 50000
  5만원 내려고 해 = 50000
  5만원 빼먹지 말고 보내줘 = 50000
  반반치킨 2만원 = 20000
  나누리병원에 5만원 = 50000
  send over 50k won = 50000
  send 50k to Half Moon cafe = 50000
  raise it to 50k = 50000
  lower it to 50k = 50000
  50k for mom and 30k for dad = 50000 30000
  엄마 3만원, 아빠 2만원 = 30000 20000
  친구 3명한테 5만원씩 = 50000
  3명5만원씩 = 50000
  국민110-234-567890으로5만원 = 50000
  25일에5만원 = 50000
  5만 주세요 = 50000
  5만 일단 보내줘 = 50000
  엄마한테 5만 동생한테 3만 = 50000 30000
  5만원 불러 = 50000
  5만원 말고 7만원 = 70000
  send fifty thousand to mom = 50000
  send mom a hundred and fifty thousand please = 150000
  send hundred thousand to mom = 100000
  wire half a million to Kim = 500000
  I want to send half a million won to dad = 500000
  pay 2.5 million for rent = 2500000
  send a grand to Tom = 1000
  엄마한테 삼천만 보내줘 = 30000000
  십만 보내줘 = 100000
  5만원 엄마한테 보내줘 더 빨리 = 50000
  더 빨리 5만원 보내줘 = 50000
  좀 더 빨리 5만원 = 50000
  5만원 송금 두 번 하지 마 = 50000
  엄마한테 5만원 그리고 두부 반 모 = 50000
  메모는 회비 10%로 5만원 보내줘 = 50000
  내일 3시 반에 5만원 = 50000
  5만원 에다 = 50000
`;

test.each(rowsOf(PLAIN))("the amounts in %j stay exact: %s", (sentence, read) => {
  expect(findMoney(sentence).map(shown).join(" ")).toBe(read);
});

test.each([
  "thanks a million",
  "one in a million",
  "5 million people",
  "a thousand thanks",
  "two thousand users",
  "백일 선물",
  "오십 명",
  "이백 개",
  "삼십 분",
  "half past five",
  "half an hour",
])("no amount is found in %j", (sentence) => {
  expect(findMoney(sentence)).toEqual([]);
});
