import { isMap, isSeq, parseDocument, type Document, type YAMLMap } from "yaml";
import { DureError } from "../../kernel/errors.ts";
import type { DraftChange, DraftPort, PortChange } from "../../wire/drafts.ts";

/** Keys of a port that are a list, as a plan writes them. */
const LISTS = ["owns", "tests", "reads", "dependsOn"] as const;
const WORDS = ["title", "goal", "acceptance", "role"] as const;
/** Another spelling that a text may have. */
const SNAKE: Readonly<Record<string, string>> = { dependsOn: "depends_on" };
/** No line of a person is broken. */
const AS_WRITTEN = { lineWidth: 0 } as const;

/**
 * The text of a plan with one change; comments and the order of keys stay. Pure. Throws
 * `DRAFT_UNREADABLE`, `DRAFT_PORT_UNKNOWN`, `DRAFT_PORT_EXISTS`.
 */
export function editPlan(text: string, change: DraftChange): string {
  const document = parseDocument(text, { uniqueKeys: false });
  if (document.errors.length > 0 || !isMap(document.contents)) throw unreadable();

  if (change.kind === "add") addPort(document, change.port);
  const port = portNamed(document, change.port);
  if (change.kind === "delete") {
    deletePort(document, change.port);
  } else {
    setPort(document, port, change.set);
  }

  return document.toString(AS_WRITTEN);
}

/** What can be read of the ports of a text, also of one with problems. In its order. Pure. */
export function portsIn(text: string): readonly DraftPort[] {
  const plan = valueOf(text);
  const workers = recordOf(plan["workers"]);
  const ports = Array.isArray(plan["ports"]) ? plan["ports"] : [];

  return ports.map((one: unknown) => {
    const port = recordOf(one);
    const id = wordOf(port["id"]);
    const role = wordOf(port["role"]);

    return {
      id,
      title: wordOf(port["title"]),
      goal: wordOf(port["goal"]),
      role,
      acceptance: wordOf(port["acceptance"]),
      owns: listOf(port["owns"]),
      tests: listOf(port["tests"]),
      reads: listOf(port["reads"]),
      dependsOn: listOf(port["dependsOn"] ?? port["depends_on"]),
      worker: Object.hasOwn(workers, role) ? workerOf(workers[role]) : null,
    };
  });
}

function valueOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return recordOf(parseDocument(text, { uniqueKeys: false }).toJS());
  } catch {
    return {}; // its check says what is wrong with it
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value);
  return isRecord ? (value as Readonly<Record<string, unknown>>) : {};
}

function wordOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value).trim() : "";
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(wordOf).filter((word) => word !== "") : [];
}

/** The name of an agent, else the kind of a worker. */
function workerOf(value: unknown): string {
  const worker = recordOf(value);
  return wordOf(worker["agent"]) || wordOf(worker["kind"]);
}

function addPort(document: Document, id: string): void {
  const ports = document.get("ports");
  if (idsIn(document).includes(id)) throw exists(id);
  const port = document.createNode({ id });
  if (isSeq(ports)) {
    ports.flow = false;
    ports.add(port);
  } else {
    document.set("ports", document.createNode([port]));
  }
}

function deletePort(document: Document, id: string): void {
  document.deleteIn(["ports", idsIn(document).indexOf(id)]);
  const ports = document.get("ports");
  if (!isSeq(ports)) return;

  for (const port of ports.items) {
    if (!isMap(port)) continue;
    const key = keyIn(port, "dependsOn");
    const needs = listOf(jsOf(port, document)[key]);
    if (needs.includes(id)) {
      const left = needs.filter((need) => need !== id);
      setList(document, port, key, left);
    }
  }
}

function setPort(document: Document, port: YAMLMap, set: PortChange): void {
  for (const key of WORDS) {
    const word = set[key]?.trim();
    if (word === "") port.delete(key);
    else if (word !== undefined) port.set(key, document.createNode(word));
  }
  for (const name of LISTS) {
    const list = set[name];
    if (list !== undefined) setList(document, port, keyIn(port, name), list);
  }
  const { id, role } = jsOf(port, document);
  if (wordOf(role) === "") port.set("role", id);
  if (set.worker !== undefined) setWorker(document, wordOf(role) || wordOf(id), set.worker);
}

function setList(document: Document, port: YAMLMap, key: string, list: readonly string[]): void {
  if (list.length === 0) port.delete(key);
  else port.set(key, document.createNode([...list], { flow: true }));
}

/** The worker of a role; null: the default one. */
function setWorker(document: Document, role: string, worker: string | null): void {
  if (!isMap(document.get("workers"))) document.set("workers", document.createNode({}));
  if (worker === null) document.deleteIn(["workers", role]);
  else document.setIn(["workers", role], document.createNode({ agent: worker }, { flow: true }));
}

function portNamed(document: Document, id: string): YAMLMap {
  const port: unknown = document.getIn(["ports", idsIn(document).indexOf(id)]);
  if (isMap(port)) return port;
  throw new DureError("DRAFT_PORT_UNKNOWN", `The draft has no port ${id}.`, {
    class: "conflict",
    hint: "Load the draft again: its text may have changed.",
  });
}

function idsIn(document: Document): readonly string[] {
  const ports: unknown = recordOf(document.toJS())["ports"];
  return Array.isArray(ports) ? ports.map((port) => wordOf(recordOf(port)["id"])) : [];
}

function keyIn(port: YAMLMap, name: string): string {
  const other = SNAKE[name];
  return other !== undefined && port.has(other) ? other : name;
}

function jsOf(port: YAMLMap, document: Document): Readonly<Record<string, unknown>> {
  return recordOf(port.toJS(document));
}

function unreadable(): DureError {
  return new DureError("DRAFT_UNREADABLE", "The text of the draft is no plan that can be edited.", {
    class: "conflict",
    hint: "Mend its text first.",
  });
}

function exists(id: string): DureError {
  return new DureError("DRAFT_PORT_EXISTS", `The draft has a port ${id} already.`, {
    class: "conflict",
    hint: "Choose another id.",
  });
}
