/** Who looks at a page: not let in, let in without a name of their own, or known by name. */
export type Visitor = "stranger" | "nameless" | "named";

export interface DocumentFacts {
  /** Names of the files in the folder `pages` of the dashboard. */
  readonly documents: ReadonlySet<string>;
  readonly path: string;
  /** The header `Accept-Language`. */
  readonly languages: string | undefined;
  readonly visitor: Visitor;
}

/** The frame alone, for what has no first words that are known before anything is read. */
const FRAME = "frame";

/**
 * The document of an address. That of a page holds the frame and the page's first words;
 * `index.html` holds neither, for those who will be asked to log in. Pure.
 */
export function decideDocument({ documents, path, languages, visitor }: DocumentFacts): string {
  if (visitor === "stranger") return "index.html";

  const language = languageOf(languages);
  const pages = [pageOf(path, visitor), FRAME].map((page) => `${page}.${language}.html`);
  const document = pages.find((name) => documents.has(name));

  return document === undefined ? "index.html" : `pages/${document}`;
}

/** As `first-paint.js` of the dashboard names the parts of a page, where those words are known. */
function pageOf(path: string, visitor: Visitor): string {
  const [, first = "", second = ""] = path.split("/");
  if (first === "plans" && second === "runs") return "run";
  if (first === "plans" && second === "start") return "before";
  if (first === "agents" && second !== "") return "agent";
  if (first === "chat" && second !== "") return FRAME; // it begins with what was said
  if (first === "rooms" && visitor === "named") return FRAME; // it asks for no name
  return first === "" ? "start" : first;
}

/** The browser's first language that the pages speak, else English. */
function languageOf(header = ""): string {
  const spoken = header.split(",").map((tag) => tag.trim().split(/[-;]/, 1)[0]!.toLowerCase());
  return spoken.find((tag) => tag === "ko" || tag === "en") ?? "en";
}
