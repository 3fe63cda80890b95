import type { DureClient } from "../client/index.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

interface BrakeCommand {
  readonly client: DureClient;
  readonly output: Output;
  /** Name to order under on a server without tokens. */
  readonly person: string | undefined;
}

/** Pauses an agent, or lets it go on. */
export async function pauseAgent(
  agent: string,
  paused: boolean,
  { client, output, person }: BrakeCommand,
): Promise<ExitCode> {
  await client.rooms(person).pause(agent, paused);
  const { room: words } = output.words.work;
  output.line(paused ? words.paused(agent) : words.goesOn(agent));
  output.result({ agent, paused });
  return EXIT.ok;
}

/** Ends what runs in a place. */
export async function stopPlace(
  kind: "room" | "thread",
  id: string,
  { client, output, person }: BrakeCommand,
): Promise<ExitCode> {
  const rooms = client.rooms(person);
  const stopped = await (kind === "room" ? rooms.stopRoom(id) : rooms.stopThread(id));
  const { answers, requests, jobs } = stopped;
  const { room: words } = output.words.work;
  output.line(
    answers + requests + jobs === 0
      ? words.nothingRan(id)
      : words.stopped(id, { answers, requests, jobs }),
  );
  output.result({ place: id, answers, requests, jobs });
  return EXIT.ok;
}
