import type { DureClient } from "../client/index.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

interface Command {
  readonly client: DureClient;
  readonly output: Output;
  /** Name to order under on a server without tokens. */
  readonly person: string | undefined;
}

/** Pauses an agent, or lets it go on. */
export async function pauseAgent(
  agent: string,
  paused: boolean,
  { client, output, person }: Command,
): Promise<ExitCode> {
  await client.rooms(person).pause(agent, paused);
  output.line(
    paused
      ? `${agent} is paused: no new model call of it begins; what is asked of it waits`
      : `${agent} goes on with what waits for it`,
  );
  output.result({ agent, paused });
  return EXIT.ok;
}

/** Ends what runs in a place. */
export async function stopPlace(
  kind: "room" | "thread",
  id: string,
  { client, output, person }: Command,
): Promise<ExitCode> {
  const rooms = client.rooms(person);
  const stopped = await (kind === "room" ? rooms.stopRoom(id) : rooms.stopThread(id));
  const { answers, requests, jobs } = stopped;
  output.line(
    answers + requests + jobs === 0
      ? `nothing ran in ${id}`
      : `stopped in ${id}: ${answers} answers, ${requests} requests, ${jobs} jobs`,
  );
  output.result({ place: id, answers, requests, jobs });
  return EXIT.ok;
}
