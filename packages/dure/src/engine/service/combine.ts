import type { Locale } from "../../kernel/locales.ts";
import { DureError } from "../../kernel/errors.ts";
import { z } from "zod";
import { conversationalAgent, type Agent } from "../agent/agent.ts";
import type { CardInput } from "../../models/card.ts";
import { builtInPrompt, fillPrompt } from "../../models/prompt-files.ts";
import type { RemoteService } from "../remote/remote-service.ts";
import type { BusyPolicy, Service } from "./service.ts";

/** Chooses the service for a message outside of a flow. */
export type ServiceRouter =
  | {
      readonly kind: "function";
      readonly route: (message: string, options: RouteOptions) => string | Promise<string>;
    }
  /** The agent answers `{service}`; a name that is unknown falls to `default`. */
  | {
      readonly kind: "agent";
      readonly agent: Agent;
      readonly default: string;
      /** The prompt made of a text with open places, dure's or the team's; absent: the agent's own. */
      readonly fill?: ((template: string) => string) | undefined;
    };

/** What a router knows when it chooses the service of a message. */
export interface RouteOptions {
  readonly services: readonly string[];
  /** The service that answered last. */
  readonly current: string | undefined;
  readonly locale: string;
  readonly signal: AbortSignal;
}

/** Several services behind one name, with the interface of one. */
export interface CombinedService {
  readonly kind: "combined";
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly version: string;
  readonly services: ReadonlyMap<string, LeafService>;
  readonly router: ServiceRouter;
  readonly sessions?: { readonly busy?: BusyPolicy } | undefined;
  /** Whether a person in the middle of a flow asks to leave it: the whole message means that. */
  readonly asksToLeave: (message: string) => boolean;
}

/** A service that is no combination of others. */
export type LeafService = Service | RemoteService;
/** What a team can have under a name. */
export type AnyService = LeafService | CombinedService;

/** The services behind one, itself where it combines none. Pure. */
export function leavesOf(service: AnyService): readonly LeafService[] {
  return service.kind === "combined" ? [...service.services.values()] : [service];
}

/** Those of them that this process runs itself; a remote one is elsewhere. Pure. */
export function ownLeavesOf(services: readonly AnyService[]): readonly Service[] {
  return services.flatMap(leavesOf).filter((leaf) => leaf.kind === "service");
}

/**
 * A person is in one service at a time; in the middle of a flow its messages stay there, unless the
 * person asks to leave.
 */
export function combineServices(options: {
  name?: string | undefined;
  title?: string | undefined;
  description?: string | undefined;
  services: readonly LeafService[];
  router: ServiceRouter;
  sessions?: { busy?: BusyPolicy } | undefined;
  asksToLeave?: ((message: string) => boolean) | undefined;
}): CombinedService {
  const services = new Map(options.services.map((service) => [service.name, service]));
  if (services.size === 0 || services.size !== options.services.length) {
    throw new DureError(
      "SERVICE_INVALID",
      services.size === 0
        ? "combineServices was given no service."
        : "Two of the combined services have the same name.",
      {
        class: "input",
        hint: "Give at least one service, each with a name of its own.",
      },
    );
  }
  if (options.router.kind === "agent" && !services.has(options.router.default)) {
    throw new DureError(
      "SERVICE_INVALID",
      `The router's default "${options.router.default}" is none of the services.`,
      {
        class: "input",
        hint: `Services are: ${[...services.keys()].join(", ")}.`,
      },
    );
  }
  return {
    kind: "combined",
    name: options.name ?? options.services.map((service) => service.name).join("+"),
    version: options.services.map((service) => `${service.name}@${service.version}`).join(","),
    title: options.title,
    description: options.description,
    sessions: options.sessions,
    services,
    router: options.router,
    asksToLeave: options.asksToLeave ?? asksToLeave,
  };
}

/**
 * The first rule with a keyword at the start of a word of the message, or behind another noun in a
 * Korean compound (계좌이체, 돈보내줘). Letter case does not count.
 */
export function keywordRouter(options: {
  rules: readonly { service: string; keywords: readonly string[] }[];
  default: string;
}): ServiceRouter {
  return {
    kind: "function",
    route: (message) => {
      const text = message.normalize("NFC").toLowerCase();
      const rule = options.rules.find(({ keywords }) =>
        keywords.some((keyword) => startsWord(text, keyword.normalize("NFC").toLowerCase())),
      );
      return rule?.service ?? options.default;
    },
  };
}

/** A model reads what the services are for, and chooses. */
export function modelRouter(options: {
  card?: CardInput | undefined;
  default: string;
  prompt?: string | undefined;
  services: Readonly<Record<string, string>>;
}): ServiceRouter {
  const names = Object.keys(options.services) as [string, ...string[]];
  const list = Object.entries(options.services).map(([name, what]) => `- ${name}: ${what}`);
  const fill = (template: string): string =>
    fillPrompt(template, { services: list.join("\n"), default: options.default });
  const builtIn = (language: Locale): string => fill(builtInPrompt("router", language));

  return {
    kind: "agent",
    default: options.default,
    fill: options.prompt === undefined ? fill : undefined,
    agent: conversationalAgent({
      name: "router",
      prompt: options.prompt ?? { ko: builtIn("ko"), en: builtIn("en") },
      schema: z.object({ service: z.enum(names) }),
      card: { temperature: 0, ...options.card },
    }),
  };
}

function startsWord(text: string, keyword: string): boolean {
  for (let at = text.indexOf(keyword); at >= 0; at = text.indexOf(keyword, at + 1)) {
    const before = text.slice(0, at).at(-1);
    if (before === undefined || !/[\p{L}\p{N}_]/u.test(before)) return true;
    if (isCompound(text.slice(0, at), keyword)) return true;
  }
  return false;
}

/** A noun of two syllables or more, or 돈, written together with what follows it. */
const FIRST_PART = /(?:^|[^\p{L}\p{N}_])(?:돈|[가-힣]{2,})(?<![안못])$/u;

/** Whether a Korean keyword is the later part of a word; 안 and 못 turn it round. */
function isCompound(before: string, keyword: string): boolean {
  return /^[가-힣]{2,}/u.test(keyword) && FIRST_PART.test(before);
}

/**
 * Whole messages that mean it. One that only holds such words does not: `처음으로 보내는 거야`,
 * `leave it as it is`.
 */
const LEAVING = [
  String.raw`(?:(?:그럼|그러면|이제|이만|그냥|우리) ?)*(?:그만하고 ?)?(?:다른|딴) ?(?:얘기|이야기|거|것|걸|서비스|업무) ?(?:를|을|로|으로|나|도|좀)? ?(?:하자|할래|할게|해|해줘|해주세요|하고 싶어|하고 싶은데|물어볼게|물어볼래|물어봐도 돼|갈래|바꿀래|바꿔줘)?요?`,
  String.raw`(?:(?:그럼|그러면|이제|이만|그냥|우리) ?)*(?:그만하고 ?)?(?:나갈래|나갈게|나가기|나가자|나가고 싶어|돌아갈래|처음으로(?: ?(?:가자|갈래|가줘|가 줘|돌아가자|돌아갈래|돌아가줘|돌아가 줘|돌아가고 싶어))?)요?`,
  String.raw`(?:(?:ok|okay|please|now|let's|i want to|i'd like to|can we) )*(?:exit|leave|quit|start over|(?:do |try |talk about )?something else)(?: please| now)?`,
].map((words) => new RegExp(`^(?:${words})$`, "u"));

function asksToLeave(message: string): boolean {
  const said = message
    .normalize("NFC")
    .toLowerCase()
    .replaceAll("’", "'")
    .replaceAll(/[\p{P}\p{S}]+$|^[\p{P}\p{S}]+/gu, "")
    .replaceAll(/\s*,\s*|\s+/gu, " ")
    .trim();
  return LEAVING.some((pattern) => pattern.test(said));
}
