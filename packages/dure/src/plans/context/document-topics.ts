/** What a document is about: its front matter says it, else the words of its name. */

import { parse } from "yaml";

/** Words of names, English and Korean, by what they are about. Source: the table of docs/spec/plans §5. */
const WORDS = {
  requirements: "requirement requirements prd stories backlog 요구사항",
  domain: "domain model entities glossary 도메인 용어",
  rules: "rule rules policy policies business usecase usecases 규칙 정책 업무",
  style: "style convention conventions coding contributing lint 스타일 컨벤션 코딩",
  schema: "schema database db ddl migration migrations erd tables 스키마 데이터베이스 마이그레이션",
  queries: "query queries sql jooq orm jpa hibernate prisma drizzle knex 쿼리",
  infrastructure:
    "infra infrastructure deploy deployment ops operations hosting docker kubernetes k8s terraform" +
    " config configuration environment 인프라 배포 운영 설정",
  external: "external integration integrations vendor partner webhook webhooks 외부 연동",
  api: "api apis endpoint endpoints route routes rest graphql grpc openapi dto dtos http 엔드포인트",
  auth: "auth authentication authorization login oauth oidc 인증 권한",
  testing: "test tests testing qa fixtures 테스트",
} as const;

export type Topic = keyof typeof WORDS;

const TOPIC_OF: ReadonlyMap<string, Topic> = new Map(
  Object.entries(WORDS).flatMap(([topic, words]) =>
    words.split(" ").map((word) => [word, topic as Topic] as const),
  ),
);

/** Of a document that has none it is for all who get documents. */
export interface DocumentSubject {
  readonly topics: readonly Topic[];
  /** Those for whom it says that it is. */
  readonly roles: readonly string[] | undefined;
}

/** UTF-16 units of front matter that are read. */
const MAX_FRONT_MATTER = 4_000;
/** Topics, tags and roles of one document that count. */
const MAX_NAMED = 50;

/** By the path alone. Pure. */
export function subjectOfName(path: string): DocumentSubject {
  return { topics: topicsOf(path.normalize("NFC").split(/[^\p{L}\p{N}]+/u)), roles: undefined };
}

/**
 * `roles:` of the front matter says for whom it is, `topics:` or `tags:` what it is about; what cannot be
 * read counts as not said. Pure.
 */
export function subjectOf(path: string, text: string): DocumentSubject {
  const head = text.slice(0, MAX_FRONT_MATTER).replaceAll("\r\n", "\n");
  const [, matter] = /^---\n([\s\S]*?)\n---(?:\n|$)/u.exec(head) ?? [];
  const said = matter === undefined ? {} : readMatter(matter);
  const roles = namesIn(said["roles"] ?? said["role"]);
  const topics = topicsOf(namesIn(said["topics"] ?? said["topic"] ?? said["tags"]) ?? []);

  return { topics: topics.length > 0 ? topics : subjectOfName(path).topics, roles };
}

/** Whether it is for a role that gets these topics. Without a topic it is for those who get all documents. Pure. */
export function isFor(
  { topics, roles }: DocumentSubject,
  reader: {
    readonly role: string;
    readonly topics: readonly Topic[];
    readonly getsOthers: boolean;
  },
): boolean {
  if (roles !== undefined) return roles.includes(reader.role);
  if (topics.length === 0) return reader.getsOthers;
  return topics.some((topic) => reader.topics.includes(topic));
}

/** Patterns of documents whose names say these topics: wider than `isFor`, which decides. */
export function patternsOf(topics: readonly Topic[]): readonly string[] {
  const words = topics.flatMap((topic) => WORDS[topic].split(" "));
  return words.map((word) => `docs/**/*${word}*.md`);
}

function topicsOf(words: readonly string[]): readonly Topic[] {
  const found = words.flatMap((word) => TOPIC_OF.get(word.toLowerCase()) ?? []);
  return [...new Set(found)];
}

function readMatter(matter: string): Readonly<Record<string, unknown>> {
  try {
    const read: unknown = parse(matter, { maxAliasCount: 0, logLevel: "silent" });
    return typeof read === "object" && read !== null ? (read as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** A list of words, or a text with commas between them. */
function namesIn(said: unknown): readonly string[] | undefined {
  if (typeof said === "string") return said.split(",").map((word) => word.trim().toLowerCase());
  if (!Array.isArray(said)) return undefined;
  return said
    .slice(0, MAX_NAMED)
    .flatMap((word: unknown) => (typeof word === "string" ? [word.toLowerCase()] : []));
}
