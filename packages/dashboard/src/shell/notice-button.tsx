import { Button } from "@mantine/core";
import { IconBell, IconBellOff } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";
import { areNoticesOn, canNotify, turnNoticesOff, turnNoticesOn } from "./notices.ts";
import { useFindWords } from "./palette-words.ts";

/** Turns notifications on and off; nothing is asked before it is pressed. */
export function NoticeButton(): ReactNode {
  const words = useFindWords().notices;
  const [isOn, setOn] = useState(areNoticesOn);
  const [isRefused, setRefused] = useState(false);
  if (!canNotify()) return null;

  const onClick = async (): Promise<void> => {
    if (isOn) {
      turnNoticesOff();
      setOn(false);
      return;
    }
    const isAllowed = await turnNoticesOn();
    setOn(isAllowed);
    setRefused(!isAllowed);
  };

  return (
    <div className="notice-button toolbar">
      <Button
        variant="default"
        size="compact-sm"
        leftSection={isOn ? <IconBellOff size={14} /> : <IconBell size={14} />}
        onClick={() => void onClick()}
      >
        {isOn ? words.off : words.on}
      </Button>
      <span className="soft small" role="status">
        {isRefused ? words.refused : isOn ? words.isOn : ""}
      </span>
    </div>
  );
}
