import { expect } from "vitest";
import { codeOf } from "../../src/kernel/errors.ts";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import type { TestPlatform } from "./platform.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

/** What people see in the channel: texts, and the buttons under the newest message that has some. */
export interface PressStage {
  readonly platform: TestPlatform;
  readonly place: string;
  /**
   * Waits for buttons, and remembers one: it may be pressed when it is not shown any more. Default: the
   * first one.
   */
  button(at?: number): Promise<(person: string) => Promise<string>>;
  /** Labels of the buttons that are shown now. */
  look(): Promise<readonly string[]>;
  /** A moderator takes the newest message with buttons away. Absent: not here. */
  remove?(): Promise<void>;
}

export async function onDiscord(): Promise<PressStage> {
  const stage = await discordPlatform();
  const shown = () => stage.discord.messages(stage.places.general);
  return {
    platform: stage,
    place: "discord:general",
    look: async () => shown().flatMap(({ buttons }) => buttons.map(({ label }) => label)),
    remove: async () => {
      const asking = shown().findLast(({ buttons }) => buttons.length > 0);
      stage.person("민준").remove(asking!);
    },
    button: async (at = 0) => {
      const button = await eventually(() => {
        const found = shown().findLast(({ buttons }) => buttons.length > 0)?.buttons[at];
        expect(found).toBeDefined();
        return found!;
      });
      const guest = { permissions: ["VIEW_CHANNEL", "READ_MESSAGE_HISTORY"] as const };
      return async (name) => {
        const person = name === "손님" ? stage.discord.addPerson(name, guest) : stage.person(name);
        return (await person.press(button)).text;
      };
    },
  };
}

export async function onSlack(): Promise<PressStage> {
  const stage = await slackPlatform();
  const shown = () => stage.slack.messages({ channel: stage.places.general });
  /** How often each person pressed. Each press is told something, so two at once are told two. */
  const presses = new Map<string, number>();
  return {
    platform: stage,
    place: "slack:general",
    look: async () => shown().flatMap(({ buttons }) => buttons.map(({ label }) => label)),
    button: async (at = 0) => {
      const found = await eventually(() => {
        const message = shown().findLast(({ buttons }) => buttons.length > 0);
        expect(message).toBeDefined();
        return message!;
      });
      const { value, label } = found.buttons[at]!;
      return async (name) => {
        const person = stage.person(name);
        const told = (): readonly string[] =>
          stage.slack.requests
            .filter(
              ({ method, args }) => method === "chat.postEphemeral" && args["user"] === person.id,
            )
            .map(({ args }) => args["text"] ?? "");
        const count = (presses.get(name) ?? told().length) + 1;
        presses.set(name, count);
        person.pressValue(found, { value, label });
        return eventually(() => {
          expect(told().length).toBeGreaterThanOrEqual(count);
          return told()[count - 1]!;
        });
      };
    },
  };
}

/** Who presses is told nothing but the code of a refusal; the team is that of the test. */
export function onWeb(team: () => TestTeam): PressStage {
  const place = "web:general";
  const messages = () => team().rooms.reader.messages(place, {});
  return {
    platform: webPlatform(),
    place,
    look: async () =>
      (await messages()).flatMap(({ buttons }) => (buttons ?? []).map(({ label }) => label)),
    button: async (at = 0) => {
      const button = await eventually(async () => {
        const asking = (await messages()).findLast(({ buttons }) => buttons !== null);
        expect(asking).toBeDefined();
        return asking!.buttons![at]!;
      });
      const [question = "", value = ""] = button.value.split(":");
      return (person) =>
        team()
          .rooms.answerIn(place, { tenant: "", person }, { question, value })
          .then(
            () => "",
            (error: unknown) => codeOf(error) ?? "?",
          );
    },
  };
}
