import { canonicalJson, type Json, type JsonObject } from "../../src/kernel/json.ts";
import type { ModelMessage, ModelRequest } from "../../src/models/model.ts";
import type { OfflineAnswer } from "../../src/models/offline.ts";
import { WRITE_NAMES } from "./service.ts";
import type { Order, Payment, User, Variant } from "./shop.ts";

/**
 * The honest clerk: a model that follows the policy, believes what its history says, and knows
 * nothing else. It reads what a customer wishes, looks up what it lacks, asks for what it was not
 * told, and calls for each wish what its history does not show as done.
 */

type WishKind =
  | "cancel"
  | "item"
  | "exchange"
  | "return"
  | "address"
  | "payment"
  | "home"
  | "person"
  | "track"
  | "kinds"
  | "hours";

/** What a customer wants, and what they have said about it so far. */
interface Wish {
  readonly kind: WishKind;
  order?: string | undefined;
  /** Of an order whose number the customer does not know. */
  holding?: string | undefined;
  items?: string | undefined;
  options?: string | undefined;
  address?: string | undefined;
  payment?: string | undefined;
  reason?: string | undefined;
  /** The question was left: the clerk asks in words before it calls again. */
  isLeft?: boolean;
  /** What came of it, for the customer. */
  end?: string;
}

/** What comes next for a wish. */
type Next = { readonly ask: string } | Call | { readonly end: string };

interface Call {
  readonly name: string;
  readonly args: JsonObject;
}

const ORDER = String.raw`(?:order (?<order>W\d{4})|the order with the (?<holding>[a-z]+))`;

const WISHES: Readonly<Record<WishKind, RegExp>> = {
  cancel: new RegExp(`cancel ${ORDER}`, "u"),
  item: new RegExp(`change the (?<items>[a-z]+) in ${ORDER} to the (?<options>[a-z ]+) one`, "u"),
  exchange: new RegExp(
    `exchange the (?<items>[a-z]+) from ${ORDER} for the (?<options>[a-z ]+) one`,
    "u",
  ),
  return: new RegExp(`return the (?<items>[a-z]+(?: and the [a-z]+)*) from ${ORDER}`, "u"),
  address: new RegExp(`send ${ORDER} to "(?<address>[^"]+)"`, "u"),
  payment: new RegExp(`pay for ${ORDER} with my (?<payment>gift card|credit card|paypal)`, "u"),
  home: /new home address is "(?<address>[^"]+)"/u,
  person: /speak to a person/u,
  track: new RegExp(`where ${ORDER} is`, "u"),
  kinds: /kinds of (?<items>[a-z]+) you have/u,
  hours: /how long does a refund take/iu,
};

/** What is said about a wish beside its first sentence. */
const DETAILS: readonly (readonly [member: keyof Wish, words: RegExp, means?: string])[] = [
  ["reason", /no longer need/iu, "no longer needed"],
  ["reason", /by mistake/iu, "ordered by mistake"],
  ["reason", /cheaper elsewhere/iu, "cheaper elsewhere"],
  ["payment", /settle it with my (gift card|credit card|paypal)/iu],
  ["payment", /money back (?:to my )?(gift card|credit card|paypal|the same way)/iu],
];

/** What corrects a wish that was said before. */
const CORRECTIONS: typeof DETAILS = [
  ["order", /\b(W\d{4})\b/u],
  ["options", /make it the ([a-z ]+) one/iu],
  ["address", /to "([^"]+)" instead/iu],
];

const KINDS: Readonly<Record<string, Payment["kind"]>> = {
  "gift card": "gift",
  "credit card": "card",
  paypal: "paypal",
};

const IS_QUESTION: ReadonlySet<WishKind> = new Set(["track", "kinds", "hours"]);

export function answerOfClerk({ messages, toolChoice }: ModelRequest): OfflineAnswer {
  const clerk = new Clerk();
  for (const message of messages) clerk.read(message);
  const next = clerk.next();
  if ("ask" in next) return { text: next.ask };
  return toolChoice === "none" ? { text: "I am still at it." } : { toolCalls: [next] };
}

/** Reads one history from its beginning, and knows at each place what was known there. */
class Clerk {
  readonly #wishes: Wish[] = [];
  /** Results of reads, by their call. */
  readonly #known = new Map<string, Json>();
  readonly #calls = new Map<string, Call>();
  /** The call that finds out who the customer is. */
  #identity: Identity | undefined;
  /** The first look-up that was needed and not known. */
  #lacking: Call | undefined;

  read(message: ModelMessage): void {
    if (message.role === "user") this.#hear(message.text);
    if (message.role === "assistant") {
      for (const { id, name, args } of message.toolCalls ?? []) {
        this.#calls.set(id, { name, args: args as JsonObject });
      }
    }
    if (message.role === "tool") this.#learn(this.#calls.get(message.callId)!, message.result);
  }

  /** What to do now: for the first wish that is open, after the ends of the others. */
  next(): { readonly ask: string } | Call {
    const open = this.#open();
    if (open && "name" in open.next) return open.next;
    const ends = this.#wishes.flatMap(({ end }) => end ?? []);
    const ask = open && "ask" in open.next ? open.next.ask : "Is there anything else?";
    return { ask: [...ends, ask].join(" ") };
  }

  #hear(text: string): void {
    this.#identity = identityIn(text) ?? this.#identity;
    let about = this.#open()?.wish;
    for (const sentence of text.split(/(?<=[.!?])\s+/u)) {
      const wish = wishIn(sentence);
      if (wish) this.#wishes.push(wish);
      // A question between the others leaves them as they are.
      if (wish && !IS_QUESTION.has(wish.kind)) about = wish;
      if (about) detail(about, sentence, wish ? DETAILS : [...DETAILS, ...CORRECTIONS]);
      if (about && /\bgo on\b/iu.test(sentence)) about.isLeft = false;
    }
  }

  #learn(call: Call, told: Json): void {
    if (WRITE_NAMES.includes(call.name)) {
      const open = this.#open();
      const isOfWish = open?.wish && "name" in open.next && keyOf(open.next) === keyOf(call);
      if (isOfWish) this.#settle(open.wish, told);
    } else {
      this.#known.set(keyOf(call), told);
    }
    this.#open();
  }

  /** What came of the write that a wish has asked for. */
  #settle(wish: Wish, result: Json): void {
    if (typeof result !== "string") {
      wish.end = `${nameOf(wish)}: done (${(result as { receipt: string }).receipt}).`;
      // Orders and gift cards are no longer as they were read.
      for (const key of this.#known.keys()) if (CHANGING.test(key)) this.#known.delete(key);
      return;
    }
    if (result.startsWith("APPROVAL_CLOSED")) wish.isLeft = true;
    else if (result.startsWith("APPROVAL_REJECTED")) wish.end = `${nameOf(wish)}: not done.`;
    else if (!result.startsWith("Not done")) wish.end = `${nameOf(wish)}: failed, ${result}.`;
  }

  /** The first wish that is open, questions before all others; notes the ends of those before. */
  #open(): { readonly wish: Wish | undefined; readonly next: Exclude<Next, End> } | undefined {
    const user = this.#user();
    if (user === undefined) return { wish: undefined, next: this.#lacking! };
    if ("ask" in user) return { wish: undefined, next: user };
    const questions = this.#wishes.filter(({ kind }) => IS_QUESTION.has(kind));
    const others = this.#wishes.filter(({ kind }) => !IS_QUESTION.has(kind));
    for (const wish of [...questions, ...others]) {
      if (wish.end !== undefined) continue;
      this.#lacking = undefined;
      const next = this.#decide(wish, user) ?? this.#lacking!;
      if (!("end" in next)) return { wish, next };
      wish.end = `${nameOf(wish)}: ${next.end}`;
    }
    return undefined;
  }

  /** A result of a look-up; undefined where the history lacks it. */
  #look<Name extends keyof Found>(name: Name, args: JsonObject): Found[Name] | undefined {
    const known = this.#known.get(keyOf({ name, args }));
    if (known === undefined) this.#lacking ??= { name, args };
    return known as Found[Name] | undefined;
  }

  #user(): Profile | { readonly ask: string } | undefined {
    this.#lacking = undefined;
    if (!this.#identity) {
      return { ask: "Welcome! Please tell me your e-mail address, or your name and zip code." };
    }
    const { name, args } = this.#identity;
    const id = this.#look(name, args);
    if (id === undefined) return undefined;
    if (id === null) return { ask: "I cannot find you. Please tell me your e-mail address again." };
    return this.#look("get_user", { user: id });
  }

  /** What comes next for one wish, by the policy. Undefined: a look-up is lacking. */
  #decide(wish: Wish, user: Profile): Next | undefined {
    if (wish.isLeft) return { ask: `${nameOf(wish)}: do you still want it?` };
    switch (wish.kind) {
      case "hours":
        return { end: "it takes 5 to 7 days." };
      case "kinds":
        return this.#kindsOf(wish.items!);
      case "home":
        return { name: "change_user_address", args: { user: user.id, address: wish.address! } };
      case "person":
        return {
          name: "transfer_to_human",
          args: { user: user.id, about: "asked for a person" },
        };
      default:
        return this.#decideOrder(wish, user);
    }
  }

  #kindsOf(product: string): Next | undefined {
    const variants = this.#look("get_product", { product });
    return variants && { end: `there are ${variants.length}.` };
  }

  #decideOrder(wish: Wish, user: Profile): Next | undefined {
    const id = wish.order ?? this.#orderHolding(wish.holding!, user);
    if (id === undefined) return undefined;
    if (id === null) return { end: "there is no such order." };
    const order = this.#look("get_order", { order: id });
    if (order === undefined) return undefined;
    if (order === null) return { ask: `I cannot find order ${id}. Which order do you mean?` };
    if (order.user !== user.id) return { end: "it is not an order of yours." };
    if (wish.kind === "track") return this.#track(id);

    const needed = wish.kind === "return" || wish.kind === "exchange" ? "delivered" : "pending";
    if (order.status !== needed) return { end: `not possible, the order is ${order.status}.` };
    return this.#decideChange(wish, { order, user });
  }

  #track(order: string): Next | undefined {
    const tracked = this.#look("track_order", { order });
    return tracked && { end: `it is ${tracked.status}.` };
  }

  #orderHolding(product: string, user: Profile): string | null | undefined {
    const orders = this.#look("list_orders", { user: user.id });
    const found = orders?.find(({ items }) => items.some((sku) => isOf(product, sku)));
    return orders && (found?.id ?? null);
  }

  #decideChange(wish: Wish, about: { order: Order; user: Profile }): Next | undefined {
    const { order, user } = about;
    switch (wish.kind) {
      case "cancel":
        return cancelling(wish, order);
      case "address":
        return {
          name: "change_order_address",
          args: { order: order.id, address: wish.address! },
        };
      case "payment":
        return paying(wish, order, user);
      case "return":
        return returning(wish, order, user);
      default:
        return this.#exchanging(wish, about);
    }
  }

  /** Of an item in a pending order, or of one that was delivered. */
  #exchanging(wish: Wish, { order, user }: { order: Order; user: Profile }): Next | undefined {
    const product = wish.items!;
    const from = order.items.find((sku) => isOf(product, sku));
    if (from === undefined) return { end: `there is no ${product} in it.` };
    if (order.changed) return { end: "not possible, its items were changed before." };
    const variants = this.#look("get_product", { product });
    if (!variants) return undefined;
    const to = wantedOf(variants, { from, options: wish.options!.split(" ") });
    if (!to) return { end: `there is no ${wish.options} ${product}.` };
    if (to.stock === 0) return { end: `the ${wish.options} ${product} is not in stock.` };
    if (wish.payment === undefined) {
      return { ask: "Which way of payment shall I use for the difference?" };
    }
    const payment = paymentOf(wish.payment, order, user);
    if (!payment) return { end: `you have no ${wish.payment}.` };
    const difference = to.price - variants.find(({ sku }) => sku === from)!.price;
    if (!holds(payment, difference)) return { end: "not possible, the gift card has too little." };
    const name = wish.kind === "item" ? "change_order_item" : "exchange_item";
    return { name, args: { order: order.id, from, to: to.sku, payment: payment.id } };
  }
}

interface Identity extends Call {
  readonly name: "find_user_by_email" | "find_user_by_name";
}

type End = { readonly end: string };
type Profile = User & { readonly payments: readonly Payment[] };

/** What look-ups give. */
interface Found {
  readonly find_user_by_email: string | null;
  readonly find_user_by_name: string | null;
  readonly get_user: Profile;
  readonly list_orders: readonly Order[];
  readonly get_order: Order | null;
  readonly track_order: { readonly status: string };
  readonly get_product: readonly Variant[];
}

/** Reads whose results a write changes. */
const CHANGING = /get_order|get_user|list_orders/u;

function cancelling({ reason }: Wish, order: Order): Next {
  if (reason === undefined) return { ask: `For which reason shall I cancel order ${order.id}?` };
  if (reason === "cheaper elsewhere") return { end: "not possible for this reason." };
  return { name: "cancel_order", args: { order: order.id, reason } };
}

function paying(wish: Wish, order: Order, user: Profile): Next {
  const payment = paymentOf(wish.payment!, order, user);
  if (!payment) return { end: `you have no ${wish.payment}.` };
  if (payment.id === order.payment) return { end: "it is paid for so already." };
  if (!holds(payment, order.total)) return { end: "not possible, the gift card has too little." };
  return { name: "change_order_payment", args: { order: order.id, payment: payment.id } };
}

function returning(wish: Wish, order: Order, user: Profile): Next {
  const products = wish.items!.split(" and the ");
  const items = products.map((product) => order.items.find((sku) => isOf(product, sku)));
  if (items.includes(undefined)) return { end: "not possible, it does not hold all of these." };
  if (wish.payment === undefined) return { ask: "Where shall I send the money back to?" };
  const payment = paymentOf(wish.payment, order, user);
  if (!payment) return { end: `you have no ${wish.payment}.` };
  if (payment.id !== order.payment && payment.kind !== "gift") {
    return { end: "not possible, money goes back the same way or to a gift card." };
  }
  const args = { order: order.id, items: items as string[], payment: payment.id };
  return { name: "return_items", args };
}

function paymentOf(words: string, order: Order, { payments }: Profile): Payment | undefined {
  if (words === "the same way") return payments.find(({ id }) => id === order.payment);
  return payments.find(({ kind }) => kind === KINDS[words]);
}

function holds({ balance }: Payment, amount: number): boolean {
  return balance === undefined || balance >= amount;
}

/** The variant with all wished options that is most like the present one. */
function wantedOf(
  variants: readonly Variant[],
  { from, options }: { from: string; options: readonly string[] },
): Variant | undefined {
  const present = variants.find(({ sku }) => sku === from)!;
  const common = (variant: Variant): number =>
    variant.options.filter((option) => present.options.includes(option)).length;
  return variants
    .filter((variant) => options.every((option) => variant.options.includes(option)))
    .toSorted((one, other) => common(other) - common(one))
    .at(0);
}

function wishIn(sentence: string): Wish | undefined {
  for (const [kind, words] of Object.entries(WISHES)) {
    const found = words.exec(sentence);
    if (found) return { kind: kind as WishKind, ...found.groups };
  }
  return undefined;
}

function detail(wish: Wish, sentence: string, details: typeof DETAILS): void {
  for (const [member, words, means] of details) {
    const found = words.exec(sentence);
    if (found) Object.assign(wish, { [member]: means ?? found[1] });
  }
}

function identityIn(text: string): Identity | undefined {
  const email = /[\w.]+@[\w.]+\.[a-z]+/u.exec(text)?.[0];
  if (email) return { name: "find_user_by_email", args: { email } };
  const found = /my name is (?<name>\w+ \w+), zip code (?<zip>\d{5})/iu.exec(text)?.groups;
  const { name, zip } = found ?? {};
  return name && zip ? { name: "find_user_by_name", args: { name, zip } } : undefined;
}

function nameOf({ kind, order, holding, items }: Wish): string {
  const where = order ?? (holding && `the order with the ${holding}`);
  return [kind, items, where].filter(Boolean).join(" ");
}

function isOf(product: string, sku: string): boolean {
  return sku.startsWith(`${product}-`);
}

function keyOf({ name, args }: Call): string {
  return `${name} ${canonicalJson(args)}`;
}
