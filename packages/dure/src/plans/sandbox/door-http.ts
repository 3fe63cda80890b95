import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";

/** Headers that are for the next hop alone. Source: RFC 9110 §7.6.1. */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

export function endToEnd(headers: IncomingMessage["headers"]): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));
}

export function say(response: ServerResponse, status: number, because: string): void {
  if (response.headersSent) return void response.destroy();
  response
    .writeHead(status, { "content-type": "text/plain", connection: "close" })
    .end(`dure: ${because}\n`);
}
