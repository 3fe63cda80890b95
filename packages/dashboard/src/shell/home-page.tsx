import { Loader } from "@mantine/core";
import { Navigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useRoomList, useSpeaker } from "../rooms/use-rooms.ts";

/** The first page: the rooms of a team that has some, else the chat. */
export function HomePage(): ReactNode {
  const { who } = useSpeaker();
  const rooms = useRoomList(who);

  if (rooms.isPending) {
    return (
      <div className="center-page">
        <Loader type="dots" role="status" aria-label="…" />
      </div>
    );
  }

  return <Navigate to={(rooms.data?.length ?? 0) > 0 ? "/rooms" : "/chat"} replace />;
}
