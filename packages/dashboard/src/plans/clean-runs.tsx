import { Button, Checkbox, Loader, TextInput } from "@mantine/core";
import { IconArchive } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { RunCleaned } from "dure/client";
import { useState, type FormEvent, type ReactNode } from "react";
import { Problem } from "../problem.tsx";
import { useText } from "../language.tsx";
import "@mantine/core/styles/Checkbox.css";
import { canForce, WhyKept } from "./cleaning.tsx";
import { useClean, useCleanable } from "./use-plans.ts";

/** Days after which an ended run is looked at. Source: docs/spec/plans §5. */
const DAYS = 7;
const MAX_DAYS = 3_650;
const DAY_MS = 86_400_000;

/**
 * Removes the files of runs that ended long ago: first what would go is shown, run by run, then it
 * is done.
 */
export function CleanRuns({ onLeave }: { onLeave: () => void }): ReactNode {
  const words = useText().plans.clean;
  const [days, setDays] = useState(String(DAYS));
  const [asked, setAsked] = useState<number>();
  const count = Number(days);
  const isReady = days.trim() !== "" && Number.isInteger(count) && count >= 0 && count <= MAX_DAYS;

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady) setAsked(count);
  };

  return (
    <div className="clean-box clean-runs card stack loose" role="group" aria-label={words.old}>
      <h3>{words.old}</h3>
      <ul className="small stack tight bullets">
        <li>{words.goes}</li>
        <li>{words.stays}</li>
      </ul>
      <form className="clean-days toolbar bottom" onSubmit={submit}>
        <TextInput
          size="sm"
          inputMode="numeric"
          type="number"
          min={0}
          max={MAX_DAYS}
          label={words.days}
          value={days}
          onChange={(event) => setDays(event.currentTarget.value)}
        />
        <Button type="submit" size="sm" variant="default" disabled={!isReady}>
          {words.look}
        </Button>
        <Button size="sm" variant="subtle" color="gray" onClick={onLeave}>
          {words.back}
        </Button>
      </form>
      {asked !== undefined && <Old key={asked} days={asked} />}
    </div>
  );
}

function Old({ days }: { days: number }): ReactNode {
  const words = useText().plans.clean;
  const look = useCleanable({ olderThanMs: days * DAY_MS });
  const clean = useClean();
  if (look.error !== null) {
    return <Problem error={look.error} onRetry={() => void look.refetch()} />;
  }
  if (look.data === undefined) {
    return <Loader type="dots" role="status" aria-label={words.looking} />;
  }
  if (clean.data !== undefined) return <Done items={clean.data} />;

  if (look.data.length === 0) {
    return (
      <p className="soft small" role="status">
        {words.noneOld({ days })}
      </p>
    );
  }

  return <Chosen items={look.data} days={days} clean={clean} />;
}

/** What would be cleaned and what would be kept, and the button that does it. */
function Chosen({
  items,
  days,
  clean,
}: {
  items: readonly RunCleaned[];
  days: number;
  clean: ReturnType<typeof useClean>;
}): ReactNode {
  const words = useText().plans.clean;
  const [givenUp, setGivenUp] = useState<ReadonlySet<string>>(new Set());
  const free = items.filter(({ outcome }) => outcome === "cleaned");
  const kept = items.filter(({ outcome }) => outcome === "kept");
  const forced = kept
    .filter(({ run, because }) => givenUp.has(run) && canForce(because))
    .map(({ run }) => run);
  const old = { olderThanMs: days * DAY_MS };

  return (
    <div className="clean-found stack">
      {free.length > 0 && (
        <section>
          <h4>{words.wouldGo({ count: free.length })}</h4>
          <ul className="clean-list small stack scroll">
            {free.map((item) => (
              <li className="stack tight" key={item.run}>
                <RunName item={item} />
              </li>
            ))}
          </ul>
        </section>
      )}
      {kept.length > 0 && <KeptRuns kept={kept} givenUp={givenUp} onGiveUp={setGivenUp} />}
      {clean.error !== null && <Problem error={clean.error} />}
      <div className="toolbar">
        <Button
          size="compact-sm"
          className={forced.length > 0 ? "clean-force" : ""}
          disabled={free.length + forced.length === 0}
          leftSection={<IconArchive size={15} />}
          loading={clean.isPending}
          onClick={() => clean.mutate({ free: free.length > 0 ? old : undefined, forced })}
        >
          {forced.length > 0
            ? words.doManyForced({ count: free.length + forced.length, forced: forced.length })
            : words.doMany({ count: free.length })}
        </Button>
      </div>
    </div>
  );
}

function KeptRuns({
  kept,
  givenUp,
  onGiveUp,
}: {
  kept: readonly RunCleaned[];
  givenUp: ReadonlySet<string>;
  onGiveUp: (givenUp: ReadonlySet<string>) => void;
}): ReactNode {
  const words = useText().plans.clean;
  const toggle = (run: string): void => {
    const after = new Set(givenUp);
    if (!after.delete(run)) after.add(run);
    onGiveUp(after);
  };

  return (
    <section>
      <h4>{words.wouldStay({ count: kept.length })}</h4>
      <ul className="clean-list small stack scroll">
        {kept.map((item) => (
          <li className="stack tight" key={item.run}>
            <RunName item={item} />
            {item.because !== undefined && <WhyKept because={item.because} />}
            {canForce(item.because) && (
              <Checkbox
                size="xs"
                checked={givenUp.has(item.run)}
                onChange={() => toggle(item.run)}
                label={words.giveUp}
                aria-label={words.giveUpOf({ plan: item.plan, run: item.run })}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What was done, and what was kept after all and why. */
function Done({ items }: { items: readonly RunCleaned[] }): ReactNode {
  const words = useText().plans.clean;
  const kept = items.filter(({ outcome }) => outcome === "kept");

  return (
    <div className="clean-found stack">
      <p role="status">{words.done({ cleaned: items.length - kept.length, kept: kept.length })}</p>
      {kept.length > 0 && (
        <ul className="clean-list small stack scroll">
          {kept.map((item) => (
            <li className="stack tight" key={item.run}>
              <RunName item={item} />
              {item.because !== undefined && <WhyKept because={item.because} />}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function RunName({ item: { run, plan } }: { item: RunCleaned }): ReactNode {
  return (
    <Link to="/plans/runs/$run" params={{ run }}>
      <strong>{plan}</strong> <code>{run}</code>
    </Link>
  );
}
