import type { CallerTools, CallerResult } from "../engine/caller/caller-tools.ts";
import { fileOfPart } from "../server/part-files.ts";
import type { Upload } from "../server/uploads.ts";
import { fieldError } from "../server/problem.ts";
import type { OpenAiChatBody, OpenAiResponseBody } from "../wire/openai.ts";
import { assertSpoken, notSpoken } from "./not-spoken.ts";
import { askedBy, type ChatTranscriptEntry } from "./transcript.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { ToolSpec } from "../models/model.ts";

/** A request of OpenAI's API in dure's words. */
export interface AskedTurn {
  readonly service: string;
  /** Empty where results are brought. */
  readonly message: string;
  /** What the message carries. */
  readonly files: readonly Upload[];
  /** Tools of the caller, and what they gave. */
  readonly callerTools: CallerTools | undefined;
  /** Told to the agents as quoted data of this turn alone. */
  readonly before: readonly ChatTranscriptEntry[];
  /** The session that the caller named; undefined: a new one. */
  readonly session: string | undefined;
  /** The answer that it goes on from, where no session is named. */
  readonly previous: string | undefined;
  /** False: the answer is not to be read again. */
  readonly isStored: boolean;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

/** Pure. Throws what cannot be asked in this way. Source: docs/spec/interop §3. */
export function chatAsked(body: OpenAiChatBody): AskedTurn {
  assertSpoken(body);
  const session = body.user ?? undefined;
  const said = body.messages.flatMap(messageSaid);
  const { message, results, files, before } = askedBy(said, "messages", session !== undefined);

  return {
    message,
    files,
    before,
    callerTools: callerToolsOf(body, results),
    service: body.model,
    session,
    previous: undefined,
    isStored: true,
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
  };
}

/** Pure. Throws what cannot be asked in this way. Source: docs/spec/interop §3. */
export function responseAsked(body: OpenAiResponseBody): AskedTurn {
  assertSpoken(body);
  const { conversation, previous_response_id: previous, user } = body;
  const named = typeof conversation === "string" ? conversation : conversation?.id;
  const session = named ?? (previous ? undefined : (user ?? undefined));
  const told = body.instructions ? [words("system", body.instructions)] : [];
  const goesOn = session !== undefined || Boolean(previous);
  const { message, results, files, before } = askedBy(
    [...told, ...inputSaid(body)],
    "input",
    goesOn,
  );

  return {
    message,
    files,
    before,
    callerTools: callerToolsOf(body, results),
    service: body.model,
    session,
    previous: previous ?? undefined,
    isStored: body.store !== false,
    stream: body.stream === true,
    includeUsage: true,
  };
}

function words(role: string, text: string): ChatTranscriptEntry {
  return { kind: "words", role, text };
}

/** Words and files of a message. */
function wordsOf(role: string, content: Content, field: string): ChatTranscriptEntry {
  if (typeof content === "string") return words(role, content);

  const pieces: string[] = [];
  const files: Upload[] = [];
  for (const part of content) {
    if (isText(part)) pieces.push(part.text);
    else if (role === "user" && FILE_PARTS.has(part.type)) files.push(fileOf(part, field));
    else throw notSpoken(field, `a part of the type "${part.type}" is not taken`);
  }
  return files.length === 0
    ? words(role, pieces.join("\n"))
    : { kind: "words", role, text: pieces.join("\n"), files };
}

type ContentPart = Exclude<Content, string>[number];

function isText(part: ContentPart): part is ContentPart & { readonly text: string } {
  return TEXT_PARTS.has(part.type) && part.text !== undefined;
}

const FILE_PARTS: ReadonlySet<string> = new Set([
  "image_url",
  "input_image",
  "file",
  "input_file",
  "input_audio",
]);

/** As `/chat/completions` and `/responses` have it. */
function fileOf(part: ContentPart, field: string): Upload {
  const { image_url: image, file = part, input_audio: audio } = part;
  const url = (typeof image === "string" ? image : image?.url) ?? file.file_data;
  return fileOfPart({ url, data: audio?.data, name: file.filename, field });
}

type ChatMessage = OpenAiChatBody["messages"][number];

function messageSaid(message: ChatMessage, index: number): readonly ChatTranscriptEntry[] {
  const { role, content, tool_calls: calls, tool_call_id: callId } = message;
  const field = `messages.${index}.content`;
  if (role === "tool" && callId != null) {
    return [{ kind: "result", callId, text: outputOf(content, field) }];
  }

  const said = wordsOf(role, content ?? "", field);
  const called = (calls ?? []).map(
    ({ id = "", function: { name, arguments: args } }): ChatTranscriptEntry => ({
      kind: "call",
      callId: id,
      name,
      args,
    }),
  );
  const isSilent = said.kind === "words" && said.text === "" && !said.files;
  return called.length > 0 && isSilent ? called : [said, ...called];
}

function inputSaid({ input }: OpenAiResponseBody): readonly ChatTranscriptEntry[] {
  if (typeof input === "string") return [words("user", input)];
  return input.map(itemSaid);
}

type Item = Exclude<OpenAiResponseBody["input"], string>[number];

function itemSaid(item: Item, index: number): ChatTranscriptEntry {
  const { type = "message", role = "", content = "", call_id: callId = "" } = item;
  if (type === "message") return wordsOf(role, content, `input.${index}.content`);
  if (type === "function_call") {
    return { kind: "call", callId, name: item.name ?? "", args: item.arguments ?? "{}" };
  }
  if (type === "function_call_output") {
    return { kind: "result", callId, text: outputOf(item.output, `input.${index}.output`) };
  }
  if (type === "item_reference" && item.id !== undefined) return { kind: "reference", id: item.id };

  throw notSpoken(`input.${index}.type`, `"${type}" is not taken`);
}

type Content = NonNullable<ChatMessage["content"]>;

/** A result that is missing would use the call up. */
function outputOf(content: Content | null | undefined, field: string): string {
  if (content == null) throw fieldError("REQUEST_INVALID", field, "is missing");
  return textOf(content, field);
}

function textOf(content: Content, field: string): string {
  if (typeof content === "string") return content;

  const pieces = content.map((part) => {
    if (isText(part)) return part.text;
    throw notSpoken(field, `a part of the type "${part.type}" is not taken; only text is`);
  });

  return pieces.join("\n");
}

const TEXT_PARTS: ReadonlySet<string> = new Set(["text", "input_text", "output_text"]);

// --- asked tools

type ChatTools = NonNullable<OpenAiChatBody["tools"]>;
type AskedToolChoice = OpenAiChatBody["tool_choice"];

interface ToolsBody {
  readonly tools?: ChatTools | null | undefined;
  readonly tool_choice?: AskedToolChoice;
  readonly parallel_tool_calls?: boolean | null | undefined;
}

/** The tools of a request and what it brings of earlier calls; undefined: neither. Pure. */
function callerToolsOf(
  body: ToolsBody,
  results: readonly CallerResult[] | undefined,
): CallerTools | undefined {
  const tools = (body.tools ?? []).map(toolOf);
  if (tools.length === 0 && results === undefined) return undefined;
  const oneAtATime = body.parallel_tool_calls === false;
  const choice = choiceOf(body.tool_choice);
  if (typeof choice === "object") assertGiven(choice.tool, tools);
  return { tools, choice, oneAtATime, results };
}

function toolOf(tool: ChatTools[number], index: number): ToolSpec {
  const field = `tools.${index}`;
  if (tool.type !== "function") throw notSpoken(`${field}.type`, `"${tool.type}" is not taken`);
  const { name, description, parameters, strict } = tool.function ?? tool;
  if (name === undefined) throw fieldError("REQUEST_INVALID", `${field}.name`, "is missing");

  const schema = { type: "object", properties: {}, ...parameters } as JsonObject;
  return {
    name,
    description: description ?? "",
    inputSchema: schema,
    strict: strict === true || undefined,
  };
}

function assertGiven(name: string, tools: readonly ToolSpec[]): void {
  if (tools.some((tool) => tool.name === name)) return;
  throw fieldError("REQUEST_INVALID", "tool_choice", `names "${name}", which is no tool of these`);
}

function choiceOf(choice: AskedToolChoice): CallerTools["choice"] {
  if (choice === undefined || choice === null) return undefined;
  if (choice === "auto" || choice === "none" || choice === "required") return choice;
  if (typeof choice === "object" && choice.type === "function") {
    const name = choice.function?.name ?? choice.name;
    if (name !== undefined) return { tool: name };
  }
  throw notSpoken("tool_choice", "is not taken in this form");
}
