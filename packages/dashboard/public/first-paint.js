// Before the first paint: a dark page never flashes white. The CSP allows no inline script.
(() => {
  const chosen = localStorage.getItem("mantine-color-scheme-value");
  const dark =
    chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();

// Asks for the code of every page, of the language and of this page. The choice of a language is
// that of `language.tsx`: a wrong one costs a request.
(() => {
  const packed = document.currentScript.dataset.parts;
  if (packed === undefined) return; // while the page is made, Vite serves its modules

  const parts = JSON.parse(packed);
  const root = document.documentElement;
  const stored = localStorage.getItem("dure-language");
  const spoken = navigator.languages.map((tag) => tag.split("-")[0]);
  const wanted = [stored, ...spoken].find((tag) => tag === "ko" || tag === "en") ?? "en";
  const [, first, second] = location.pathname.split("/");
  const inner = { "plans/runs": "run", "plans/start": "before" }[`${first}/${second}`];
  const page = inner ?? (first === "agents" && second ? "agent" : first || "start");

  // Not by a link: what one could not preload is lost for good. Read whole, it is kept.
  const askFor = (file) => {
    fetch(`/${file}`)
      .then((answer) => answer.arrayBuffer())
      .catch(() => undefined);
  };

  // A script each, though the last imports the others: each runs in a task of its own, in order.
  const addScript = (file) => {
    const script = document.createElement("script");
    script.type = "module";
    script.async = false;
    script.crossOrigin = "";
    script.src = `/${file}`;
    document.head.append(script);
  };

  let isAsked = false;
  const askForCode = () => {
    if (isAsked) return;
    isAsked = true;

    parts.first.forEach(addScript);
    setTimeout(() => (parts[wanted] ?? []).forEach(askFor)); // in tasks of their own, as the code
    setTimeout(() => (parts[page] ?? []).forEach(askFor));
  };

  // The words of the document are not those of this person: the frame alone is shown.
  if (root.lang !== wanted) root.dataset.otherWords = "";
  if (localStorage.getItem("dure-person") !== null) root.dataset.named = "";

  // The code comes right behind the first words: together they would be shown later. A page that
  // is not looked at paints nothing.
  const hasWords = root.dataset.words !== undefined;
  if (!hasWords || document.hidden) return askForCode();
  new PerformanceObserver(askForCode).observe({ type: "paint", buffered: true });
  document.addEventListener("visibilitychange", askForCode, { once: true });
  setTimeout(askForCode, 500);
})();
