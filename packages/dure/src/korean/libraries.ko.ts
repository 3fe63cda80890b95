import type { SentenceForm } from "../kernel/sentence-forms.ts";

/** What libraries say, and dure passes on: the reader of YAML, and the client of models. */
export const LIBRARIES_KO: readonly SentenceForm[] = [
  [
    "Flow sequence in block collection must be sufficiently indented and end with a ]",
    "`[`로 시작한 목록이 `]`로 끝나지 않거나 들여쓰기가 모자라요",
  ],
  [
    "Flow map in block collection must be sufficiently indented and end with a }",
    "`{`로 시작한 묶음이 `}`로 끝나지 않거나 들여쓰기가 모자라요",
  ],
  [
    "Nested mappings are not allowed in compact mappings",
    "한 줄에 `:`이 두 번 있어요. 글이라면 따옴표로 감싸 주세요",
  ],
  ["All mapping items must start at the same column", "같은 묶음의 키는 들여쓰기가 같아야 해요"],
  ["All sequence items must start at the same column", "같은 목록의 항목은 들여쓰기가 같아야 해요"],
  ["Implicit map keys need to be followed by map values", "키 뒤에 `:`과 값이 없어요"],
  ["Implicit keys need to be on a single line", "키는 한 줄에 적어야 해요"],
  ["Tabs are not allowed as indentation", "들여쓰기에는 탭을 쓸 수 없어요"],
  ["Missing closing {0}", "닫는 {0} 기호가 없어요"],
  ["Missing , between flow collection items", "항목 사이에 쉼표가 없어요"],
  ["Missing , or : between flow map items", "항목 사이에 `,`나 `:`이 없어요"],
  [
    "A block sequence may not be used as an implicit map key",
    "목록은 키가 될 수 없어요. 들여쓰기를 확인해 주세요",
  ],
  ["Cannot connect to API: {0}", "모델의 주소에 닿지 못했어요: {0}"],
  [
    "Excessive alias count indicates a resource exhaustion attack",
    "별칭(*)이 너무 많이 펼쳐져서 읽지 않았어요",
  ],
];
