import { useMediaQuery } from "@mantine/hooks";
import { useState } from "react";

/** Whether a page's side panel is a column or a drawer over the page, and whether it is open. */
export interface Side {
  readonly isWide: boolean;
  readonly isColumn: boolean;
  readonly isDrawerOpen: boolean;
  readonly open: () => void;
  readonly toggle: () => void;
  readonly closeDrawer: () => void;
}

/** From this width on there is room for a column. */
const WIDE = "(min-width: 75em)";

export function useSide(): Side {
  const isWide = useMediaQuery(WIDE, window.matchMedia(WIDE).matches, {
    getInitialValueInEffect: false,
  });
  const [isDrawerOpen, setDrawerOpen] = useState(false);
  const [isHidden, setHidden] = useState(false);

  return {
    isWide,
    isColumn: isWide && !isHidden,
    isDrawerOpen,
    open: () => (isWide ? setHidden(false) : setDrawerOpen(true)),
    toggle: () => (isWide ? setHidden(!isHidden) : setDrawerOpen(true)),
    closeDrawer: () => setDrawerOpen(false),
  };
}
