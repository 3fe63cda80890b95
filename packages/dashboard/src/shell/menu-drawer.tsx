import { CloseButton } from "@mantine/core";
import { useEffect, useRef, type ReactNode } from "react";
import { useText } from "../language.tsx";
import { Brand } from "./sidebar.tsx";

/** The menu over the page of a narrow window. The browser keeps the focus in it. */
export function MenuDrawer(props: { onClose: () => void; children: ReactNode }): ReactNode {
  const { onClose, children } = props;
  const { appName, nav } = useText().shell;
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
    <dialog ref={dialog} className="menu-drawer" aria-label={appName} onClose={onClose}>
      <div className="menu-drawer-head">
        <Brand />
        <CloseButton aria-label={nav.close} onClick={onClose} />
      </div>
      {children}
    </dialog>
  );
}
