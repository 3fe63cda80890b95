import type { Plan, Port } from "../plan.ts";
import { patternsOf, type Topic } from "./document-topics.ts";

/**
 * What a role knows and what it is kept from: files by globs, and sections of documents by words of
 * their headings. What a port owns, its contracts and what it may read by the plan are always
 * there; this is for everything beyond. Data, so that a plan can have its own. Source: the table of
 * docs/spec/plans §5.
 */
export interface ContextScope {
  /** In words, for the prompt. */
  readonly gets: readonly string[];
  readonly without: readonly string[];
  /** Files that are named or shown when they may be read. */
  readonly include: readonly string[];
  /** Never shown, unless the port owns them. */
  readonly exclude: readonly string[];
  /** Not shown even where the port depends on it. */
  readonly neverShown?: readonly string[] | undefined;
  /** Words of headings whose sections are left out of documents that are shown. */
  readonly withoutSections: readonly string[];
  /** Which documents of the repository are for it. Absent: those that `include` names. */
  readonly documents?:
    | {
        /** As front matter calls it. */
        readonly role: string;
        readonly topics: readonly Topic[];
        /** Those without a topic too. */
        readonly getsOthers: boolean;
      }
    | undefined;
}

/** Documents of a role of the table. */
const DOCUMENTS = {
  domain: {
    role: "domain",
    topics: ["requirements", "domain", "rules", "style"],
    getsOthers: true,
  },
  infrastructure: {
    role: "infrastructure",
    topics: ["schema", "queries", "infrastructure", "external"],
    getsOthers: false,
  },
  api: { role: "api", topics: ["api", "auth"], getsOthers: false },
  test: { role: "test", topics: ["testing", "rules"], getsOthers: false },
} as const satisfies Record<string, ContextScope["documents"]>;

const INFRASTRUCTURE = [
  "**/infrastructure/**",
  "**/infra/**",
  "**/persistence/**",
  "**/adapters/**",
  "**/repositories/**",
  "deploy/**",
  "terraform/**",
  "k8s/**",
];
const DDL = ["**/migrations/**", "**/*.sql", "**/schema.prisma"];
/** Tests by the names of their folders and files. */
export const TESTS = [
  "test/**",
  "tests/**",
  "**/__tests__/**",
  "**/*.test.*",
  "**/*.spec.*",
  "**/*_test.go",
  "**/test_*.py",
];
const API = ["**/api/**", "**/http/**", "**/routes/**", "**/controllers/**"];
const DOMAIN = [
  "**/domain/**",
  "**/core/**",
  "**/application/**",
  "**/usecases/**",
  "**/use-cases/**",
];
/** Layers by the names of their folders. */
export const LAYERS = { domain: DOMAIN, infrastructure: INFRASTRUCTURE, api: API } as const;
const DOCS = ["docs/**/*.md", "README.md"];
const API_SPEC = ["**/openapi.{yaml,yml,json}", "**/*.proto", "**/*.graphql"];

const SECTIONS = {
  infrastructure: ["infrastructure", "deployment", "operations", "인프라", "배포", "운영"],
  ddl: ["ddl", "schema", "migration", "migrations", "스키마", "마이그레이션"],
  api: ["api", "endpoints", "routes", "엔드포인트"],
  tests: ["test", "tests", "testing", "테스트"],
  rules: ["rules", "policies", "use cases", "업무 규칙", "비즈니스 규칙", "유스케이스"],
  domain: ["domain model", "entities", "도메인 모델", "엔티티"],
} as const;

/** The preset `hexagonal`, by role. */
export const HEXAGONAL_CONTEXT: Readonly<Record<string, ContextScope>> = {
  domain: {
    gets: ["requirements", "domain model", "contracts", "business rules", "code style"],
    without: ["infrastructure detail", "API settings", "tests", "DDL"],
    include: [...DOCS, ...DOMAIN],
    documents: DOCUMENTS.domain,
    exclude: [...INFRASTRUCTURE, ...API, ...API_SPEC, ...TESTS, ...DDL],
    withoutSections: [
      ...SECTIONS.infrastructure,
      ...SECTIONS.api,
      ...SECTIONS.tests,
      ...SECTIONS.ddl,
    ],
  },
  infrastructure: {
    gets: [
      "contracts",
      "database schema",
      "external API specification",
      "configuration",
      "query conventions",
    ],
    without: ["business rules", "use-case internals", "tests"],
    include: [
      ...INFRASTRUCTURE,
      ...DDL,
      ...API_SPEC,
      "config/**",
      ...patternsOf(DOCUMENTS.infrastructure.topics),
    ],
    documents: DOCUMENTS.infrastructure,
    exclude: [...DOMAIN, ...TESTS],
    withoutSections: [...SECTIONS.rules, ...SECTIONS.tests],
  },
  api: {
    gets: ["signatures of use cases", "DTOs", "API specification", "authentication rules"],
    without: ["domain internals", "infrastructure", "tests"],
    include: [...API, ...API_SPEC, "**/dto/**", ...patternsOf(DOCUMENTS.api.topics)],
    documents: DOCUMENTS.api,
    exclude: [...DOMAIN, ...INFRASTRUCTURE, ...DDL, ...TESTS],
    withoutSections: [
      ...SECTIONS.domain,
      ...SECTIONS.infrastructure,
      ...SECTIONS.ddl,
      ...SECTIONS.tests,
    ],
  },
  test: {
    gets: ["contracts", "summary of business rules", "existing test patterns", "test guides"],
    without: ["infrastructure detail", "DDL"],
    include: [...TESTS, ...patternsOf(DOCUMENTS.test.topics)],
    documents: DOCUMENTS.test,
    exclude: [...INFRASTRUCTURE, ...DDL],
    neverShown: [...INFRASTRUCTURE, ...DDL],
    withoutSections: [...SECTIONS.infrastructure, ...SECTIONS.ddl],
  },
};

/**
 * The preset `modules`: a module, what is written about the whole (which it may read), nothing of
 * the other modules.
 */
const MODULE_CONTEXT: ContextScope = {
  gets: ["the module's own files", "contracts", "documents of the project"],
  without: ["other modules", "tests of other modules"],
  include: DOCS,
  exclude: [],
  withoutSections: [],
};

/**
 * A plan that is so small that its ports share what they know. Source: docs/spec/plans §5, "When".
 */
const ONE_CONTEXT: ContextScope = {
  gets: ["the whole plan", "what all its ports own", "contracts", "documents of the project"],
  without: [],
  include: DOCS,
  exclude: [],
  withoutSections: [],
};

/** A role of the plan's own: what its definition says. */
const OWN_CONTEXT: ContextScope = {
  gets: ["what the plan names"],
  without: [],
  include: [],
  exclude: [],
  withoutSections: [],
};

/**
 * The context of a member of a port's pair. Pure. A tester has the tests' context, whatever the
 * role of its port: it needs the patterns of tests, and its port's files are its to read anyway.
 */
export function contextScopeOf(
  plan: Pick<Plan, "roles">,
  port: Pick<Port, "role">,
  member: "implementer" | "tester",
  { oneContext = false }: { oneContext?: boolean | undefined } = {},
): ContextScope {
  if (oneContext) return ONE_CONTEXT;
  switch (plan.roles.preset) {
    case "hexagonal":
      return HEXAGONAL_CONTEXT[member === "tester" ? "test" : port.role] ?? OWN_CONTEXT;
    case "modules":
      return MODULE_CONTEXT;
    case "own":
      return { ...OWN_CONTEXT, exclude: plan.roles.definitions[port.role]?.forbidden ?? [] };
  }
}

/**
 * A document without the sections whose heading has one of the words, whole words only; their
 * subsections go with them. Pure.
 */
export function withoutSections(markdown: string, words: readonly string[]): string {
  if (words.length === 0) return markdown;
  const pattern = new RegExp(words.map(wordPattern).join("|"), "iu");
  const kept: string[] = [];
  let leftOutAt: number | undefined;
  let fence: string | undefined;
  for (const line of markdown.split("\n")) {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (mark && (fence === undefined || mark.startsWith(fence))) {
      fence = fence === undefined ? mark : undefined;
    }
    const heading = fence === undefined ? /^(#{1,6})\s+(.*)$/.exec(line) : null;
    if (heading) {
      const level = heading[1]!.length;
      if (leftOutAt !== undefined && level <= leftOutAt) leftOutAt = undefined;
      if (leftOutAt === undefined && pattern.test(heading[2]!)) leftOutAt = level;
    }
    if (leftOutAt === undefined) kept.push(line);
  }
  return kept.join("\n");
}

function wordPattern(word: string): string {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  // Hangul takes its particles at the end, so there the beginning of a word is enough.
  const end = /\p{Script=Hangul}$/u.test(word) ? "" : "(?![\\p{L}\\p{N}])";
  return `(?<![\\p{L}\\p{N}])${escaped}${end}`;
}
