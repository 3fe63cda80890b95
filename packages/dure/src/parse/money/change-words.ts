/**
 * Words that make another value of an amount, as patterns over a folded line. In them `<base>` is an
 * amount that is changed, `<by>` one by which, `<any>` any, and `…{12}` up to twelve characters of one
 * sentence without an amount. The groups `count` and `parts` are numbers that are no amounts: 3 and 2
 * of two thirds.
 */
import { COUNTING_WORDS, LONG_SCALE_WORDS } from "./english-number.ts";

/** What words do to an amount. */
export type ChangeHow =
  | "more"
  | "less"
  /** All but an amount: 만원만 남기고 다. */
  | "except"
  | "part"
  | "times"
  | "percent"
  | "percent-more"
  | "percent-less"
  | "split"
  | "all"
  | "same"
  /** Of an amount that is not wholly read, or changed by what is no amount: 5만원에서 수수료 빼고. */
  | "unknown";

/** Between a Korean amount and its verb: 5천원만 좀, 만원은 아빠한테. */
const GAP =
  "(?:만큼|만|을|를|은|는|이|가|도)?(?: ?(?:좀|조금|또|정도))?" +
  "(?: (?:[거여]기(?:서|에다가?|에)|[가-힣]{1,8}(?:한테|에게|께)(?:도|만|는)?))? ?";
const SENDS = "해|줘|주세|주라|주고|줄게|줄래|보내|부쳐|쏴|넣|송금|이체|입금|드|받";
const MORE =
  `(?:더(?![가-힣])|더(?=${SENDS}|얹|붙|올|하|추가|늘|많|필요|내야|낼)|추가|보태|얹|플러스|` +
  "올려|올리|올린|인상|늘려|늘리|많게|비싸게|높여|높이)";
const LESS =
  `(?:더 ?)?(?:덜(?![가-힣])|덜(?=어|고|내|${SENDS})|깎|깍|빼(?!먹|놓|빼)|뺀|뺄|제하고|제외|줄여|줄이|` +
  "줄인|낮춰|낮추|내려(?!고|는)|내리|할인|차감|감액|적게|싸게|떼(?=고|서|어)|네고|세일)";
/** 3만원에서 5천원 빼고 */
const FROM = "(?:<base>(?:에서|에다가?|에|보다|하고) ?)?";
/** 3만원의 반 */
const OF = "<base>(?:의|에서|에)? ?";
const MAYBE_OF = `(?:${OF})?`;
const ENTIRE = "the (?:whole|full|entire) (?:amount|balance|thing|lot)";
const WHOLE = `(?:everything|all(?: of it)?|it all|${ENTIRE})`;
const THAT = "(?:it|that|this|the (?:amount|sum|total)|what|last time(?:'?s)?)";
const RAISE = "(?:increas|rais|bump|boost|up|higher|more|add)[a-z]*(?: [a-z]+){0,3}?";
const LOWER = "(?:reduc|lower|decreas|drop|cut|down|less|trim|shav|deduct)[a-z]*(?: [a-z]+){0,3}?";
const NATIVE = "두|세|네|다섯|여섯|일곱|여덟|아홉|열";
const FEW = "two|three|four|five|six|seven|eight|nine|ten";
const PIECES = "(?:개|잔|병|그릇|권|인분|명분|명|판|마리|시간)(?:치|분)?(?![가-힣]{2})";
const COUNT = `(?<count>\\d{1,4}(?:\\.\\d{1,3})?|${NATIVE})`;
const PERCENT =
  "(?<![\\d.,])(?<count>\\d{1,3}(?:\\.\\d{1,2})?|(?<![가-힣])[일이삼사오육칠팔구십백]{1,5}|(?<![a-z])" +
  `(?:${COUNTING_WORDS})) ?(?:%|percent(?![a-z])|pct(?![a-z])|퍼센트|프로(?!필|젝|그램)|퍼(?![가-힣]))`;
const PART =
  "(?:(?<![a-z])(?<parts>an?|one|two|three) )?(?<![a-z])(?<count>half|third|quarter|fourth|fifth|tenth)s?";
const ONE_OF =
  "(?<count>\\d{1,2}|[이삼사오육칠팔구십])분의 ?(?<parts>\\d{1,2}|[일이삼사오육칠팔구])";
const SPLIT =
  "(?:나눠|나누(?=어|고|기|는|면|자|지)|나눈|나눌|쪼개|등분|" +
  "[n엔] ?분의 ?(?:1|일)|1 ?/ ?n(?![a-z])|[n엔] ?빵|뿜빠이|더치페이|반반(?!치킨|피자|무)|반씩|" +
  "(?<![a-z])(?:split|splitting|divided?|dividing|go(?:ing)? halves|fifty[- ]fifty|50[-/ ]50)(?![a-z]))";
/** 반씩 나눠서, split 50/50 */
const SPLITS = `${SPLIT}(?:…{4}${SPLIT})?`;
/** Everything is fine says nothing about an amount. */
const NO_VERDICT = "(?![a-z]| (?:is|was|are|looks?)(?![a-z]))";
const FEES = "(?:fees?|tax(?:es)?|tip|vat|charges?|commission|interest|discount)";
const BEFORE = "(?:the )?(?:last (?:time|month|week|one)|before|previously)";
const CUT_IN = "(?:(?:split|cut|divided?)(?: (?:it|that|<base>))? )?in";
/** half an hour, half past five */
const NO_TIME = "(?! (?:an?|past|hour|million|of))(?![a-z])";
/** 전부 보내줘, and not 전부 취소해줘. */
const IS_SENT = `(?:으로|로|을|를)?(?: [가-힣]{1,8}(?:한테|에게|께))? ?(?:$|[.!~]|${SENDS})`;

/** In the order in which they are looked for: what is longer before what is a part of it. */
export const CHANGE_WORDS: readonly (readonly [how: ChangeHow, ...patterns: string[]])[] = [
  [
    "percent-less",
    `${MAYBE_OF}${PERCENT}(?:만큼|만|를|을)?(?: ?정도)? ?${LESS}`,
    `${PERCENT} (?:less|off|lower|cheaper|discount|down)(?![a-z])(?: (?:than|of|from|on))?(?: (?:the |that )?<base>)?`,
    `${LOWER} by ${PERCENT}`,
    `<base> ?(?:minus|less|-) ?${PERCENT}`,
  ],
  [
    "percent-more",
    `${MAYBE_OF}${PERCENT}(?:만큼|만|를|을)?(?: ?정도)? ?${MORE}`,
    `${PERCENT} (?:more|extra|higher|on top|up)(?![a-z])(?: (?:than|of|on))?(?: (?:the |that )?<base>)?`,
    `${RAISE} by ${PERCENT}`,
    `(?:<base> ?)?(?:(?<![a-z])(?:add|plus)|\\+) ?${PERCENT}`,
  ],
  [
    "percent",
    `<base>(?:의|에서) ?${PERCENT}`,
    `(?:그거|그것|이거|금액|그 돈)의 ?${PERCENT}`,
    `${PERCENT}(?:만|어치)(?![가-힣])`,
    `${PERCENT} (?:of )?(?:(?:the|that|this) )?<base>`,
    `${PERCENT} of ${THAT}`,
  ],
  [
    "except",
    `<by>${GAP}(?:빼고|빼놓고|뺀|제외하고|제외한|제하고|남기고|남겨 ?[두놓]고|냅두고) ?(?:나머지|다(?![가-힣])|다(?=${SENDS})|전부|모두|싹|몽땅|전액|전체)`,
    `<by>${GAP}(?:남기고|남겨 ?[두놓]고|냅두고)`,
    `${WHOLE},? (?:except|but|minus|less|apart from|other than|save)(?: for)? <by>`,
    "(?<![a-z])(?:except(?: for)?|keep|keeping|leaving) <by>",
  ],
  [
    "less",
    "<base> ?(?:빼기|minus|less) ?<by>",
    `${FROM}<by>${GAP}${LESS}`,
    "<by> (?:less than|off(?: of)?|from|below) <base>",
    "<by> (?:less|off|lower|cheaper|fewer)(?![a-z])(?! to )",
    "(?<![a-z])(?:subtract|deduct|deducting|minus|less|cut|trim|(?:take|knock|shave) off) <by>",
    `(?<![a-z])${LOWER} by <by>`,
  ],
  [
    "more",
    "<base> ?(?:더하기|플러스|plus|\\+) ?<by>",
    `${FROM}<by>${GAP}${MORE}`,
    "<by> (?:more than|on top of|added to|over) <base>",
    "<by> (?:more|extra|additional|on top|higher|added)(?![a-z])(?! or less)",
    "(?<![a-z])(?:another|extra|additional|add|adding|plus|플러스) <by>",
    "\\+ ?<by>",
    `(?<![a-z])${RAISE} by <by>`,
  ],
  [
    "part",
    `${OF}(?:절반|반절|반)(?:만|으로|을|은|씩|이|에)?(?![가-힣])`,
    `${MAYBE_OF}${ONE_OF}`,
    `${OF}(?<parts>\\d{1,2})/(?<count>\\d{1,2})(?!\\d)`,
    "(?:절반|반절|반값|반액)(?:으로|만|을|은)?",
    "(?<!(?:시|시간|달|년|주|개월|학년|\\d) ?)(?<![가-힣\\d])반(?:으로(?: ?(?:나[눠누]|쪼개|갈라))?|만큼?)(?![가-힣]*일)",
    `${PART} (?:of )?(?:(?:the|that|this) )?<base>`,
    `(?<parts>\\d{1,2})/(?<count>\\d{1,2}) of (?:(?:the )?<base>|${THAT})`,
    `(?<![a-z])(?<count>half) (?:of )?(?:${THAT}|as much)(?![a-z])`,
    `${PART} of ${THAT}(?![a-z])`,
    `(?<![a-z])(?:make (?:it|that)|just|only|by|${CUT_IN}) (?<count>half)${NO_TIME}`,
    "(?<![a-z])halve[ds]?(?: (?:it|that|the amount|<base>))?(?![a-z])",
    "^ ?(?<count>half)(?= ?(?:please|only|$|[.!]))",
  ],
  [
    "times",
    `${MAYBE_OF}(?<![\\d가-힣])${COUNT} ?배(?:로|만큼|만|를|가)?(?![가-힣])`,
    `${MAYBE_OF}(?<![\\d가-힣])${COUNT} ?배(?:로|만큼|만|를)?(?=야|예|요|이|${SENDS})`,
    `${MAYBE_OF}(?<count>갑절|곱절|더블|따블)(?=로|만|을|예|이|$|[.!])(?:로|만|을)?`,
    "(?:<base>의? ?)?(?<![가-힣])배로(?![가-힣])",
    `<base> ?(?:곱하기|times|x|×|\\*) ?(?<count>\\d{1,4}|${NATIVE}|${FEW})(?![a-z])`,
    "(?<![\\d.,])(?<count>\\d{1,3}) ?(?:x|×|\\*) ?<base>",
    `<base> ?(?:짜리|권|지폐)? ?(?<count>\\d{1,3}|${NATIVE}) ?(?:장|매)(?![가-힣]{2})`,
    `<base> ?짜리 ?(?:[가-힣]{1,6} )?(?<count>\\d{1,3}|${NATIVE}) ?${PIECES}`,
    `(?:시급|개당|잔당|시간당|인당) ?<base>(?:에|으로|씩|이고)?,? ?(?<count>\\d{1,3}|${NATIVE}) ?${PIECES}`,
    `(?<![a-z])(?<count>double|twice|triple|quadruple) (?:(?:of|the|that|as much as) )?<base>`,
    `(?<![a-z])(?<count>double|triple|quadruple) ${THAT}(?![a-z])`,
    "(?<![a-z])make (?:it|that) (?:a )?(?<count>double|triple)(?![a-z])",
    "^ ?(?<count>double|triple)(?= ?(?:please|$|[.!]))",
    `(?<![a-z])(?<count>twice) (?:${THAT}|as much)(?![a-z])`,
    `(?<![a-z\\d.])(?<count>${FEW}|\\d{1,3}(?:\\.\\d{1,2})?) times (?:<base>|${THAT}|as much)`,
    "(?:<base> )?(?<![a-z])(?<count>doubled|tripled)(?![a-z])",
    "(?<![a-z\\d.])(?<count>\\d{1,2}) ?x(?![a-z\\d])",
  ],
  [
    "split",
    "<base> ?(?:÷|/|나누기|divided by|over) ?(?<count>\\d{1,2})(?![\\d월일])",
    `<base>…{40}${SPLITS}`,
    `${SPLITS}[가-힣]{0,2}…{16}<base>`,
    SPLITS,
  ],
  [
    "same",
    "(?:(?:지난|저|먼저)(?:번|달|주|회)|전(?=이랑|과|하고|번)번?)(?:에 보낸 ?(?:거|것|금액)?)?(?:이랑은?|랑|과|와|하고)? ?(?:같은|똑같|동일|만큼|처럼|대로)",
    `(?<![a-z])(?:the )?(?:same|like|as)(?: (?:amount|sum|much))?(?: as)? ${BEFORE}(?![a-z])`,
    "(?<![a-z])last time'?s? amount",
  ],
  [
    "all",
    "(?:싹 ?다|전부(?: ?다)?|전액|몽땅|통째로|있는 (?:대로(?: ?다)?|거 다)|" +
      `(?:남은 (?:거|것|돈)|잔액) ?(?:전부|다|모두))(?=${IS_SENT})`,
    `(?<![a-z])(?:all of (?:it|that)|all (?:my|the) money|all i have|${ENTIRE})${NO_VERDICT}`,
    `(?:(?<![a-z])(?:send|transfer|wire|pay|give)(?: [a-z]+)? |^ ?)(?:everything|it all)${NO_VERDICT}`,
  ],
  [
    "unknown",
    "<any>에서 …{12}(?:빼|뺀|제하|제외|떼|깎|깍|차감)",
    "<any>보다",
    `<any> ?${PERCENT}`,
    "<any> ?(?:중|가운데)(?:에서?)?(?![가-힣])",
    "<any> ?(?:짜리(?= ?(?:\\d|[한두세네] ))|권(?![가-힣])|차이|차액)",
    "<any>(?:에|에다)? ?(?:수수료|세금|부가세|이자|팁|배송비)(?:를|을|도|는)? ?(?:포함|별도|더|빼|추가|합)",
    "(?:수수료|세금|부가세|이자|배송비)(?:를|을|는)? ?(?:포함|별도|제외|빼고|더해)(?:해서|하고|한|서)? ?<any>",
    "<any>,? (?:plus|minus|less|without|before|after|(?:in|ex)cl(?:uding)?|with)\\.? (?:the |an? )?" +
      `(?:[a-z]+ )?${FEES}`,
    "<any>[ -](?:something|odd|and change)(?![a-z])",
    "<any> ?(?:plus|minus|times)(?![a-z])",
    "<any> ?(?:\\+|±|플러스|마이너스|곱하기|빼기|더하기|나누기)",
    "[<>≤≥±] ?<any>",
    "(?<![a-z])by <any>",
  ],
];

/** Numbers go on beside an amount: what was read of them is not all. */
export const CUT_WORDS: readonly string[] = [
  "<any>[.,]?\\d",
  "(?<![a-z])(?:point|couple(?: of)?|few|several|dozen|many) <any>",
  `<any>[ -](?:${LONG_SCALE_WORDS}|point|and a half)(?![a-z])`,
  "(?<![가-힣])(?:몇|수|여러|수십|수백|수천|몇십|몇백|몇천|한두|두세|두어|서너|네댓|너댓|대여섯|예닐곱) ?<any>",
  "\\d(?!명|인|월|일|시|분|번|개|호|층|차|회|년|주|달|살|로|에|으로|까지|이랑|하고)[가-힣]{1,2}<any>",
  `(?<![\\p{L}\\d/:.-])(?:\\d{1,4}|${COUNTING_WORDS}) ?(?:or|to|에서|이나|나|아니면) ?<any>`,
  "<any> ?(?:in|\\() ?(?:usd|us|dollars?|eur|euros?|jpy|yen|달러|엔|유로)(?![a-z])",
];

/** How a line says over how many people, or how often, a split goes. */
export const PEOPLE: readonly RegExp[] = [
  /(?<![가-힣])(?<count>둘|셋|넷|다섯|여섯|일곱|여덟|아홉|열)(?=이|서|으로|로|$| )/u,
  new RegExp(`(?<count>(?<!\\d)\\d{1,3}|(?<![가-힣])(?:${NATIVE})) ?(?:명|사람|인|번에|등분)`, "u"),
  new RegExp(
    `(?<![a-z\\d])(?<count>${FEW}|\\d{1,3})(?:-| )?(?: of (?:us|them|you)|people|persons|friends|ways?|parts|equal)`,
    "u",
  ),
  new RegExp(
    `(?<![a-z])(?:divided? (?:[^ ]+ )?by|into|between|among) (?<count>${FEW}|\\d{1,3})(?![a-z\\d])`,
    "u",
  ),
];
