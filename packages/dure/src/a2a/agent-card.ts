import { DureError } from "../kernel/errors.ts";
import { FILE_TYPES } from "../kernel/files.ts";
import type { ServiceInfo } from "../wire/turns.ts";

/** The version that is spoken; any 1.x is answered. */
export const A2A_VERSION = "1.0";

/** Words, and files of these types. */
const INPUT_MODES = [...new Set(["text/plain", ...Object.keys(FILE_TYPES)])];

/** What a card says besides the service. */
export interface CardFacts {
  /** The server's address as its client knows it. */
  readonly origin: string;
  readonly version: string;
}

/** Where a service is spoken to, in both bindings. */
function addressOf(origin: string, service: string): string {
  return `${origin}/a2a/v1/${encodeURIComponent(service)}`;
}

/** The card of a service or an agent. Pure. Source: A2A 1.0 §4.4, §8. */
export function agentCard(service: ServiceInfo, facts: CardFacts): object {
  const { name, title, description, examples } = service;
  const url = addressOf(facts.origin, name);
  const face = { url, protocolVersion: A2A_VERSION };
  const words = description || title || name;

  return {
    name: title || name,
    description: words,
    version: facts.version,
    supportedInterfaces: [
      { ...face, protocolBinding: "JSONRPC" },
      { ...face, protocolBinding: "HTTP+JSON" },
    ],
    capabilities: { streaming: true, pushNotifications: true },
    securitySchemes: { token: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
    securityRequirements: [{ schemes: { token: { list: [] } } }],
    defaultInputModes: INPUT_MODES,
    defaultOutputModes: ["text/plain"],
    skills: [{ id: name, name: title || name, description: words, tags: ["dure"], examples }],
  };
}

export function noExtendedCard(): DureError {
  return new DureError("CARD_NOT_EXTENDED", "The card says all there is.", { class: "input" });
}
