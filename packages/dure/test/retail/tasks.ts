import type { JsonObject } from "../../src/kernel/json.ts";

/** What a customer does at the question about a wish, before they say yes. */
export type Twist =
  | { readonly is: "forget" }
  | { readonly is: "between"; readonly words: string }
  | { readonly is: "change"; readonly words: string };

/** One thing that a customer wants. */
export interface Wish {
  readonly says: string;
  /** The tool that does it: its question is the one at which the customer says yes. */
  readonly write?: string;
  /** What they say when they are asked for a detail; who talks much says it at once. */
  readonly details?: string;
  /** The order that they mean, if they have named one that is not there. */
  readonly means?: string;
  readonly twist?: Twist;
  /** What the clerk has to tell of it in the end. Default: that it is done. */
  readonly told?: RegExp;
}

export interface Task {
  readonly id: string;
  readonly user: string;
  readonly wishes: readonly Wish[];
  /** The members of all rows that differ in the end. */
  readonly end: Readonly<Record<string, JsonObject>>;
}

const MISTAKE = "ordered by mistake";
const NO_NEED = "no longer needed";

const REASONS: Readonly<Record<string, string>> = {
  [MISTAKE]: "I ordered it by mistake.",
  [NO_NEED]: "I no longer need it.",
  cheaper: "I found it cheaper elsewhere.",
};

type More = Omit<Wish, "says" | "write">;

const DONE: More = {};
const FORGET: More = { twist: { is: "forget" }, told: /not done/u };
const BETWEEN: More = { twist: { is: "between", words: "How long does a refund take?" } };
const THINKING: More = { twist: { is: "between", words: "Hm, let me think about that." } };

function but(told: RegExp): More {
  return { told };
}

function instead(words: string): More {
  return { twist: { is: "change", words } };
}

function cancel(order: string, reason: string, more = DONE): Wish {
  const details = REASONS[reason]!;
  const which = order.startsWith("W") ? `order ${order}` : `the order with the ${order}`;
  return { says: `Please cancel ${which}.`, write: "cancel_order", details, ...more };
}

function takeBack(items: string, order: string, to: string, more = DONE): Wish {
  const details = `I want the money back ${to === "same" ? "the same way" : `to my ${to}`}.`;
  const says = `I want to return the ${items} from order ${order}.`;
  return { says, write: "return_items", details, ...more };
}

/** `mug: large`: the product, and the options that are wanted. */
function change(what: string, order: string, payment: string, more = DONE): Wish {
  const [item, options] = what.split(": ");
  const says = `Please change the ${item} in order ${order} to the ${options} one.`;
  return { says, write: "change_order_item", details: settling(payment), ...more };
}

function exchange(what: string, order: string, payment: string, more = DONE): Wish {
  const [item, options] = what.split(": ");
  const says = `I want to exchange the ${item} from order ${order} for the ${options} one.`;
  return { says, write: "exchange_item", details: settling(payment), ...more };
}

function settling(payment: string): string {
  return `Please settle it with my ${payment}.`;
}

function send(order: string, address: string, more = DONE): Wish {
  const says = `Please send order ${order} to "${address}".`;
  return { says, write: "change_order_address", ...more };
}

function payFor(order: string, payment: string, more = DONE): Wish {
  const says = `Let me pay for order ${order} with my ${payment}.`;
  return { says, write: "change_order_payment", ...more };
}

function home(address: string, more = DONE): Wish {
  return { says: `My new home address is "${address}".`, write: "change_user_address", ...more };
}

const person: Wish = { says: "Let me speak to a person.", write: "transfer_to_human" };

function ask(says: string, told: RegExp): Wish {
  return { says, told };
}

function cancelled(reason: string, to: string, amount: number): JsonObject {
  return { status: "cancelled", reason, refund: { to, amount } };
}

function returned(items: string, to: string, amount: number): JsonObject {
  const refund = { to, amount, of: items.split(" ") };
  return { status: "return requested", changed: true, refund };
}

function exchanged(from: string, to: string, payment: string): JsonObject {
  return { status: "exchange requested", changed: true, exchange: { from, to, payment } };
}

function holding(items: string, total?: number): JsonObject {
  const now = { items: items.split(" "), changed: true };
  return total === undefined ? now : { ...now, total };
}

type Row = readonly [user: string, wishes: readonly Wish[], end: Task["end"]];

const NOT_YOURS = but(/not an order of yours/u);
const SHIPPED = but(/the order is shipped/u);
const NO_STOCK = but(/is not in stock/u);
const TOO_LITTLE = but(/gift card has too little/u);

const ROWS: readonly Row[] = [
  ["ada", [cancel("W1001", MISTAKE)], { W1001: cancelled(MISTAKE, "ada-card", 48) }],
  [
    "ada",
    [cancel("W1003", NO_NEED)],
    { W1003: cancelled(NO_NEED, "ada-gift", 55), "ada-gift": { balance: 155 } },
  ],
  ["ada", [cancel("W1005", MISTAKE, SHIPPED)], {}],
  ["ada", [cancel("W1001", "cheaper", but(/not possible for this reason/u))], {}],
  [
    "ada",
    [takeBack("shirt", "W1002", "same")],
    { W1002: returned("shirt-white-medium", "ada-card", 20) },
  ],
  [
    "ada",
    [takeBack("shirt and the lamp", "W1002", "gift card")],
    {
      W1002: returned("shirt-white-medium lamp-desk-warm", "ada-gift", 50),
      "ada-gift": { balance: 150 },
    },
  ],
  [
    "ada",
    [exchange("headphones: wireless", "W1004", "gift card")],
    {
      W1004: exchanged("headphones-wired", "headphones-wireless", "ada-gift"),
      "ada-gift": { balance: 55 },
    },
  ],
  [
    "ada",
    [exchange("lamp: cold", "W1002", "credit card", BETWEEN)],
    { W1002: exchanged("lamp-desk-warm", "lamp-desk-cold", "ada-card") },
  ],
  [
    "ada",
    [change("mug: large", "W1001", "credit card"), ask("How long does a refund take?", /5 to 7/u)],
    { W1001: holding("mug-red-large kettle-steel", 50) },
  ],
  ["ada", [change("mug: blue large", "W1001", "credit card", NO_STOCK)], {}],

  ["ben", [send("W2001", "Dock 3, Harbour")], { W2001: { address: "Dock 3, Harbour" } }],
  ["ben", [home("Hill Road 8, Hillview")], { ben: { address: "Hill Road 8, Hillview" } }],
  ["ben", [payFor("W2001", "paypal")], { W2001: { payment: "ben-paypal" } }],
  ["ben", [payFor("W2003", "gift card", but(/you have no gift card/u))], {}],
  ["ben", [takeBack("kettle", "W2002", "credit card", but(/same way or to a gift card/u))], {}],
  [
    "ben",
    [exchange("rug: grey small", "W2004", "credit card", THINKING)],
    { W2004: exchanged("rug-blue-small", "rug-grey-small", "ben-card") },
  ],
  [
    "ben",
    [ask("Tell me where order W2005 is.", /it is shipped/u), cancel("W2003", MISTAKE)],
    { W2003: cancelled(MISTAKE, "ben-paypal", 110) },
  ],
  ["ben", [cancel("W1001", MISTAKE, NOT_YOURS)], {}],
  [
    "ben",
    [takeBack("headphones", "W2006", "same")],
    { W2006: returned("headphones-studio", "ben-card", 120) },
  ],
  ["ben", [person], { "transfer ben": { about: "asked for a person" } }],

  ["cho", [cancel("headphones", MISTAKE)], { W3001: cancelled(MISTAKE, "cho-card", 88) }],
  ["cho", [payFor("W3001", "gift card", TOO_LITTLE)], {}],
  [
    "cho",
    [change("shirt: black large", "W3003", "gift card")],
    { W3003: holding("shirt-black-large", 22), "cho-gift": { balance: 18 } },
  ],
  [
    "cho",
    [exchange("backpack: waterproof", "W3002", "credit card")],
    { W3002: exchanged("backpack-green", "backpack-waterproof", "cho-card") },
  ],
  [
    "cho",
    [takeBack("chair", "W3002", "gift card", BETWEEN)],
    { W3002: returned("chair-oak", "cho-gift", 90), "cho-gift": { balance: 110 } },
  ],
  ["cho", [exchange("lamp: floor", "W3004", "gift card", TOO_LITTLE)], {}],
  [
    "cho",
    [exchange("lamp: floor", "W3004", "credit card")],
    { W3004: exchanged("lamp-desk-cold", "lamp-floor-warm", "cho-card") },
  ],
  [
    "cho",
    [
      takeBack("chair", "W3002", "same"),
      exchange("backpack: grey", "W3002", "credit card", but(/the order is return requested/u)),
    ],
    { W3002: returned("chair-oak", "cho-card", 90) },
  ],
  ["cho", [cancel("W3006", NO_NEED, but(/the order is cancelled/u))], {}],
  [
    "cho",
    [
      ask("Tell me which kinds of mug you have.", /there are 4/u),
      home("Reed Street 1, Newtown", FORGET),
    ],
    {},
  ],

  [
    "dov",
    [change("lamp: cold", "W4001", "paypal")],
    { W4001: holding("rug-grey-large lamp-desk-cold") },
  ],
  [
    "dov",
    [change("rug: blue small", "W4001", "paypal")],
    { W4001: holding("rug-blue-small lamp-desk-warm", 80) },
  ],
  [
    "dov",
    [
      change("rug: small", "W4001", "paypal"),
      change("lamp: floor", "W4001", "paypal", but(/items were changed before/u)),
      send("W4001", "Mill Way 33, Oldtown"),
    ],
    {
      W4001: {
        ...holding("rug-grey-small lamp-desk-warm", 80),
        address: "Mill Way 33, Oldtown",
      },
    },
  ],
  ["dov", [cancel("W4003", MISTAKE, FORGET)], {}],
  [
    "dov",
    [takeBack("shirt", "W4004", "same", BETWEEN)],
    { W4004: returned("shirt-black-medium", "dov-card", 20) },
  ],
  [
    "dov",
    [exchange("backpack: green", "W4006", "paypal", instead("Actually, make it the grey one."))],
    { W4006: exchanged("backpack-waterproof", "backpack-grey", "dov-paypal") },
  ],
  [
    "dov",
    [cancel("W9999", MISTAKE, { means: "W4003" })],
    { W4003: cancelled(MISTAKE, "dov-card", 10) },
  ],
  [
    "dov",
    [send("W4003", "Lock 1, Oldtown", instead('No, to "Lock 2, Oldtown" instead.'))],
    { W4003: { address: "Lock 2, Oldtown" } },
  ],
  [
    "dov",
    [home("Bay 5, Newtown"), send("W4001", "Bay 5, Newtown"), cancel("W4003", NO_NEED)],
    {
      dov: { address: "Bay 5, Newtown" },
      W4001: { address: "Bay 5, Newtown" },
      W4003: cancelled(NO_NEED, "dov-card", 10),
    },
  ],
  [
    "dov",
    [takeBack("headphones and the kettle", "W4002", "same")],
    { W4002: returned("headphones-wired kettle-steel", "dov-paypal", 75) },
  ],

  [
    "eva",
    [cancel("W5001", NO_NEED), cancel("W5003", MISTAKE)],
    {
      W5001: cancelled(NO_NEED, "eva-card", 140),
      W5003: cancelled(MISTAKE, "eva-gift", 45),
      "eva-gift": { balance: 345 },
    },
  ],
  [
    "eva",
    [payFor("W5001", "gift card")],
    { W5001: { payment: "eva-gift" }, "eva-gift": { balance: 160 } },
  ],
  [
    "eva",
    [payFor("W5003", "credit card", THINKING)],
    { W5003: { payment: "eva-card" }, "eva-gift": { balance: 345 } },
  ],
  [
    "eva",
    [change("chair: walnut", "W5001", "gift card")],
    { W5001: holding("chair-walnut rug-blue-small", 160), "eva-gift": { balance: 280 } },
  ],
  ["eva", [change("chair: steel", "W5001", "credit card", NO_STOCK)], {}],
  [
    "eva",
    [takeBack("mug", "W5002", "gift card")],
    { W5002: returned("mug-red-small", "eva-gift", 8), "eva-gift": { balance: 308 } },
  ],
  [
    "eva",
    [exchange("headphones: studio", "W5002", "gift card", BETWEEN)],
    {
      W5002: exchanged("headphones-wireless", "headphones-studio", "eva-gift"),
      "eva-gift": { balance: 260 },
    },
  ],
  [
    "eva",
    [takeBack("lamp", "W5004", "same")],
    { W5004: returned("lamp-floor-warm", "eva-gift", 60), "eva-gift": { balance: 360 } },
  ],
  [
    "eva",
    [takeBack("rug", "W5006", "same", FORGET), home("Dune Way 6, Southend")],
    { eva: { address: "Dune Way 6, Southend" } },
  ],
  [
    "eva",
    [ask("Tell me where order W5005 is.", /it is shipped/u), cancel("W5005", MISTAKE, SHIPPED)],
    {},
  ],

  ["fay", [cancel("W6001", MISTAKE)], { W6001: cancelled(MISTAKE, "fay-paypal", 75) }],
  [
    "fay",
    [payFor("W6001", "gift card", TOO_LITTLE), payFor("W6003", "gift card")],
    { W6003: { payment: "fay-gift" }, "fay-gift": { balance: 15 } },
  ],
  [
    "fay",
    [change("backpack: waterproof", "W6001", "paypal")],
    { W6001: holding("backpack-waterproof shirt-white-large", 90) },
  ],
  [
    "fay",
    [exchange("chair: oak", "W6002", "credit card", THINKING)],
    { W6002: exchanged("chair-walnut", "chair-oak", "fay-card") },
  ],
  [
    "fay",
    [takeBack("chair", "W6002", "gift card")],
    { W6002: returned("chair-walnut", "fay-gift", 110), "fay-gift": { balance: 160 } },
  ],
  [
    "fay",
    [exchange("kettle: white", "W6004", "paypal", instead("Actually, make it the steel one."))],
    { W6004: exchanged("kettle-black", "kettle-steel", "fay-paypal") },
  ],
  [
    "fay",
    [send("W6003", "Lake View 2, Lakeside", FORGET), cancel("W6003", NO_NEED)],
    { W6003: cancelled(NO_NEED, "fay-card", 35) },
  ],
  [
    "fay",
    [takeBack("kettle", "W6004", "paypal")],
    { W6004: returned("kettle-black", "fay-paypal", 40) },
  ],
  [
    "fay",
    [cancel("W6005", MISTAKE, SHIPPED), person],
    { "transfer fay": { about: "asked for a person" } },
  ],
  [
    "fay",
    [
      cancel("W6006", MISTAKE, but(/the order is cancelled/u)),
      cancel("chair", NO_NEED, but(/the order is delivered/u)),
      cancel("W5001", NO_NEED, NOT_YOURS),
    ],
    {},
  ],
];

export const TASKS: readonly Task[] = ROWS.map(([user, wishes, end], index) => {
  return { id: `task-${String(index + 1).padStart(2, "0")}`, user, wishes, end };
});
