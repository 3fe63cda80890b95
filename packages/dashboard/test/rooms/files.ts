import { crc32, deflateSync } from "node:zlib";
import type { Page } from "playwright-core";

/** A file as a person chooses it. */
export interface ChosenFile {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

export function image(name: string, color: readonly [number, number, number]): ChosenFile {
  return { name, mimeType: "image/png", buffer: pngOf(240, 150, color) };
}

export function textFile(name: string, text = name): ChosenFile {
  return { name, mimeType: "text/plain", buffer: Buffer.from(text) };
}

/** An image of one color. Source: "Portable Network Graphics (PNG) Specification". */
function pngOf(width: number, height: number, [red, green, blue]: readonly number[]): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const line = Buffer.concat([
    Buffer.from([0]),
    Buffer.alloc(width * 3, Buffer.from([red!, green!, blue!])),
  ]);
  const lines = Buffer.concat(Array.from({ length: height }, () => line));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", deflateSync(lines)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const named = Buffer.concat([Buffer.from(type), data]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

export async function choose(page: Page, files: readonly ChosenFile[]): Promise<void> {
  await page.locator('.composer input[type="file"]').setInputFiles([...files]);
}

/** Pastes into the field, or lets go over the messages, as a browser tells of it. */
export async function hand(
  page: Page,
  how: "paste" | "drop",
  { name, mimeType, buffer }: ChosenFile,
): Promise<void> {
  const given = { how, name, mimeType, bytes: [...buffer] };
  await page.evaluate((one) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(one.bytes)], one.name, { type: one.mimeType }));
    const event =
      one.how === "paste"
        ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })
        : new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
    const at = one.how === "paste" ? ".composer textarea" : "main";
    document.querySelector(at)!.dispatchEvent(event);
  }, given);
}

/** Drops a file of so many bytes, made in the page. */
export async function handLarge(page: Page, name: string, bytes: number): Promise<void> {
  await page.evaluate(
    (one) => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(one.bytes)], one.name));
      const event = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
      document.querySelector("main")!.dispatchEvent(event);
    },
    { name, bytes },
  );
}
