import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** What a provider has on its bill for one model, and what came to nothing. */
export interface Bill {
  answered: number;
  tokensIn: number;
  tokensOut: number;
  /** Calls refused with 429 or 500: nothing is billed. */
  failed: number;
  /** Calls whose stream ended in the middle: billed, their usage is told to no client. */
  cut: number;
  cutTokensIn: number;
  cutTokensOut: number;
}

interface Asked {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

export interface Reply {
  readonly text?: string;
  readonly call?: { readonly name: string; readonly args: object };
}

interface ProviderOptions {
  /** What a model says; `nth` counts its calls from 1. */
  readonly reply: (asked: Asked, nth: number) => Reply;
  /** What becomes of the n-th call of a model. */
  readonly fate: (nth: number) => "answered" | "failed" | "cut";
}

/** A provider in OpenAI's wire format that keeps its own bill, model by model. */
export async function billingProvider({ reply, fate }: ProviderOptions) {
  const bills = new Map<string, Bill>();
  const billOf = (model: string): Bill => {
    const found = bills.get(model) ?? emptyBill();
    bills.set(model, found);
    return found;
  };

  const serve = (asked: Asked, response: ServerResponse): void => {
    const bill = billOf(asked.model);
    const nth = bill.answered + bill.failed + bill.cut + 1;
    const outcome = fate(nth);
    if (outcome === "failed") {
      bill.failed++;
      refuse(response, bill.failed % 2 === 0 ? 500 : 429);
      return;
    }

    const said = reply(asked, nth);
    const tokensIn = Math.round(JSON.stringify(asked).length / 5);
    const tokensOut = Math.round(JSON.stringify(said).length / 4);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(frame(asked.model, { delta: deltaOf(said), finish_reason: null }));
    if (outcome === "cut") {
      bill.cut++;
      bill.cutTokensIn += tokensIn;
      bill.cutTokensOut += tokensOut;
      setImmediate(() => response.destroy());
      return;
    }

    const usage = { prompt_tokens: tokensIn + 300 + nth, completion_tokens: tokensOut + 40 + nth };
    bill.answered++;
    bill.tokensIn += usage.prompt_tokens;
    bill.tokensOut += usage.completion_tokens;
    const finish_reason = said.call ? "tool_calls" : "stop";
    response.write(frame(asked.model, { delta: {}, finish_reason }));
    response.end(`${usageFrame(asked.model, usage)}data: [DONE]\n\n`);
  };

  const server = createServer((request, response) => {
    json(request)
      .then((asked) => serve(asked as Asked, response))
      .catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });

  return { bills, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

function emptyBill(): Bill {
  const billed = { answered: 0, tokensIn: 0, tokensOut: 0 };
  return { ...billed, failed: 0, cut: 0, cutTokensIn: 0, cutTokensOut: 0 };
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end('{"error":{"message":"busy"}}');
}

function deltaOf({ text, call }: Reply): object {
  if (!call) return { role: "assistant", content: text };
  const named = { name: call.name, arguments: JSON.stringify(call.args) };
  return {
    role: "assistant",
    tool_calls: [{ index: 0, id: "c", type: "function", function: named }],
  };
}

function frame(model: string, choice: object): string {
  return dataOf({ ...headOf(model), choices: [{ index: 0, ...choice }] });
}

function usageFrame(
  model: string,
  usage: { readonly prompt_tokens: number; readonly completion_tokens: number },
): string {
  const total_tokens = usage.prompt_tokens + usage.completion_tokens;
  return dataOf({ ...headOf(model), choices: [], usage: { ...usage, total_tokens } });
}

function headOf(model: string): object {
  return { id: "c", object: "chat.completion.chunk", created: 1, model };
}

function dataOf(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
