import { expect, test } from "vitest";
import { withoutDeadLinks } from "./build.ts";

test("links that do not go with the package become their words, others stay", () => {
  const text = [
    "[a service](docs/guides/write-a-service.md), [the examples](examples) and",
    "[a page](https://example.org/page), [below](#where-to-go)",
  ].join("\n");

  expect(withoutDeadLinks(text, (target) => target.startsWith("docs/"))).toBe(
    [
      "[a service](docs/guides/write-a-service.md), the examples and",
      "[a page](https://example.org/page), [below](#where-to-go)",
    ].join("\n"),
  );
});
