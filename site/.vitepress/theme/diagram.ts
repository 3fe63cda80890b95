import { useData, withBase } from "vitepress";
import { defineComponent, h, onMounted, ref, watch } from "vue";

/** What is used of Mermaid. */
interface Mermaid {
  initialize(options: object): void;
  render(id: string, text: string): Promise<{ svg: string }>;
}

let loading: Promise<Mermaid> | undefined;

/** Brought by the first page that has a diagram. */
function loadMermaid(): Promise<Mermaid> {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = withBase("/mermaid.js");
    script.addEventListener("load", () => resolve(Reflect.get(globalThis, "mermaid") as Mermaid));
    script.addEventListener("error", () => reject(new Error("Mermaid could not be loaded.")));
    document.head.append(script);
  });
  return loading;
}

/** A diagram of Mermaid. */
export const Diagram = defineComponent({
  props: { code: { type: String, required: true } },
  setup(props) {
    const { isDark } = useData();
    const drawn = ref("");
    const text = decodeURIComponent(props.code);

    async function draw(): Promise<void> {
      const mermaid = await loadMermaid();
      mermaid.initialize({
        startOnLoad: false,
        securityLevel: "strict",
        theme: isDark.value ? "dark" : "default",
        htmlLabels: false, // the theme's height of lines would cut them
        flowchart: { htmlLabels: false },
      });
      drawn.value = (await mermaid.render(`diagram-${crypto.randomUUID()}`, text)).svg;
    }

    onMounted(draw);
    watch(isDark, draw);

    // Until it is drawn, and where no script runs, the source is there to read.
    return () => (drawn.value === "" ? h("pre", text) : h("div", { innerHTML: drawn.value }));
  },
});
