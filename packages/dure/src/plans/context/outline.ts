/** A node of a parsed file, as far as it is used. Places are characters of the text. */
export interface SyntaxNode {
  readonly type: string;
  readonly startIndex: number;
  readonly endIndex: number;
  /** It, or a node in it, could not be read. */
  readonly hasError: boolean;
  readonly namedChildren: readonly (SyntaxNode | null)[];
  childForFieldName(name: string): SyntaxNode | null;
}

/** Languages that are read through a grammar. */
export const OUTLINED = ["python", "go", "java", "kotlin", "rust"] as const;
export type OutlinedLanguage = (typeof OUTLINED)[number];

/** What stands in the files of one language. */
interface Rules {
  /** Shown as they are, up to a bound. */
  readonly whole: ReadonlySet<string>;
  /** Shown up to their body. */
  readonly callable: ReadonlySet<string>;
  /** Their head, and what is in their body. */
  readonly holder: ReadonlySet<string>;
  /** What the body of either is called, where the grammar has no field for it. */
  readonly bodies: ReadonlySet<string>;
  readonly isHidden: (node: SyntaxNode, about: OutlinePlace) => boolean;
}

interface OutlinePlace {
  readonly source: string;
  readonly parent: SyntaxNode | undefined;
}

/** Characters of one declaration, and of a comment above it. */
const MAX_WHOLE = 2_000;
const MAX_COMMENT = 400;
/** Classes in classes. */
const MAX_DEPTH = 4;

/**
 * Whether a part of a file could not be read. Pure. The grammar of Kotlin misses the end of a line in
 * `{ fun at(): Long }`, which loses nothing.
 */
export function isBroken(language: OutlinedLanguage, root: SyntaxNode): boolean {
  return language === "kotlin" ? hasUnread(root) : root.hasError;
}

function hasUnread(node: SyntaxNode): boolean {
  if (node.type === "ERROR") return true;

  return node.hasError && node.namedChildren.some((child) => child !== null && hasUnread(child));
}

/**
 * The declarations of a file without their bodies, and without what its language keeps private.
 * Pure. Empty: there are none.
 */
export function outlineOf(language: OutlinedLanguage, root: SyntaxNode, source: string): string {
  const shown = declarationsIn(root, RULES[language], { source, parent: undefined }, 0);
  return shown.length === 0 ? "" : `${shown.join("\n\n")}\n`;
}

function declarationsIn(
  node: SyntaxNode,
  rules: Rules,
  place: OutlinePlace,
  depth: number,
): string[] {
  const shown: string[] = [];
  let comments: SyntaxNode[] = [];
  for (const child of node.namedChildren) {
    if (!child) continue;
    if (isComment(child)) {
      comments.push(child);
      continue;
    }
    const text = declaration(child, rules, place, depth);
    if (text !== undefined) shown.push(commentText(comments, child, place.source) + text);
    comments = [];
  }

  return shown;
}

/** Undefined: nothing that others see. */
function declaration(
  node: SyntaxNode,
  rules: Rules,
  place: OutlinePlace,
  depth: number,
): string | undefined {
  if (node.type === "decorated_definition") return decorated(node, rules, place, depth);
  if (rules.isHidden(node, place)) return undefined;
  if (rules.whole.has(node.type)) return cut(textOf(node, place.source));

  const body = bodyOf(node, rules);
  if (rules.callable.has(node.type)) return signature(node, body, place.source);
  if (!rules.holder.has(node.type)) return undefined;
  if (!body || depth >= MAX_DEPTH) return cut(textOf(node, place.source));

  const head = place.source.slice(node.startIndex, body.startIndex).trimEnd();
  const members = declarationsIn(body, rules, { ...place, parent: node }, depth + 1);
  const inside = members.map((member) => indented(member)).join("\n");

  return inside === "" ? `${head} …` : `${head}\n${inside}`;
}

function decorated(
  node: SyntaxNode,
  rules: Rules,
  place: OutlinePlace,
  depth: number,
): string | undefined {
  const definition = node.childForFieldName("definition");
  const text = definition && declaration(definition, rules, place, depth);
  if (!definition || text === undefined || text === null) return undefined;

  return place.source.slice(node.startIndex, definition.startIndex) + text;
}

function signature(node: SyntaxNode, body: SyntaxNode | undefined, source: string): string {
  if (!body) return cut(textOf(node, source));

  const head = cut(source.slice(node.startIndex, body.startIndex).trimEnd());
  const first = body.namedChildren[0];
  const words = first?.type === "expression_statement" ? first.namedChildren[0] : undefined;

  if (words?.type !== "string") return `${head} …`;
  return `${head}\n  ${textOf(words, source).slice(0, MAX_COMMENT)}`;
}

function bodyOf(node: SyntaxNode, { bodies }: Rules): SyntaxNode | undefined {
  const named = node.childForFieldName("body");
  return named ?? node.namedChildren.find((child) => child && bodies.has(child.type)) ?? undefined;
}

function isComment({ type }: SyntaxNode): boolean {
  return type === "comment" || type === "line_comment" || type === "block_comment";
}

/** Comments that stand directly above. */
function commentText(comments: readonly SyntaxNode[], node: SyntaxNode, source: string): string {
  const [first, last] = [comments[0], comments.at(-1)];
  if (!first || !last) return "";

  const between = source.slice(last.endIndex, node.startIndex);
  if (/\n\s*\n/.test(between)) return "";

  return `${source.slice(first.startIndex, last.endIndex).trimEnd().slice(0, MAX_COMMENT)}\n`;
}

function textOf(node: SyntaxNode, source: string): string {
  return source.slice(node.startIndex, node.endIndex);
}

function cut(text: string): string {
  return text.length > MAX_WHOLE ? `${text.slice(0, MAX_WHOLE)} …` : text;
}

function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => `  ${line.replace(/^(?: {4}|\t)/, "")}`)
    .join("\n");
}

function nameOf(node: SyntaxNode, source: string): string {
  const name = node.childForFieldName("name");
  return name ? textOf(name, source) : "";
}

/** Whether its modifiers have a word. */
function isMarked(node: SyntaxNode, source: string, word: RegExp): boolean {
  const modifiers = node.namedChildren.find((child) => child && /modifier/.test(child.type));
  return modifiers ? word.test(textOf(modifiers, source)) : false;
}

const set = (...types: readonly string[]): ReadonlySet<string> => new Set(types);

const RULES: Readonly<Record<OutlinedLanguage, Rules>> = {
  python: {
    whole: set("import_statement", "import_from_statement", "type_alias_statement"),
    callable: set("function_definition"),
    holder: set("class_definition"),
    bodies: set("block"),
    isHidden: (node, { source }) => /^_(?!_\w+__$)/.test(nameOf(node, source)),
  },
  go: {
    whole: set(
      "package_clause",
      "import_declaration",
      "type_declaration",
      "const_declaration",
      "var_declaration",
    ),
    callable: set("function_declaration", "method_declaration"),
    holder: set(),
    bodies: set("block"),
    isHidden: (node, { source }) => /^[^\p{Lu}]/u.test(nameOf(node, source)),
  },
  java: {
    whole: set(
      "package_declaration",
      "import_declaration",
      "field_declaration",
      "constant_declaration",
      "enum_constant",
      "annotation_type_declaration",
    ),
    callable: set(
      "method_declaration",
      "constructor_declaration",
      "compact_constructor_declaration",
    ),
    holder: set(
      "class_declaration",
      "interface_declaration",
      "enum_declaration",
      "record_declaration",
      "enum_body_declarations",
    ),
    bodies: set("block", "class_body", "interface_body", "enum_body"),
    isHidden: (node, { source }) => isMarked(node, source, /\bprivate\b/),
  },
  kotlin: {
    whole: set(
      "package_header",
      "import",
      "import_list",
      "type_alias",
      "property_declaration",
      "enum_entry",
    ),
    callable: set("function_declaration", "secondary_constructor"),
    holder: set("class_declaration", "object_declaration", "companion_object"),
    bodies: set("function_body", "class_body", "enum_class_body", "block"),
    isHidden: (node, { source }) => isMarked(node, source, /\bprivate\b/),
  },
  rust: {
    whole: set(
      "use_declaration",
      "struct_item",
      "enum_item",
      "type_item",
      "const_item",
      "static_item",
      "function_signature_item",
      "associated_type",
    ),
    callable: set("function_item"),
    holder: set("impl_item", "trait_item", "mod_item"),
    bodies: set("block", "declaration_list"),
    isHidden: isHiddenRust,
  },
};

/** What a trait has is as public as the trait. */
function isHiddenRust(node: SyntaxNode, { parent }: OutlinePlace): boolean {
  if (node.type === "impl_item" || node.type === "use_declaration") return false;
  if (parent?.type === "trait_item" || parent?.childForFieldName("trait")) return false;

  return !node.namedChildren.some((child) => child?.type === "visibility_modifier");
}
