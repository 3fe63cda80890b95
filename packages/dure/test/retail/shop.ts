import { isDeepStrictEqual } from "node:util";
import type { Json, JsonObject } from "../../src/kernel/json.ts";

/** A small shop: its data as tables, what can be read of it, and what can be written. */

/** sku | price | stock; a sku is the product and its options. */
const VARIANTS = `
mug-red-small 8 9 | mug-red-large 10 4 | mug-blue-small 8 7 | mug-blue-large 10 0
kettle-steel 40 3 | kettle-black 40 5 | kettle-white 45 2
lamp-desk-warm 30 6 | lamp-desk-cold 30 6 | lamp-floor-warm 60 3
shirt-white-medium 20 8 | shirt-white-large 20 8 | shirt-black-medium 20 1 | shirt-black-large 22 5
backpack-green 55 2 | backpack-grey 55 4 | backpack-waterproof 70 4
headphones-wired 35 9 | headphones-wireless 80 6 | headphones-studio 120 2
chair-oak 90 3 | chair-walnut 110 2 | chair-steel 90 0
rug-grey-small 50 4 | rug-grey-large 85 2 | rug-blue-small 50 3`;

/** id | name | zip | address | payments with the balance of a gift card. */
const USERS = `
ada | Ada Lind | 10115 | Elm Road 4, Riverton | ada-card ada-gift:100
ben | Ben Okoro | 20095 | Quay Street 12, Harbour | ben-card ben-paypal
cho | Mina Cho | 45240 | Pine Lane 7, Hillview | cho-card cho-gift:20
dov | Dov Katz | 50667 | Mill Way 31, Oldtown | dov-paypal dov-card
eva | Eva Ruiz | 28001 | Sun Square 2, Southend | eva-card eva-gift:300
fay | Fay Moreau | 75011 | Park Row 19, Lakeside | fay-card fay-paypal fay-gift:50`;

/** id | user | status | payment | items. */
const ORDERS = `
W1001 | ada | pending | ada-card | mug-red-small kettle-steel
W1002 | ada | delivered | ada-card | shirt-white-medium lamp-desk-warm
W1003 | ada | pending | ada-gift | backpack-green
W1004 | ada | delivered | ada-gift | headphones-wired
W1005 | ada | shipped | ada-card | chair-oak
W1006 | ada | cancelled | ada-card | rug-grey-small
W2001 | ben | pending | ben-card | shirt-black-large lamp-floor-warm
W2002 | ben | delivered | ben-paypal | kettle-black mug-blue-small
W2003 | ben | pending | ben-paypal | chair-walnut
W2004 | ben | delivered | ben-card | rug-blue-small
W2005 | ben | shipped | ben-paypal | backpack-grey
W2006 | ben | delivered | ben-card | headphones-studio shirt-white-large
W3001 | cho | pending | cho-card | headphones-wireless mug-blue-small
W3002 | cho | delivered | cho-card | backpack-green chair-oak
W3003 | cho | pending | cho-gift | shirt-white-medium
W3004 | cho | delivered | cho-card | lamp-desk-cold
W3005 | cho | shipped | cho-card | kettle-white
W3006 | cho | cancelled | cho-gift | mug-red-large
W4001 | dov | pending | dov-paypal | rug-grey-large lamp-desk-warm
W4002 | dov | delivered | dov-paypal | headphones-wired kettle-steel
W4003 | dov | pending | dov-card | mug-red-large
W4004 | dov | delivered | dov-card | shirt-black-medium
W4005 | dov | shipped | dov-paypal | chair-walnut
W4006 | dov | delivered | dov-paypal | backpack-waterproof
W5001 | eva | pending | eva-card | chair-oak rug-blue-small
W5002 | eva | delivered | eva-card | mug-red-small headphones-wireless
W5003 | eva | pending | eva-gift | kettle-white
W5004 | eva | delivered | eva-gift | lamp-floor-warm
W5005 | eva | shipped | eva-card | shirt-white-large
W5006 | eva | delivered | eva-card | rug-grey-small
W6001 | fay | pending | fay-paypal | backpack-grey shirt-white-large
W6002 | fay | delivered | fay-card | chair-walnut mug-blue-small
W6003 | fay | pending | fay-card | headphones-wired
W6004 | fay | delivered | fay-paypal | kettle-black
W6005 | fay | shipped | fay-card | lamp-desk-cold
W6006 | fay | cancelled | fay-card | shirt-black-large`;

export interface Variant {
  readonly sku: string;
  readonly product: string;
  readonly options: readonly string[];
  readonly price: number;
  readonly stock: number;
}

export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly zip: string;
  address: string;
}

export interface Payment {
  readonly id: string;
  readonly user: string;
  readonly kind: "card" | "gift" | "paypal";
  /** Of a gift card. */
  balance?: number;
}

export interface Order {
  readonly id: string;
  readonly user: string;
  status: string;
  payment: string;
  address: string;
  items: readonly string[];
  total: number;
  /** Items can be changed, returned or exchanged once. */
  changed?: boolean;
  reason?: string;
  refund?: { to: string; amount: number; of?: readonly string[] };
  exchange?: { from: string; to: string; payment: string };
}

interface Tables {
  readonly users: Record<string, User>;
  readonly payments: Record<string, Payment>;
  readonly orders: Record<string, Order>;
  /** Customers who were handed over to a person, by user. */
  readonly transfers: Record<string, { about: string }>;
}

const CATALOGUE: readonly Variant[] = VARIANTS.split(/[|\n]/)
  .filter(Boolean)
  .map((row) => {
    const [sku = "", price, stock] = row.trim().split(" ");
    const [product = "", ...options] = sku.split("-");
    return { sku, product, options, price: Number(price), stock: Number(stock) };
  });

function priceOf(...skus: readonly string[]): number {
  const prices = skus.map((sku) => CATALOGUE.find((variant) => variant.sku === sku)!.price);
  return prices.reduce((sum, price) => sum + price, 0);
}

function rowsOf(table: string): readonly (readonly string[])[] {
  const lines = table.split("\n").filter(Boolean);
  return lines.map((line) => line.split("|").map((cell) => cell.trim()));
}

function byId<Row extends { readonly id: string }>(rows: readonly Row[]): Record<string, Row> {
  return Object.fromEntries(rows.map((row) => [row.id, row]));
}

function openTables(): Tables {
  const users = rowsOf(USERS).map(([id = "", name = "", zip = "", address = ""]) => {
    return { id, name, zip, address, email: `${id}@post.example` };
  });
  const payments = rowsOf(USERS).flatMap(([user = "", , , , cards = ""]) =>
    cards.split(" ").map((card): Payment => {
      const [id = "", balance] = card.split(":");
      const kind = id.split("-")[1] as Payment["kind"];
      return balance === undefined
        ? { id, user, kind }
        : { id, user, kind, balance: Number(balance) };
    }),
  );
  const orders = rowsOf(ORDERS).map(
    ([id = "", user = "", status = "", payment = "", skus = ""]): Order => {
      const items = skus.split(" ");
      const { address } = users.find((one) => one.id === user)!;
      return { id, user, status, payment, address, items, total: priceOf(...items) };
    },
  );
  return {
    users: byId(users),
    payments: byId(payments),
    orders: byId(orders),
    transfers: {},
  };
}

/** Arguments as the tools' schemas have let them through. */
type Input = Record<string, string> & { readonly items?: readonly string[] };

/** What can be read, by the tool's name. `null`: there is none. */
const READS: Readonly<Record<string, (tables: Tables, input: Input) => unknown>> = {
  find_user_by_email: ({ users }, { email }) =>
    Object.values(users).find((user) => user.email === email)?.id,
  find_user_by_name: ({ users }, { name, zip }) =>
    Object.values(users).find((user) => user.name === name && user.zip === zip)?.id,
  get_user: ({ users, payments }, { user }) => {
    const own = Object.values(payments).filter((payment) => payment.user === user);
    return users[user!] && { ...users[user!], payments: own };
  },
  list_orders: ({ orders }, { user }) => {
    const own = Object.values(orders).filter((order) => order.user === user);
    return own.map(({ id, status, items }) => ({ id, status, items }));
  },
  get_order: ({ orders }, { order }) => orders[order!],
  track_order: ({ orders }, { order }) => orders[order!] && { status: orders[order!]!.status },
  list_products: () => [...new Set(CATALOGUE.map(({ product }) => product))],
  get_product: (_, { product }) => CATALOGUE.filter((variant) => variant.product === product),
};

/** What can be written, by the tool's name. The shop believes its clerk: the policy is theirs. */
const WRITES: Readonly<Record<string, (tables: Tables, input: Input) => void>> = {
  cancel_order: (tables, { order: id, reason }) => {
    const order = tables.orders[id!]!;
    Object.assign(order, { status: "cancelled", reason });
    refund(tables, order, { to: order.payment, amount: order.total });
  },
  change_order_address: ({ orders }, { order, address }) => {
    orders[order!]!.address = address!;
  },
  change_order_payment: (tables, { order: id, payment }) => {
    const order = tables.orders[id!]!;
    pay(tables, order.payment, -order.total);
    pay(tables, payment!, order.total);
    order.payment = payment!;
  },
  change_order_item: (tables, { order: id, from, to, payment }) => {
    const order = tables.orders[id!]!;
    const difference = priceOf(to!) - priceOf(from!);
    pay(tables, payment!, difference);
    const items = order.items.map((sku) => (sku === from ? to! : sku));
    Object.assign(order, { items, total: order.total + difference, changed: true });
  },
  return_items: (tables, { order: id, items = [], payment }) => {
    const order = tables.orders[id!]!;
    Object.assign(order, { status: "return requested", changed: true });
    refund(tables, order, { to: payment!, amount: priceOf(...items), of: [...items] });
  },
  exchange_item: (tables, { order: id, from, to, payment }) => {
    const exchange = { from: from!, to: to!, payment: payment! };
    pay(tables, payment!, priceOf(to!) - priceOf(from!));
    Object.assign(tables.orders[id!]!, { status: "exchange requested", changed: true, exchange });
  },
  change_user_address: ({ users }, { user, address }) => {
    users[user!]!.address = address!;
  },
  transfer_to_human: ({ transfers }, { user, about }) => {
    transfers[user!] = { about: about! };
  },
};

function pay({ payments }: Tables, id: string, amount: number): void {
  const payment = payments[id]!;
  if (payment.balance !== undefined) payment.balance -= amount;
}

function refund(tables: Tables, order: Order, given: NonNullable<Order["refund"]>): void {
  order.refund = given;
  pay(tables, given.to, -given.amount);
}

/** One shop. It keeps the keys of its writes: the same key again is answered, and not done. */
export class Shop {
  readonly #tables = openTables();
  readonly #receipts = new Map<string, { readonly receipt: string }>();

  read(name: string, input: JsonObject): Json {
    const found = READS[name]!(this.#tables, input as Input) ?? null;
    return structuredClone(found) as Json;
  }

  /** Whether it was done now. */
  write(name: string, input: JsonObject, key: string): boolean {
    if (this.#receipts.has(key)) return false;
    WRITES[name]!(this.#tables, input as Input);
    this.#receipts.set(key, { receipt: `R${this.#receipts.size + 1}` });
    return true;
  }

  receiptOf(key: string): { readonly receipt: string } | undefined {
    return this.#receipts.get(key);
  }

  /** All members of all rows that are no longer as they were, by the row's id. */
  changes(): Readonly<Record<string, JsonObject>> {
    const now = Object.entries(this.#tables) as [keyof Tables, Record<string, JsonObject>][];
    const before = openTables() as unknown as Record<string, Record<string, JsonObject>>;
    const changed = now.flatMap(([table, rows]) =>
      Object.entries(rows).flatMap(([id, row]) => {
        const old = before[table]![id] ?? {};
        const members = Object.entries(row).filter(([name, is]) => !isSame(is, old[name]));
        const place = table === "transfers" ? `transfer ${id}` : id;
        return members.length > 0 ? [[place, Object.fromEntries(members)] as const] : [];
      }),
    );
    return Object.fromEntries(changed);
  }
}

function isSame(one: Json | undefined, other: Json | undefined): boolean {
  return isDeepStrictEqual(one, other);
}
