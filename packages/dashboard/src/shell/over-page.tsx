import { useEffect, useRef, type ReactNode } from "react";
import "./palette.css";

/** A window over the page; the browser keeps the focus in it and closes it by Escape. */
export function OverPage(props: {
  label: string;
  onClose: () => void;
  children: ReactNode;
}): ReactNode {
  const { label, onClose, children } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  useEffect(() => {
    const leaving = new AbortController();
    const onClick = (event: MouseEvent): void => {
      if (event.target === dialog.current) onClose(); // on the page behind
    };
    dialog.current?.addEventListener("click", onClick, { signal: leaving.signal });
    return () => leaving.abort();
  }, [onClose]);

  return (
    <dialog ref={dialog} className="over-page" aria-label={label} onClose={onClose}>
      <div className="over-page-body stack loose">{children}</div>
    </dialog>
  );
}
