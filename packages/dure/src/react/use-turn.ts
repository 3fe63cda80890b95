import { useMemo, useSyncExternalStore } from "react";
import type { Conversation, ConversationView } from "./conversation.ts";
import { useHub } from "./provider.ts";

/** What `useTurn` follows. */
export interface UseTurnOptions {
  /**
   * The server knows the session: it is read first. Default true; false for one that the page has
   * just invented, which is then not asked for.
   */
  readonly exists?: boolean | undefined;
}

/** A conversation as it stands, and what can be done in it. */
export interface UsedTurn extends ConversationView {
  /** Hands over a message; while a turn runs, it waits for it. */
  readonly send: Conversation["send"];
  /** Ends the running turn. */
  readonly stop: Conversation["stop"];
  /** Sends a message again that failed: it happens once. */
  readonly retry: Conversation["retry"];
  /** Goes on with a turn that ended because its model was away: its answer has `done.error.retry`. */
  readonly resume: Conversation["resume"];
  /** Follows the running turn again after its stream was lost. */
  readonly reattach: Conversation["reattach"];
  /** Answers a question of the inbox that this conversation has raised. */
  readonly answer: Conversation["answer"];
  /** The same thing for components below. */
  readonly conversation: Conversation;
}

/**
 * The turns of one session: what was said, the turn that runs with its agents and text so far, and
 * the state behind it. Follows it through cut connections and on reload. Turns go on at the server
 * when the component goes.
 */
export function useTurn(sessionId: string, { exists = true }: UseTurnOptions = {}): UsedTurn {
  const { conversations } = useHub();
  // `exists` counts where the page opens the session for the first time.
  const conversation = useMemo(
    () => conversations.open(sessionId, exists),
    [conversations, sessionId, exists],
  );
  const { subscribe, snapshot } = conversation;
  const view = useSyncExternalStore(subscribe, snapshot, snapshot);
  const deeds = useMemo(() => deedsOf(conversation), [conversation]);

  return { ...view, ...deeds };
}

function deedsOf(conversation: Conversation): Omit<UsedTurn, keyof ConversationView> {
  return {
    conversation,
    send: (message, extra) => conversation.send(message, extra),
    stop: () => conversation.stop(),
    retry: (key) => conversation.retry(key),
    resume: (turnId) => conversation.resume(turnId),
    reattach: () => conversation.reattach(),
    answer: (id, answer) => conversation.answer(id, answer),
  };
}
