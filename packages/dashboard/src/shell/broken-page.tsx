import { Button } from "@mantine/core";
import { IconAlertTriangle, IconPlugConnectedX } from "@tabler/icons-react";
import { Link, useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { useCallback, useEffect, useState, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { fetchMissing, PartMissing } from "../lazy-part.ts";
import { ErrorWords } from "../problem.tsx";
import { serverWatch, useServerWatch } from "../server-watch.ts";

/** A page that could not be shown; the menu beside it goes on. */
export function BrokenPage({ error, reset }: ErrorComponentProps): ReactNode {
  return error instanceof PartMissing ? (
    <MissingPart onFetched={reset} />
  ) : (
    <Broken error={error instanceof Error ? error : new Error(String(error))} onRetry={reset} />
  );
}

/** Its code did not arrive: it is fetched again when asked, and when the server is back. */
function MissingPart({ onFetched }: { onFetched: () => void }): ReactNode {
  const { broken, release } = useText().shell;
  const { retry } = useText().common;
  const { standing, isOld } = useServerWatch();
  const [isTrying, setTrying] = useState(false);

  const tryAgain = useCallback(async (): Promise<void> => {
    setTrying(true);
    await Promise.all([fetchMissing(), serverWatch.lookForRelease()]);
    setTrying(false);
    onFetched();
  }, [onFetched]);

  useEffect(() => void serverWatch.lookForRelease(), []);
  useEffect(
    () =>
      serverWatch.subscribe(() => {
        if (serverWatch.snapshot().standing !== "gone") void tryAgain();
      }),
    [tryAgain],
  );

  const isGone = standing === "gone";
  const lead = isGone ? broken.partGone : isOld ? release.isNew : broken.part;

  return (
    <div className="center-page" role="alert">
      <IconPlugConnectedX size={36} stroke={1.4} className="soft" aria-hidden />
      <h1>{broken.partTitle}</h1>
      <p className="soft">{lead}</p>
      <div className="toolbar">
        {isOld && !isGone ? (
          <Button onClick={() => window.location.reload()}>{release.reload}</Button>
        ) : (
          <Button variant="default" loading={isTrying} onClick={() => void tryAgain()}>
            {isTrying ? broken.trying : retry}
          </Button>
        )}
      </div>
    </div>
  );
}

function Broken({ error, onRetry }: { error: Error; onRetry: () => void }): ReactNode {
  const { broken } = useText().shell;
  const { retry } = useText().common;
  const router = useRouter();

  const tryAgain = (): void => {
    onRetry();
    void router.invalidate();
  };

  return (
    <div className="center-page" role="alert">
      <IconAlertTriangle size={36} stroke={1.4} className="soft" aria-hidden />
      <h1>{broken.title}</h1>
      <p className="soft">{broken.lead}</p>
      <p className="soft small">
        <ErrorWords error={error} />
      </p>
      <details className="more">
        <summary>{broken.details}</summary>
        <code lang="en">{`${error.name}: ${error.message}`}</code>
      </details>
      <div className="toolbar">
        <Button variant="default" onClick={tryAgain}>
          {retry}
        </Button>
        <Button renderRoot={(props) => <Link to="/" {...props} />}>{broken.home}</Button>
      </div>
    </div>
  );
}
