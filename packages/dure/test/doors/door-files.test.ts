import { HttpAgent } from "@ag-ui/client";
import { Part, type Message, type Task } from "@a2a-js/sdk";
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PNG } from "../../src/durable/files/test-files.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { a2aClient, saying } from "../a2a/a2a-client.ts";
import { startContractTeam, WORDS, type ContractTeam } from "../contract/contract-team.ts";
import { openAiClient } from "../openai/client.ts";

/** Files through the doors, with the official client of each. */
let team: ContractTeam;

beforeAll(async () => {
  team = await startContractTeam();
}, 120_000);

afterAll(async () => team?.[Symbol.asyncDispose](), 60_000);

const BASE_64 = Buffer.from(PNG).toString("base64");
const PICTURE = `data:image/png;base64,${BASE_64}`;
const NOTE = `data:text/plain;base64,${Buffer.from("bring milk").toString("base64")}`;

/** What the messages of a session carry, by name, type and bytes. */
async function carriedIn(session: string): Promise<readonly string[]> {
  const rows = await team.database.query<{ name: string; type: string; bytes: string }>(
    {
      text: `
        select f.name, f.type, encode(b.data, 'base64') as bytes
        from dure.files f
        join dure.file_bytes b on b.tenant = f.tenant and b.sha256 = f.sha256
        where f.session_id = $1 and f.turn_id is not null
        order by f.name`,
    },
    [session],
  );
  return rows.map(({ name, type, bytes }) => `${name} ${type} ${bytes.replaceAll("\n", "")}`);
}

function uiTransport(): DefaultChatTransport<UIMessage> {
  return new DefaultChatTransport({
    api: `${team.url}/ai-sdk/v1/chat/desk`,
    headers: { authorization: `Bearer ${team.admin}` },
  });
}

async function saidToUi(chatId: string, parts: UIMessage["parts"]): Promise<UIMessage> {
  const messages: UIMessage[] = [{ id: `m-${chatId}`, role: "user", parts }];
  const asked = { trigger: "submit-message", chatId, messageId: undefined, messages } as const;
  const stream = await uiTransport().sendMessages({ ...asked, abortSignal: undefined });
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) last = message;
  return last!;
}

function openai() {
  return openAiClient({ apiKey: team.admin, baseURL: `${team.url}/openai/v1` });
}

describe("files at the doors", FULL, () => {
  test("useChat sends a picture with its message, alone too, and none that is elsewhere", async () => {
    const file = {
      type: "file",
      mediaType: "image/png",
      filename: "cat.png",
      url: PICTURE,
    } as const;
    const elsewhere = { ...file, url: "https://example.org/cat.png" };

    await saidToUi("ui-files", [{ type: "text", text: "이게 뭐야?" }, file]);
    await saidToUi("ui-file-alone", [file]);

    expect(await carriedIn("ui-files")).toEqual([`cat.png image/png ${BASE_64}`]);
    expect(await carriedIn("ui-file-alone")).toEqual([`cat.png image/png ${BASE_64}`]);
    await expect(saidToUi("ui-elsewhere", [elsewhere])).rejects.toThrow("NOT_SPOKEN");
    expect(await carriedIn("ui-elsewhere")).toEqual([]);
  });

  test("useChat shows what a tool has made as a part of the answer, which the page can read", async () => {
    const { parts } = await saidToUi("ui-made", [{ type: "text", text: WORDS.draw }]);

    const made = parts.find((part) => part.type === "file");
    expect(made).toMatchObject({ mediaType: "image/png" });
    const headers = { authorization: `Bearer ${team.admin}` };
    const bytes = await fetch(team.url + made!.url, { headers });
    expect(Buffer.from(await bytes.arrayBuffer())).toEqual(Buffer.from(PNG));
  });

  test("OpenAI's client sends pictures and documents in both of its forms", async () => {
    const client = await openai();
    await client.chat.completions.create({
      model: "desk",
      user: "oa-chat",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "이게 뭐야?" },
            { type: "image_url", image_url: { url: PICTURE } },
            { type: "file", file: { file_data: NOTE, filename: "note.txt" } },
          ],
        },
      ],
    });
    await client.responses.create({
      model: "desk",
      conversation: "oa-responses",
      input: [
        {
          role: "user",
          content: [
            { type: "input_text", text: "이게 뭐야?" },
            { type: "input_image", image_url: PICTURE, detail: "auto" },
            { type: "input_file", file_data: NOTE, filename: "note.txt" },
          ],
        },
      ],
    });

    const both = [
      `file.png image/png ${BASE_64}`,
      `note.txt text/plain ${Buffer.from("bring milk").toString("base64")}`,
    ];
    expect(await carriedIn("oa-chat")).toEqual(both);
    expect(await carriedIn("oa-responses")).toEqual(both);
  });

  test("a client that sends the whole dialogue each time sends its earlier pictures again", async () => {
    const client = await openai();
    const answer = await client.chat.completions
      .create({
        model: "desk",
        messages: [
          { role: "user", content: [{ type: "image_url", image_url: { url: PICTURE } }] },
          { role: "assistant", content: "고양이예요." },
          { role: "user", content: "무슨 색이야?" },
        ],
      })
      .withResponse();

    const turn = answer.response.headers.get("turn-id");
    const [row] = await team.database.query<{ session: string }>(
      { text: "select session_id as session from dure.turns where id = $1" },
      [turn],
    );
    expect(await carriedIn(row!.session)).toEqual([`file.png image/png ${BASE_64}`]);
  });

  test("a picture that comes again without a session is the same request, and done once", async () => {
    const client = await openai();
    const content = [
      { type: "text", text: `${WORDS.hang} 그림` },
      { type: "image_url", image_url: { url: PICTURE } },
    ] as const;
    const asked = {
      model: "desk",
      stream: true,
      messages: [{ role: "user", content: [...content] }],
    };
    const ask = async (url: string): Promise<string | null> => {
      const [text, picture] = content;
      const image = { ...picture, image_url: { url } };
      const body = { ...asked, messages: [{ role: "user", content: [text, image] }] };
      const answer = await client.chat.completions.create(body).withResponse();
      return answer.response.headers.get("turn-id");
    };

    const first = await ask(PICTURE);

    expect(await ask(PICTURE)).toBe(first);
    expect(await ask(NOTE)).not.toBe(first);
  });

  test("AG-UI's client sends bytes in the parts of a message", async () => {
    const url = `${team.url}/ag-ui/v1/agents/desk`;
    const headers = { authorization: `Bearer ${team.admin}` };
    const agent = new HttpAgent({ url, headers, threadId: "ag-files" });
    const source = { type: "data", value: BASE_64, mimeType: "image/png" } as const;
    const content = [
      { type: "text", text: "이게 뭐야?" } as const,
      { type: "image", source } as const,
    ];
    agent.setMessages([{ id: "m1", role: "user", content }]);

    await agent.runAgent({ runId: "r1" });

    expect(await carriedIn("ag-files")).toEqual([`file.png image/png ${BASE_64}`]);
  });

  test("A2A's client sends bytes, and reads what the task has made where it is told", async () => {
    const client = await a2aClient({ url: team.url, token: team.admin });
    const request = saying({ text: WORDS.draw, context: "a2a-files" });
    const part = Part.fromJSON({ raw: BASE_64, filename: "cat.png", mediaType: "image/png" });
    const message: Message = { ...request.message!, parts: [...request.message!.parts, part] };

    const task = (await client.sendMessage({ ...request, message })) as Task;

    expect(await carriedIn("a2a-files")).toEqual([
      `cat.png image/png ${BASE_64}`,
      `drawn.png image/png ${BASE_64}`,
    ]);
    const [, files] = task.artifacts;
    const [made] = files!.parts;
    expect(made).toMatchObject({ filename: "drawn.png", mediaType: "image/png" });
    const headers = { authorization: `Bearer ${team.admin}` };
    const address = made!.content?.$case === "url" ? made!.content.value : "";
    const bytes = await fetch(address, { headers });
    expect(Buffer.from(await bytes.arrayBuffer())).toEqual(Buffer.from(PNG));
  });
});
