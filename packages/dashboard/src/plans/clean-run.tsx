import { Button, Checkbox, Loader } from "@mantine/core";
import { IconArchive } from "@tabler/icons-react";
import type { RunCleaned, RunDetail } from "dure/client";
import { useState, type ReactNode } from "react";
import { Problem } from "../problem.tsx";
import { useText } from "../language.tsx";
import "@mantine/core/styles/Checkbox.css";
import { canForce, WhyKept } from "./cleaning.tsx";
import { useClean, useCleanable } from "./use-plans.ts";

/** Removes the files of one ended run, after saying what goes and what would be lost. */
export function CleanRun({ run, onLeave }: { run: RunDetail; onLeave: () => void }): ReactNode {
  const text = useText();
  const words = text.plans.clean;
  const look = useCleanable({ run: run.id });
  const found = look.data?.[0];

  return (
    <div className="run-merge card stack clean-box" role="group" aria-label={words.one}>
      <strong>{words.one}</strong>
      {look.error !== null ? (
        <Problem error={look.error} onRetry={() => void look.refetch()} />
      ) : found === undefined ? (
        <Loader type="dots" role="status" aria-label={words.looking} />
      ) : (
        <Question found={found} branch={run.report?.branch} onLeave={onLeave} />
      )}
      {found === undefined && (
        <div className="toolbar">
          <Button size="compact-sm" variant="default" onClick={onLeave}>
            {words.back}
          </Button>
        </div>
      )}
    </div>
  );
}

function Question({
  found,
  branch,
  onLeave,
}: {
  found: RunCleaned;
  branch: string | undefined;
  onLeave: () => void;
}): ReactNode {
  const words = useText().plans.clean;
  const [isGivenUp, setGivenUp] = useState(false);
  const clean = useClean();
  // What keeps it may have come up since it was looked at.
  const { because } = clean.data?.[0] ?? found;
  const isFree = because === undefined;
  const mayForce = canForce(because);

  return (
    <>
      {(isFree || mayForce) && (
        <ul className="small stack tight bullets">
          <li>{words.goes}</li>
          <li>{branch === undefined ? words.stays : words.staysWith({ branch })}</li>
        </ul>
      )}
      {because !== undefined && (
        <p className="small note" data-tone={mayForce ? "bad" : "warn"}>
          <WhyKept because={because} />
        </p>
      )}
      {mayForce && (
        <Checkbox
          size="sm"
          checked={isGivenUp}
          onChange={(event) => setGivenUp(event.currentTarget.checked)}
          label={words.giveUp}
        />
      )}
      <div className="toolbar">
        {isFree && (
          <Button
            size="compact-sm"
            leftSection={<IconArchive size={15} />}
            loading={clean.isPending}
            onClick={() => clean.mutate({ free: { run: found.run }, forced: [] })}
          >
            {words.do}
          </Button>
        )}
        {mayForce && <ForceButton run={found.run} clean={clean} isGivenUp={isGivenUp} />}
        <Button size="compact-sm" variant="default" onClick={onLeave}>
          {words.back}
        </Button>
      </div>
      {clean.error !== null && <Problem error={clean.error} />}
    </>
  );
}

/** Cleans although something is lost, once a person has given that up. */
function ForceButton({
  run,
  clean,
  isGivenUp,
}: {
  run: string;
  clean: ReturnType<typeof useClean>;
  isGivenUp: boolean;
}): ReactNode {
  const words = useText().plans.clean;
  return (
    <Button
      size="compact-sm"
      className="clean-force"
      disabled={!isGivenUp}
      leftSection={<IconArchive size={15} />}
      loading={clean.isPending}
      onClick={() => clean.mutate({ forced: [run] })}
    >
      {words.doForced}
    </Button>
  );
}
