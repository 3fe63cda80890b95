import type { Text } from "words:languages";
import { wordsIn } from "./catalogue.ts";
import type { Language } from "./src/words.ts";

/** What stands in the document of a page before any code has come. */
export interface FirstWords {
  readonly title: string | undefined;
  /** HTML. */
  readonly body: string;
}

/**
 * The frame of a page and its first words, as the page itself will draw them at the same place, so
 * that they can be read while the code is still on its way. Pure.
 */
export function firstWordsOf(page: string, language: Language): FirstWords {
  const text = wordsIn(language) as Text;
  const title = TITLES[page]?.(text);

  return {
    title: title === undefined ? undefined : `${plain(title)} · dure`,
    body: framed(WORDS[page]?.(text) ?? "", text),
  };
}

function framed(words: string, { shell }: Text): string {
  return `<div class="shell">
    <div class="shell-banners"></div>
    <nav aria-label="${shell.appName}">
      <span class="icon-link">${MENU}</span>${BRAND}
    </nav>
    <aside aria-label="${shell.nav.label}">${BRAND}</aside>
    <main class="shell-main first-words">${words}</main>
  </div>`;
}

const BRAND = `<a class="brand" href="/"><img src="/mark.svg" alt="" width="26" height="26">
  <span lang="ko">두레</span><small>dure</small></a>`;

const MENU = `<svg width="20" height="20" viewBox="0 0 24 24" fill="none" stroke="currentColor"
  stroke-width="2" stroke-linecap="round" aria-hidden="true"><path d="M4 6h16M4 12h16M4 18h16"/></svg>`;

/** As the pages set them when they are drawn. */
const TITLES: Readonly<Record<string, (text: Text) => string>> = {
  start: ({ start }) => start.pageTitle,
  plans: ({ plans }) => plans.pageTitle,
  chat: ({ chat }) => chat.sessions.start,
  rooms: ({ rooms }) => rooms.label,
};

/** By page; the others begin with what is read. */
const WORDS: Readonly<Record<string, (text: Text) => string>> = {
  start: ({ start }) => headed(start.pageTitle, start.what),
  plans: ({ plans }) => headed(plans.pageTitle, plans.lead),
  chat: ({ chat }) => `<div class="chat split"><section class="chat-main column flush">
    <header class="chat-head row bar"><h1 class="chat-title clip">${plain(chat.sessions.start)}</h1></header>
    <div class="welcome grow scroll"><div class="welcome-inner stack loose">
      <header><h2>${plain(chat.hello)}</h2><p class="soft">${plain(chat.lead)}</p></header>
    </div></div>
  </section></div>`,
  rooms: ({
    rooms: { ask },
  }) => `<div class="center-page first-asks"><div class="login stack loose">
    <img src="/mark.svg" alt="" width="44" height="44">
    <h1>${plain(ask.title)}</h1>
    <p class="soft">${plain(ask.lead)}</p>
    <div class="first-name"></div>
    <div class="first-button"></div>
  </div></div>`,
};

function headed(title: string, lead: string): string {
  const words = `<h1>${plain(title)}</h1><p class="soft">${plain(lead)}</p>`;
  return `<div class="page"><header>${words}</header></div>`;
}

function plain(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
