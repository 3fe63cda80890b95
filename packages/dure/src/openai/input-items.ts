import type { OpenAiItemsQuery } from "../wire/openai.ts";
import { idFor } from "./answer-ids.ts";
import type { StoredMessage } from "./stored-responses.ts";

interface InputItem {
  readonly id: string;
  readonly type: "message" | "function_call_output";
}

type ItemBody = Pick<InputItem, "type"> & Readonly<Record<string, unknown>>;

/** What a response was asked for, as OpenAI lists it: the newest first, unless asked otherwise. Pure. */
export function inputItemsOf(
  turnId: string,
  messages: readonly StoredMessage[],
  { limit, order, after }: OpenAiItemsQuery,
): object {
  const told = messages.flatMap(itemsOf).map((item, index) => ({
    id: `${idFor("in", turnId)}_${index}`,
    status: "completed",
    ...item,
  }));
  const listed = order === "asc" ? told : told.toReversed();
  const from = after === undefined ? 0 : listed.findIndex(({ id }) => id === after) + 1;
  const data: readonly InputItem[] = listed.slice(from, from + limit);

  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < listed.length,
  };
}

function itemsOf({ text, results }: StoredMessage): readonly ItemBody[] {
  if (!results) {
    const content = [{ type: "input_text", text }];
    return [{ type: "message", role: "user", content }];
  }
  return results.map(({ callId, output }) => ({
    type: "function_call_output",
    call_id: callId,
    output,
  }));
}
