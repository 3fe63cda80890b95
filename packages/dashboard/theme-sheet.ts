import { MantineProvider } from "@mantine/core";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import type { Plugin } from "vite";
import { theme, tokens } from "./src/theme.ts";

const NAME = "virtual:theme.css";

/**
 * The variables of the theme as a sheet: they stand before any code has run, and the page does not
 * make them anew.
 */
export function themeSheet(): Plugin {
  return {
    name: "dure-theme-sheet",
    resolveId: (id) => (id === NAME ? `\0${NAME}` : undefined),
    load: (id) => (id === `\0${NAME}` ? sheetOf() : undefined),
  };
}

function sheetOf(): string {
  const drawn = renderToStaticMarkup(
    createElement(MantineProvider, {
      theme,
      cssVariablesResolver: tokens,
      withGlobalClasses: false,
    }),
  );
  const sheet = /<style[^>]*>([^]*?)<\/style>/.exec(drawn)?.[1];
  if (sheet === undefined) throw new Error("Mantine drew no variables of the theme.");

  return sheet;
}
