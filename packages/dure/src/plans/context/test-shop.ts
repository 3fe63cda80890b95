/** A made-up shop of four layers, with documents as teams write them; its files are of usual lengths. */

import { parsePlan } from "../plan-file.ts";
import type { CommitFiles } from "./gather.ts";

const LAYERS: Readonly<Record<string, readonly string[]>> = {
  "src/ports": ["order-store", "payment-gateway", "clock"],
  "src/domain": ["order", "price", "customer", "discount-rules"],
  "src/application": ["place-order", "refund-order", "ship-order"],
  "src/infrastructure": ["order-table", "payment-client", "queue", "connection"],
  "src/api": [
    "orders",
    "refunds",
    "customers",
    "shipments",
    "dto/order",
    "dto/refund",
    "errors",
    "session",
  ],
  "test/domain": ["order.test", "price.test", "discount-rules.test"],
  "test/api": ["orders.test", "refunds.test"],
};

/** A class whose methods have bodies. */
function codeOf(name: string): string {
  const type = name
    .split(/\W+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
  const methods = ["open", "find", "change", "close", "list"].map((method) => {
    const body = Array.from(
      { length: 9 },
      (_, line) =>
        `    const ${method}${line} = input.parts[${line}] ?? this.#known.get("${method}-${line}");`,
    );
    const head = `  ${method}(input: ${type}Input): ${type}Result {`;
    return [
      `  /** What happens when ${name} is asked to ${method}. */`,
      head,
      ...body,
      "    return { ok: true };",
      "  }",
    ];
  });
  return [
    `export interface ${type}Input { readonly parts: readonly string[] }`,
    `export interface ${type}Result { readonly ok: boolean }`,
    `export class ${type} {`,
    "  readonly #known = new Map<string, string>();",
    ...methods.flat(),
    "}",
    "",
  ].join("\n");
}

/** Name, front matter and headings. */
const DOCUMENTS: readonly (readonly [path: string, matter: string, headings: readonly string[]])[] =
  [
    ["README.md", "", ["The shop", "How to start"]],
    ["docs/requirements.md", "", ["Orders", "Refunds", "Shipping"]],
    ["docs/domain-model.md", "", ["Order", "Price", "Customer"]],
    ["docs/business-rules.md", "", ["Discounts", "Refunds within 14 days"]],
    ["docs/code-style.md", "", ["Names", "Errors"]],
    ["docs/db-schema.md", "", ["Tables", "Indexes"]],
    ["docs/jooq-queries.md", "", ["Records", "Transactions", "Paging"]],
    ["docs/deployment.md", "", ["Hosts", "Releases"]],
    ["docs/partner-integration.md", "", ["Payments", "Callbacks"]],
    ["docs/rest-api.md", "", ["Paths", "Errors"]],
    ["docs/auth.md", "", ["Sessions", "Roles"]],
    ["docs/testing-guide.md", "", ["Patterns", "Doubles"]],
    ["docs/money.md", "topics: [rules]", ["Rounding"]],
    ["docs/timeouts.md", "roles: [infrastructure, api]", ["Who waits for whom"]],
  ];

function documentOf(path: string, matter: string, headings: readonly string[]): string {
  const head = matter === "" ? "" : `---\n${matter}\n---\n`;
  const parts = headings.map((heading) => {
    const lines = Array.from(
      { length: 12 },
      (_, line) => `${heading}, ${line + 1}: all who work on this part of the shop keep to it.`,
    );
    return `## ${heading}\n\n${lines.join("\n")}\n`;
  });
  return `${head}# ${path}\n\n${parts.join("\n")}`;
}

const TEXTS: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(LAYERS).flatMap(([folder, names]) =>
    names.map((name) => [`${folder}/${name}.ts`, codeOf(name)]),
  ),
  ...DOCUMENTS.map(([path, matter, headings]) => [path, documentOf(path, matter, headings)]),
]);

export const SHOP: CommitFiles = {
  files: Object.entries(TEXTS).map(([path, text]) => ({ path, bytes: Buffer.byteLength(text) })),
  readFile: async (path) => TEXTS[path],
};

/** A port for each role. */
export const SHOP_PLAN = parsePlan(
  "shop.yaml",
  `plan: shop
roles: hexagonal
workers: { default: { kind: command, command: [agent] } }
contracts: [{ path: src/ports/order-store.ts, by: orchestrator }, { path: src/ports/payment-gateway.ts, by: orchestrator }, { path: src/ports/clock.ts, by: orchestrator }]
ports:
  - { id: domain, role: domain, goal: Refunds., owns: [src/domain/**, src/application/**], acceptance: npm test }
  - { id: infrastructure, role: infrastructure, goal: Refunds., owns: [src/infrastructure/**], dependsOn: [domain], acceptance: npm test }
  - { id: api, role: api, goal: Refunds., owns: [src/api/**], dependsOn: [domain], acceptance: npm test }
  - { id: test, role: test, goal: Refunds., owns: [test/**], dependsOn: [domain, infrastructure, api], acceptance: npm test }
`,
);
