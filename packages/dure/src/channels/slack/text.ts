import type { OutgoingPost } from "../../rooms/channel-adapter.ts";

/** Code blocks and inline code, kept apart from prose. */
const CODE = /(```[\s\S]*?```|`[^`\n]+`)/u;
/** What stays as it is in prose: a mention of dure, a link to a channel of Slack. */
const TOKEN = /(<@[^<>@\s]{1,100}>|<#[A-Z0-9]{2,30}>)/u;

/**
 * Text of dure (Markdown, mentions as `<@agent-id>`) as Slack shows it. A persona has no user of its
 * own, so its mention is its name. Pure. Source: docs.slack.dev/messaging/formatting-message-text.
 */
export function toSlackText(text: string, mentions: OutgoingPost["mentions"]): string {
  return text
    .split(CODE)
    .map((part, index) => (index % 2 === 1 ? escaped(part) : proseToSlack(part, mentions)))
    .join("");
}

/** Slack's text as dure keeps it: mentions as `<@U…>`, links as people read them. Pure. */
export function fromSlackText(text: string): string {
  const plain = text.replaceAll(/<([^<>\n]*)>/gu, (whole, inner: string) => {
    const bar = inner.indexOf("|");
    const target = bar < 0 ? inner : inner.slice(0, bar);
    const label = bar < 0 ? "" : inner.slice(bar + 1);
    return unwrapped(target, label) ?? whole;
  });
  return unescaped(plain);
}

/** Every `<@U…>` of a text with where it stands. */
export function mentionsIn(text: string): readonly { platformId: string; at: number }[] {
  return [...text.matchAll(/<@([A-Z0-9]{2,30})>/gu)].map((match) => ({
    platformId: match[1] ?? "",
    at: match.index,
  }));
}

/**
 * A mention of the app that several agents speak through names none of them: it goes, and a name
 * right after it is called instead. `<@U1> 이든 봐 줘` becomes `@이든 봐 줘`. Pure.
 */
export function withoutAppMention(text: string, app: string, names: readonly string[]): string {
  const parts = text.split(`<@${app}>`);
  const called = parts.slice(1).map((part) => {
    const rest = part.trimStart();
    return names.some((name) => rest.startsWith(name)) ? `@${rest}` : rest;
  });
  return [parts[0], ...called].join("").trim();
}

function proseToSlack(prose: string, mentions: OutgoingPost["mentions"]): string {
  return prose
    .split(TOKEN)
    .map((part, index) => (index % 2 === 1 ? tokenToSlack(part, mentions) : marked(escaped(part))))
    .join("");
}

function tokenToSlack(token: string, mentions: OutgoingPost["mentions"]): string {
  if (token.startsWith("<#")) return token;
  const agent = token.slice(2, -1);
  const mention = mentions.find((one) => one.agent === agent);
  if (mention === undefined) return escaped(token);
  return mention.platformId.includes(":") ? `@${mention.displayName}` : `<@${mention.platformId}>`;
}

/** Markdown in Slack's own marks. */
function marked(prose: string): string {
  return prose
    .replaceAll(/\[([^\]\n]{1,300})\]\((https?:\/\/[^)\s]{1,2000})\)/gu, "<$2|$1>")
    .replaceAll(/^#{1,6}[ \t]+(.+)$/gmu, "*$1*")
    .replaceAll(/\*\*([^*\n]+)\*\*(?=[\p{L}\p{N}])/gu, "*$1*\u200B") // Slack wants a word's end
    .replaceAll(/\*\*([^*\n]+)\*\*/gu, "*$1*")
    .replaceAll(/~~([^~\n]+)~~/gu, "~$1~");
}

function unwrapped(target: string, label: string): string | undefined {
  if (target.startsWith("@")) return `<${target}>`;
  if (target.startsWith("#")) return label === "" ? `<${target}>` : `#${label}`;
  if (target.startsWith("!subteam^") || target.startsWith("!date^")) return label;
  if (target.startsWith("!")) return `@${target.slice(1)}`;
  if (!/^(https?|mailto|tel):/u.test(target)) return undefined;
  const address = target.replace(/^mailto:|^tel:/u, "");
  return label === "" || target.endsWith(label) ? address : `${label} (${address})`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function unescaped(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
