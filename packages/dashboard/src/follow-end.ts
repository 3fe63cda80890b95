import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

/** Closer than this to the end counts as reading the newest, pixels. */
const NEAR_END = 80;

interface FollowedEnd {
  readonly following: boolean;
  readonly onScroll: () => void;
}

/**
 * Keeps the end in sight of a reader who is there; for a reader elsewhere everything stays where
 * it is. `own`: how many messages the reader wrote, a new one is always shown. `begins`: where a
 * reader stands at first, at the end unless said otherwise.
 */
export function useFollowEnd(
  ref: RefObject<HTMLElement | null>,
  { own = 0, begins = "end" }: { readonly own?: number; readonly begins?: "end" | "top" },
): FollowedEnd {
  const [following, setFollowing] = useState(begins === "end");
  const stand = useRef<Stand>({ follows: following, top: 0, own });

  useLayoutEffect(() => {
    if (own > stand.current.own) Object.assign(stand.current, { follows: true, top: 0 });
    stand.current.own = own;
    keepEnd(ref.current!, stand.current);
  });

  useEffect(() => {
    const element = ref.current!;
    const keep = (): void => keepEnd(element, stand.current);
    const content = new MutationObserver(keep); // parts of it are drawn without the whole
    content.observe(element, { childList: true, characterData: true, subtree: true });
    const size = new ResizeObserver(keep); // gets lower when a telephone shows its keyboard
    size.observe(element);

    return () => {
      content.disconnect();
      size.disconnect();
    };
  }, [ref]);

  const onScroll = (): void => {
    stand.current.follows = isNearEnd(ref.current!);
    stand.current.top = ref.current!.scrollTop;
    setFollowing(stand.current.follows);
  };

  return { following, onScroll };
}

/** Whether the reader follows the end, and where the list stood when that was last looked at. */
interface Stand {
  follows: boolean;
  top: number;
  own: number;
}

function keepEnd(element: HTMLElement, stand: Stand): void {
  const follows = stand.follows ? !isScrolledUp(element, stand.top) : isNearEnd(element);
  if (stand.follows && follows) element.scrollTop = element.scrollHeight;
  Object.assign(stand, { follows, top: element.scrollTop });
}

/** A reader may have scrolled in this very frame: the browser tells of it with the next one. */
function isScrolledUp(element: HTMLElement, top: number): boolean {
  return element.scrollTop < Math.min(top, endOf(element)) - NEAR_END;
}

function isNearEnd(element: HTMLElement): boolean {
  return endOf(element) - element.scrollTop < NEAR_END;
}

function endOf(element: HTMLElement): number {
  return element.scrollHeight - element.clientHeight;
}
