import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";

/** Deep celadon, the one accent. Shade 7 on white and white on shade 7: 6.3:1. */
const pine: MantineColorsTuple = [
  "#eef6f2",
  "#dcebe4",
  "#b9d8cb",
  "#92c3af",
  "#6aab92",
  "#4a947a",
  "#2f7d64",
  "#1f6b54",
  "#175644",
  "#0f4034",
];
/** Warm greys; 6 on paper is 5.4:1, so dimmed text and placeholders pass AA. */
const gray: MantineColorsTuple = [
  "#faf9f6",
  "#f3f1ec",
  "#e9e6df",
  "#dcd8cf",
  "#c9c4b9",
  "#8d887d",
  "#69655c",
  "#4f4c45",
  "#35332e",
  "#1f1e1b",
];
const dark: MantineColorsTuple = [
  "#e8e5de",
  "#cfcbc2",
  "#aba69b",
  "#989388",
  "#403d38",
  "#34322d",
  "#282622",
  "#1b1a17",
  "#151412",
  "#100f0e",
];
/** Shade 7 on paper: 6.1:1; shade 3 on the dark paper: 8:1. */
const red: MantineColorsTuple = [
  "#fdf1ef",
  "#fae0dc",
  "#f4c1b9",
  "#eb9d91",
  "#df7768",
  "#cf5645",
  "#bb4231",
  "#a63527",
  "#86291e",
  "#631d15",
];

export const theme = createTheme({
  colors: { pine, gray, dark, red },
  primaryColor: "pine",
  primaryShade: { light: 7, dark: 7 },
  white: "#ffffff",
  black: "#1f1e1b",
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  fontFamily:
    '"Pretendard Variable", Pretendard, system-ui, -apple-system, "Apple SD Gothic Neo", "Noto Sans KR", "Noto Sans CJK KR", "Malgun Gothic", sans-serif',
  fontFamilyMonospace:
    'ui-monospace, "SF Mono", "Cascadia Mono", "D2Coding", "Noto Sans Mono CJK KR", "Liberation Mono", monospace',
  headings: { fontWeight: "600" },
});

/**
 * The design tokens: every size and colour in the style sheets is one of these, and sheets.test.ts
 * checks it. A step of the space scale is 4 px; letters are sized in rem, so they grow with the
 * reader's own setting.
 */
const scales = {
  "--space-half": "2px",
  "--space-1": "4px",
  "--space-2": "8px",
  "--space-3": "12px",
  "--space-4": "16px",
  "--space-5": "20px",
  "--space-6": "24px",
  "--space-8": "32px",
  "--space-12": "48px",
  "--radius-sm": "4px",
  "--radius-md": "8px",
  "--radius-lg": "12px",
  "--radius-xl": "24px",
  "--radius-full": "99px",
  "--text-xs": "0.75rem",
  "--text-sm": "0.8125rem",
  "--text-md": "0.875rem",
  "--text-lg": "1rem",
  "--text-xl": "1.25rem",
  "--text-2xl": "1.5rem",
  "--text-3xl": "clamp(1.5rem, 4vw, 1.875rem)",
  "--text-code": "0.875em",
  "--leading-tight": "1.4",
  "--leading": "1.55",
  "--leading-loose": "1.7",
  "--tracking": "-0.015em",
  // The least target of WCAG 2.2, what is pressed with a pointer, and with a finger.
  "--control-sm": "24px",
  "--control": "32px",
  "--control-lg": "44px",
  "--bar": "56px",
  "--width-xs": "96px",
  "--width-sm": "160px",
  "--width-md": "260px",
  "--width-lg": "360px",
  "--width-xl": "560px",
  "--width-text": "760px",
  "--width-page": "1040px",
  "--fill": "color-mix(in srgb, var(--ink) 6%, transparent)",
  "--fill-strong": "color-mix(in srgb, var(--ink) 9%, transparent)",
  "--ring": "2px solid var(--accent)",
  "--shadow-picked": "0 0 0 1px var(--accent)",
  "--shadow-sm": "0 1px 2px rgb(0 0 0 / 12%)",
  "--shadow": "0 4px 24px rgb(0 0 0 / 18%)",
};

/**
 * dure's own tokens beside Mantine's; every pair of text and ground here passes AA in both schemes.
 */
export const tokens: CSSVariablesResolver = () => ({
  variables: scales,
  light: {
    "--paper": "#fcfbf9",
    "--paper-side": "#f4f2ed",
    "--paper-card": "#ffffff",
    "--ink": "#1f1e1b",
    "--ink-soft": "#5f5b53",
    "--paper-raised": "#ffffff",
    "--line": "#e5e1d9",
    "--line-strong": "#c9c4b9",
    "--accent": "#1f6b54",
    "--accent-tint": "#e8f2ed",
    "--accent-line": "#b9d8cb",
    "--warn": "#8a5a0b",
    "--warn-tint": "#fbf3e2",
    "--danger": "#a63527",
    "--danger-tint": "#fdf1ef",
    "--mantine-color-body": "#fcfbf9",
    "--mantine-color-error": "#a63527",
    "--mantine-color-placeholder": "#69655c",
    "--mantine-color-dimmed": "#5f5b53",
    "--mantine-color-default-border": "#dcd8cf",
  },
  dark: {
    "--paper": "#1b1a17",
    "--paper-side": "#151412",
    "--paper-card": "#23211e",
    "--ink": "#e8e5de",
    "--ink-soft": "#aba69b",
    "--paper-raised": "#403d38",
    "--line": "#312f2a",
    "--line-strong": "#4a4640",
    "--accent": "#92c3af",
    "--accent-tint": "#1f2f29",
    "--accent-line": "#35584b",
    "--warn": "#e2b866",
    "--warn-tint": "#2e2718",
    "--danger": "#eb9d91",
    "--danger-tint": "#331f1b",
    "--mantine-color-body": "#1b1a17",
    "--mantine-color-error": "#eb9d91",
    "--mantine-color-placeholder": "#989388",
    "--mantine-color-dimmed": "#aba69b",
    "--mantine-color-default-border": "#403d38",
  },
});
