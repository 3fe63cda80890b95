import theme from "vitepress/theme";
import { Diagram } from "./diagram.ts";

export default {
  extends: theme,
  enhanceApp: ({ app }: { app: { component: (name: string, one: unknown) => void } }) => {
    app.component("Diagram", Diagram);
  },
};
