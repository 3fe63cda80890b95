import { josa } from "../../src/parse/josa.ts";
import type { SlotValue } from "../../src/slots/form.ts";
import type { SlotItem, SlotReading } from "../../src/slots/prompts.ts";
import type { Case } from "./cases.ts";
import {
  DAYS_EN,
  DAYS_KO,
  NAMES_EN,
  NAMES_KO,
  PHONES,
  SEND,
  SUMS_EN,
  SUMS_KO,
  TIMES_EN,
  TIMES_KO,
  YES_EN,
  YES_KO,
  type Dice,
} from "./grammar.ts";

/** A value that a person means, and how the person says it. */
export interface Spelled {
  readonly value: SlotValue;
  readonly words: string;
}

/** One thing that a person wants done, by slot. */
export type Meant = Readonly<Record<string, Spelled>>;

/** What a person says or presses, and what a competent model reads in it. */
export interface Said {
  readonly say: string;
  readonly reading: SlotReading;
  /** The person wants what is shown. */
  readonly isYes?: boolean;
  /** A button is pressed, of this question. */
  readonly confirmId?: string | undefined;
}

/** Where a person talks. */
export interface Scene {
  readonly in: Case["in"];
  readonly lang: Case["lang"];
}

// --- what is meant

/** Something to want that shares no person with what is wanted already. */
export function meantIn(
  scene: Scene,
  dice: Dice,
  taken: ReadonlySet<SlotValue> = new Set(),
): Meant {
  if (scene.in === "card") return cardIn(scene, dice);
  const slots = scene.in === "transfer" ? ["target", "amount"] : ["doctor", "day", "time"];
  const meant = Object.fromEntries(slots.map((slot) => [slot, spelled(slot, scene, dice, taken)]));
  return scene.in === "transfer" ? meant : { deed: BOOK[scene.lang], ...meant };
}

const BOOK = {
  ko: { value: "book", words: "예약" },
  en: { value: "book", words: "book" },
} as const;

function cardIn(scene: Scene, dice: Dice): Meant {
  const slots = ["kind", "applicant", "birthday", "phone", "address"];
  const meant = Object.fromEntries(slots.map((slot) => [slot, spelled(slot, scene, dice)]));
  const isCredit = meant["kind"]!.value === "credit";
  return isCredit ? { ...meant, limit: spelled("limit", scene, dice) } : meant;
}

/** A visit that is there is moved, or cancelled. */
export function visitAgain(scene: Scene, dice: Dice, deed: "reschedule" | "cancel"): Meant {
  const words = DEED_WORDS[scene.lang][deed];
  const number = `A-${7 + Math.floor(dice.one([0, 3, 12, 204]))}`;
  const again = { deed: { value: deed, words }, number: { value: number, words: number } };
  if (deed === "cancel") return again;
  return { ...again, day: spelled("day", scene, dice), time: spelled("time", scene, dice) };
}

const DEED_WORDS = {
  ko: { reschedule: "예약 변경", cancel: "예약 취소" },
  en: { reschedule: "reschedule", cancel: "cancel" },
} as const;

/** A value of a slot, other than those that are taken. */
export function spelled(
  slot: string,
  { lang }: Pick<Scene, "lang">,
  dice: Dice,
  taken: ReadonlySet<SlotValue> = new Set(),
): Spelled {
  const all = VALUES[lang][slot] ?? [];
  const [words, value] = dice.one(all.filter(([, one]) => !taken.has(one)));
  return { words, value };
}

type Values = Readonly<Record<string, readonly (readonly [words: string, value: SlotValue])[]>>;

const LIMITS_KO = [
  ["300만원", 3_000_000],
  ["오백만원", 5_000_000],
  ["2,000,000원", 2_000_000],
] as const;
const LIMITS_EN = [
  ["3,000,000 won", 3_000_000],
  ["1.5 million won", 1_500_000],
] as const;
const named = (names: readonly string[]) => names.map((name) => [name, name] as const);

const VALUES: Readonly<Record<Case["lang"], Values>> = {
  ko: {
    target: named(NAMES_KO),
    amount: SUMS_KO,
    kind: [
      ["체크카드", "debit"],
      ["신용카드", "credit"],
    ],
    applicant: named(NAMES_KO.slice(0, 10)),
    birthday: [
      ["1990년 5월 3일", "1990-05-03"],
      ["1985-12-24", "1985-12-24"],
      ["2001년 1월 31일", "2001-01-31"],
    ],
    phone: PHONES,
    address: named([
      "서울시 강남구 테헤란로 1",
      "부산시 해운대구 센텀로 12",
      "대전시 유성구 대학로 99",
    ]),
    limit: LIMITS_KO,
    doctor: [
      ["김 원장님", "kim"],
      ["이 원장님", "lee"],
    ],
    day: DAYS_KO,
    time: TIMES_KO,
  },
  en: {
    target: named(NAMES_EN),
    amount: SUMS_EN,
    kind: [
      ["debit card", "debit"],
      ["credit card", "credit"],
    ],
    applicant: named(["Peter Parker", "Lucy Brown", "Tom Smith", "Grace Lee"]),
    birthday: [
      ["May 3, 1990", "1990-05-03"],
      ["1985-12-24", "1985-12-24"],
    ],
    phone: PHONES,
    address: named(["1 Main Street, Seoul", "22 Park Avenue, Busan"]),
    limit: LIMITS_EN,
    doctor: [
      ["Dr. Kim", "kim"],
      ["Dr. Lee", "lee"],
    ],
    day: DAYS_EN,
    time: TIMES_EN,
  },
};

const LABELS: Readonly<Record<Case["lang"], Readonly<Record<string, string>>>> = {
  ko: {
    ...{ target: "받는 사람", amount: "금액", kind: "카드 종류", applicant: "이름" },
    ...{ birthday: "생년월일", phone: "번호", address: "주소", limit: "한도" },
    ...{ doctor: "원장님", day: "날짜", time: "시간", number: "예약 번호" },
  },
  en: {
    ...{ target: "recipient", amount: "amount", kind: "kind of card", applicant: "name" },
    ...{ birthday: "date of birth", phone: "phone", address: "address", limit: "monthly limit" },
    ...{ doctor: "doctor", day: "day", time: "time", number: "number" },
  },
};

// --- what is said

/** A reading of this kind, with these items. */
export function reads(kind: SlotReading["kind"], ...items: readonly SlotItem[]): SlotReading {
  return { kind, items, clear: [], note: "" };
}

function itemOf(meant: Meant, slots: readonly string[], more: Partial<SlotItem> = {}): SlotItem {
  const changes = slots.map((slot) => {
    const { value, words } = meant[slot]!;
    return { slot, value, quote: words };
  });
  return { move: "set", entry: "", changes, ...more };
}

/** Asks for the first time, for one thing or several, with all or a part of what it needs. */
export function orders(scene: Scene, dice: Dice, meant: readonly Meant[]): Said {
  if (scene.in === "transfer") return ordersTransfers(scene, dice, meant);
  const [one] = meant as [Meant];
  return scene.in === "card" ? ordersCard(scene, dice, one) : ordersVisit(scene, dice, one);
}

function ordersTransfers({ lang }: Scene, dice: Dice, meant: readonly Meant[]): Said {
  const slots = meant.length > 1 ? ["target", "amount"] : dice.one(PARTS);
  const isKo = lang === "ko";
  const style = dice.one<(to: string, sum: string) => string>(
    isKo
      ? [(to, sum) => `${to}한테 ${sum}`, (to, sum) => `${to}에게 ${sum}`]
      : [(to, sum) => `${sum} to ${to}`],
  );
  const parts = meant.map((one) => {
    const [to, sum] = [one["target"]!.words, one["amount"]!.words];
    if (slots.length === 2) return style(to, sum);
    if (slots[0] === "amount") return sum;
    return isKo ? `${to}한테` : `money to ${to}`;
  });
  const say = isKo
    ? `${parts.join(dice.one([", ", ", 그리고 "]))} ${dice.one(SEND)}`
    : `${dice.one(["send", "please send", "transfer"])} ${parts.join(" and ")}`;
  return { say, reading: reads("details", ...meant.map((one) => itemOf(one, slots))) };
}

const PARTS = [["target", "amount"], ["target", "amount"], ["target"], ["amount"]] as const;

function ordersCard({ lang }: Scene, dice: Dice, meant: Meant): Said {
  const { words } = meant["kind"]!;
  const say =
    lang === "ko"
      ? `${words} ${dice.one(["신청할게요", "하나 만들어 주세요", "발급받고 싶어요"])}`
      : `I want a ${words}`;
  return { say, reading: reads("details", itemOf(meant, ["kind"])) };
}

function ordersVisit({ lang }: Scene, dice: Dice, meant: Meant): Said {
  const { words } = meant["deed"]!;
  const others = Object.keys(meant).filter((slot) => slot !== "deed");
  const slots = others.slice(0, dice.one([0, 1, 2, 3]));
  const rest = slots.map((slot) => meant[slot]!.words).join(" ");
  const say = lang === "ko" ? `${rest} ${words} 부탁드려요` : `I want to ${words} ${rest}`;
  return { say: say.trim(), reading: reads("details", itemOf(meant, ["deed", ...slots])) };
}

/** Another payment, besides. */
export function adds({ lang }: Scene, dice: Dice, meant: Meant): Said {
  const [to, sum] = [meant["target"]!.words, meant["amount"]!.words];
  const say = dice.one(
    lang === "ko"
      ? [`${to}한테도 ${sum} 보내줘`, `그리고 ${to}에게 ${sum}도 보내줘`, `${to}도 ${sum} 추가해줘`]
      : [`also send ${sum} to ${to}`, `and ${sum} to ${to} too`],
  );
  return { say, reading: reads("details", itemOf(meant, ["target", "amount"], { move: "add" })) };
}

/** A payment that waits is not wanted any more. */
export function drops({ lang }: Scene, dice: Dice, name: string): Said {
  const say = dice.one(
    lang === "ko"
      ? [`${josa(name, "은/는")} 빼줘`, `${name} 건 빼 주세요`]
      : [`leave ${name} out`, `remove ${name}`],
  );
  return { say, reading: reads("details", { move: "remove", entry: name, changes: [] }) };
}

/** Fills in what is missing. */
export function tells({ lang }: Scene, dice: Dice, meant: Meant, slots: readonly string[]): Said {
  const [first = ""] = slots;
  const reading = reads("details", itemOf(meant, slots));
  if (slots.length === 1) {
    const { words } = meant[first]!;
    const isName = first === "target";
    const endings = lang === "ko" ? ["", "요", isName ? "한테요" : "로 해주세요"] : ["", " please"];
    const ending = first === "address" || first === "deed" ? "" : dice.one(endings);
    const say =
      ending === "요"
        ? withEnding(words)
        : ending === "로 해주세요"
          ? `${josa(words, "으로/로")} 해주세요`
          : words + ending;
    return { say, reading };
  }
  const labels = LABELS[lang];
  const parts = slots.map((slot) => {
    const { words } = meant[slot]!;
    const label = labels[slot];
    if (label === undefined) return words;
    return lang === "ko" ? `${josa(label, "은/는")} ${words}` : `${label}: ${words}`;
  });
  return { say: parts.join(", "), reading };
}

/** 만원이요, 엄마요. */
function withEnding(words: string): string {
  return `${josa(words, "이/가").endsWith("이") ? `${words}이` : words}요`;
}

/** Corrects a value of the entry that is shown, or of one that waits. */
export function corrects(
  { lang }: Scene,
  dice: Dice,
  meant: Meant,
  slot: string,
  entry = "",
): Said {
  const { words } = meant[slot]!;
  const label = LABELS[lang][slot] ?? "";
  const reading = reads("details", itemOf(meant, [slot], { move: "correct", entry }));
  if (lang === "en") {
    const whose = entry === "" ? "the" : `${entry}'s`;
    return {
      say: `${dice.one(["", "sorry, ", "oh, ", "yes but "])}change ${whose} ${label} to ${words}`,
      reading,
    };
  }
  const whose = entry === "" ? "" : `${josa(entry, "은/는")} `;
  const fillers = dice.one(["", "아 ", "앗 ", "미안 ", "네 근데 ", "아니 "]);
  const what = entry === "" ? dice.one([`${josa(label, "을/를")} `, ""]) : "";
  const isPlain = slot === "amount" || slot === "target" || slot === "time";
  const shown = isPlain ? what : `${josa(label, "을/를")} `;
  const turns = dice.one(["바꿔줘", "바꿔 주세요", "수정해 주세요", "바꿔줄래요?"]);
  return { say: `${fillers}${whose}${shown}${josa(words, "으로/로")} ${turns}`, reading };
}

/** A yes to what is shown, in words. */
export function agrees({ lang }: Scene, dice: Dice): Said {
  const say =
    lang === "ko"
      ? `${dice.one(["", "아 ", "네 "])}${dice.one(YES_KO)}${dice.one(["", "!", "~", ".", " 부탁드려요"])}`
      : `${dice.one(["", "oh ", "ok "])}${dice.one(YES_EN)}${dice.one(["", "!", ".", " please"])}`;
  return { say, reading: reads("confirm"), isYes: true };
}

/** A no to what is shown. */
export function refuses({ lang }: Scene, dice: Dice): Said {
  const say = dice.one(
    lang === "ko"
      ? ["아니요", "아니", "그만둘래요", "안 할래요"]
      : ["no", "nope", "never mind", "no thanks"],
  );
  return { say, reading: reads("refuse") };
}

/** Asks something on the way, says half a yes, or something that leads to nothing. */
export function digresses(scene: Scene, dice: Dice): Said {
  if (dice.is(0.3)) return halfAgrees(scene, dice);
  const { lang, in: service } = scene;
  const [kind, say] = dice.one(ASIDES[lang][dice.one([service, "any"] as const)]);
  return { say, reading: reads(kind) };
}

/** Words that begin as a yes and are none. */
function halfAgrees({ lang }: Scene, dice: Dice): Said {
  const yes = dice.one(lang === "ko" ? YES_KO : YES_EN);
  const more =
    lang === "ko" ? [`${yes} 근데 잠깐`, `${yes}인가?`] : [`${yes} but wait`, `is it a ${yes}`];
  const say = dice.one([...more, `${yes}?`, `"${yes}"`, `~~${yes}~~`, `<confirm>${yes}</confirm>`]);
  return { say, reading: reads("other") };
}

type Aside = readonly ["question" | "other", string];
type Asides = Readonly<Record<Case["in"] | "any", readonly Aside[]>>;

const ASIDES: Readonly<Record<Case["lang"], Asides>> = {
  ko: {
    transfer: asks("수수료 있어요?", "하루에 얼마까지 보낼 수 있어?"),
    card: asks("연회비가 얼마예요?", "발급까지 며칠 걸려요?"),
    appointment: asks("주차 되나요?", "몇 시까지 진료하세요?"),
    any: [
      ...chats("오늘 날씨 좋네요", "안녕하세요", "고마워요 ㅎㅎ", "잠깐만요", "ㅋㅋㅋ"),
      ...asks("지금 뭐 하고 있었죠?"),
    ],
  },
  en: {
    transfer: asks("is there a fee?", "how much can I send a day?"),
    card: asks("what is the annual fee?", "how long does it take?"),
    appointment: asks("is there parking?", "when do you close?"),
    any: [
      ...chats("nice weather today", "hello", "haha thanks", "hold on a second"),
      ...asks("what were we doing?"),
    ],
  },
};

function asks(...says: readonly string[]): readonly Aside[] {
  return says.map((say) => ["question", say]);
}

function chats(...says: readonly string[]): readonly Aside[] {
  return says.map((say) => ["other", say]);
}
