// The door `dure/korean`: what the server says in English, in Korean, for pages and editors.

// By sentence, with its facts
export { SERVER_KOREAN, type ServerKorean } from "./server-korean.ts";

// By code
export { BECAUSES_KO, type BecauseTexts } from "./because-text.ko.ts";
export { ERROR_WORDS_KO } from "./error-words.ko.ts";

// Problems of files
export { problemInKorean, type ProblemWords } from "./problem-words.ts";
