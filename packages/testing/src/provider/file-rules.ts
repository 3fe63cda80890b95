import { firstOf, isWire, listOf, type Wire, wordOf } from "./refusal.ts";

/** First bytes of the images that both providers take. */
const IMAGES: Readonly<Record<string, RegExp>> = {
  "image/png": /^\x89PNG\r\n\x1a\n/,
  "image/jpeg": /^\xff\xd8\xff/,
  "image/gif": /^GIF8[79]a/,
  "image/webp": /^RIFF[^]{4}WEBP/,
};

/** Source: Anthropic, "Vision", "FAQ": 5 MB for each image, as it is sent. */
const MOST_IMAGE = 5 * 1024 * 1024;

/**
 * Source: Anthropic, API reference, "Create a Message", image and document blocks, and guide
 * "Vision": the type is one of four and is that of the bytes; images stand in messages of the user
 * and in results of tools.
 */
export function anthropicFileProblem(messages: readonly unknown[]): string | undefined {
  return firstOf(
    messages.flatMap((message, index) =>
      isWire(message)
        ? listOf(message["content"]).map((block, at) => () => {
            const where = `messages.${index}.content.${at}`;
            return isWire(block) ? blockProblem(block, wordOf(message["role"]), where) : undefined;
          })
        : [],
    ),
  );
}

function blockProblem(block: Wire, role: string, where: string): string | undefined {
  const type = block["type"];
  if (type === "tool_result") {
    const inner = listOf(block["content"]).filter(isWire);
    return firstOf(
      inner.map((one, at) => () => blockProblem(one, role, `${where}.tool_result.content.${at}`)),
    );
  }
  if (type !== "image" && type !== "document") return undefined;
  if (role !== "user") return `${where}: \`${type}\` blocks are not permitted in this role`;
  const source = isWire(block["source"]) ? block["source"] : {};
  if (source["type"] !== "base64") return undefined;
  const data = wordOf(source["data"] ?? "");
  const media = wordOf(source["media_type"] ?? "");
  return type === "image" ? imageProblem(media, data, where) : documentProblem(media, data, where);
}

function imageProblem(media: string, data: string, where: string): string | undefined {
  const pattern = IMAGES[media];
  if (!pattern) {
    return `${where}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`;
  }
  if (data.length > MOST_IMAGE) {
    return `${where}.image.source.base64: image exceeds 5 MB maximum: ${data.length} bytes > ${MOST_IMAGE} bytes`;
  }
  return pattern.test(bytesOf(data))
    ? undefined
    : `${where}.image.source.base64.data: The image does not match the provided media type ${media}`;
}

function documentProblem(media: string, data: string, where: string): string | undefined {
  if (media !== "application/pdf") {
    return `${where}.document.source.base64.media_type: Input should be 'application/pdf'`;
  }
  return bytesOf(data).startsWith("%PDF-")
    ? undefined
    : `${where}.document.source.base64.data: The PDF specified was not valid.`;
}

function bytesOf(base64: string): string {
  return Buffer.from(base64.slice(0, 64), "base64").toString("latin1");
}

/**
 * Source: OpenAI, API reference, "Create chat completion", content parts of each role: files and
 * images stand in messages of the user alone; guide "Images and vision": PNG, JPEG, WEBP and GIF;
 * "Audio": wav and mp3.
 */
export function openAiFileProblem(messages: readonly unknown[]): string | undefined {
  return firstOf(
    messages.flatMap((message, index) =>
      isWire(message)
        ? listOf(message["content"]).map((part, at) => () => {
            const where = `messages[${index}].content[${at}]`;
            return isWire(part) ? partProblem(part, wordOf(message["role"]), where) : undefined;
          })
        : [],
    ),
  );
}

function partProblem(part: Wire, role: string, where: string): string | undefined {
  const type = wordOf(part["type"]);
  if (type === "text" || type === "refusal") return undefined;
  if (role !== "user") {
    return `Invalid content type. ${type} is only supported by messages of the user. ('${where}')`;
  }
  if (type === "image_url") return imageUrlProblem(part["image_url"], where);
  if (type === "input_audio") return audioProblem(part["input_audio"], where);
  if (type === "file") return filePartProblem(part["file"], where);
  return `Invalid value: '${type}'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', and 'file'. ('${where}.type')`;
}

function imageUrlProblem(image: unknown, where: string): string | undefined {
  const url = isWire(image) ? wordOf(image["url"] ?? "") : "";
  if (/^https?:/.test(url)) return undefined;
  const [, media = "", data = ""] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  const isSound = IMAGES[media]?.test(bytesOf(data)) ?? false;
  return isSound
    ? undefined
    : `You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp']. ('${where}')`;
}

function audioProblem(audio: unknown, where: string): string | undefined {
  const format = isWire(audio) ? wordOf(audio["format"] ?? "") : "";
  return ["wav", "mp3"].includes(format)
    ? undefined
    : `Invalid value: '${format}'. Supported values are: 'wav' and 'mp3'. ('${where}.input_audio.format')`;
}

function filePartProblem(file: unknown, where: string): string | undefined {
  const data = isWire(file) ? wordOf(file["file_data"] ?? "") : "";
  const isPdf = data.startsWith("data:application/pdf;base64,JVBER");
  return isPdf ? undefined : `Invalid file data. Expected a base64-encoded PDF. ('${where}.file')`;
}
