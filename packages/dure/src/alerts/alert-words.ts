/** What people read of an alert, in both languages. Pure. */

import type { AlertKind } from "../kernel/alerts.ts";
import type { Locale } from "../kernel/locales.ts";
import { renderMentions } from "../rooms/decide/mentions.ts";
import { cutText } from "../rooms/text.ts";
import type { AlertRow } from "./alert-rows.ts";

/** UTF-16 units; a phone shows fewer. */
const LONGEST_TITLE = 120;
const LONGEST_TEXT = 300;

/** An alert as people read it. */
export interface AlertWords {
  readonly title: string;
  /** What was said, without marks; "" where it is left out. */
  readonly text: string;
  /** Address on the page. */
  readonly path: string;
}

interface TitleWords {
  /** Who speaks, or what waits. */
  readonly title: Readonly<Record<AlertKind, (name: string) => string>>;
  /** The room is a direct one. */
  readonly directly: string;
}

const WORDS: Readonly<Record<Locale, TitleWords>> = {
  ko: {
    title: {
      answer: (name) => `${name} 님이 답했어요`,
      mention: (name) => `${name} 님이 나를 불렀어요`,
      question: (name) => `${name} 님이 답을 기다려요`,
      escalation: () => "결정을 기다리는 확인 요청이 있어요",
    },
    directly: "따로 나눈 대화",
  },
  en: {
    title: {
      answer: (name) => `${name} answered`,
      mention: (name) => `${name} mentioned you`,
      question: (name) => `${name} needs your answer`,
      escalation: () => "An escalation waits for your decision",
    },
    directly: "Direct conversation",
  },
};

/** @param shows whether what was said may leave. @param nameOf an agent's name */
export function wordsOfAlert(
  alert: AlertRow,
  locale: Locale,
  { shows, nameOf }: { shows: boolean; nameOf: (agent: string) => string | undefined },
): AlertWords {
  const { kind, author_name: name, place } = alert;
  const words = WORDS[locale];
  const title = cutText(words.title[kind](name ?? ""), LONGEST_TITLE);
  const path =
    place === null
      ? "/escalations"
      : `/rooms/${encodeURIComponent(place)}#${encodeURIComponent(alert.message ?? "")}`;
  if (!shows) return { title, text: "", path };

  const said = plainWords(renderMentions(alert.text ?? alert.title ?? "", nameOf));
  return { title, text: cutText(said, LONGEST_TEXT), path };
}

/** Where it was said: `#general`, or that it was said directly; "" of an escalation. */
export function whereOf({ place_kind: kind, place_name: name }: AlertRow, locale: Locale): string {
  if (kind === null || name === null) return "";
  if (kind === "direct") return WORDS[locale].directly;
  return kind === "channel" ? `#${name}` : name;
}

/** In one line, without the signs of markdown. */
function plainWords(text: string): string {
  return text
    .replaceAll(/\[((?:\\.|[^\\\]]){1,200})\]\([^()\s]{0,300}\)/gu, "$1")
    .replaceAll(/\\(?=[[\]()])|[*`~]+|^\s*(?:[>#-]+|\d+\.)\s/gmu, "")
    .replaceAll(/\s+/gu, " ")
    .trim();
}
