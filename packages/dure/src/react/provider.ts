import { createContext, createElement, useContext, type ReactNode } from "react";
import type { DureHub } from "./hub.ts";

const HubContext = createContext<DureHub | undefined>(undefined);

/** Gives a hub to the hooks of the components inside. */
export function DureProvider(props: { readonly hub: DureHub; readonly children?: ReactNode }) {
  return createElement(HubContext.Provider, { value: props.hub }, props.children);
}

/** The hub of the provider around. Throws where there is none. */
export function useHub(): DureHub {
  const hub = useContext(HubContext);
  if (hub === undefined) throw new Error("Put a DureProvider around components that use dure.");
  return hub;
}
