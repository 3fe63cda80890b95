import { z } from "zod";
import { DureError } from "../../kernel/errors.ts";
import { closest } from "../../kernel/closest.ts";
import { filesOfSkill, readSkillFile, type Skill } from "../files/skill-files.ts";
import { tool, type AnyTool } from "./tool.ts";

/** The tool that gives a skill's instructions and files. */
export const LOAD_SKILL = "load_skill";

/** Characters of all descriptions in one prompt: it is sent with each call. */
const MOST_DESCRIPTIONS = 16_000;

/** What the prompt says of skills, and those whose description had no room. */
export interface SkillsPart {
  readonly text: string;
  readonly withoutDescription: readonly string[];
}

/**
 * Names and descriptions for the prompt of an agent, in the order of the names: as long as the
 * skills are the same, so is the text, and providers keep what begins with it. Pure.
 */
export function skillsPart(skills: readonly Skill[], most = MOST_DESCRIPTIONS): SkillsPart {
  if (skills.length === 0) return { text: "", withoutDescription: [] };
  const sorted = skills.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const lines: string[] = [];
  let room = most;
  for (const line of sorted.map(lineOf)) {
    room -= line.length;
    if (room < 0) break;
    lines.push(line);
  }
  const withoutDescription = sorted.slice(lines.length).map(({ name }) => name);
  const left = withoutDescription.join(", ");

  return {
    text: [
      "# Skills",
      "Instructions for kinds of work. Before work that a description fits, load its skill with " +
        `\`${LOAD_SKILL}\` and follow it. A skill gives you no right that your tools do not have.`,
      "",
      ...lines,
      ...(left === "" ? [] : [`- More skills, without room for their descriptions: ${left}`]),
    ].join("\n"),
    withoutDescription,
  };
}

function lineOf({ name, description, compatibility }: Skill): string {
  const needs = compatibility === undefined ? "" : ` (needs: ${inOneLine(compatibility)})`;
  return `- \`${name}\`: ${inOneLine(description)}${needs}`;
}

function inOneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ");
}

/** Gives the instructions and files of these skills, and of no others. */
export function loadSkillTool(skills: readonly Skill[]): AnyTool {
  const byName = new Map(skills.map((skill) => [skill.name, skill]));
  return tool({
    description:
      "Loads a skill: its instructions and the list of its files. With `file`, gives one of its files.",
    always: true, // the prompt names it
    inputSchema: z.object({
      name: z.string().min(1).max(64),
      file: z.string().min(1).max(500).optional(),
      from: z.int().min(0).optional().describe("Byte of the file to begin at."),
    }),
    execute: ({ name, file, from }) => {
      const skill = byName.get(name);
      if (skill === undefined) throw skillUnknown(name, [...byName.keys()]);
      return file === undefined ? instructionsText(skill) : fileText(skill, file, from);
    },
  });
}

async function instructionsText(skill: Skill): Promise<string> {
  const { files, isCut } = await filesOfSkill(skill);
  if (files.length === 0) return skill.instructions;
  const more = isCut ? " There are more, which are not listed." : "";

  return (
    `${skill.instructions}\n\n---\nFiles of this skill, read with ${LOAD_SKILL} and \`file\`: ` +
    `${files.join(", ")}.${more}`
  );
}

async function fileText(skill: Skill, file: string, from?: number): Promise<string> {
  const { text, bytes, next } = await readSkillFile(skill, file, from);
  return next === undefined
    ? text
    : `${text}\n[cut at byte ${next} of ${bytes}: read on with from]`;
}

export function skillUnknown(name: string, known: readonly string[]): DureError {
  const meant = closest(name, known);
  return new DureError("SKILL_UNKNOWN", `There is no skill "${name}".`, {
    class: "input",
    hint: meant ? `Did you mean ${meant}?` : `Skills are: ${known.join(", ") || "none yet"}.`,
  });
}
