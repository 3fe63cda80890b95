import { ChannelError, type ChannelAdapter, type OutgoingPost } from "./channel-adapter.ts";

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
  const found = await adapter.findPost(post, { signal });
  if (found.found === "yes") return { platformId: found.platformId };
  if (found.found === "no") return adapter.post(post, { signal });
  throw new ChannelError("transient", "Whether it is there already cannot be told.", {
    notSent: true,
    retryAfterMs: LOOK_AGAIN_MS,
  });
}
