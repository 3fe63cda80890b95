// The door `dure/react`: a conversation, a room and a run as hooks of React 18 or 19.

// What the hooks share
export { DureProvider, useHub } from "./provider.ts";
export { DureHub } from "./hub.ts";
export { type EventsListener, type SharedEvents } from "./shared-events.ts";
export { type Store } from "./store.ts";

// A conversation
export { useTurn, type UsedTurn, type UseTurnOptions } from "./use-turn.ts";
export {
  type Conversation,
  type ConversationView,
  type RunningTurn,
  type SentWith,
} from "./conversation.ts";
export { type Conversations } from "./conversations.ts";
export { type Entry } from "./entries.ts";

// A room
export { useRoom, type PostOptions, type UsedRoom, type UseRoomOptions } from "./use-room.ts";
export { ROOM_EVENTS, roomOf, type RoomFollower, type RoomView } from "./room-follower.ts";
export { type Timeline } from "./timeline.ts";

// A run
export { useRun, type UsedRun, type UseRunOptions } from "./use-run.ts";
export { runOf, type RunFollower, type RunView } from "./run-follower.ts";
