import type { FastifyReply } from "fastify";
import type { FileRef } from "../kernel/files.ts";

/**
 * Bytes that others have stored. Nothing in them runs, whatever they are and wherever they are
 * linked: an image may be shown in a page of ours, all else is an attachment. Sources:
 * developer.mozilla.org, "Content-Disposition", "X-Content-Type-Options", "CSP: sandbox"; RFC 8187.
 */
export function answerWithBytes(
  reply: FastifyReply,
  { name, type }: Pick<FileRef, "name" | "type">,
  bytes: Uint8Array,
  { showsImages }: { readonly showsImages: boolean },
): FastifyReply {
  const isShown = showsImages && type.startsWith("image/");
  const plain = name.replace(/[^\x20-\x7e]|["\\]/gu, "_");
  const encoded = encodeURIComponent(name).replace(/['()*]/gu, percentEncoded);
  const names = `filename="${plain}"; filename*=UTF-8''${encoded}`;

  return reply
    .type(type === "text/plain" ? "text/plain; charset=utf-8" : type)
    .header("content-disposition", `${isShown ? "inline" : "attachment"}; ${names}`)
    .header("x-content-type-options", "nosniff")
    .header("content-security-policy", "default-src 'none'; sandbox")
    .header("cross-origin-resource-policy", "same-origin")
    .header("cache-control", "private, no-store")
    .send(Buffer.from(bytes));
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
