import type { AgentEdit } from "../server/agent-edit-routes.ts";
import { EDITABLE_FILES, type EditableFile } from "../kernel/agent-files.ts";
import type { Database } from "../durable/database.ts";
import { readFrontMatter } from "../engine/files/front-matter.ts";
import { readYaml } from "../engine/files/load-service-document.ts";
import { Poller } from "../durable/poller.ts";
import { machineName } from "../durable/machine.ts";
import type { Notifications } from "../durable/notify.ts";
import type { RowPage } from "../durable/page.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import { AGENT_MARKDOWN } from "./agent-markdown.ts";
import {
  readFileState,
  replaceFile,
  shownPath,
  type FilePlace,
  type FileState,
} from "./agent-edit-files.ts";
import {
  beginEdit,
  doneSince,
  endEdit,
  findEdit,
  hasOtherMachines,
  lastTexts,
  listEdits,
  lockFile,
  newsBegin,
  openEdits,
  type EditOutcome,
} from "./agent-edit-rows.ts";
import { MAX_PERSONA } from "./agents.ts";
import type { Reloader } from "./reload.ts";
import { isObject } from "../kernel/json.ts";
import { camelCase } from "../kernel/wire.ts";

/** Why the files of an agent cannot be changed here. */
export type NotEditable = "code" | "service" | "machines";

/** One file as its page shows it. */
export interface EditableText extends FileState {
  readonly file: EditableFile;
  readonly path: string;
  /** It is not what the last change here has written. */
  readonly isFromOutside: boolean;
  /** Why it cannot be read; null where it can. */
  readonly problem: { readonly code: string; readonly message: string } | null;
}

export interface AgentFiles {
  readonly notEditable: NotEditable | null;
  /** What the configuration says itself: it goes before `agent.yaml`. */
  readonly configured: readonly string[];
  readonly files: readonly EditableText[];
}

/** A text for one file, made upon a version of it. */
export interface FileOrder {
  readonly agent: string;
  readonly file: EditableFile;
  readonly text: string;
  /** Null: there was no such file. */
  readonly version: string | null;
  readonly by: string;
}

/** How a change ended. `edit` is null where the file had this text already. */
export interface FileSaved extends FileState {
  readonly edit: number | null;
}

/** What is needed to say what became of a change. */
type CutEdit = Pick<AgentEdit, "id" | "agent" | "file" | "before" | "after">;

/** Tells other processes on the same folder of a change. */
const TOPIC = "agent-edits";
/** How often a process looks for changes that it was not told of, milliseconds. */
const LOOK_EVERY_MS = 2_000;
/**
 * After so long a change has ended or its process has died: twice the longest transaction,
 * milliseconds.
 */
const SETTLED_AFTER_MS = 10_000;

/**
 * Files of agents, as people change them on pages. A change is checked with the whole team, kept as
 * a row, written, and taken in; other processes on this folder follow. After a crash between row
 * and file the file is looked at. Source: docs/spec/platform §2.
 */
export class AgentEdits {
  readonly #parts: AgentEditsParts;
  readonly #poller: Poller;
  /** Behind this id changes are news. */
  #seen: number | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(parts: AgentEditsParts) {
    const { clock, logger, signal } = parts;
    this.#parts = parts;
    this.#poller = new Poller({
      what: "changed agents",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY_MS,
      clock,
      logger,
      signal,
    });
  }

  start(): void {
    this.#unsubscribe ??= this.#parts.notifications.subscribe(TOPIC, () => this.#poller.wake());
    this.#poller.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#poller.stop();
  }

  // --- looking

  async files(agent: string): Promise<AgentFiles> {
    const { database, host, reloader } = this.#parts;
    const last = await lastTexts(database, { host, agent });
    const given = reloader.configured?.agents?.[agent];
    const files = await Promise.all(
      EDITABLE_FILES.map((file) => this.#textOf({ agent, file }, last.get(file))),
    );
    const isMarkdown = files.some((one) => one.file === AGENT_MARKDOWN && isThere(one));
    const other = isMarkdown ? "agent.yaml" : AGENT_MARKDOWN;

    return {
      notEditable: await this.#whyNot(agent),
      configured: configuredIn(given),
      files: files.filter((one) => one.file !== other || isThere(one)),
    };
  }

  /** The newest first. */
  list(agent: string, cursor?: string): Promise<RowPage<AgentEdit>> {
    const { database, host } = this.#parts;
    return listEdits(database, { host, agent }, cursor);
  }

  /** Throws `AGENT_EDIT_UNKNOWN`. */
  async find(agent: string, id: number): Promise<AgentEdit> {
    const { database, host } = this.#parts;
    const edit = await findEdit(database, { host, agent }, id);
    if (edit) return edit;
    throw new DureError("AGENT_EDIT_UNKNOWN", `${agent} has no change ${id}.`, {
      class: "not-found",
      hint: "The last 100 changes of an agent are kept.",
    });
  }

  // --- changing

  /**
   * Nothing is changed where it throws: `AGENT_NOT_EDITABLE`, `AGENT_FILE_CHANGED`, what a start
   * would say of the text, or what the disk says.
   */
  async save(order: FileOrder, restores: number | null = null): Promise<FileSaved> {
    const { reloader, notifications } = this.#parts;
    const { agent, file, text, version } = order;
    await this.#assertEditable(agent);
    assertFits(order);
    const now = await readFileState(this.#placeOf(order));
    if (now.text === text) return { ...now, edit: null };
    assertVersion(order, now.version, version);
    assertNoNewAddress(order, now.text);

    const written: { edit?: number } = {};
    await reloader.takeIn(agent, {
      unsaved: { agent, file, text },
      write: async () => void (written.edit = await this.#write(order, restores)),
    });
    notifications.publish(TOPIC);

    return { ...(await readFileState(this.#placeOf(order))), edit: written.edit ?? null };
  }

  /**
   * Brings back the text before or after an earlier change, as a change of its own. Throws
   * `AGENT_EDIT_WITHOUT_FILE` where there was no file.
   */
  async restore(
    { agent, id, side }: { agent: string; id: number; side: "before" | "after" },
    { version, by }: Pick<FileOrder, "version" | "by">,
  ): Promise<FileSaved> {
    const { file, before, after } = await this.find(agent, id);
    const text = side === "before" ? before : after;
    if (text === null) {
      throw new DureError("AGENT_EDIT_WITHOUT_FILE", `There was no ${file} before change ${id}.`, {
        class: "conflict",
        hint: "Save an empty text, or remove the file at the machine.",
      });
    }

    return this.save({ agent, file, text, version, by }, id);
  }

  /**
   * The row has committed before the file is touched. So a process that dies at any line leaves
   * either no row and the old file, or a row whose file says what became of it.
   */
  async #write(order: FileOrder, restores: number | null): Promise<number> {
    const edit = await this.#begin(order, restores);
    try {
      await this.#replace(order, edit.id);
    } catch (error) {
      // Where the database is away too, a later look settles it.
      await this.#settle(edit).catch(() => {});
      throw error;
    }

    return edit.id;
  }

  #begin({ agent, file, text, version, by }: FileOrder, restores: number | null): Promise<CutEdit> {
    const { database, host } = this.#parts;
    return database.transaction(async (tx) => {
      await lockFile(tx, { host, agent }, file);
      const now = await readFileState(this.#placeOf({ agent, file }));
      assertVersion({ agent, file }, now.version, version);
      const edit = { agent, file, before: now.text, after: text };

      return { ...edit, id: await beginEdit(tx, host, { ...edit, by, restores }) };
    });
  }

  /**
   * The file is written within the transaction: its lock holds other processes off. Where the
   * commit fails after it, the row stays open and is settled by a look at the file.
   */
  async #replace({ agent, file, text, version }: FileOrder, id: number): Promise<void> {
    const { database, host, replace = replaceFile } = this.#parts;
    const place = this.#placeOf({ agent, file });
    await database.transaction(async (tx) => {
      await lockFile(tx, { host, agent }, file);
      const now = await readFileState(place);
      assertVersion({ agent, file }, now.version, version);
      const isOpen = await endEdit(tx, id, "done");
      if (!isOpen) throw changedMeanwhile({ agent, file });
      await replace(place, text);
    });
  }

  // --- what other processes did, or left

  async #look(): Promise<"idle"> {
    const { database, host, settleAfterMs = SETTLED_AFTER_MS } = this.#parts;
    for (const edit of await openEdits(database, host, settleAfterMs)) await this.#settle(edit);
    this.#seen ??= await newsBegin(database, host);
    const news = await doneSince(database, host, this.#seen);
    for (const agent of new Set(news.map((one) => one.agent))) await this.#follow(agent);
    this.#seen = news.at(-1)?.id ?? this.#seen;

    return "idle";
  }

  /** Of a process that died, or lost the database, between row and file. */
  async #settle(edit: CutEdit): Promise<void> {
    const { database, host, logger } = this.#parts;
    const { id, agent, file } = edit;
    const outcome = await database.transaction(async (tx) => {
      await lockFile(tx, { host, agent }, file);
      const now = await readFileState(this.#placeOf(edit)).catch(() => undefined);
      const found = decideOutcome(edit, now?.text);
      return (await endEdit(tx, id, found)) ? found : undefined;
    });
    if (outcome === undefined) return;
    const place = shownPath(edit);
    logger.warn({ edit: id, agent, outcome }, `change ${id} of ${place} was cut: ${outcome}`);
  }

  async #follow(agent: string): Promise<void> {
    try {
      await this.#parts.reloader.takeIn(agent, {});
    } catch (error) {
      this.#parts.logger.warn(
        { agent, error: messageOf(error) },
        `${agent} was changed and cannot be taken in; it answers as before`,
      );
    }
  }

  // --- small looks

  async #textOf(
    { agent, file }: Pick<FilePlace, "agent" | "file">,
    last: string | undefined,
  ): Promise<EditableText> {
    const path = shownPath({ agent, file });
    try {
      const now = await readFileState(this.#placeOf({ agent, file }));
      const isFromOutside = last !== undefined && last !== now.text;
      return { ...now, file, path, isFromOutside, problem: null };
    } catch (error) {
      if (!(error instanceof DureError)) throw error;
      const { code, message } = error;
      return {
        text: null,
        version: null,
        file,
        path,
        isFromOutside: false,
        problem: { code, message },
      };
    }
  }

  async #whyNot(agent: string): Promise<NotEditable | null> {
    const { database, reloader } = this.#parts;
    const given = reloader.configured?.agents?.[agent];
    if (given === undefined) return "code";
    if (given.service !== undefined) return "service";
    return (await hasOtherMachines(database, machineName())) ? "machines" : null;
  }

  async #assertEditable(agent: string): Promise<void> {
    const because = await this.#whyNot(agent);
    if (because === null) return;
    throw new DureError("AGENT_NOT_EDITABLE", NOT_EDITABLE[because].message(agent), {
      class: "conflict",
      hint: NOT_EDITABLE[because].hint,
      details: { because },
    });
  }

  #placeOf({ agent, file }: Pick<FilePlace, "agent" | "file">): FilePlace {
    return { teamFolder: this.#parts.folder, agent, file };
  }
}

export interface AgentEditsParts {
  /** Of the team. */
  readonly folder: string;
  /** Names the folder of data: the team's files are on its machine. */
  readonly host: string;
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly reloader: Pick<Reloader, "takeIn" | "configured">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The end of this process's right to work. */
  readonly signal?: AbortSignal | undefined;
  /** How a file is written; tests break it. */
  readonly replace?: typeof replaceFile | undefined;
  /** Age of a change that has ended or is cut. Default 10 s. */
  readonly settleAfterMs?: number | undefined;
}

/** What became of a change that was cut, by the text that the file has now. Pure. */
function decideOutcome(
  { before, after }: Pick<AgentEdit, "before" | "after">,
  now: string | null | undefined,
): EditOutcome {
  if (now === after) return "done";
  return now === before ? "refused" : "unknown";
}

const NOT_EDITABLE = {
  code: {
    message: (agent) => `${agent} was given in code, not by a configuration file.`,
    hint: "Change the code, and start the team anew.",
  },
  service: {
    message: (agent) => `${agent} answers through a service, which has its prompts.`,
    hint: "Change the files of the service, and run dure reload.",
  },
  machines: {
    message: (agent) => `Other machines have files of ${agent} of their own.`,
    hint: "Change the file where all machines get it from, and run dure reload on each.",
  },
} as const satisfies Record<NotEditable, { message: (agent: string) => string; hint: string }>;

/** An agent is declared by agent.md or by agent.yaml; the other one is not offered. Pure. */
function isThere({ text, problem }: EditableText): boolean {
  return text !== null || problem !== null;
}

function configuredIn(
  given: { displayName?: string | undefined; card?: object | undefined } | undefined,
): readonly string[] {
  const ofCard = Object.keys(given?.card ?? {}).map((key) => `card.${key}`);
  return given?.displayName === undefined ? ofCard : ["displayName", ...ofCard];
}

function assertFits({ agent, file, text }: FileOrder): void {
  if (text.length <= MAX_PERSONA) return;
  throw new DureError(
    "PERSONA_TOO_LONG",
    `${shownPath({ agent, file })} has ${text.length} characters; ${MAX_PERSONA} are allowed.`,
    { class: "input", hint: "It is read with every model call; keep what matters." },
  );
}

function assertVersion(
  place: Pick<FilePlace, "agent" | "file">,
  now: string | null,
  upon: string | null,
): void {
  if (now !== upon) throw changedMeanwhile(place);
}

function changedMeanwhile(place: Pick<FilePlace, "agent" | "file">): DureError {
  return new DureError(
    "AGENT_FILE_CHANGED",
    `${shownPath(place)} was changed since it was read; nothing was saved.`,
    { class: "conflict", hint: "Read it again, and make the change upon what it says now." },
  );
}

/** A key of a provider goes to the address of the card: only the machine's user names a new one. */
function assertNoNewAddress({ agent, file, text }: FileOrder, before: string | null): void {
  const name = shownPath({ agent, file });
  const known = before === null ? [] : addressesOf({ file, name, text: before });
  const added = addressesOf({ file, name, text }).filter((one) => !known.includes(one));
  if (added.length === 0) return;
  throw new DureError(
    "AGENT_ADDRESS_NEW",
    `${name} names ${added.join(", ")}: the team's key would be sent there.`,
    { class: "forbidden", hint: "Write the address into the file at the machine." },
  );
}

/** A broken file has no address that is in force; a broken text is refused when it is taken in. */
function addressesOf({ file, name, text }: Pick<FileOrder, "file" | "text"> & { name: string }) {
  if (file === "agent.yaml") return addressesIn(readYaml(name, text).document.value);
  return file === AGENT_MARKDOWN ? addressesIn(readFrontMatter(name, text).document.value) : [];
}

// --- agent edit addresses

/** Addresses of models that a card names, in either spelling. Pure. */
function addressesIn(card: unknown): readonly string[] {
  const found: string[] = [];
  const open: unknown[] = [card];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) open.push(...(value as unknown[]));
    if (!isObject(value)) continue;
    for (const [key, member] of Object.entries(value)) {
      if (camelCase(key) === "baseUrl") found.push(String(member));
      else open.push(member);
    }
  }

  return found;
}
