import {
  DureError,
  EMPTY_TURN_VIEW,
  shownText,
  systemClock,
  turnView,
  type DureClient,
  type Job,
} from "dure/client";
import { useEffect, useState } from "react";
import { useParts } from "../app-parts.tsx";

/** How often the conversation turn of a new exchange turn is looked for, milliseconds. */
const LOOK_EVERY_MS = 700;
/** Agents whose sessions can be named from here; the server gives others a name of its own. */
const PLAIN_AGENT = /^[A-Za-z0-9._@-]{1,100}$/;

/**
 * What an agent has said so far in the exchange turn that is under way: each agent's exchange is a
 * session of its own.
 */
export function useLiveText(job: Pick<Job, "jobId">, speaker: string, isSpeaking: boolean): string {
  const { client } = useParts();
  const [said, setSaid] = useState("");
  const session = `job:${job.jobId}:${speaker}`;

  useEffect(() => {
    if (!isSpeaking || !PLAIN_AGENT.test(speaker)) return undefined;

    const leave = new AbortController();
    void follow(client, session, setSaid, leave.signal);

    return () => leave.abort();
  }, [client, session, speaker, isSpeaking]);

  return said;
}

async function follow(
  client: DureClient,
  session: string,
  say: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  try {
    const turn = await runningTurn(client, session, signal);
    let view = EMPTY_TURN_VIEW;
    for await (const frame of client.followTurn(turn, { signal })) {
      say(shownText((view = turnView(view, frame, systemClock.now()))));
    }
  } catch {
    // Left, or not allowed to read conversations: the finished turn comes with the job.
  }
}

async function runningTurn(
  client: DureClient,
  session: string,
  signal: AbortSignal,
): Promise<string> {
  for (;;) {
    // The exchange begins before its conversation: nothing there yet is no failure.
    await systemClock.sleep(LOOK_EVERY_MS, { signal });
    const found = await client.session(session, { signal }).catch((error: unknown) => {
      if (error instanceof DureError && error.class === "not-found") return undefined;
      throw error;
    });
    if (found?.runningTurn) return found.runningTurn.turnId;
  }
}
