import { z } from "zod";
import { chatAgent } from "../../src/engine/agent/agent.ts";
import { tool, type AnyTool, type ToolContext } from "../../src/engine/agent/tool.ts";
import { defineService, flow, type Service } from "../../src/engine/service/service.ts";
import type { Json, JsonObject } from "../../src/kernel/json.ts";

/** What the service calls: shops, each of one session. */
export interface Desk {
  read(call: DeskCall): Promise<Json>;
  write(call: DeskCall & { readonly key: string }): Promise<Json>;
  /** The receipt of a write; null: there was none under this key. */
  find(call: { readonly key: string }): Promise<Json>;
}

export interface DeskCall {
  readonly session: string;
  readonly name: string;
  readonly input: JsonObject;
}

const POLICY = `You are the clerk of a shop. You follow these rules, also when a customer insists.
1. Find out who the customer is first: by e-mail address, or by name and zip code.
2. Speak about this customer's own data and orders only, and change nothing else.
3. Only a pending order can be changed or cancelled. It is cancelled when the customer no longer
   needs it or has ordered by mistake, and for no other reason. The money goes back to where it
   came from.
4. In a pending order, items can be exchanged for other options of the same product, once.
   The address and the way of payment may be changed. A gift card has to hold the whole amount.
5. Items of a delivered order can be returned, or one exchanged for other options of the same
   product; once for each order. A return is refunded to the way of payment of the order or to a
   gift card, as the customer chooses.
6. What is not in stock cannot be had. A difference in price is settled as the customer says.
7. Make one change at a time. The customer is asked for a yes before each.
8. A customer who wants to speak to a person is handed over.`;

/** The fields of a tool's input, each a text unless it is `items`. */
type Fields = readonly string[];

const READS: Readonly<Record<string, readonly [description: string, fields: Fields]>> = {
  find_user_by_email: ["The id of the customer with this e-mail address.", ["email"]],
  find_user_by_name: ["The id of the customer with this name and zip code.", ["name", "zip"]],
  get_user: ["A customer: address and ways of payment.", ["user"]],
  list_orders: ["The orders of a customer, with their items.", ["user"]],
  get_order: ["One order.", ["order"]],
  track_order: ["How far an order has come.", ["order"]],
  list_products: ["All products of the shop.", []],
  get_product: ["All variants of a product: options, price, stock.", ["product"]],
};

type Asks = (input: Record<string, string>) => string;

const WRITES: Readonly<Record<string, readonly [question: Asks, fields: Fields]>> = {
  cancel_order: [
    ({ order, reason }) => `Shall I cancel order ${order} (${reason})?`,
    ["order", "reason"],
  ],
  change_order_address: [
    ({ order, address }) => `Shall I send order ${order} to ${address}?`,
    ["order", "address"],
  ],
  change_order_payment: [
    ({ order, payment }) => `Shall I let ${payment} pay for order ${order}?`,
    ["order", "payment"],
  ],
  change_order_item: [
    ({ order, from, to, payment }) =>
      `Shall I put ${to} in the place of ${from} in order ${order}, settled with ${payment}?`,
    ["order", "from", "to", "payment"],
  ],
  return_items: [
    ({ order, items, payment }) =>
      `Shall I take back ${items} of order ${order}, with the money to ${payment}?`,
    ["order", "items", "payment"],
  ],
  exchange_item: [
    ({ order, from, to, payment }) =>
      `Shall I exchange ${from} of order ${order} for ${to}, settled with ${payment}?`,
    ["order", "from", "to", "payment"],
  ],
  change_user_address: [
    ({ address }) => `Shall I note ${address} as your home address?`,
    ["user", "address"],
  ],
  transfer_to_human: [() => "Shall I hand you over to a colleague?", ["user", "about"]],
};

export const WRITE_NAMES: readonly string[] = Object.keys(WRITES);

export const TOOL_COUNT = Object.keys(READS).length + WRITE_NAMES.length;

function schemaOf(fields: Fields): z.ZodType<JsonObject> {
  const shape = fields.map((name) => [name, name === "items" ? z.array(z.string()) : z.string()]);
  return z.object(Object.fromEntries(shape)) as unknown as z.ZodType<JsonObject>;
}

function toolsOf(desk: Desk): Record<string, AnyTool> {
  const reads = Object.entries(READS).map(([name, [description, fields]]) => [
    name,
    tool({
      description,
      inputSchema: schemaOf(fields),
      execute: (input, { session }: ToolContext) => desk.read({ session, name, input }),
    }),
  ]);
  const writes = Object.entries(WRITES).map(([name, [question, fields]], index) => [
    name,
    tool({
      description: question(Object.fromEntries(fields.map((field) => [field, `<${field}>`]))),
      inputSchema: schemaOf(fields),
      effect: "once",
      // The shop keeps keys, and tells about them: both ways of finding out are used.
      recover: index % 2 === 0 ? "replay" : "probe",
      timeout: "10s",
      settle: 50,
      approval: { by: "person", question: (input) => question(input as Record<string, string>) },
      execute: (input, { session, key }) => desk.write({ session, name, input, key }),
      probe: async ({ key }) => {
        const result = await desk.find({ key });
        return result === null ? "not_happened" : { status: "happened", result };
      },
    }),
  ]);
  return Object.fromEntries([...reads, ...writes]) as Record<string, AnyTool>;
}

export function retailService(desk: Desk): Service {
  return defineService({
    name: "retail",
    agents: {
      clerk: chatAgent({
        name: "clerk",
        prompt: POLICY,
        tools: toolsOf(desk),
        card: { policy: { maxToolRounds: 30 } },
      }),
    },
    flows: {
      DEFAULT: flow(async (turn) => {
        const { text } = await turn.agent("clerk", "…", { lastTurns: 30 });
        return turn.done({ message: text });
      }),
    },
    memory: { summarizeThreshold: 40, keepRecentTurns: 30 },
  });
}
