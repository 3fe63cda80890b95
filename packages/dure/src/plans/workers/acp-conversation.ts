import {
  methods,
  RequestError,
  type ClientContext,
  type LoadSessionResponse,
  type NewSessionRequest,
  type SessionModeState,
} from "@agentclientprotocol/sdk";
import { workerError } from "./worker-error.ts";

/** A conversation with an agent. */
interface Conversation {
  readonly sessionId: string;
  readonly modes: SessionModeState | null | undefined;
  /** It goes on with an earlier one. */
  readonly isResumed: boolean;
}

/**
 * Goes on with the known conversation, else begins one: an agent may have lost it, or never kept it.
 * `onReplay` is told while the agent repeats what was said before.
 */
export async function openConversation(
  agent: ClientContext,
  how: {
    readonly known: string | undefined;
    readonly cwd: string;
    readonly servers: NewSessionRequest["mcpServers"];
    readonly onReplay: (replays: boolean) => void;
  },
): Promise<Conversation> {
  const { known, cwd, servers: mcpServers, onReplay } = how;
  if (known !== undefined) {
    onReplay(true);
    try {
      const wanted = { sessionId: known, cwd, mcpServers };
      // Some agents answer with nothing.
      const loaded: LoadSessionResponse | undefined = await agent.request(
        methods.agent.session.load,
        wanted,
      );

      return { sessionId: known, modes: loaded?.modes, isResumed: true };
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
    } finally {
      onReplay(false);
    }
  }
  const opened = await agent.request(methods.agent.session.new, { cwd, mcpServers });

  return { sessionId: opened.sessionId, modes: opened.modes, isResumed: false };
}

/** Throws `WORKER_PROTOCOL` where the agent has no such mode: in another one it may ask nothing. */
export async function setMode(
  agent: ClientContext,
  wanted: { readonly sessionId: string; readonly mode: string; readonly modes: SessionModeState },
): Promise<void> {
  const { sessionId, mode, modes } = wanted;
  if (modes.currentModeId === mode) return;
  const known = modes.availableModes.map(({ id }) => id);
  if (!known.includes(mode)) {
    throw workerError("WORKER_PROTOCOL", `The agent has no mode ${mode} for its sessions.`, {
      hint: `Name one of these as mode in the plan: ${known.join(", ")}.`,
    });
  }
  await agent.request(methods.agent.session.setMode, { sessionId, modeId: mode });
}
