import { useNavigate } from "@tanstack/react-router";
import { useId, useState, type KeyboardEvent, type ReactNode } from "react";
import { OverPage } from "./over-page.tsx";
import { useFindWords } from "./palette-words.ts";
import { useFound, type Found } from "./use-found.ts";

/** Finds and opens anything, by keyboard. The browser puts the focus into the field. */
export function Palette({ onClose }: { onClose: () => void }): ReactNode {
  const words = useFindWords();
  const list = useId();
  const [query, setQuery] = useState("");
  const [picked, setPicked] = useState(0);
  const found = useFound(query);
  const go = useGo();
  const at = Math.min(picked, found.length - 1);

  const open = (one: Found | undefined): void => {
    if (one === undefined) return;
    onClose();
    go(one);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter") open(found[at]);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || found.length === 0) return;
    event.preventDefault();
    setPicked((at + step + found.length) % found.length);
  };

  return (
    <OverPage label={words.label} onClose={onClose}>
      <input
        className="palette-input"
        role="combobox"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={found.length > 0 ? `${list}-${at}` : undefined}
        aria-label={words.placeholder}
        placeholder={words.placeholder}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setPicked(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div className="palette-list scroll" id={list} role="listbox" aria-label={words.label}>
        {found.map((one, index) => (
          <button
            type="button"
            tabIndex={-1}
            className="nav-item baseline between"
            key={`${one.kind} ${one.id}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => open(one)}
          >
            <span>{one.words}</span>
            <span className="soft small">{words.kinds[one.kind]}</span>
          </button>
        ))}
      </div>
      <p className="soft small" role="status">
        {found.length === 0 ? words.none(query.trim()) : words.hint}
      </p>
    </OverPage>
  );
}

function useGo(): (found: Found) => void {
  const navigate = useNavigate();
  return ({ kind, id }) => {
    switch (kind) {
      case "agent":
        return void navigate({ to: "/agents/$agent", params: { agent: id } });
      case "room":
        return void navigate({ to: "/rooms/$place", params: { place: id } });
      case "session":
        return void navigate({ to: "/chat/$session", params: { session: id } });
      case "job":
        return void navigate({ to: "/jobs/$id", params: { id } });
      case "run":
        return void navigate({ to: "/plans/runs/$run", params: { run: id } });
      case "events":
        return void navigate({ to: "/events", search: { q: id } });
      case "page":
        return void navigate({ to: id });
      default:
        return kind satisfies never;
    }
  };
}
