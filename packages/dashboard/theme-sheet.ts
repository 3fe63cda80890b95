import { MantineProvider } from "@mantine/core";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import type { Plugin } from "vite";
import { theme, tokens } from "./src/theme.ts";

const NAME = "virtual:theme.css";

/** What Mantine would draw the sheet with in the browser: the page asks for neither. */
const DRAWN = /\/(MantineCssVariables|MantineClasses)\.mjs$/;

/**
 * The variables of the theme as a sheet: they stand before any code has run, and the page does not
 * make them anew. What would make them is left out of the page.
 */
export function themeSheet(): Plugin {
  return {
    name: "dure-theme-sheet",
    enforce: "pre",
    resolveId: (id) => (id === NAME || DRAWN.test(id) ? `\0${id}` : undefined),
    load: (id) => {
      if (id === `\0${NAME}`) return sheetOf();
      const drawn = id.startsWith("\0") ? DRAWN.exec(id)?.[1] : undefined;
      return drawn === undefined ? undefined : `export const ${drawn} = () => null;`;
    },
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
