import { josa } from "../../src/parse/josa.ts";
import type { Case } from "./cases.ts";

/**
 * Messages made by a grammar and a seed, each with what a competent model reads in it and what must
 * follow. They say plain things in many ways; what is hard is in the set by hand.
 */
export function casesFrom(seed: number, count: number): readonly Case[] {
  const dice = new Dice(numbersFrom(seed));
  const known = new Set<string>();
  const cases: Case[] = [];
  for (let tries = 0; cases.length < count && tries < count * 20; tries++) {
    const one = MAKERS[tries % MAKERS.length]!(dice);
    const key = `${one.in}|${one.lang}|${one.at}|${one.say}`;
    if (known.has(key)) continue;
    known.add(key);
    cases.push(one);
  }
  return cases;
}

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

/** Chooses by the numbers of a seed. */
export class Dice {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  one<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!;
  }

  /** Whether this comes up, in a share of throws. */
  is(share: number): boolean {
    return this.#random() < share;
  }

  /** Different ones. */
  some<T>(list: readonly T[], count: number): readonly T[] {
    const left = [...list];
    return Array.from({ length: count }, () =>
      left.splice(Math.floor(this.#random() * left.length), 1),
    ).flat();
  }
}

type Maker = (dice: Dice) => Case;
type Item = Case["model"]["items"][number];

export const NAMES_KO = (
  "김민수 이서연 박지훈 최유진 정하늘 강도윤 조수빈 윤예린 장시우 임나래 한지민 오세훈 신동엽 서현 " +
  "엄마 아빠 할머니 이모 삼촌 누나 동생 남편 민준 지은 예은 마이클"
).split(" ");
export const NAMES_EN =
  "Peter Lucy Anna Tom Grace Kevin Olivia Daniel Sophie Brian Emma Jack Mia Noah Chloe".split(" ");

export const SUMS_KO = [
  ...[["만원", 10_000] as const, ["5만원", 50_000], ["3만 5천원", 35_000], ["12만원", 120_000]],
  ...[
    ["50,000원", 50_000] as const,
    ["오만원", 50_000],
    ["백만원", 1_000_000],
    ["7만5천원", 75_000],
  ],
  ...[["8천원", 8_000] as const, ["삼십만원", 300_000], ["１５만원", 150_000], ["2.5만원", 25_000]],
  ...[["천이백만원", 12_000_000] as const, ["1억 2천만원", 120_000_000], ["₩45,000", 45_000]],
] as const;
export const SUMS_EN = [
  ...[
    ["50,000 won", 50_000] as const,
    ["20k won", 20_000],
    ["15k", 15_000],
    ["70,000 won", 70_000],
  ],
  ...[["half a million won", 500_000] as const, ["thirty-five thousand won", 35_000]],
  ...[
    ["₩45,000", 45_000] as const,
    ["a hundred thousand won", 100_000],
    ["1.5 million won", 1_500_000],
  ],
  ...[["12 grand", 12_000] as const, ["80000 won", 80_000], ["KRW 60,000", 60_000]],
] as const;
const TO = ["한테", "에게", "께"];
export const SEND = [
  "보내줘",
  "보내 주세요",
  "이체해 줘",
  "송금해 주세요",
  "부쳐줘",
  "쏴줘",
  "보내줄래요",
];
const FILLERS_KO = ["", "", "아 ", "음 ", "저기 ", "앗 ", "아차 ", "미안 ", "그럼 ", "저기요 "];
const FILLERS_EN = ["", "", "um, ", "oh, ", "hey ", "ok so ", "well, ", "uh "];

function item(changes: Item["changes"], more: Partial<Item> = {}): Item {
  return { move: "set", entry: "", changes, ...more };
}

function details(
  place: Pick<Case, "in" | "lang" | "at" | "say">,
  items: readonly Item[],
  want: Case["want"],
): Case {
  return { ...place, model: { kind: "details", items: [...items], clear: [] }, want };
}

function said(
  place: Pick<Case, "in" | "lang" | "at" | "say">,
  kind: Case["model"]["kind"],
  want: Case["want"],
): Case {
  return { ...place, model: { kind, items: [], clear: [] }, want };
}

const READY_KO = { target: "홍길동", amount: 30_000 };
const READY_EN = { target: "John", amount: 30_000 };

/** Orders of one and of several people. */
const ORDERS: readonly Maker[] = [
  (dice) => {
    const [to, [sum, won]] = [dice.one(NAMES_KO), dice.one(SUMS_KO)];
    const at = dice.one(TO);
    const say = `${dice.one(FILLERS_KO)}${to}${at} ${sum} ${dice.one(SEND)}`;
    const changes: Item["changes"] = [
      ["target", to, `${to}${at}`],
      ["amount", won, sum],
    ];
    return details({ in: "transfer", lang: "ko", at: "empty", say }, [item(changes)], {
      entries: [{ target: to, amount: won }],
    });
  },
  (dice) => {
    const [to, [sum, won]] = [dice.one(NAMES_EN), dice.one(SUMS_EN)];
    const verb = dice.one(["send", "please send", "transfer", "can you send", "wire"]);
    const say = `${dice.one(FILLERS_EN)}${verb} ${sum} to ${to}`;
    const changes: Item["changes"] = [
      ["target", to, `to ${to}`],
      ["amount", won, sum],
    ];
    return details({ in: "transfer", lang: "en", at: "empty", say }, [item(changes)], {
      entries: [{ target: to, amount: won }],
    });
  },
  (dice) => {
    const people = dice.some(NAMES_KO, 2 + Math.floor(dice.one([0, 0, 1])));
    const sums = people.map(() => dice.one(SUMS_KO.slice(0, 8)));
    const style = dice.one<(to: string, sum: string) => string>([
      (to, sum) => `${to}한테 ${sum}`,
      (to, sum) => `${josa(to, "은/는")} ${sum}`,
      (to, sum) => `${to} ${sum}`,
      (to, sum) => `${to}: ${sum}`,
      (to, sum) => `${to} 용돈 ${sum}`,
      (to, sum) => `${to}에게는 ${sum}`,
    ]);
    const parts = people.map((to, place) => style(to, sums[place]![0]));
    const say = `${parts.join(dice.one([", ", ", 그리고 ", " "]))} ${dice.one(SEND)}`;
    const items = people.map((to, place) =>
      item([
        ["target", to, to],
        ["amount", sums[place]![1], sums[place]![0]],
      ]),
    );
    const entries = people.map((target, place) => ({ target, amount: sums[place]![1] }));
    return details({ in: "transfer", lang: "ko", at: "empty", say }, items, { entries });
  },
  (dice) => {
    const people = dice.some(NAMES_EN, 2);
    const sums = people.map(() => dice.one(SUMS_EN.slice(0, 4)));
    const style = dice.one<(to: string, sum: string) => string>([
      (to, sum) => `${sum} to ${to}`,
      (to, sum) => `${sum} for ${to}`,
    ]);
    const parts = people.map((to, place) => style(to, sums[place]![0]));
    const say = `${dice.one(["send ", "please send ", ""])}${parts.join(" and ")}${dice.one(["", " please"])}`;
    const items = people.map((to, place) =>
      item([
        ["target", to, to],
        ["amount", sums[place]![1], sums[place]![0]],
      ]),
    );
    const entries = people.map((target, place) => ({ target, amount: sums[place]![1] }));
    return details({ in: "transfer", lang: "en", at: "empty", say }, items, { entries });
  },
  (dice) => {
    const people = dice.some(NAMES_KO, 3);
    const [sum, won] = dice.one(SUMS_KO.slice(0, 8));
    const say = dice.one([
      `${people.join(", ")}한테 각각 ${sum} ${dice.one(SEND)}`,
      `${people[0]}랑 ${people[1]}랑 ${people[2]}한테 ${sum}씩 ${dice.one(SEND)}`,
    ]);
    const items = people.map((to) =>
      item([
        ["target", to, to],
        ["amount", won, sum],
      ]),
    );
    const entries = people.map((target) => ({ target, amount: won }));
    return details({ in: "transfer", lang: "ko", at: "empty", say }, items, { entries });
  },
];

/** Changes, more people, fewer people. */
const CHANGES: readonly Maker[] = [
  (dice) => {
    const [sum, won] = dice.one(SUMS_KO.slice(0, 12));
    const say = `${dice.one(FILLERS_KO)}${dice.one([
      `${josa(sum, "으로/로")} 바꿔줘`,
      `금액을 ${josa(sum, "으로/로")} 해줘`,
      `아니다 ${josa(sum, "으로/로")}`,
      `${josa(sum, "으로/로")} 수정해 주세요`,
    ])}`;
    const changes: Item["changes"] = [["amount", won, sum]];
    return details(
      { in: "transfer", lang: "ko", at: "ready", say },
      [item(changes, { move: "correct" })],
      {
        entries: [{ ...READY_KO, amount: won }],
      },
    );
  },
  (dice) => {
    const [sum, won] = dice.one(SUMS_EN);
    const say = `${dice.one(FILLERS_EN)}${dice.one([`make it ${sum}`, `change it to ${sum}`, `${sum} instead`])}`;
    return details(
      { in: "transfer", lang: "en", at: "ready", say },
      [item([["amount", won, sum]], { move: "correct" })],
      { entries: [{ ...READY_EN, amount: won }] },
    );
  },
  (dice) => {
    const to = dice.one(NAMES_KO);
    const say = dice.one([
      `받는 사람을 ${josa(to, "으로/로")} 바꿔줘`,
      `${josa(to, "으로/로")} 변경`,
      `홍길동 말고 ${to}한테`,
      `아 ${to}이었어`,
      `수신자를 ${josa(to, "으로/로")}`,
      `아니 ${to}한테 보내줘`,
    ]);
    return details(
      { in: "transfer", lang: "ko", at: "ready", say },
      [item([["target", to, to]], { move: "correct" })],
      { entries: [{ ...READY_KO, target: to }] },
    );
  },
  (dice) => {
    const to = dice.one(NAMES_EN);
    const say = dice.one([
      `oh wait, send it to ${to}`,
      `not John, ${to}`,
      `the recipient is ${to}`,
      `make it ${to} instead`,
      `actually to ${to}`,
      `sorry, I meant ${to}`,
    ]);
    return details(
      { in: "transfer", lang: "en", at: "ready", say },
      [item([["target", to, to]], { move: "correct" })],
      { entries: [{ ...READY_EN, target: to }] },
    );
  },
  (dice) => {
    const [to, [sum, won]] = [dice.one(NAMES_KO), dice.one(SUMS_KO.slice(0, 8))];
    const say = dice.one([
      `${to}한테도 ${sum} 보내줘`,
      `${to} ${sum}도 추가`,
      `그리고 ${to}에게 ${sum}도 보내줘`,
      `${to}도 ${sum} 추가해줘`,
    ]);
    return details(
      { in: "transfer", lang: "ko", at: "ready", say },
      [
        item(
          [
            ["target", to, to],
            ["amount", won, sum],
          ],
          { move: "add" },
        ),
      ],
      { entries: [READY_KO, { target: to, amount: won }] },
    );
  },
  (dice) => {
    const [to, [sum, won]] = [dice.one(NAMES_EN), dice.one(SUMS_EN.slice(0, 4))];
    const say = dice.one([
      `also send ${sum} to ${to}`,
      `and ${sum} to ${to} too`,
      `add ${to} with ${sum}`,
    ]);
    return details(
      { in: "transfer", lang: "en", at: "ready", say },
      [
        item(
          [
            ["target", to, to],
            ["amount", won, sum],
          ],
          { move: "add" },
        ),
      ],
      { entries: [READY_EN, { target: to, amount: won }] },
    );
  },
  (dice) => {
    const say = dice.one([
      ...["아빠는 빼줘", "아빠는 빼고 보내줘", "아빠 건 빼 주세요", "아빠한테는 안 보낼래"],
      ...["아빠는 제외해줘", "아빠는 취소하고 엄마만"],
    ]);
    return details(
      { in: "transfer", lang: "ko", at: "batch", say },
      [item([], { move: "remove", entry: "아빠" })],
      { entries: [{ target: "엄마", amount: 50_000 }] },
    );
  },
  (dice) => {
    const [sum, won] = dice.one(SUMS_KO.slice(0, 8));
    const say = `아빠는 ${josa(sum, "으로/로")} ${dice.one(["바꿔줘", "해줘", "수정"])}`;
    return details(
      { in: "transfer", lang: "ko", at: "batch", say },
      [item([["amount", won, sum]], { move: "correct", entry: "아빠" })],
      {
        entries: [
          { target: "엄마", amount: 50_000 },
          { target: "아빠", amount: won },
        ],
      },
    );
  },
];

/** Sums that the words compute, and days that they do not number. */
const DERIVED: readonly Maker[] = [
  (dice) => {
    const [more, won] = dice.one([
      ["5천원", 5_000],
      ["만원", 10_000],
      ["2만원", 20_000],
    ] as const);
    const [say, amount] = dice.one<readonly [string, number]>([
      [`${more} 더 보내줘`, 30_000 + won],
      [`${more}만 더`, 30_000 + won],
      [`${more} 깎아서 보내줘`, 30_000 - won],
      [`${more} 빼고 보내줘`, 30_000 - won],
      [`${more} 덜 보내줘`, 30_000 - won],
    ]);
    return details(
      { in: "transfer", lang: "ko", at: "ready", say },
      [item([["amount", amount, say]], { move: "correct" })],
      { entries: [{ ...READY_KO, amount }], derived: ["amount"] },
    );
  },
  (dice) => {
    const [say, amount] = dice.one<readonly [string, number]>([
      ["반만 보내줘", 15_000],
      ["절반으로 줄여줘", 15_000],
      ["두 배로 해줘", 60_000],
      ["두배로 보내줘", 60_000],
      ["10프로 더 보내줘", 33_000],
      ["세 배로 해줘", 90_000],
    ]);
    return details(
      { in: "transfer", lang: "ko", at: "ready", say },
      [item([["amount", amount, say]], { move: "correct" })],
      { entries: [{ ...READY_KO, amount }], derived: ["amount"] },
    );
  },
  (dice) => {
    const [say, amount] = dice.one<readonly [string, number]>([
      ["half of that please", 15_000],
      ["double it", 60_000],
      ["make it 5,000 won more", 35_000],
      ["10% more", 33_000],
      ["5,000 won less", 25_000],
      ["twice as much", 60_000],
    ]);
    return details(
      { in: "transfer", lang: "en", at: "ready", say },
      [item([["amount", amount, say]], { move: "correct" })],
      { entries: [{ ...READY_EN, amount }], derived: ["amount"] },
    );
  },
  (dice) => {
    const [day, date] = dice.one<readonly [string, string]>([
      ["금요일", "2026-11-20"],
      ["토요일", "2026-11-21"],
      ["크리스마스", "2026-12-25"],
      ["다음 주 월요일", "2026-11-23"],
    ]);
    const say = `${day}에 ${dice.one(SEND)}`;
    return details(
      { in: "transfer", lang: "ko", at: "ready", say },
      [item([["transfer_date", date, `${day}에`]], { move: "correct" })],
      { entries: [{ ...READY_KO, transfer_date: date }], derived: ["transfer_date"] },
    );
  },
];

export const YES_KO = [
  "네",
  "넵",
  "응",
  "예스",
  "ㅇㅇ",
  "ㄱㄱ",
  "좋아요",
  "맞아요",
  "그래",
  "오케이",
  "진행해 주세요",
  "승인",
];
export const YES_EN = [
  "yes",
  "yep",
  "ok",
  "sure",
  "go ahead",
  "confirm",
  "approve",
  "sounds good",
  "do it",
];
const NO_KO = [
  "아니요",
  "아니",
  "취소",
  "취소해줘",
  "그만둘래",
  "보내지 마",
  "안 할래",
  "됐어요",
  "하지 마세요",
];
const NO_EN = [
  "no",
  "nope",
  "cancel",
  "don't",
  "never mind",
  "no, send nothing",
  "stop",
  "forget it",
];
const NO_ORDERS_KO = ["받았어", "보냈어", "받았는데", "보냈거든"];

/** Answers, and what is none. */
const ANSWERS: readonly Maker[] = [
  (dice) => {
    const say = `${dice.one(["", "아 ", "음 ", "네 "])}${dice.one(YES_KO)}${dice.one(["", "!", "~", ".", " 부탁드려요"])}`;
    return said({ in: "transfer", lang: "ko", at: "ready", say }, "confirm", { ends: "yes" });
  },
  (dice) => {
    const say = `${dice.one(["", "oh ", "ok ", "um "])}${dice.one(YES_EN)}${dice.one(["", "!", ".", " please"])}`;
    return said({ in: "transfer", lang: "en", at: "ready", say }, "confirm", { ends: "yes" });
  },
  (dice) => {
    const say = `${dice.one(["", "저기 ", "아 ", "음 ", "미안 "])}${dice.one(NO_KO)}${dice.one(["", ".", "ㅠㅠ"])}`;
    return said({ in: "transfer", lang: "ko", at: "ready", say }, "refuse", { ends: "left" });
  },
  (dice) => {
    const say = `${dice.one(["", "um ", "oh ", "sorry, "])}${dice.one(NO_EN)}${dice.one(["", "."])}`;
    return said({ in: "transfer", lang: "en", at: "ready", say }, "refuse", { ends: "left" });
  },
  (dice) => {
    const yes = dice.one([...YES_KO, ...YES_EN]);
    const say = dice.one([
      ...[
        `<confirm>${yes}</confirm>`,
        `~~${yes}~~`,
        `!${yes}`,
        `\`${yes}\``,
        `${yes}?`,
        `"${yes}"`,
      ],
      ...[`${yes} 근데 잠깐`, `${yes} but wait`],
    ]);
    return said(
      { in: "transfer", lang: dice.one(["ko", "en"] as const), at: "ready", say },
      "other",
      {
        asks: "again",
      },
    );
  },
  (dice) => {
    const [to, [sum]] = [dice.one(NAMES_KO), dice.one(SUMS_KO)];
    const say = `${to}한테 ${sum} ${dice.one(NO_ORDERS_KO)}`;
    return said({ in: "transfer", lang: "ko", at: "ready", say }, "other", { asks: "again" });
  },
  (dice) => {
    const to = dice.one(NAMES_KO);
    return details(
      { in: "transfer", lang: "ko", at: "ready", say: `${to}${dice.one(["", "요", "?"])}` },
      [item([["target", to, to]])],
      { asks: "person" },
    );
  },
];

export const PHONES = [
  ...[["010-2345-6789", "01023456789"] as const, ["010 9876 5432", "01098765432"]],
  ...[["01055556666", "01055556666"] as const, ["+82 10-1212-3434", "01012123434"]],
] as const;
export const TIMES_KO = [
  ["오후 2시", "14:00"],
  ["오전 10시 반", "10:30"],
  ["16시", "16:00"],
  ["오후 3시 30분", "15:30"],
] as const;
export const TIMES_EN = [
  ["2pm", "14:00"],
  ["10:30am", "10:30"],
  ["4 pm", "16:00"],
  ["3:30pm", "15:30"],
] as const;
export const DAYS_KO = [
  ["내일", "2026-11-19"],
  ["모레", "2026-11-20"],
  ["12월 3일", "2026-12-03"],
] as const;
export const DAYS_EN = [
  ["tomorrow", "2026-11-19"],
  ["December 3", "2026-12-03"],
  ["Nov 25", "2026-11-25"],
] as const;

/** Cards and appointments. */
const OTHERS: readonly Maker[] = [
  (dice) => {
    const [word, kind] = dice.one([
      ["체크카드", "debit"],
      ["체크", "debit"],
      ["신용카드", "credit"],
    ] as const);
    const say = `${word} ${dice.one(["신청할게요", "만들고 싶어요", "하나 만들어 주세요", "발급받고 싶어"])}`;
    return details({ in: "card", lang: "ko", at: "empty", say }, [item([["kind", kind, word]])], {
      entries: [{ kind }],
    });
  },
  (dice) => {
    const [shown, phone] = dice.one(PHONES);
    const say = `${dice.one(["번호는 ", "휴대폰 ", "", "제 번호 "])}${shown}${dice.one(["", "이에요", "입니다"])}`;
    return details(
      { in: "card", lang: "ko", at: "filling", say },
      [item([["phone", phone, shown]])],
      {
        entries: [{ kind: "debit", applicant: "홍길동", phone }],
      },
    );
  },
  (dice) => {
    const [shown, phone] = dice.one(PHONES);
    const say = `${dice.one(["my number is ", "phone: ", "", "it's "])}${shown}`;
    return details(
      { in: "card", lang: "en", at: "filling", say },
      [item([["phone", phone, shown]])],
      {
        entries: [{ kind: "debit", applicant: "John Smith", phone }],
      },
    );
  },
  (dice) => {
    const [[day, date], [time, clock]] = [dice.one(DAYS_KO), dice.one(TIMES_KO)];
    const [doctor, value] = dice.one([
      ["김 원장님", "kim"],
      ["이 원장님", "lee"],
    ] as const);
    const say = `${day} ${time}에 ${doctor} ${dice.one(["예약해 주세요", "예약할게요", "진료 예약 부탁드려요"])}`;
    const changes: Item["changes"] = [
      ...([
        ["deed", "book", "예약"],
        ["doctor", value, doctor],
      ] as Item["changes"]),
      ...([
        ["day", date, day],
        ["time", clock, time],
      ] as Item["changes"]),
    ];
    return details({ in: "appointment", lang: "ko", at: "empty", say }, [item(changes)], {
      entries: [{ deed: "book", doctor: value, day: date, time: clock }],
    });
  },
  (dice) => {
    const [[day, date], [time, clock]] = [dice.one(DAYS_EN), dice.one(TIMES_EN)];
    const say = `${dice.one(["", "let's say ", "how about "])}${day} at ${time}`;
    return details(
      { in: "appointment", lang: "en", at: "filling", say },
      [
        item([
          ["day", date, day],
          ["time", clock, time],
        ]),
      ],
      { entries: [{ deed: "book", doctor: "kim", day: date, time: clock }] },
    );
  },
  (dice) => {
    const number = `A-${1 + Math.floor(dice.one([1, 4, 6, 11, 37, 204]))}`;
    const [say, quote] = dice.one<readonly [string, string]>([
      [`예약 ${number} 취소해 주세요`, "취소"],
      [`${number} 예약 취소하고 싶어요`, "예약 취소"],
      [`I want to cancel ${number}`, "cancel"],
      [`please cancel my appointment ${number}`, "cancel my appointment"],
    ]);
    const lang = /[가-힣]/u.test(say) ? "ko" : "en";
    return details(
      { in: "appointment", lang, at: "empty", say },
      [
        item([
          ["deed", "cancel", quote],
          ["number", number, number],
        ]),
      ],
      { entries: [{ deed: "cancel", number }] },
    );
  },
  (dice) => {
    const say = dice.one(["취소", "취소해줘", "취소할래요", "취소요", "cancel"]);
    return said({ in: "appointment", lang: "ko", at: "cancelling", say }, "confirm", {
      asks: "again",
    });
  },
  (dice) => {
    const say = dice.one(["예약 취소하기", ...YES_KO]);
    return said({ in: "appointment", lang: "ko", at: "cancelling", say }, "confirm", {
      ends: "yes",
    });
  },
  (dice) => {
    const say = dice.one(["그만두기", "아니요", "아니", "안 할래", "그만", "그만둘래"]);
    return said({ in: "appointment", lang: "ko", at: "cancelling", say }, "refuse", {
      ends: "left",
    });
  },
];

const MAKERS: readonly Maker[] = [...ORDERS, ...CHANGES, ...DERIVED, ...ANSWERS, ...OTHERS];
