import { isObject, type Json, type JsonObject } from "dure/client";
import type { ReactNode } from "react";
import { labelOf, shownFact } from "../fact-words.ts";
import { useLanguage } from "../language.tsx";
import type { Text } from "../language.tsx";

/** Nesting that is shown; what lies deeper is left out. */
const DEEPEST = 3;
/** Entries of a list that are shown before the rest is folded. */
const LIST_SHOWN = 8;
/** A text of more characters or lines is shown in a box of its own, which scrolls. */
const LONG = { characters: 160, lines: 2 } as const;

/**
 * What an escalation is about: names and values, a line each; lists and groups stand under their
 * name.
 */
export function ContextFacts({
  value,
  arguments: isCall = false,
}: {
  value: JsonObject;
  arguments?: boolean;
}): ReactNode {
  return <Group value={value} depth={1} isCall={isCall} />;
}

function Group({
  value,
  depth,
  isCall,
}: {
  value: JsonObject;
  depth: number;
  isCall: boolean;
}): ReactNode {
  const { text } = useLanguage();
  const rows = Object.entries(value)
    .flatMap(([name, member]) => (isWorthSaying(member) ? [[name, member] as const] : []))
    .toSorted((a, b) => rankOf(...a) - rankOf(...b));
  if (rows.length === 0) return null;

  return (
    <dl className="facts pairs context-facts">
      {rows.map(([name, member]) => (
        <div key={name} data-block={isBlock(member) || undefined}>
          <dt>{nameOf(name, text, isCall)}</dt>
          <dd>
            <Value name={name} value={member} depth={depth} isCall={isCall} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Value({
  name,
  value,
  depth,
  isCall,
}: {
  name: string;
  value: Json;
  depth: number;
  isCall: boolean;
}): ReactNode {
  const speaking = useLanguage();
  const { text } = speaking;
  if (Array.isArray(value)) {
    return <List name={name} values={value} depth={depth} isCall={isCall} />;
  }
  if (isObject(value)) {
    return depth < DEEPEST ? <Group value={value} depth={depth + 1} isCall={isCall} /> : "…";
  }
  if (typeof value === "boolean") return text.escalations.values[String(value)];

  const words = shownFact(name, value, speaking);

  return isLong(words) ? <pre tabIndex={0}>{words}</pre> : words;
}

function List({
  name,
  values,
  depth,
  isCall,
}: {
  name: string;
  values: readonly Json[];
  depth: number;
  isCall: boolean;
}): ReactNode {
  const { text } = useLanguage();
  const item = (value: Json, index: number): ReactNode => (
    <li key={index}>
      <Value name={name} value={value} depth={depth} isCall={isCall} />
    </li>
  );

  const rest = values.slice(LIST_SHOWN);

  return (
    <>
      <ul className="context-list stack">{values.slice(0, LIST_SHOWN).map(item)}</ul>
      {rest.length > 0 && (
        <details>
          <summary>
            {text.escalations.more} ({rest.length})
          </summary>
          <ul className="context-list stack">{rest.map(item)}</ul>
        </details>
      )}
    </>
  );
}

/**
 * Arguments of a call speak of their own matter: `to` is who gets the money there, and who was
 * asked elsewhere. Pure.
 */
export function nameOf(name: string, text: Text, isCall: boolean): string {
  const own = text.escalations.context[name];
  if (own !== undefined && !(isCall && name in text.common.facts.names)) return own;

  return labelOf(
    name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    text,
  );
}

function isWorthSaying(value: Json | undefined): value is Json {
  if (value === null || value === undefined || value === "") return false;
  return Array.isArray(value)
    ? value.length > 0
    : !isObject(value) || Object.keys(value).length > 0;
}

/**
 * The database keeps no order of names: what it is called stands first, then short facts, lists,
 * and long texts. Pure.
 */
function rankOf(name: string, value: Json): number {
  if (name === "name" || name === "title") return 0;
  if (!isBlock(value)) return 1;
  return typeof value === "string" ? 3 : 2;
}

/** Needs more room than the line beside its name. */
function isBlock(value: Json): boolean {
  return typeof value === "string" ? isLong(value) : typeof value === "object" && value !== null;
}

function isLong(text: string): boolean {
  return text.length > LONG.characters || text.split("\n").length > LONG.lines;
}
