import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/json.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { AnsweredService, TurnStore } from "../../durable/turns.ts";
import type { ServiceInfo } from "../../wire/turns.ts";
import { leavesOf, type AnyService, type LeafService } from "./combine.ts";
import type { ServiceOptions } from "./service.ts";
import type { SlotDescription, StageMachine } from "../turn/state.ts";

/**
 * How long a service may be away that a process answered, milliseconds: its messages are accepted
 * meanwhile, and a turn that no process has taken for so long ends with `SERVICE_UNAVAILABLE`. A
 * release of several processes takes minutes.
 */
export const UNSERVED_MS = 300_000;

/** The services of this process, and what the processes know of each other's. */
export class ServiceDirectory {
  readonly #store: TurnStore;
  readonly #lease: AbortSignal;
  readonly #logger: Logger;
  #services: ReadonlyMap<string, AnyService>;
  #default: AnyService;
  /** What the others were told last. */
  #told = "";
  #telling: Promise<void> | undefined;

  /** Throws `SERVICE_INVALID`. */
  constructor(options: {
    /** The first one is the default. */
    services: readonly AnyService[];
    store: TurnStore;
    lease: AbortSignal;
    logger: Logger;
  }) {
    this.#services = servicesByName(options.services);
    this.#default = options.services[0]!;
    this.#store = options.store;
    this.#lease = options.lease;
    this.#logger = options.logger;
  }

  /** Other services from now on. Throws `SERVICE_INVALID`, and has changed nothing then. */
  redefine(services: readonly AnyService[]): void {
    this.#services = servicesByName(services);
    this.#default = services[0]!;
  }

  get(name: string): AnyService | undefined {
    return this.#services.get(name);
  }

  /** The services behind a name; none where no living process has it. */
  leavesOf(name: string): readonly LeafService[] {
    const service = this.get(name);
    return service ? leavesOf(service) : [];
  }

  get names(): readonly string[] {
    return [...this.#services.keys()];
  }

  /** By the services' names. */
  get versions(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#services.values()].map(({ name, version }) => [name, version]),
    );
  }

  describe(): readonly ServiceInfo[] {
    return [...this.#services.values()].map((service) =>
      describeService(service, service === this.#default),
    );
  }

  /** For a message that names no service. */
  get assumed(): Addressee {
    return { ...addresseeOf(this.#default), assumed: true };
  }

  /**
   * The service here, or as a process says that has it: while a release goes through several
   * processes, they do not have the same. Throws `SERVICE_UNKNOWN`.
   */
  async addressee(name: string): Promise<Addressee> {
    const service = this.#services.get(name);
    if (service) return addresseeOf(service);
    const elsewhere = await this.#store.answeredElsewhere(name, UNSERVED_MS);
    if (elsewhere) return { ...elsewhere, version: "" };
    throw new DureError("SERVICE_UNKNOWN", `There is no service "${name}".`, {
      class: "not-found",
      hint: `Services are: ${this.names.join(", ")}.`,
    });
  }

  /** The same, or the default service for one that was taken out of the team. */
  async addresseeOrDefault(name: string): Promise<Addressee> {
    try {
      return await this.addressee(name);
    } catch (error) {
      if (codeOf(error) !== "SERVICE_UNKNOWN") throw error;
      return addresseeOf(this.#default);
    }
  }

  /** Tells the other processes which services this one answers. Never rejects. */
  tell(): Promise<void> {
    // The reset stands outside: the work may end before this assignment.
    this.#telling ??= this.#tellAll().finally(() => (this.#telling = undefined));

    return this.#telling;
  }

  /** Again as long as the services have changed meanwhile. */
  async #tellAll(): Promise<void> {
    try {
      for (;;) {
        const services = [...this.#services.values()].map((service): AnsweredService => ({
          name: service.name,
          busy: busyOf(service),
        }));
        const words = canonicalJson(services);
        if (words === this.#told) return;
        await this.#store.announce(services, { signal: this.#lease });
        this.#told = words;
      }
    } catch (error) {
      if (this.#lease.aborted) return;
      this.#logger.warn({ code: codeOf(error), error: messageOf(error) }, NOT_TOLD);
    }
  }
}

const NOT_TOLD = [
  "the other processes could not be told which services are here;",
  "they refuse messages that name one of them alone",
].join(" ");

/** The service that a message is for, wherever it runs. */
export interface Addressee extends AnsweredService {
  /** `""`: it runs elsewhere. */
  readonly version: string;
  /** The message names no service. */
  readonly assumed?: boolean | undefined;
}

function addresseeOf(service: AnyService): Addressee {
  return { name: service.name, version: service.version, busy: busyOf(service) };
}

function busyOf(service: AnyService): AnsweredService["busy"] {
  return service.sessions?.busy ?? "queue";
}

/** Throws `SERVICE_INVALID` where an engine cannot be made: no service, or two of one name. */
export function assertEngineServices(services: readonly AnyService[]): void {
  servicesByName(services);
}

function servicesByName(services: readonly AnyService[]): ReadonlyMap<string, AnyService> {
  if (services.length === 0) {
    throw new DureError("SERVICE_INVALID", "The team has no service.", {
      class: "input",
      hint: "Give defineTeam at least one service.",
    });
  }
  const map = new Map<string, AnyService>();
  for (const service of services) {
    if (map.has(service.name)) {
      throw new DureError("SERVICE_INVALID", `Two services are called "${service.name}".`, {
        class: "input",
        hint: "Give each service a name of its own.",
      });
    }
    map.set(service.name, service);
  }

  return map;
}

function describeService(service: AnyService, isDefault: boolean): ServiceInfo {
  const common = {
    name: service.name,
    title: service.title ?? service.name,
    description: service.description ?? "",
    default: isDefault,
  };
  if (service.kind !== "service") return { ...common, examples: [], flows: [] };
  const { stages, slots } = service.state ?? {};

  return {
    ...common,
    examples: service.examples ?? [],
    translations: translationsOf(service),
    callerTools: service.callerTools,
    flows: Object.keys(service.flows),
    stages: stages && describeStages(stages),
    slots: slots?.map(({ options, ...slot }) => ({
      ...withOwnLabels(slot),
      options: options?.map(withOwnLabels),
    })),
  };
}

function withOwnLabels<Named extends Pick<SlotDescription, "labels">>({ labels, ...named }: Named) {
  return { ...named, labels: labels && { ...labels } };
}

function translationsOf({
  translations,
}: Pick<ServiceOptions, "translations">): ServiceInfo["translations"] {
  if (translations === undefined) return undefined;
  return Object.entries(translations).map(([language, { title, description, examples }]) => ({
    language,
    title,
    description,
    examples: examples === undefined ? undefined : [...examples],
  }));
}

function describeStages({ initial, terminal, transitions }: StageMachine): ServiceInfo["stages"] {
  const pairs = Object.entries(transitions).flatMap(([from, targets]) =>
    targets.map((to): readonly [string, string] => [from, to]),
  );

  return { initial, terminal, transitions: pairs };
}
