import { Button, CloseButton } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { createContext, use, useMemo, useState, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { useRoomList, useSpeaker } from "../rooms/use-rooms.ts";
import { stopsOf } from "./tour-stops.ts";

interface Tour {
  /** Undefined: no tour goes on. */
  readonly at: number | undefined;
  readonly go: (to: number | undefined) => void;
}

const TourContext = createContext<Tour>({ at: undefined, go: () => {} });

/** Outlives the pages that a tour leads through; a reload ends it. */
export function TourProvider({ children }: { children: ReactNode }): ReactNode {
  const [at, go] = useState<number>();
  const tour = useMemo(() => ({ at, go }), [at]);
  return <TourContext value={tour}>{children}</TourContext>;
}

function useTour() {
  const { at, go } = use(TourContext);
  const { who } = useSpeaker();
  const stops = stopsOf((useRoomList(who).data?.length ?? 0) > 0);
  const navigate = useNavigate();

  const show = (to: number): void => {
    const stop = stops[to];
    go(stop === undefined ? undefined : to);
    if (stop !== undefined) void navigate({ to: `/${stop}` });
  };
  return { at, stops, show, end: () => go(undefined) };
}

export function TourCard(): ReactNode {
  const words = useText().start.tour;
  const { show } = useTour();
  return (
    <section className="start-tour note good" aria-labelledby="start-tour">
      <div>
        <h2 id="start-tour">{words.title}</h2>
        <p className="soft small">{words.lead}</p>
      </div>
      <Button variant="light" onClick={() => show(0)}>
        {words.begin}
      </Button>
    </section>
  );
}

/** What is seen on this page, and the way to the next one. */
export function TourBar(): ReactNode {
  const { at } = use(TourContext);
  return at === undefined ? null : <ShownBar at={at} />;
}

function ShownBar({ at }: { at: number }): ReactNode {
  const text = useText();
  const words = text.start.tour;
  const { stops, show, end } = useTour();
  const stop = stops[at];
  if (stop === undefined) return null;

  const isLast = at === stops.length - 1;

  return (
    <section className="banner good" aria-label={words.label}>
      <p role="status">
        <span className="soft">{words.stepOf({ step: at + 1, all: stops.length })}</span>{" "}
        <strong>{text.shell.nav[stop]}</strong> {words.words[stop]}
      </p>
      {isLast ? (
        <Button size="compact-sm" onClick={end}>
          {words.end}
        </Button>
      ) : (
        <>
          <Button size="compact-sm" onClick={() => show(at + 1)}>
            {words.next}
          </Button>
          <CloseButton size="sm" aria-label={words.end} onClick={end} />
        </>
      )}
    </section>
  );
}
