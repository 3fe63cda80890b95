import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useParts } from "../app-parts.tsx";
import { useLanguage, useWords } from "../language.tsx";
import { useSpeaker } from "../rooms/use-rooms.ts";
import { NOTICES_WORDS } from "words:later/notices";
import {
  canNotify,
  noticeState,
  turnNoticesOff,
  turnNoticesOn,
  type NoticeState,
} from "./notices.ts";

/** Turns notifications on and off; nothing is asked before it is pressed. */
export function NoticeButton({ children }: { children?: ReactNode }): ReactNode {
  const words = useWords(NOTICES_WORDS);
  const { language } = useLanguage();
  const { client } = useParts();
  const { who } = useSpeaker();
  const [state, setState] = useState(noticeState);
  const turn = useMutation({
    mutationFn: async (): Promise<NoticeState> => {
      const own = client.notifications(who);
      if (state === "off") return turnNoticesOn(own, language);
      await turnNoticesOff(own).catch(() => undefined); // it asks for nothing more, and ends by itself
      return "off";
    },
    onSuccess: setState,
  });
  if (!canNotify()) return null;

  const isOn = state !== "off";
  const isRefused = turn.data === "off" && Notification.permission !== "granted";

  return (
    <div className="notice-button stack tight">
      <div className="toolbar">
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          fw={400}
          loading={turn.isPending}
          onClick={() => turn.mutate()}
        >
          {isOn ? words.off : words.on}
        </Button>
        <span className="soft small" role="status">
          {isRefused ? words.refused : words.states[state]}
        </span>
      </div>
      {isOn && children}
    </div>
  );
}
