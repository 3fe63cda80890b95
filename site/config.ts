/** The site as VitePress builds it, from `pages`, which `scripts/site.ts` puts together. */

import { ENGLISH, KOREAN, type Group } from "./structure.ts";

/** What the local search says in Korean; it speaks English by itself. */
const KOREAN_SEARCH = {
  button: { buttonText: "검색", buttonAriaLabel: "검색" },
  modal: {
    displayDetails: "자세히 보기",
    resetButtonTitle: "지우기",
    backButtonTitle: "닫기",
    noResultsText: "찾은 것이 없어요:",
    footer: { selectText: "열기", navigateText: "이동", closeText: "닫기" },
  },
};

export default {
  title: "dure",
  description: "Durable teams of AI agents: no work is lost, nothing happens twice.",
  srcDir: "pages",
  srcExclude: ["public/**"], // copies for programs, as llms.txt names them
  outDir: "dist",
  // Comments are taken out before, and `<name>` in a sentence is text.
  // A path such as `{id}` in a heading is no attribute.
  markdown: { html: false, attrs: { disable: true }, config: render },
  ignoreDeadLinks: false,
  themeConfig: {
    outline: [2, 3],
    search: { provider: "local", options: { locales: { ko: { translations: KOREAN_SEARCH } } } },
  },
  locales: {
    root: {
      label: "English",
      lang: "en",
      themeConfig: {
        nav: [
          { text: "First steps", link: "/guides/first-steps" },
          { text: "Reference", link: "/reference/cli" },
        ],
        sidebar: sidebarOf(ENGLISH),
      },
    },
    ko: {
      label: "한국어",
      lang: "ko",
      description: "꺼져도 하던 일을 이어 가는 AI 에이전트 팀이에요.",
      themeConfig: {
        nav: [{ text: "첫걸음", link: "/ko/first-steps" }],
        sidebar: sidebarOf(KOREAN),
        outline: { level: [2, 3], label: "이 페이지에서" },
        docFooter: { prev: "이전", next: "다음" },
        darkModeSwitchLabel: "어둡게",
        lightModeSwitchTitle: "밝게 보기",
        darkModeSwitchTitle: "어둡게 보기",
        sidebarMenuLabel: "차례",
        returnToTopLabel: "맨 위로",
        langMenuLabel: "언어",
        skipToContentLabel: "본문으로 가기",
        notFound: {
          title: "없는 페이지예요",
          quote: "주소가 바뀌었을 수 있어요.",
          linkText: "처음으로",
          linkLabel: "처음으로",
        },
      },
    },
  },
};

/** What is used of markdown-it. */
interface Markdown {
  readonly renderer: { readonly rules: Partial<Record<"fence" | "text" | "code_inline", Rule>> };
}

type Rule = (tokens: readonly Token[], index: number, ...rest: unknown[]) => string;

interface Token {
  readonly info: string;
  readonly content: string;
}

/** The page is a template of Vue once Markdown has drawn it: its braces are text. */
function render(markdown: Markdown): void {
  drawDiagrams(markdown);
  const { rules } = markdown.renderer;
  for (const kind of ["text", "code_inline"] as const) {
    const drawn = rules[kind]!;
    rules[kind] = (...args) => drawn(...args).replaceAll("{{", "&#123;&#123;");
  }
}

/** A block of Mermaid becomes a component, which draws it in the browser. */
function drawDiagrams({ renderer: { rules } }: Markdown): void {
  const asCode = rules.fence!;
  rules.fence = (tokens, index, ...rest) => {
    const { info, content } = tokens[index]!;
    if (info.trim() !== "mermaid") return asCode(tokens, index, ...rest);
    return `<ClientOnly><Diagram code="${encodeURIComponent(content)}" /></ClientOnly>`;
  };
}

/** VitePress's own shape of a sidebar. */
interface SidebarGroup {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

function sidebarOf(groups: readonly Group[]): readonly SidebarGroup[] {
  return groups.map(({ title, pages }) => ({
    text: title,
    items: pages.map(([text, page]) => ({ text, link: `/${page.replace(/(^|\/)index$/, "$1")}` })),
  }));
}
