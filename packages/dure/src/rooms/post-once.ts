import {
  ChannelError,
  type ChannelAdapter,
  type FoundOnPlatform,
  type OutgoingPost,
} from "./channel-adapter.ts";

/** Before what cannot be told now is looked for again, milliseconds. */
const LOOK_AGAIN_MS = 1000;

/**
 * Posts what may be there already under its key: a platform that knows keys gives it, on another one
 * it is looked for first.
 */
export async function postOnce(
  adapter: ChannelAdapter,
  post: OutgoingPost,
  { signal }: { signal: AbortSignal },
): Promise<{ platformId: string }> {
  if (adapter.limits.keyMemoryMs > 0) return adapter.post(post, { signal });
  const platformId = idOf(await adapter.findPost(post, { signal }));
  return platformId === undefined ? adapter.post(post, { signal }) : { platformId };
}

/**
 * Undefined: it is not there.
 *
 * @throws ChannelError `transient` where that cannot be told now
 */
export function idOf(found: FoundOnPlatform): string | undefined {
  if (found.found === "yes") return found.platformId;
  if (found.found === "no") return undefined;
  throw new ChannelError("transient", "Whether it is there already cannot be told.", {
    notSent: true,
    retryAfterMs: LOOK_AGAIN_MS,
  });
}
