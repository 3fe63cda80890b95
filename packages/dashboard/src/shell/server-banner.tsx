import { Button } from "@mantine/core";
import { IconPlugConnectedX } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useText } from "../language.tsx";
import { useServerWatch } from "../server-watch.ts";

/** Says that the server is gone, that it is back, and that it brought another release. */
export function ServerBanner(): ReactNode {
  const words = useText().shell;
  const { standing, isOld } = useServerWatch();

  return (
    <div className="server-banner" role="status">
      {(standing === "gone" || standing === "starved") && (
        <p data-tone="gone">
          <IconPlugConnectedX size={17} aria-hidden />
          <span>{words.connection[standing]}</span>
        </p>
      )}
      {standing === "back" && !isOld && (
        <p data-tone="back">
          <span>{words.connection.back}</span>
        </p>
      )}
      {standing !== "gone" && isOld && (
        <p data-tone="release">
          <span>{words.release.isNew}</span>
          <Button size="compact-sm" variant="default" onClick={() => window.location.reload()}>
            {words.release.reload}
          </Button>
        </p>
      )}
    </div>
  );
}
