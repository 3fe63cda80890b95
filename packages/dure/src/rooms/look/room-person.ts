/** What a person may see of rooms. */

import type { Locale } from "../../kernel/locales.ts";
import { DureError } from "../../kernel/errors.ts";
import type { Directory } from "../directory.ts";
import { speakerName } from "../../kernel/quoted-words.ts";
import type { Place } from "../place.ts";
import { roomTexts } from "../texts.ts";

/** Who calls: a tenant's person. */
export interface RoomPerson {
  readonly tenant: string;
  /** An administrator without a tenant: sees the channels of all. Default no. */
  readonly seesAll?: boolean | undefined;
  /** Their name; what they write stands under it. */
  readonly person: string;
}

/**
 * A channel belongs to its whole tenant; a direct room, and each thread of it, to its person. What is
 * said in private on another platform is for the operators alone.
 */
export function maySee(place: Place, who: RoomPerson): boolean {
  if (!place.isPrivate) return who.seesAll === true || place.tenant === who.tenant;
  if (place.adapter !== "web") return who.seesAll === true;
  return place.tenant === who.tenant && place.person === who.person;
}

/**
 * Throws `PERSON_INVALID` for a name that looks like an agent's: it would let a person speak as one,
 * also by characters that cannot be seen.
 */
export function checkPerson(name: string, directory: Directory): void {
  const shown = comparableName(name);
  if (shown === "" || /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(name)) {
    throw new DureError(
      "PERSON_INVALID",
      "The name holds nothing that people can read, or signs that they cannot see.",
      { class: "input", hint: "Choose a name of plain letters." },
    );
  }
  if (isNameOfAgent(name, directory)) {
    throw new DureError("PERSON_INVALID", `"${name}" is the name of an agent.`, {
      class: "input",
      hint: "Choose another name.",
    });
  }
}

/**
 * The name under which someone from outside stands here. On a platform a person may have an agent's
 * name: then it says what they are. Pure.
 */
export function nameFromOutside(
  { authorKind, authorName }: { authorKind: "person" | "foreign"; authorName: string },
  { directory, locale }: { directory: Directory; locale: Locale },
): string {
  const name = speakerName(authorName);
  return isNameOfAgent(name, directory) ? roomTexts(locale).namesake(name, authorKind) : name;
}

function isNameOfAgent(name: string, { agents }: Directory): boolean {
  const shown = comparableName(name);
  return agents.some(({ id, displayName }) =>
    [id, displayName].some((agent) => comparableName(agent) === shown),
  );
}

function comparableName(name: string): string {
  return name
    .normalize("NFKC")
    .replace(/[\p{Default_Ignorable_Code_Point}\s]/gu, "")
    .toLowerCase();
}
